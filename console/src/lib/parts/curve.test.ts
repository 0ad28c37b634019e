import { expect, test } from 'vitest';
import { axis, furthest, momentOf, valueAt, type CurvePoint } from './curve';

test('an axis ends at its last tick and counts in the unit of its steps', () => {
	expect(axis(291, 5)).toMatchObject({ end: 300, unit: 'min' });
	expect(axis(291, 5).ticks.map(({ value }) => value)).toEqual([0, 1, 2, 3, 4, 5]);
	expect(axis(40, 5)).toMatchObject({ end: 40, unit: 's' });
	expect(axis(7_200, 4)).toMatchObject({ end: 7_200, unit: 'min' });
	expect(axis(40_000, 5)).toMatchObject({ end: 43_200, unit: 'h' });
	expect(axis(0, 5).ticks).toHaveLength(2);
});

test('an axis of weeks has no more steps than there is room for', () => {
	expect(axis(30 * 86_400, 5).ticks.length).toBeLessThanOrEqual(6);
});

const plan: CurvePoint[] = [
	[0, 0],
	[10, 100],
	[20, 150]
];

test('between two points people grow along the line', () => {
	expect(valueAt(plan, 5)).toBe(50);
	expect(valueAt(plan, 15)).toBe(125);
	expect(valueAt(plan, 90)).toBe(150);
	expect(valueAt([], 3)).toBe(0);
});

test('the moment of so many people is found, and is not known where they never come', () => {
	expect(momentOf(plan, 50)).toBe(5);
	expect(momentOf(plan, 150)).toBe(20);
	expect(momentOf(plan, 151)).toBeNull();
});

test('the axis holds what happened and what was planned', () => {
	expect(furthest(plan, [[33, 2]], null)).toBe(33);
	expect(furthest(plan, [], 61)).toBe(61);
	expect(furthest([], [], null)).toBe(15);
});
