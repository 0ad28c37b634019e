import { expect, test } from 'vitest';
import { wordOf, wrongBefore } from './password';

test('the reasons of the server have words of their own', () => {
	expect(wordOf('the password has 5 characters: use 12 or more; a few words that do not belong together are easy to remember')).toBe('short');
	expect(wordOf('the password is among those guessed first: use a few words that do not belong together')).toBe('common');
	expect(wordOf('the password is little more than your own name or address: add words that do not belong to you')).toBe('name');
	expect(wordOf('something new')).toBeNull();
});

test('only the length is judged before the server is asked', () => {
	expect(wrongBefore('elevensigns')).toBe('short');
	expect(wrongBefore('twelve signs')).toBeNull();
	// Two code units, one character.
	expect(wrongBefore('🦉'.repeat(11))).toBe('short');
});
