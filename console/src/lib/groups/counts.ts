import { api, ask } from '$lib/api/client';

/** So many groups are counted in one request; each of them is an entry of an audience. */
const COUNTED_AT_ONCE = 50;

/** How many people are in each of these groups, nested ones and rules too. */
export async function peopleOf(ids: string[]): Promise<Record<string, number>> {
	const counts: Record<string, number> = {};
	for (let from = 0; from < ids.length; from += COUNTED_AT_ONCE) {
		const audience = ids.slice(from, from + COUNTED_AT_ONCE).map((id) => `group:${id}`);
		const { entries } = await ask(api.POST('/api/v1/audience:count', { body: { audience } }));
		for (const { entry, people } of entries) counts[entry.slice('group:'.length)] = people;
	}
	return counts;
}
