import { expect, test } from 'vitest';
import { outcome } from './words';

test('a message that its carrier has may still fail', () => {
	expect(outcome({ state: 'accepted', is_final: false })).toBe('open');
	expect(outcome({ state: 'accepted', is_final: true })).toBe('good');
	expect([outcome({ state: 'undeliverable', is_final: true }), outcome({ state: 'unknown', is_final: true }), outcome({ state: 'enroute', is_final: false })]).toEqual(['bad', 'open', 'open']);
});
