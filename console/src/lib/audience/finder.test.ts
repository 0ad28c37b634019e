import { expect, test } from 'vitest';
import { fits } from './finder';

test('a name is found by parts of it, in any order, with or without accents', () => {
	expect(fits('Räddningstjänsten Öst', 'ost radd')).toBe(true);
	expect(fits('Harbour staff', 'staff harb')).toBe(true);
	expect(fits('Harbour staff', '')).toBe(true);
	expect(fits('Harbour staff', 'hospital')).toBe(false);
});
