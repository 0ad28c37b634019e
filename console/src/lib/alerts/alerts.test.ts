import { expect, test } from 'vitest';
import type { Schema } from '$lib/api/client';
import { apiQuery, listPath, listQuery, renewed, startOfDay } from './alerts';

test('an address and what it says of a list are the same', () => {
	const path = '/alerts?state=past&q=harbour&from=2026-11-26&cursor=Mg';
	expect(listPath(listQuery(new URLSearchParams(path.split('?')[1])))).toBe(path);
	expect(listPath(listQuery(new URLSearchParams('state=nonsense&from=yesterday')))).toBe('/alerts');
});

test('a day begins at midnight of its zone, also when the clock changes on it', () => {
	expect(startOfDay('2026-11-26', 'Europe/Stockholm')).toBe('2026-11-25T23:00:00.000Z');
	expect(startOfDay('2026-03-29', 'Europe/Stockholm')).toBe('2026-03-28T23:00:00.000Z');
	expect(startOfDay('2026-10-26', 'Europe/Stockholm')).toBe('2026-10-25T23:00:00.000Z');
	expect(startOfDay('2026-07-01', 'America/New_York')).toBe('2026-07-01T04:00:00.000Z');
	expect(startOfDay('2026-07-01', 'UTC')).toBe('2026-07-01T00:00:00.000Z');
});

test('a tab asks for the states that belong to it', () => {
	const query = listQuery(new URLSearchParams('state=under_way'));
	expect(apiQuery(query, 'UTC')).toEqual({ state: 'accepted,solving,running,paused', q: undefined, from: undefined, cursor: undefined });
});

test('rows of a list that is fetched again stay in their places, and new ones are counted', () => {
	const line = (id: string, state: string) => ({ id, state }) as Schema<'AlertSummary'>;
	const shown = [line('b', 'running'), line('a', 'running')];
	const { lines, more } = renewed(shown, [line('c', 'running'), line('b', 'done')]);
	expect(lines).toEqual([line('b', 'done'), line('a', 'running')]);
	expect(more).toBe(1);
});
