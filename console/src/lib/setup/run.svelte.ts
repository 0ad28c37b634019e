import { goto } from '$app/navigation';
import { page } from '$app/state';
import { api, ask, type Schema } from '$lib/api/client';
import { session } from '$lib/session.svelte';
import { nextStep, stepOf, STEPS, stepsDone, type StepName, type StepsDone } from './steps';

const TESTED_AS = 'campanile.setup.tested';

/** The first run: what of it is done, and the admin token, which stays in the memory of this page. */
class SetupRun {
	state = $state.raw<Schema<'SetupState'> | null>(null);
	/** No user exists yet; null until the server said so. */
	isFresh = $state<boolean | null>(null);
	#token = $state<string | null>(null);
	#isTested = $state(localStorage.getItem(TESTED_AS) !== null);

	/** Headers of a request: of the token, until somebody is signed in. */
	get by(): { Authorization?: string } {
		return this.#token && !session.user ? { Authorization: `Bearer ${this.#token}` } : {};
	}

	get isOpen(): boolean {
		return this.state !== null && (session.user !== null || this.#token !== null);
	}

	get done(): StepsDone {
		if (!this.state) return Object.fromEntries(STEPS.map((step) => [step, false])) as StepsDone;
		return stepsDone(this.state, session.user, this.#isTested);
	}

	/** The step of the address, else the first that is left. */
	get step(): StepName {
		return stepOf(page.url.searchParams.get('step')) ?? nextStep(this.done, null) ?? 'drill';
	}

	get left(): number {
		return Object.values(this.done).filter((isDone) => !isDone).length;
	}

	async begin(): Promise<void> {
		if (session.user) return this.load();
		const options = await ask(api.GET('/api/v1/session/options'));
		this.isFresh = options.needs_setup;
		if (this.#token) await this.load();
	}

	/** Takes the admin token, if the server takes it. */
	async open(token: string): Promise<void> {
		this.state = await ask(api.GET('/api/v1/setup', { headers: { Authorization: `Bearer ${token}` } }));
		this.#token = token;
	}

	async load(): Promise<void> {
		this.state = await ask(api.GET('/api/v1/setup', { headers: this.by }));
	}

	/** Somebody is signed in: the token is not needed any more. */
	forget(): void {
		this.#token = null;
		this.isFresh = false;
	}

	tested(): void {
		localStorage.setItem(TESTED_AS, new Date().toISOString());
		this.#isTested = true;
	}

	address(step: StepName): string {
		return `${page.url.pathname}?step=${step}`;
	}

	/** On to what is left after this step. */
	async next(after: StepName): Promise<void> {
		const step = nextStep(this.done, after) ?? after;
		await goto(this.address(step));
	}
}

export const setup = new SetupRun();
