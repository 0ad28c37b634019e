import { asProblem } from '$lib/api/problem';
import { reportOf, storyOf } from '$lib/alert/report';
import type { PageLoad } from './$types';

/** All of the report at once: paper does not wait. */
export const load: PageLoad = async ({ params, parent, depends }) => {
	depends('campanile:alert-report');
	const { alert } = await parent();
	if (!alert) return { given: null, failed: null };
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
