import { api, ask } from '$lib/api/client';
import { asProblem } from '$lib/api/problem';
import { reportOf } from '$lib/alert/report';
import type { PageLoad } from './$types';

const PAGE = 100;

/** Answers of the choice that the address names. */
export const load: PageLoad = async ({ params, url, parent, depends }) => {
	depends('campanile:alert-answers');
	const { alert } = await parent();
	if (!alert) return { list: null, failed: null };
	const choice = url.searchParams.get('choice');
	const cursor = url.searchParams.get('cursor');
	const path = { id: params.id };
	const query = { limit: PAGE, ...(choice ? { choice } : {}), ...(cursor ? { cursor } : {}) };
	try {
		const [report, answers] = await Promise.all([
			reportOf(params.id),
			ask(api.GET('/api/v1/alerts/{id}/answers', { params: { path, query } }))
		]);
		return { list: { choice, cursor, report, answers }, failed: null };
	} catch (error) {
		return { list: null, failed: asProblem(error) };
	}
};
