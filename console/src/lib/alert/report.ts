import { api, ask, type Schema } from '$lib/api/client';

export type Report = Schema<'Report'>;

/** The report of an alert: of its forms the one for pages. */
export async function reportOf(id: string): Promise<Report> {
	const report = await ask(api.GET('/api/v1/alerts/{id}/report', { params: { path: { id } }, headers: { Accept: 'application/json' } }));
	return report as Report;
}

/** Forecast beside fact, and what happened. */
export async function storyOf(id: string): Promise<[Schema<'AlertForecast'>, Schema<'TimelineEntry'>[]]> {
	const params = { path: { id } };
	const [story, timeline] = await Promise.all([
		ask(api.GET('/api/v1/alerts/{id}/forecast', { params })),
		ask(api.GET('/api/v1/alerts/{id}/timeline', { params }))
	]);
	return [story, timeline.items];
}
