import { untrack } from 'svelte';
import { live } from '$lib/api/live.svelte';
import type { LiveAlert } from '$lib/api/live-state';

/** The numbers of an alert beside a list of it, changed once a second: how many came since the list was fetched. Made in
 * a component, whose life it shares. */
export class ListChange {
	#alerts: Record<string, LiveAlert> = $state.raw({});

	constructor() {
		$effect(() => {
			void live.now;
			untrack(() => (this.#alerts = live.state.alerts));
		});
	}

	of(id: string): LiveAlert | null {
		return this.#alerts[id] ?? null;
	}
}
