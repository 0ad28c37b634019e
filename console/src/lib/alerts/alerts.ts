import type { Schema } from '$lib/api/client';

export const TABS = ['all', 'under_way', 'waiting', 'scheduled', 'drafts', 'past'] as const;
export type Tab = (typeof TABS)[number];

/** States of the alerts of a tab, as the API takes them; all where there is none. */
const STATES_OF: Partial<Record<Tab, string>> = {
	under_way: 'accepted,solving,running,paused',
	waiting: 'awaiting_approval',
	past: 'done,cancelled,expired'
};

/** What the address of a list says. */
export interface ListQuery {
	tab: Tab;
	q: string;
	/** A day, as in `2026-11-26`. */
	from: string;
	cursor: string;
}

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;

export function listQuery(search: URLSearchParams): ListQuery {
	const tab = search.get('state') as Tab;
	const from = search.get('from') ?? '';
	return {
		tab: TABS.includes(tab) ? tab : 'all',
		q: search.get('q')?.trim() ?? '',
		from: DAY.test(from) ? from : '',
		cursor: search.get('cursor') ?? ''
	};
}

/** The address of a list; what is the usual is not in it. */
export function listPath({ tab, q, from, cursor }: Partial<ListQuery>): string {
	const search = new URLSearchParams();
	if (tab && tab !== 'all') search.set('state', tab);
	if (q) search.set('q', q);
	if (from) search.set('from', from);
	if (cursor) search.set('cursor', cursor);
	const query = search.toString();
	return query ? `/alerts?${query}` : '/alerts';
}

/** The query of `GET /api/v1/alerts`. */
export function apiQuery(query: ListQuery, zone: string): { state?: string; q?: string; from?: string; cursor?: string } {
	return {
		state: STATES_OF[query.tab],
		q: query.q || undefined,
		from: query.from ? startOfDay(query.from, zone) : undefined,
		cursor: query.cursor || undefined
	};
}

/** How far a zone is ahead of UTC at a moment, in ms. */
function ahead(at: number, zone: string): number {
	const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', dateStyle: 'short', timeStyle: 'medium' });
	const [date = '', time = ''] = format.format(at).split(', ');
	const [day = '', month = '', year = ''] = date.split('/');
	return Date.parse(`${year}-${month}-${day}T${time}Z`) - Math.floor(at / 1_000) * 1_000;
}

/** When a day begins in a zone. */
export function startOfDay(day: string, zone: string): string {
	const midnight = Date.parse(`${day}T00:00:00Z`);
	// Twice: the first guess may lie on the other side of a change of the clock.
	const guess = midnight - ahead(midnight, zone);
	return new Date(midnight - ahead(guess, zone)).toISOString();
}

type Line = Schema<'AlertSummary'>;

/** A list that was fetched again: rows stay where they are, and what is new is counted, not put between them. */
export function renewed(shown: Line[], fetched: Line[]): { lines: Line[]; more: number } {
	const newest = new Map(fetched.map((line) => [line.id, line]));
	const known = new Set(shown.map(({ id }) => id));
	return {
		lines: shown.map((line) => newest.get(line.id) ?? line),
		more: fetched.filter(({ id }) => !known.has(id)).length
	};
}
