import { expect, test } from 'vitest';
import { tomlTexts, tomlValue } from './toml';

test('values of a line are read', () => {
	expect(tomlValue('"live"')).toBe('live');
	expect(tomlValue("'with \"quotes\"'")).toBe('with "quotes"');
	expect(tomlValue('1000')).toBe(1_000);
	expect(tomlValue('["emergency", "urgent",]')).toEqual(['emergency', 'urgent']);
	expect(tomlValue('{balance = 5}')).toBe('{balance = 5}');
});

test('what is not set is an empty list', () => {
	expect(tomlTexts(null)).toEqual([]);
	expect(tomlTexts('"one"')).toEqual(['one']);
	expect(tomlTexts('["schedule", "hook"]')).toEqual(['schedule', 'hook']);
});
