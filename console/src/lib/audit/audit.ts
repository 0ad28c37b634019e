import type { Schema } from '$lib/api/client';
import { startOfDay } from '$lib/alerts/alerts';

export type Act = Schema<'Act'>;

/** What the address of the trail says; days as in `2026-11-26`. */
export interface TrailQuery {
	who: string;
	verb: string;
	object: string;
	from: string;
	until: string;
	cursor: string;
}

const NAMES = ['who', 'verb', 'object', 'from', 'until', 'cursor'] as const;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

export function trailQuery(search: URLSearchParams): TrailQuery {
	const query = Object.fromEntries(NAMES.map((name) => [name, search.get(name)?.trim() ?? ''])) as unknown as TrailQuery;
	for (const name of ['from', 'until'] as const) if (!DAY.test(query[name])) query[name] = '';
	return query;
}

export function trailPath(query: TrailQuery): string {
	const search = new URLSearchParams();
	for (const name of NAMES) if (query[name]) search.set(name, query[name]);
	return search.size > 0 ? `/audit?${search}` : '/audit';
}

export const hasFilters = (query: TrailQuery): boolean => NAMES.some((name) => name !== 'cursor' && query[name] !== '');

/** The query of `GET /api/v1/audit`. */
export function apiQuery(query: TrailQuery, zone: string): { who?: string; verb?: string; object?: string; from?: string; until?: string; cursor?: string } {
	return {
		who: query.who || undefined,
		verb: query.verb || undefined,
		object: query.object || undefined,
		from: query.from ? startOfDay(query.from, zone) : undefined,
		until: query.until ? startOfDay(query.until, zone) : undefined,
		cursor: query.cursor || undefined
	};
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Pages of what an act was done on, by the first word of its verb. */
const PAGES: Record<string, (id: string) => string> = {
	user: (id) => `/settings/users/${id}`,
	recipient: (id) => `/people/${id}`,
	group: (id) => `/groups/${id}`,
	route: (id) => `/routes/${id}`,
	template: (id) => `/templates/${id}`,
	schedule: (id) => `/schedules/${id}`,
	account: (id) => `/accounts/${id}`
};
const OF_ALERTS = ['alert', 'evidence', 'report', 'deliveries', 'people', 'answers', 'answer', 'observer'];

/** The page of what an act was done on, if there is one. */
export function objectPath({ verb, object }: Pick<Act, 'verb' | 'object'>): string | null {
	const kind = verb.split('.')[0] ?? '';
	if (!object || /\.(delete|remove|erase)$/.test(verb)) return null;
	if (OF_ALERTS.includes(kind)) return UUID.test(object) ? `/alerts/${object}` : null;
	return PAGES[kind]?.(encodeURIComponent(object)) ?? null;
}

/** A cell of a table that other programs open: what could be a formula there is text. */
export function cell(text: string): string {
	const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
	return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const COLUMNS = ['seq', 'at', 'token', 'token_name', 'verb', 'object', 'from', 'detail', 'account', 'count', 'failed'] as const;

/** Entries as lines of a table. */
export const asTable = (acts: Act[]): string => acts.map((act) => COLUMNS.map((name) => cell(String(act[name] ?? ''))).join(',') + '\r\n').join('');
export const TABLE_HEAD = COLUMNS.join(',') + '\r\n';
export const asLines = (acts: Act[]): string => acts.map((act) => JSON.stringify(act) + '\n').join('');
