import { expect, test } from 'vitest';
import type { Schema } from '$lib/api/client';
import { courseOf, explains } from './course';

const start = '2026-11-26T02:12:02Z';
const kept = { at: start, people: 1000, curve: [[0, 0], [100, 500], [190, 950], [200, 1000]] };

function story(fact: { people: number; seconds: number; curve: number[][] }): Schema<'AlertForecast'> {
	return { start, causes: [], forecast: kept, fact: { confirmed: 0, p50: null, p95: null, p99: null, routes: {}, ...fact } } as unknown as Schema<'AlertForecast'>;
}

const at = (seconds: number) => Date.parse(start) + 1_000 * seconds;

test('an alert is so many points behind its forecast at this moment', () => {
	const course = courseOf(story({ people: 380, seconds: 90, curve: [[0, 0], [90, 380]] }), 400, at(100), false);
	expect(course).toMatchObject({ now: 100, people: 400, total: 1000, ahead: -10 });
	expect(course.fact.at(-1)).toEqual([100, 400]);
});

test('who is behind now is expected to be as late at the end', () => {
	const { most } = courseOf(story({ people: 380, seconds: 90, curve: [[0, 0], [90, 380]] }), 400, at(100), false);
	expect(most).toEqual({ seconds: 210, isPast: false });
});

test('what is over ends at its last event, with the moment when 95 of 100 had it', () => {
	const course = courseOf(story({ people: 1000, seconds: 240, curve: [[0, 0], [120, 500], [228, 950], [240, 1000]] }), 0, at(9_000), true);
	expect(course).toMatchObject({ now: 240, people: 1000, ahead: 0, most: { seconds: 228, isPast: true } });
});

test('without a forecast nothing is ahead or behind', () => {
	const bare = { ...story({ people: 3, seconds: 2, curve: [[0, 0], [2, 3]] }), forecast: null };
	expect(courseOf(bare, 3, at(2), false)).toMatchObject({ ahead: null, total: 3, plan: [] });
});

test('a route that is faster than reckoned is no reason to be late', () => {
	expect(explains('route_faster', 3)).toBe(false);
	expect(explains('route_faster', 0)).toBe(false);
	expect(explains('route_faster', -3)).toBe(true);
	expect(explains('route_slower', 3)).toBe(true);
});
