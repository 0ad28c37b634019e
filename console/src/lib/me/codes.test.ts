import { expect, test } from 'vitest';
import { cells, inFours } from './codes';

test('a secret is shown in groups of four', () => {
	expect(inFours('ABCDEFGHIJ')).toBe('ABCD EFGH IJ');
	expect(inFours('')).toBe('');
});

test('dark cells of a row are drawn in one piece', () => {
	expect(cells([[true, true, false, true], [false, false, false, false], [true, false, false, false]])).toBe('M0 0h2v1H0zM3 0h1v1H3zM0 2h1v1H0z');
});
