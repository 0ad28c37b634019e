import type { Schema } from '$lib/api/client';

export type User = Schema<'User'>;
type Role = Schema<'UserRole'>;
type Space = Schema<'Space'>;

export const ROLES: Role[] = ['viewer', 'author', 'operator', 'approver', 'directory', 'accounts', 'administrator'];

/** What the form of a user has. */
export interface UserForm {
	name: string;
	full_name: string;
	mail: string;
	person: string;
	roles: Role[];
	spaces: Space[];
	/** Null: no limit. */
	groups: string[] | null;
	areas: string[] | null;
}

/** A new user begins in drill space alone. */
export const BLANK: UserForm = { name: '', full_name: '', mail: '', person: '', roles: [], spaces: ['drill'], groups: null, areas: null };

export function formOf(user: User): UserForm {
	return {
		name: user.name,
		full_name: user.full_name,
		mail: user.mail ?? '',
		person: user.person ?? '',
		roles: [...user.roles],
		spaces: [...user.spaces],
		groups: user.groups && [...user.groups],
		areas: user.areas && [...user.areas]
	};
}

/** The body of a new user; of a change it has what is different alone. */
export function bodyOf(form: UserForm): Schema<'NewUser'> {
	const { name, full_name, mail, person, ...others } = form;
	return { ...others, name: name.trim(), full_name: full_name.trim(), mail: mail.trim() || null, person: person.trim() || null };
}

export function changeOf(form: UserForm, user: User): Schema<'UserBody'> {
	const before: Record<string, unknown> = { ...bodyOf(formOf(user)) };
	const changed = Object.entries(bodyOf(form)).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key]));
	return Object.fromEntries(changed) as Schema<'UserBody'>;
}
