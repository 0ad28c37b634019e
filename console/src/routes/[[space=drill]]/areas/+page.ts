import type { Schema } from '$lib/api/client';
import { allAreas } from '$lib/audience/finder';
import { words } from '$lib/words/index.svelte';
import type { PageLoad } from './$types';

export const load: PageLoad = async ({ parent, depends }): Promise<{ areas: Schema<'AreaFeature'>[] }> => {
	depends('campanile:areas');
	await parent();
	const [areas] = await Promise.all([allAreas(), words.load('audience', 'map', 'review')]);
	return { areas };
};
