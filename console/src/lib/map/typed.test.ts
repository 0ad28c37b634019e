import { expect, test } from 'vitest';
import { readCorners, readKm, readPlace } from './typed';

test.each([
	['59.33, 18.06', [59.33, 18.06]],
	['59.33 18.06', [59.33, 18.06]],
	['59,33 18,06', [59.33, 18.06]],
	['59,33; 18,06', [59.33, 18.06]],
	['-33.9,-70.6', [-33.9, -70.6]],
	['59, 18', [59, 18]],
	['N 59.33 E 18.06', [59.33, 18.06]],
	['33.9 S, 70.6 W', [-33.9, -70.6]],
	['59° 30′ N 18° 15′ E', [59.5, 18.25]],
	['33°30\'0"S 70°30\'0"W', [-33.5, -70.5]]
])('%s is a place', (text, place) => expect(readPlace(text)).toEqual(place));

test.each(['', '59.33', 'Harbour', '91, 18', '59.33, 181', '59.33, 18.06, 3'])('%s is no place', (text) => {
	expect(readPlace(text)).toBeNull();
});

test('corners are read a line each, and the first that is none is named', () => {
	expect(readCorners('59, 18\n\n59, 19\n60, 19')).toEqual({ ring: [[59, 18], [59, 19], [60, 19]], wrong: null });
	expect(readCorners('59, 18\nhere').wrong).toBe(2);
});

test('a radius has kilometres or metres', () => {
	expect([readKm('1.5'), readKm('1,5 km'), readKm('800 m'), readKm('0'), readKm('wide')]).toEqual([1.5, 1.5, 0.8, null, null]);
});
