import { expect, test } from 'vitest';
import type { Group } from './groups';
import { memberships } from './memberships';

const group = (id: string, more: Partial<Group> = {}): Group => ({ id, name: id, members: [], groups: [], rule: null, join: 'closed', ...more });

test('a person is in groups by themselves, by a list, by a rule, and through groups in groups', () => {
	const groups = [
		group('all', { groups: ['town'] }),
		group('town', { groups: ['ward'] }),
		group('ward'),
		group('crew', { members: ['7'] }),
		group('old', { rule: { attribute: 'age', at_least: 67 } }),
		group('other', { groups: ['nobody'] }),
		group('nobody')
	];
	const person = { id: '7', groups: ['ward'], devices: [], attributes: { age: '70' } };
	const found = memberships(person, groups).map(({ group, by, through }) => [group.id, by, through?.id ?? null]);
	expect(found).toEqual([
		['ward', 'person', null],
		['crew', 'group', null],
		['old', 'rule', null],
		['town', 'nested', 'ward'],
		['all', 'nested', 'town']
	]);
});
