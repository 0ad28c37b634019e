import { expect, test } from 'vitest';
import { readKept, TOUR } from './tour.svelte';

test('the tour has five steps and begins with the first', () => {
	expect(TOUR).toHaveLength(5);
	expect(readKept(null)).toEqual({ at: 0, isEnded: false });
});

test('the tour goes on where this tab was, and begins again where that is no step', () => {
	expect(readKept('{"at":3,"isEnded":false}')).toEqual({ at: 3, isEnded: false });
	expect(readKept('{"at":9,"isEnded":true}')).toEqual({ at: 0, isEnded: true });
	expect(readKept('no JSON')).toEqual({ at: 0, isEnded: false });
});
