import { asProblem } from '$lib/api/problem';
import { reportOf, storyOf } from '$lib/alert/report';
import type { PageLoad } from './$types';

/** What the page shows at once; the stream goes on from there. */
export const load: PageLoad = async ({ params, parent }) => {
	const { alert } = await parent();
	if (!alert || alert.state === 'awaiting_approval') return { given: null, failed: null };
	try {
		const [report, [story, timeline]] = await Promise.all([
			reportOf(params.id),
			storyOf(params.id)
		]);
		return { given: { report, story, timeline }, failed: null };
	} catch (error) {
		return { given: null, failed: asProblem(error) };
	}
};
