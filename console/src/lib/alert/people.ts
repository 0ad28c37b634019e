import { api, ask, type Schema } from '$lib/api/client';
import { STATES, type PersonState } from '$lib/states';

/** What a list of an alert's people is narrowed by, as its address says. */
export interface PeopleFilter {
	state?: PersonState;
	answer?: string;
	channel?: Schema<'ChannelName'>;
	route?: string;
	reason?: string;
	q?: string;
	cursor?: string;
}

const NAMES = ['state', 'answer', 'channel', 'route', 'reason', 'q', 'cursor'] as const;

export function filterOf(params: URLSearchParams): PeopleFilter {
	const found: Record<string, string> = {};
	for (const name of NAMES) {
		const value = params.get(name)?.trim();
		if (value && (name !== 'state' || (STATES as readonly string[]).includes(value))) found[name] = value;
	}
	return found as PeopleFilter;
}

/** The address of a list: what is given changes, the cursor goes, the rest stays. */
export function queryOf(filter: PeopleFilter, change: Partial<Record<keyof PeopleFilter | 'who' | 'help', string | undefined>> = {}): string {
	const params = new URLSearchParams();
	const all = { ...filter, cursor: undefined, ...change };
	for (const [name, value] of Object.entries(all)) if (value) params.set(name, value);
	const text = params.toString();
	return text ? `?${text}` : '';
}

export function peopleOf(id: string, filter: PeopleFilter, limit: number): Promise<Schema<'PersonOfAlertPage'>> {
	return ask(api.GET('/api/v1/alerts/{id}/people', { params: { path: { id }, query: { ...filter, limit } } }));
}

/** A page may have none of this alert, where many others are: so many are looked through at once. */
const PAGES_MAX = 20;
const PAGE = 100;

/** Calls for help of one alert. */
export async function helpOf(id: string, state: 'open' | 'all', from?: string): Promise<{ items: Schema<'HelpCase'>[]; next: string | null }> {
	const items: Schema<'HelpCase'>[] = [];
	let cursor: string | undefined = from;
	for (let page = 0; page < PAGES_MAX && items.length < PAGE; page += 1) {
		const found: Schema<'HelpCasePage'> = await ask(api.GET('/api/v1/help-cases', { params: { query: { state, alert: id, limit: PAGE, ...(cursor ? { cursor } : {}) } } }));
		items.push(...found.items);
		if (!found.next) return { items, next: null };
		cursor = found.next;
	}
	return { items, next: cursor ?? null };
}
