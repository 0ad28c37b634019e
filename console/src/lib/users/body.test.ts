import { expect, test } from 'vitest';
import { BLANK, bodyOf, changeOf, formOf, type User } from './body';

const user: User = {
	id: 'u_1',
	account: 'default',
	active: true,
	state: 'active',
	created: '2026-11-28T03:00:00Z',
	name: 'jonas',
	full_name: 'Jonas Ek',
	mail: null,
	person: 'p1',
	roles: ['author'],
	spaces: ['drill'],
	groups: null,
	areas: null,
	factors: { password: true, totp: false, passkeys: 0, recovery_codes: 0, provider: false }
};

test('a change has what is different alone', () => {
	const form = formOf(user);
	expect(changeOf(form, user)).toEqual({});
	form.spaces = ['drill', 'live'];
	form.person = ' ';
	form.groups = [];
	expect(changeOf(form, user)).toEqual({ spaces: ['drill', 'live'], person: null, groups: [] });
});

test('a new user is in drill space alone', () => {
	expect(bodyOf({ ...BLANK, name: ' mira ', roles: ['approver'] })).toEqual({ name: 'mira', full_name: '', mail: null, person: null, roles: ['approver'], spaces: ['drill'], groups: null, areas: null });
});
