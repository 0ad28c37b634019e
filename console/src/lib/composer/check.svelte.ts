import { api, ask, type Schema } from '$lib/api/client';
import { asBody, type AlertContent } from './content';

const CHECK_AFTER_MS = 700;

/** What is wrong with an alert, and what is odd about it, as the server finds while it is written. */
export class Check {
	problems = $state.raw<Schema<'FieldProblem'>[]>([]);
	warnings = $state.raw<Schema<'AlertWarning'>[]>([]);
	/** The answer is of what stands there now. */
	isFresh = $state(false);
	#timer: ReturnType<typeof setTimeout> | undefined;
	#asked: AbortController | null = null;
	#waiting: (() => void)[] = [];

	/** Asks once nothing has changed for a moment. */
	look(content: AlertContent, after = CHECK_AFTER_MS): void {
		this.stop();
		this.isFresh = false;
		this.#timer = setTimeout(() => void this.#ask(content), after);
	}

	/** Resolves once the answer is of what stands there now, or could not be had. */
	settled(): Promise<void> {
		if (this.isFresh) return Promise.resolve();
		return new Promise((resolve) => this.#waiting.push(resolve));
	}

	stop(): void {
		clearTimeout(this.#timer);
		this.#asked?.abort();
		this.#asked = null;
	}

	async #ask(content: AlertContent): Promise<void> {
		const asked = new AbortController();
		this.#asked = asked;
		try {
			const found = await ask(api.POST('/api/v1/alerts:check', { body: asBody(content), signal: asked.signal }));
			if (asked.signal.aborted) return;
			this.problems = found.problems;
			this.warnings = found.warnings;
			this.isFresh = true;
		} catch {
			// Without an answer the last one stays; saving says what is the matter with the server.
		}
		if (!asked.signal.aborted) this.#waiting.splice(0).forEach((resolve) => resolve());
	}
}
