import { asProblem, type ApiProblem } from '$lib/api/problem';

/** Something that a page fetches, perhaps again and again: of several answers the last question's counts. */
export class Fetched<T> {
	data = $state.raw<T | null>(null);
	problem = $state.raw<ApiProblem | null>(null);
	#turn = 0;

	async load(get: () => Promise<T>): Promise<void> {
		const turn = ++this.#turn;
		try {
			const data = await get();
			if (turn !== this.#turn) return;
			this.data = data;
			this.problem = null;
		} catch (error) {
			if (turn === this.#turn) this.problem = asProblem(error);
		}
	}
}

/** An act on the server: whether it is under way, and why it failed. */
export class Doing {
	isBusy = $state(false);
	problem = $state.raw<ApiProblem | null>(null);

	/** Nothing where it failed: `problem` says why. */
	async run<T>(act: () => Promise<T>): Promise<T | null> {
		if (this.isBusy) return null;
		this.isBusy = true;
		this.problem = null;
		try {
			return await act();
		} catch (error) {
			this.problem = asProblem(error);
			return null;
		} finally {
			this.isBusy = false;
		}
	}
}
