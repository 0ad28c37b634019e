import { api, ask } from '$lib/api/client';
import { asProblem } from '$lib/api/problem';
import { filterOf, helpOf, peopleOf } from '$lib/alert/people';
import { reportOf } from '$lib/alert/report';
import type { PageLoad } from './$types';

const PAGE = 100;

/** The list that the address names: people, or calls for help; and *why* of one person. */
export const load: PageLoad = async ({ params, url, parent, depends }) => {
	depends('campanile:alert-people');
	const { alert } = await parent();
	if (!alert) return { list: null, failed: null };
	const filter = filterOf(url.searchParams);
	const help = url.searchParams.get('help');
	const who = url.searchParams.get('who');
	const id = params.id;
	try {
		const [report, people, cases, why] = await Promise.all([
			reportOf(params.id),
			help ? null : peopleOf(id, filter, PAGE),
			help ? helpOf(id, help === 'all' ? 'all' : 'open', filter.cursor) : null,
			who ? ask(api.GET('/api/v1/alerts/{id}/why/{recipient}', { params: { path: { id, recipient: who } } })) : null
		]);
		return { list: { filter, help, who, report, people, cases, why }, failed: null };
	} catch (error) {
		return { list: null, failed: asProblem(error) };
	}
};
