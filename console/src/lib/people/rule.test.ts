import { expect, test } from 'vitest';
import type { Schema } from '$lib/api/client';
import { blockOf, emptyCondition, fits, ruleOf } from './rule';

type Rule = Schema<'Rule'>;
const rules: Rule[] = [
	{ attribute: 'age', at_least: 67 },
	{ not: { attribute: 'site', in: ['north', 'south'] } },
	{ all: [{ attribute: 'site', is: 'north' }, { any: [{ attribute: 'role', is: 'nurse' }, { attribute: 'role', starts_with: 'doc' }] }] },
	{ not: { any: [{ attribute: 'a', exists: true }, { attribute: 'b', at_most: 3 }] } },
	{ not: { all: [{ attribute: 'a', exists: false }, { not: { attribute: 'b', is: 'x' } }] } },
	{ not: { attribute: 'floor', at_least: 3 } }
];

test.each(rules)('the form keeps a rule as it is: %j', (rule) => {
	expect(ruleOf(blockOf(rule))).toEqual(rule);
});

test('values that have commas themselves become a condition each', () => {
	const rule: Rule = { not: { attribute: 'office', in: ['Lund, east', 'Ystad'] } };
	expect(ruleOf(blockOf(rule))).toEqual({ not: { any: [{ attribute: 'office', is: 'Lund, east' }, { attribute: 'office', is: 'Ystad' }] } });
});

test('a condition that is not written to its end is no rule yet', () => {
	expect(ruleOf(blockOf(null))).toBeNull();
	expect(ruleOf({ ...emptyCondition(), attribute: 'age', way: 'at_least', value: 'old' })).toBeNull();
	expect(ruleOf({ ...emptyCondition(), attribute: 'site', way: 'in', value: ' , ' })).toBeNull();
	expect(ruleOf({ kind: 'block', of: 'any', parts: [] })).toBeNull();
	expect(ruleOf({ ...emptyCondition(), attribute: 'site', way: 'exists', value: '' })).toEqual({ attribute: 'site', exists: true });
});

test('a rule fits whom the server says it fits', () => {
	const ann = { id: 'ext-7', language: 'sv', attributes: { floor: '3', area: '2.5', role: 'nurse' } };
	const cases: [Rule, boolean][] = [
		[{ attribute: 'role', is: 'nurse' }, true],
		[{ attribute: 'role', in: ['doctor'] }, false],
		[{ attribute: 'id', starts_with: 'ext-' }, true],
		[{ attribute: 'floor', at_least: 3 }, true],
		[{ attribute: 'area', at_most: 2 }, false],
		[{ attribute: 'role', at_least: 0 }, false],
		[{ attribute: 'name', exists: false }, true],
		[{ not: { attribute: 'ward', is: '1' } }, true],
		[{ all: [{ attribute: 'language', is: 'sv' }, { attribute: 'ward', exists: true }] }, false]
	];
	for (const [rule, isFit] of cases) expect([rule, fits(rule, ann)]).toEqual([rule, isFit]);
});
