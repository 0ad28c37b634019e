import { expect, test } from 'vitest';
import { minorOf } from './amount';

test('amounts are read in hundredths', () => {
	expect(['12', '12.5', '12,05', ' 1 000,50 '].map(minorOf)).toEqual([1_200, 1_250, 1_205, 100_050]);
});

test('what could be meant in two ways is not taken', () => {
	expect(['', '-5', '1.234', '1,000.00', 'five', '99999999999999999999'].map(minorOf)).toEqual([null, null, null, null, null, null]);
});
