import { api, type Schema } from '$lib/api/client';

/** Something that an audience may name. */
export interface Found {
	entry: string;
	kind: 'all' | 'group' | 'area' | 'person';
	name: string;
	/** What tells it from others of the same name. */
	more?: string;
}

/** Of each kind that many are offered: who wants others types more of the name. */
const OFFERED = 8;
const PEOPLE = 20;
const PAGE = 100;
/** Groups and areas that are looked through; a server has thousands at most. */
const LOOKED_THROUGH = 2_000;

/** Whether a name has these words, in any order and however they are accented. */
export function fits(name: string, query: string): boolean {
	const plain = (text: string) => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
	const there = plain(name);
	return plain(query).split(/\s+/).every((word) => there.includes(word));
}

/** Groups and areas, read once a page: they are few. People are asked for by what is typed. */
export class Finder {
	#groups: Promise<Found[]> | null = null;
	#areas: Promise<Found[]> | null = null;

	async find(query: string, everybody: string): Promise<Found[]> {
		const wanted = query.trim();
		const [groups, areas, people] = await Promise.all([(this.#groups ??= groupsOf()), (this.#areas ??= areasOf()), wanted ? peopleOf(wanted) : []]);
		const named = (found: Found[]) => found.filter(({ name, entry }) => fits(`${name} ${entry}`, wanted)).slice(0, OFFERED);
		const all: Found[] = fits(everybody, wanted) ? [{ entry: 'all', kind: 'all', name: everybody }] : [];
		return [...named(groups), ...named(areas), ...people, ...all];
	}
}

async function groupsOf(): Promise<Found[]> {
	const found: Found[] = [];
	let cursor: string | undefined;
	do {
		const { data } = await api.GET('/api/v1/groups', { params: { query: { cursor, limit: PAGE } } });
		for (const { id, name } of data?.items ?? []) found.push({ entry: `group:${id}`, kind: 'group', name: name || id, more: name && name !== id ? id : undefined });
		cursor = data?.next ?? undefined;
	} while (cursor && found.length < LOOKED_THROUGH);
	return found;
}

async function areasOf(): Promise<Found[]> {
	return (await allAreas()).map(({ id, properties }) => {
		const name = String(properties.name ?? id);
		return { entry: `area:${id}`, kind: 'area', name, more: name === id ? undefined : id };
	});
}

async function peopleOf(query: string): Promise<Found[]> {
	const { data } = await api.GET('/api/v1/recipients', { params: { query: { q: query, limit: PEOPLE } } });
	return (data?.items ?? []).map(({ id, name, groups }) => ({ entry: `recipient:${id}`, kind: 'person', name: name || id, more: groups.slice(0, 2).join(', ') || id }));
}

/** All named areas. */
export async function allAreas(): Promise<Schema<'AreaFeature'>[]> {
	const found: Schema<'AreaFeature'>[] = [];
	let cursor: string | undefined;
	do {
		const { data } = await api.GET('/api/v1/areas', { params: { query: { cursor, limit: PAGE } } });
		const page = data as unknown as Schema<'AreaList'> | undefined;
		found.push(...(page?.items ?? []));
		cursor = page?.next ?? undefined;
	} while (cursor && found.length < LOOKED_THROUGH);
	return found;
}
