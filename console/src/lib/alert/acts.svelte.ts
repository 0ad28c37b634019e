import { api, askWhole, type Schema } from '$lib/api/client';
import { session } from '$lib/session.svelte';

export type DialogOfAlert = 'follow' | 'clear' | 'stop' | 'extend' | 'retry';
type Verb = 'pause' | 'resume' | 'cancel' | 'retry-failed';

/** What was done, for the line below the title. */
export interface Done {
	/** A key of the catalogue `alert`. */
	key: string;
	/** Another alert that came of it. */
	alert?: string;
}

const CALLS = {
	pause: (path: { id: string }) => api.POST('/api/v1/alerts/{id}:pause', { params: { path } }),
	resume: (path: { id: string }) => api.POST('/api/v1/alerts/{id}:resume', { params: { path } }),
	cancel: (path: { id: string }) => api.POST('/api/v1/alerts/{id}:cancel', { params: { path } }),
	'retry-failed': (path: { id: string }) => api.POST('/api/v1/alerts/{id}:retry-failed', { params: { path } })
} satisfies Record<Verb, unknown>;

/** What can be done with an alert now, and what was. Shared by the buttons at the top, those at the bottom of narrow
 * windows, and the dialogs. */
export class Acts {
	open: DialogOfAlert | null = $state(null);
	busy: string | null = $state(null);
	failed: unknown = $state.raw(null);
	done: Done | null = $state.raw(null);
	readonly #id: string;
	readonly #acted: () => Promise<void>;

	constructor(id: string, acted: () => Promise<void>) {
		this.#id = id;
		this.#acted = acted;
	}

	/** Opens a dialog; what was said before is over. */
	ask(dialog: DialogOfAlert): void {
		this.failed = null;
		this.done = null;
		this.open = dialog;
	}

	/** True once it is done. 202: another person has to agree before it is. */
	async steer(verb: Verb): Promise<boolean> {
		return this.run(verb, async () => {
			const answer = CALLS[verb]({ id: this.#id });
			const status = answer.then(({ response }) => response.status);
			await askWhole<Schema<'AlertSummary'>>(answer);
			this.done = { key: (await status) === 202 ? 'done_asked' : `done_${verb.replace('-', '_')}` };
		});
	}

	/** One act at a time; a failure is kept for the page. */
	async run(name: string, act: () => Promise<void>): Promise<boolean> {
		if (this.busy) return false;
		this.busy = name;
		this.failed = null;
		try {
			await act();
			this.open = null;
			await this.#acted();
			return true;
		} catch (error) {
			this.failed = error;
			return false;
		} finally {
			this.busy = null;
		}
	}
}

export interface May {
	follow: boolean;
	clear: boolean;
	pause: boolean;
	resume: boolean;
	stop: boolean;
	extend: boolean;
	retry: boolean;
}

/** What this person may do with an alert in this state. */
export function mayDo(state: Schema<'AlertState'>, counts: Schema<'Counts'>, mayHave: number): May {
	const maySend = session.may('send');
	const isGoing = state === 'running' || state === 'paused';
	return {
		follow: session.may('write') && counts.endpoints > 0,
		clear: maySend && mayHave > 0,
		pause: maySend && state === 'running',
		resume: maySend && state === 'paused',
		stop: maySend && (isGoing || state === 'accepted' || state === 'solving'),
		extend: maySend && isGoing,
		retry: maySend && (isGoing || state === 'done') && counts.failed > 0
	};
}
