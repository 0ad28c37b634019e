import { api, ask, type Schema } from '$lib/api/client';
import { asProblem, type ApiProblem } from '$lib/api/problem';

type TestMessage = Schema<'TestMessage'>;

/** A test is looked at so often, and so long. */
const LOOK_MS = 700;
const LOOKS_MAX = 170;

/** Nothing more is going to come of it. `receipts`: the network says when it has arrived. */
export const isSettled = (test: TestMessage): boolean => test.failed || test.delivered !== null;

/** One test message on its way. */
export class TestRun {
	isBusy = $state(false);
	result = $state.raw<TestMessage | null>(null);
	problem = $state.raw<ApiProblem | null>(null);
	/** It was looked at for two minutes, and is still on its way. */
	isGivenUp = $state(false);
	#turn = 0;

	async send(begin: () => Promise<Schema<'TestSent'>>): Promise<void> {
		const turn = ++this.#turn;
		this.isBusy = true;
		this.result = this.problem = null;
		this.isGivenUp = false;
		try {
			const { id } = await begin();
			await this.#follow(id, turn);
		} catch (error) {
			if (turn === this.#turn) this.problem = asProblem(error);
		} finally {
			if (turn === this.#turn) this.isBusy = false;
		}
	}

	/** Nobody looks at it any more. */
	leave(): void {
		this.#turn++;
	}

	async #follow(id: string, turn: number): Promise<void> {
		for (let look = 0; look < LOOKS_MAX; look++) {
			const test = await ask(api.GET('/api/v1/tests/{id}', { params: { path: { id } } }));
			if (turn !== this.#turn) return;
			// The API names the channel before the address: `sms:+46…`.
			this.result = { ...test, to: test.to.replace(/^[a-z]+:/, '') };
			if (isSettled(test)) return;
			await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
			if (turn !== this.#turn) return;
		}
		this.isGivenUp = true;
	}
}
