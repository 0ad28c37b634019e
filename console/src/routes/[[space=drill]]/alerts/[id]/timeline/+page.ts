import { api, ask } from '$lib/api/client';
import { asProblem } from '$lib/api/problem';
import type { PageLoad } from './$types';

export const load: PageLoad = async ({ params, parent, depends }) => {
	depends('campanile:alert-timeline');
	const { alert } = await parent();
	if (!alert) return { entries: null, failed: null };
	try {
		const { items } = await ask(api.GET('/api/v1/alerts/{id}/timeline', { params: { path: { id: params.id } } }));
		return { entries: items, failed: null };
	} catch (error) {
		return { entries: null, failed: asProblem(error) };
	}
};
