import type { Schema } from '$lib/api/client';
import { STATES, type PersonState } from '$lib/states';
import { t, words } from '$lib/words/index.svelte';

export type PastAlert = Schema<'PersonExport'>['alerts'][number];
type Outcome = { delivery: Schema<'Delivery'>; at: string };

export const SHOWN_ALERTS = 20;

/** The newest alerts first, as many as are shown. */
export const newest = (alerts: PastAlert[]): PastAlert[] => [...alerts].sort((a, b) => b.created.localeCompare(a.created)).slice(0, SHOWN_ALERTS);

/** A person is in the furthest state of their devices. */
export const furthest = (states: PersonState[]): PersonState => STATES.find((state) => states.includes(state)) ?? 'excluded';

/** What became of the newest alert's copy to each device, by channel and address. */
export function lastOutcomes(alerts: PastAlert[]): Map<string, Outcome> {
	const found = new Map<string, Outcome>();
	for (const alert of [...alerts].sort((a, b) => a.created.localeCompare(b.created))) {
		for (const delivery of alert.deliveries) found.set(`${delivery.channel}:${delivery.address}`, { delivery, at: alert.created });
	}
	return found;
}

/** A reason in the words of the page, else in the server's. */
export const reasonWords = (code: string, given: string): string => {
	const key = `people.reason_${code}`;
	return words.has(key) ? t(key) : given || code;
};
