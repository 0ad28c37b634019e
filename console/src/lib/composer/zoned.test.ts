import { expect, test } from 'vitest';
import { fromLocal, secondsOf, toLocal } from './zoned';

test('a wall clock is that of its zone, in winter and in summer', () => {
	expect(fromLocal('2026-11-28T03:15', 'Europe/Stockholm')).toBe('2026-11-28T02:15:00Z');
	expect(fromLocal('2026-07-01T03:15', 'Europe/Stockholm')).toBe('2026-07-01T01:15:00Z');
	expect(toLocal('2026-07-01T22:30:00Z', 'Europe/Stockholm')).toBe('2026-07-02T00:30');
	expect(toLocal('2026-11-28T02:15:00Z', 'America/St_Johns')).toBe('2026-11-27T22:45');
});

test('around a change of clocks a time comes back as it was written', () => {
	for (const local of ['2026-03-29T01:59', '2026-03-29T03:00', '2026-10-25T01:30', '2026-10-25T03:30']) {
		expect(toLocal(fromLocal(local, 'Europe/Stockholm') ?? '', 'Europe/Stockholm')).toBe(local);
	}
});

test('what is no time is none', () => {
	expect(fromLocal('', 'Europe/Stockholm')).toBeNull();
});

test('durations are read as the server writes them', () => {
	expect([secondsOf('90s'), secondsOf('1h30m'), secondsOf('5 min')]).toEqual([90, 5_400, null]);
});
