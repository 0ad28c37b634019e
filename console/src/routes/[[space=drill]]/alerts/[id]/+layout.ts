import { api, ask, type Schema } from '$lib/api/client';
import { ApiProblem, asProblem } from '$lib/api/problem';
import { words } from '$lib/words/index.svelte';
import type { LayoutLoad } from './$types';

/** The alert of all pages below its address, fetched again by `invalidate(ALERT)`. */
export const load: LayoutLoad = async ({ params, depends, parent }): Promise<{ alert: Schema<'Alert'> | null; problem: ApiProblem | null }> => {
	depends('campanile:alert');
	await parent();
	await words.load('alert', 'people_of_alert', 'reasons', 'timeline', 'report', 'curve');
	try {
		return { alert: await ask(api.GET('/api/v1/alerts/{id}', { params: { path: { id: params.id } } })), problem: null };
	} catch (error) {
		return { alert: null, problem: asProblem(error) };
	}
};
