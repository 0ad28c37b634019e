import { api, ask, type Schema } from '$lib/api/client';
import { asProblem } from '$lib/api/problem';
import { bodyOf, type Asked } from '$lib/review/asked';

/** After the last change. */
const COUNT_AFTER_MS = 400;
/** Where others count, it is tried again by itself. */
const BUSY = 429;
const BUSY_MS = 1_000;

/** How many people an audience has now, counted by the server a moment after each change. */
export class Counter {
	count = $state.raw<Schema<'AudienceCount'> | null>(null);
	error = $state.raw<unknown>(null);
	/** The count is of an audience before the last change. */
	isOld = $state(false);
	#timer: ReturnType<typeof setTimeout> | undefined;
	#round = 0;

	look(asked: Asked, after = COUNT_AFTER_MS): void {
		clearTimeout(this.#timer);
		this.isOld = true;
		const round = ++this.#round;
		this.#timer = setTimeout(() => void this.#ask(asked, round), this.count === null && after === COUNT_AFTER_MS ? 0 : after);
	}

	stop(): void {
		clearTimeout(this.#timer);
		this.#round++;
	}

	async #ask(asked: Asked, round: number): Promise<void> {
		try {
			const count = await ask(api.POST('/api/v1/audience:count', { body: bodyOf(asked) as Schema<'DraftBody'> }));
			if (round !== this.#round) return;
			this.count = count;
			this.error = null;
			this.isOld = false;
		} catch (error) {
			if (round !== this.#round) return;
			const problem = asProblem(error);
			if (problem.status === BUSY) return this.look(asked, problem.retryAfter ? 1_000 * problem.retryAfter : BUSY_MS);
			this.error = error;
		}
	}
}
