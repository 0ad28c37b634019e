import type { Schema } from '$lib/api/client';
import type { Group } from './groups';
import { fits } from './rule';

/** That a person is in a group, and what makes them a member. */
export interface Membership {
	group: Group;
	by: 'person' | 'group' | 'rule' | 'nested';
	/** The group in it that has the person. */
	through: Group | null;
}

/** All groups that a person is in, each with the nearest reason. */
export function memberships(person: Schema<'Recipient'>, groups: Group[]): Membership[] {
	const found = new Map<string, Membership>();
	for (const group of groups) {
		const by = person.groups.includes(group.id) ? 'person' : group.members.includes(person.id) ? 'group' : group.rule && fits(group.rule, person) ? 'rule' : null;
		if (by) found.set(group.id, { group, by, through: null });
	}
	for (let size = -1; size !== found.size; ) {
		size = found.size;
		for (const group of groups) {
			const below = found.has(group.id) ? undefined : group.groups.find((id) => found.has(id));
			if (below !== undefined) found.set(group.id, { group, by: 'nested', through: found.get(below)?.group ?? null });
		}
	}
	return [...found.values()];
}
