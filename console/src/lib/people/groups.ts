import { api, ask, type Schema } from '$lib/api/client';

export type Group = Schema<'Group'>;

const PAGE = 1_000;
/** More groups than this are not listed in a choice. */
const PAGES_MAX = 10;

/** All groups of the account, by name. */
export async function allGroups(): Promise<Group[]> {
	const found: Group[] = [];
	let cursor: string | undefined;
	for (let page = 0; page < PAGES_MAX; page += 1) {
		const { items, next } = await ask(api.GET('/api/v1/groups', { params: { query: { limit: PAGE, cursor } } }));
		found.push(...items);
		if (next === null) break;
		cursor = next;
	}
	return found.sort((a, b) => title(a).localeCompare(title(b)));
}

export const title = ({ id, name }: { id: string; name?: string }): string => name || id;

/** Groups that have one of these groups in them, at any depth, and the groups themselves. */
export function withThoseAbove(groups: Group[], ids: string[]): string[] {
	const found = new Set(ids);
	for (let size = -1; size !== found.size; ) {
		size = found.size;
		for (const group of groups) if (group.groups.some((below) => found.has(below))) found.add(group.id);
	}
	return [...found];
}
