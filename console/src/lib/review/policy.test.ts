import type { Schema } from '$lib/api/client';
import { expect, test } from 'vitest';
import { needOf, rulesOf } from './policy';

const config = (...rules: Record<string, string>[]) =>
	({
		file: null,
		sections: rules.map((keys, at) => ({
			path: `approval[${at}]`,
			line: null,
			keys: Object.entries(keys).map(([name, value]) => ({ name, value, is_set: true, is_secret: false, line: null, environment: null }))
		}))
	}) as Schema<'ShownConfig'>;
const sent = { mode: 'live', priority: 'emergency', people: 5_000, follows: false };

test('without rules nobody is asked', () => expect(needOf([], sent)).toEqual({ needs: 'nobody', isTyped: false }));

test('of all rules that hold the strictest counts', () => {
	const rules = rulesOf(config({ mode: '"live"', needs: '"one"', limit: '1_000' }, { priority: '["emergency"]', needs: '"two"' }, { mode: '"drill"', needs: '"two"' }));
	expect(needOf(rules, sent)).toEqual({ needs: 'two', isTyped: true });
	expect(needOf(rules, { ...sent, priority: 'routine', people: 9 })).toEqual({ needs: 'one', isTyped: false });
});

test('a rule for more people than there are does not hold', () => {
	const rules = rulesOf(config({ people_over: '10000', needs: '"one"' }));
	expect(needOf(rules, sent).needs).toBe('nobody');
});

test('rules about audiences and about what follows are the server’s to decide', () => {
	expect(needOf(rulesOf(config({ audience: '["group:hospital"]', needs: '"one"' })), sent).needs).toBe('perhaps');
	expect(needOf(rulesOf(config({ needs: '"one"' })), { ...sent, follows: true }).needs).toBe('perhaps');
	expect(needOf(rulesOf(config({ origin: '["api"]', needs: '"one"' }, { applies_to: '["stop"]', needs: '"one"' })), sent).needs).toBe('nobody');
});
