import { expect, test } from 'vitest';
import { areaWith, closed, corners, featureOf, km2, shapesOf, shapesOfArea, type Shape } from './shapes';

const square: Shape = { kind: 'polygon', rings: [[[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]]] };
const round: Shape = { kind: 'circle', at: [59.33, 18.06], km: 1.5 };

test('the area of an alert becomes shapes and comes back the same', () => {
	const area = { description: 'Harbour', circles: [[59.33, 18.06, 1.5]], polygons: [[[0, 0], [0, 1], [1, 1], [1, 0], [0, 0]]] };
	expect(areaWith({ description: 'Harbour' }, shapesOfArea(area))).toEqual(area);
});

test('an area without shapes is none, unless it has codes', () => {
	expect(areaWith({ description: 'Harbour', circles: [[1, 2, 3]] }, [])).toBeNull();
	expect(areaWith({ geocodes: ['0180'] }, [])).toEqual({ geocodes: ['0180'] });
});

test('rings are closed once', () => {
	expect(closed([[0, 0], [0, 1], [1, 1]])).toHaveLength(4);
	expect(closed([[0, 0], [0, 1], [0, 0]])).toHaveLength(3);
	expect(corners([[0, 0], [0, 1], [1, 1]])).toBe(3);
});

test('named areas are GeoJSON, longitude first', () => {
	const feature = featureOf('Harbour', [round]);
	expect(feature).toMatchObject({ geometry: { type: 'Point', coordinates: [18.06, 59.33] }, properties: { name: 'Harbour', radius: 1500 } });
	expect(shapesOf(feature as never)).toEqual([round]);
	expect(shapesOf(featureOf('Square', [square]) as never)).toEqual([square]);
	expect(featureOf('Two', [square, square])).toMatchObject({ geometry: { type: 'MultiPolygon' } });
	expect(featureOf('None', [])).toBeNull();
});

test('sizes are those of a round earth', () => {
	expect(km2(square)).toBeGreaterThan(12_200);
	expect(km2(square)).toBeLessThan(12_400);
	expect(km2(round)).toBeCloseTo(7.07, 2);
});
