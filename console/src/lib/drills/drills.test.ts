import { expect, test } from 'vitest';
import type { Schema } from '$lib/api/client';
import { asParameter, byHarm, line, neededRoutes, targetOf } from './drills';

const verdict = {
	plan: {
		planned: { met: true, people: 100, seconds: 2 },
		raise: [],
		without: [
			{ route: 'a', met: true, people: 100, seconds: 4 },
			{ route: 'b', met: false, people: 100, seconds: 500 },
			{ route: 'c', met: false, people: 60, seconds: null },
			{ route: 'd', met: true, people: 100, seconds: 9 }
		]
	}
} as unknown as Schema<'AlertVerdict'>;

test('routes that the target needs come first, the one without which the fewest are reached at the top', () => {
	expect(neededRoutes(verdict).map(({ route }) => route)).toEqual(['c', 'b']);
	expect(byHarm(verdict).map(({ route }) => route)).toEqual(['c', 'b', 'd', 'a']);
});

test('a target that an address does not name is the usual one', () => {
	expect(asParameter(targetOf(new URLSearchParams('')))).toBe('95%/5m');
	expect(asParameter(targetOf(new URLSearchParams('percent=80&minutes=12')))).toBe('80%/12m');
	expect(asParameter(targetOf(new URLSearchParams('percent=-3&minutes=5000')))).toBe('95%/5m');
});

test('a curve begins at nobody and ends at the last count', () => {
	expect(line([[1, 5], [2, 10]], 2, 10, 100, 50)).toBe('M0 50H50.0V25.0H100.0V0.0H100');
});
