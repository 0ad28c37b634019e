import { api, ask, type Schema } from '$lib/api/client';
import type { Space } from '$lib/space.svelte';
import { isOver } from '$lib/states';
import { asParameter, type Target } from './drills';

const NEWEST = 100;
/** So many drills are listed with their verdicts. */
const LISTED = 10;

/** Drills that were held, and their verdicts. Drills belong to drill space, also where live space looks at them. */
export class DrillsData {
	/** Newest first, those that are over. */
	drills: Schema<'AlertSummary'>[] = $state.raw([]);
	/** Drills and alerts that can be replayed, with the space of each. */
	past: { alert: Schema<'AlertSummary'>; space: Space }[] = $state.raw([]);
	verdicts: Record<string, Schema<'AlertVerdict'> | null> = $state.raw({});
	reports: Record<string, Schema<'Report'>> = $state.raw({});
	isKnown = $state(false);
	problem: unknown = $state.raw(null);

	get listed(): Schema<'AlertSummary'>[] {
		return this.drills.slice(0, LISTED);
	}

	async load(hasLive: boolean): Promise<void> {
		this.problem = null;
		try {
			const [drills, alerts] = await Promise.all([pastOf('drill'), hasLive ? pastOf('live') : []]);
			this.drills = drills;
			this.past = [...drills.map((alert) => ({ alert, space: 'drill' as const })), ...alerts.map((alert) => ({ alert, space: 'live' as const }))];
		} catch (error) {
			this.problem = error;
		}
		this.isKnown = true;
	}

	/** The verdicts of these drills, for a target. */
	async judge(ids: string[], target: Target): Promise<void> {
		this.verdicts = {};
		for (const id of ids) {
			const params = { path: { id }, query: { target: asParameter(target) }, header: IN_DRILL };
			const verdict = await ask(api.GET('/api/v1/alerts/{id}/verdict', { params })).catch(() => null);
			this.verdicts = { ...this.verdicts, [id]: verdict };
		}
	}

	async report(id: string): Promise<void> {
		if (this.reports[id]) return;
		const report = await ask(api.GET('/api/v1/alerts/{id}/report', { params: { path: { id }, header: IN_DRILL } })).catch(() => null);
		if (report) this.reports = { ...this.reports, [id]: report as Schema<'Report'> };
	}
}

const IN_DRILL = { 'X-Campanile-Space': 'drill' } as const;

async function pastOf(space: Space): Promise<Schema<'AlertSummary'>[]> {
	const page = await ask(api.GET('/api/v1/alerts', { params: { query: { limit: NEWEST }, header: { 'X-Campanile-Space': space } } }));
	return page.items.filter(({ state, mode }) => isOver(state) && mode === space);
}

/** A past alert over the people and limits of now, in simulated time. Nothing is sent. */
export function replay(alert: string, space: Space, target: Target, without: string[]): Promise<Schema<'Replayed'>> {
	return ask(
		api.POST('/api/v1/drills:replay', {
			params: { header: { 'X-Campanile-Space': space } },
			body: { alert, target: asParameter(target), without }
		})
	);
}
