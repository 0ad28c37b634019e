import { expect, test } from 'vitest';
import { path, placed, roundUp } from './curve';

test('an axis ends at a round number that holds the most', () => {
	expect([0, 0.3, 1, 7, 12, 23.7, 120, 999].map(roundUp)).toEqual([1, 1, 1, 10, 20, 25, 200, 1_000]);
});

test('points lie by their time, and old ones are left out', () => {
	const now = Date.parse('2026-11-28T03:15:00Z');
	const frame = { left: 0, right: 900, top: 0, bottom: 100 };
	const point = (at: string, sent_per_s: number) => ({ at, sent_per_s, refused: 0, waiting: null });
	const found = placed([point('2026-11-28T02:59:50Z', 5), point('2026-11-28T03:00:00Z', 5), point('2026-11-28T03:10:00Z', 40)], now, 10, frame);
	expect(found.map(({ x, y }) => [x, y])).toEqual([[0, 50], [600, 0]]);
	expect(path(found)).toBe('M0.0 50.0L600.0 0.0');
});
