import type { Schema } from '$lib/api/client';
import { t, words } from '$lib/words/index.svelte';

type Rule = Schema<'Rule'>;
type Test = Schema<'AttributeRule'>;

/** How a condition compares; each but the numbers has its opposite. */
export const WAYS = ['is', 'is_not', 'in', 'not_in', 'starts_with', 'not_starts_with', 'at_least', 'at_most', 'exists', 'exists_not'] as const;
export type Way = (typeof WAYS)[number];

/** A condition of the form: `age` `at_least` `67`. */
export interface Condition {
	kind: 'condition';
	attribute: string;
	way: Way;
	value: string;
}

/** Conditions of which all, any, not all or none have to hold. */
export interface Block {
	kind: 'block';
	of: 'all' | 'any' | 'none' | 'not_all';
	parts: (Condition | Block)[];
}

export const emptyCondition = (): Condition => ({ kind: 'condition', attribute: '', way: 'is', value: '' });

/** A rule as the form has it: a block, whatever the rule is. */
export function blockOf(rule: Rule | null): Block {
	if (rule === null) return { kind: 'block', of: 'all', parts: [emptyCondition()] };
	const part = partOf(rule);
	return part.kind === 'block' ? part : { kind: 'block', of: 'all', parts: [part] };
}

function partOf(rule: Rule): Condition | Block {
	if ('all' in rule) return { kind: 'block', of: 'all', parts: rule.all.map(partOf) };
	if ('any' in rule) return { kind: 'block', of: 'any', parts: rule.any.map(partOf) };
	if (!('not' in rule)) return isListable(rule) ? conditionOf(rule) : eachOf(rule, 'any');
	const inner = rule.not;
	if ('all' in inner) return { kind: 'block', of: 'not_all', parts: inner.all.map(partOf) };
	if ('any' in inner) return { kind: 'block', of: 'none', parts: inner.any.map(partOf) };
	if ('not' in inner) return partOf(inner.not);
	if (!isListable(inner)) return eachOf(inner, 'none');
	const condition = conditionOf(inner);
	const opposite = opposites[condition.way];
	return opposite ? { ...condition, way: opposite } : { kind: 'block', of: 'none', parts: [condition] };
}

/** A list of values is written with commas between them: one that has commas becomes a condition for each. */
const isListable = (test: Test): boolean => !test.in?.some((value) => value.includes(',') || value !== value.trim());

const eachOf = ({ attribute, in: values = [] }: Test, of: 'any' | 'none'): Block => ({
	kind: 'block',
	of,
	parts: values.map((value) => ({ kind: 'condition', attribute, way: 'is', value }))
});

const opposites: Partial<Record<Way, Way>> = { is: 'is_not', in: 'not_in', starts_with: 'not_starts_with', exists: 'exists_not', exists_not: 'exists' };

function conditionOf(test: Test): Condition {
	const { attribute } = test;
	const tested = (way: Way, value: string): Condition => ({ kind: 'condition', attribute, way, value });
	if (test.is !== undefined) return tested('is', test.is);
	if (test.in !== undefined) return tested('in', test.in.join(', '));
	if (test.starts_with !== undefined) return tested('starts_with', test.starts_with);
	if (test.at_least !== undefined) return tested('at_least', String(test.at_least));
	if (test.at_most !== undefined) return tested('at_most', String(test.at_most));
	return tested(test.exists === false ? 'exists_not' : 'exists', '');
}

/** Whether a way compares with a value. */
export const hasValue = (way: Way): boolean => way !== 'exists' && way !== 'exists_not';

const isNumber = (text: string): boolean => /^\s*[+-]?\d+\s*$/.test(text);

/** The rule that the form says; null while a condition of it is not written to its end. */
export function ruleOf(part: Condition | Block): Rule | null {
	if (part.kind === 'condition') return ruleOfCondition(part);
	const rules = part.parts.map(ruleOf);
	if (rules.length === 0 || rules.includes(null)) return null;
	const whole = rules as Rule[];
	const only = whole.length === 1 ? whole[0] : undefined;
	if (part.of === 'all') return only ?? { all: whole };
	if (part.of === 'any') return only ?? { any: whole };
	return { not: only ?? (part.of === 'none' ? { any: whole } : { all: whole }) };
}

function ruleOfCondition({ attribute: name, way, value }: Condition): Rule | null {
	const attribute = name.trim();
	if (attribute === '' || (hasValue(way) && value.trim() === '')) return null;
	const values = value.split(',').map((one) => one.trim()).filter((one) => one !== '');
	const isWhole = isNumber(value);
	const rules: Record<Way, () => Rule | null> = {
		is: () => ({ attribute, is: value }),
		is_not: () => ({ not: { attribute, is: value } }),
		in: () => (values.length > 0 ? { attribute, in: values } : null),
		not_in: () => (values.length > 0 ? { not: { attribute, in: values } } : null),
		starts_with: () => ({ attribute, starts_with: value }),
		not_starts_with: () => ({ not: { attribute, starts_with: value } }),
		at_least: () => (isWhole ? { attribute, at_least: Number(value) } : null),
		at_most: () => (isWhole ? { attribute, at_most: Number(value) } : null),
		exists: () => ({ attribute, exists: true }),
		exists_not: () => ({ attribute, exists: false })
	};
	return rules[way]();
}

/** A rule as a sentence: "age is at least 67 and (site is north or site is south)". */
export const sentence = (rule: Rule): string => inWords(blockOf(rule), true);

function inWords(part: Condition | Block, isOutermost = false): string {
	if (part.kind === 'condition') return t(`groups.says_${part.way}`, { attribute: part.attribute, value: part.value });
	const type = part.of === 'all' || part.of === 'not_all' ? 'conjunction' : 'disjunction';
	const list = new Intl.ListFormat(words.language, { type }).format(part.parts.map((each) => inWords(each)));
	const isNegated = part.of === 'none' || part.of === 'not_all';
	const text = isNegated ? t('groups.says_not', { list }) : list;
	return isOutermost || isNegated || part.parts.length === 1 ? text : `(${text})`;
}

type Tested = Pick<Schema<'Recipient'>, 'id' | 'name' | 'language' | 'time_zone' | 'attributes'>;
const OWN = ['id', 'name', 'language', 'time_zone'] as const;

/** Does the rule fit this person? As the server decides it: what is absent fits no test but that it is absent. */
export function fits(rule: Rule, person: Tested): boolean {
	if ('all' in rule) return rule.all.every((each) => fits(each, person));
	if ('any' in rule) return rule.any.some((each) => fits(each, person));
	if ('not' in rule) return !fits(rule.not, person);
	const own = OWN.find((name) => name === rule.attribute);
	const value = own ? person[own] || undefined : person.attributes?.[rule.attribute];
	if (value === undefined) return rule.exists === false;
	if (rule.is !== undefined) return value === rule.is;
	if (rule.in !== undefined) return rule.in.includes(value);
	if (rule.starts_with !== undefined) return value.startsWith(rule.starts_with);
	if (rule.exists !== undefined) return rule.exists;
	const count = value.trim() === '' ? NaN : Number(value);
	return rule.at_least !== undefined ? count >= rule.at_least : count <= (rule.at_most ?? NaN);
}
