import { expect, test } from 'vitest';
import { withWords } from './all';

const template = (name: string, description: string, categories: string[]) => ({ id: name, name, description, categories, changed: '2026-11-28T03:00:00Z', changed_by: { id: 'user:u', name: 'Jonas Ek' }, has_all_clear: false, version: 1 });

test('a template is found by words of its name, its description and its categories, in any order', () => {
	const templates = [template('Gas leak', 'For the old harbour', ['gas']), template('Fire in a building', '', ['fire'])];
	expect(withWords(templates, 'HARBOUR gas').map(({ name }) => name)).toEqual(['Gas leak']);
	expect(withWords(templates, ' ').length).toBe(2);
	expect(withWords(templates, 'harbour fire')).toEqual([]);
});
