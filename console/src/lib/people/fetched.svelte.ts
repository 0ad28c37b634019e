import { untrack } from 'svelte';
import { asProblem, type ApiProblem } from '$lib/api/problem';

/** What a page asked for. The answer in sight stays until the next one is there; of several the newest counts. */
export class Fetched<T> {
	value = $state.raw<T | null>(null);
	problem = $state.raw<ApiProblem | null>(null);
	isLoading = $state(false);
	#asked = 0;

	load(ask: () => Promise<T>): Promise<void> {
		return untrack(() => this.#load(ask));
	}

	/** Shows what an act answered, or that there is nothing any more. */
	put(value: T | null): void {
		this.#asked += 1;
		this.value = value;
		this.problem = null;
		this.isLoading = false;
	}

	async #load(ask: () => Promise<T>): Promise<void> {
		const mine = ++this.#asked;
		this.isLoading = true;
		try {
			const value = await ask();
			if (mine !== this.#asked) return;
			this.value = value;
			this.problem = null;
		} catch (error) {
			if (mine === this.#asked) this.problem = asProblem(error);
		} finally {
			if (mine === this.#asked) this.isLoading = false;
		}
	}
}

/** One act at a time: whether it runs, and what it answered when it went wrong. */
export class Doing {
	isBusy = $state(false);
	problem = $state.raw<ApiProblem | null>(null);

	/** True when it went well. */
	async run(act: () => Promise<unknown>): Promise<boolean> {
		if (this.isBusy) return false;
		this.isBusy = true;
		this.problem = null;
		try {
			await act();
			return true;
		} catch (error) {
			this.problem = asProblem(error);
			return false;
		} finally {
			this.isBusy = false;
		}
	}
}
