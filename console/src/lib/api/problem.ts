import type { components } from './schema';

type ProblemDocument = components['schemas']['Problem'];

/** An answer of the server that says no, or that there was no answer. */
export class ApiProblem extends Error {
	/** HTTP status; 0 where the server could not be reached. */
	readonly status: number;
	/** The last part of the problem's type, such as `wrong-state`. */
	readonly kind: string;
	readonly document: Partial<ProblemDocument>;
	/** Seconds to wait before another try, where the server said so. */
	readonly retryAfter: number | null;

	constructor(status: number, document: Partial<ProblemDocument>, retryAfter: number | null = null) {
		super(document.detail ?? document.title ?? 'no answer');
		this.status = status;
		this.kind = (document.type ?? '').split(':').pop() || 'unknown';
		this.document = document;
		this.retryAfter = retryAfter;
	}

	/** What is wrong with a field; names are as in the request: `text`, `audience[2]`. */
	field(name: string): string | null {
		return this.document.problems?.find((problem) => problem.field === name)?.reason ?? null;
	}
}

/** What any failure is as a problem: the network's too. */
export function asProblem(error: unknown): ApiProblem {
	if (error instanceof ApiProblem) return error;
	const detail = error instanceof Error ? error.message : String(error);
	return new ApiProblem(0, { type: 'urn:campanile:problem:unreachable', detail });
}
