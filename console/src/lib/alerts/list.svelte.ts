import { api, ask, type Schema } from '$lib/api/client';
import { atMost, LIST_MS } from '$lib/home/at-most';
import { session } from '$lib/session.svelte';
import { apiQuery, renewed, type ListQuery } from './alerts';

/** A page may hold fewer than it could, or none: so many are asked for before it is shown. */
const LOOKS = 20;
const PAGE = 100;

/** The list of a tab: alerts, drafts or schedules. */
export class AlertList {
	lines: Schema<'AlertSummary'>[] = $state.raw([]);
	drafts: Schema<'DraftSummary'>[] = $state.raw([]);
	schedules: Schema<'ScheduleSummary'>[] = $state.raw([]);
	next: string | null = $state(null);
	/** New alerts that are not shown yet. */
	more = $state(0);
	isKnown = $state(false);
	problem: unknown = $state.raw(null);

	#query: ListQuery | null = null;
	#again = atMost(LIST_MS, () => void this.#renew());

	/** Another list. */
	async show(query: ListQuery): Promise<void> {
		this.#query = query;
		this.isKnown = false;
		this.problem = null;
		this.more = 0;
		try {
			if (query.tab === 'drafts') await this.#fetchDrafts(query);
			else if (query.tab === 'scheduled') await this.#fetchSchedules(query);
			else await this.#fetchAlerts(query);
		} catch (error) {
			if (this.#query === query) this.problem = error;
		}
		if (this.#query === query) this.isKnown = true;
	}

	/** Something of the list has changed. */
	changed(): void {
		if (this.isKnown) this.#again.ask();
	}

	end(): void {
		this.#again.stop();
	}

	async #fetchAlerts(query: ListQuery): Promise<void> {
		const { items, next } = await alertsOf(query);
		if (this.#query !== query) return;
		this.lines = items;
		this.next = next;
	}

	async #fetchDrafts(query: ListQuery): Promise<void> {
		const page = await ask(api.GET('/api/v1/drafts', { params: { query: { cursor: query.cursor || undefined } } }));
		if (this.#query !== query) return;
		this.drafts = page.items.sort((a, b) => b.changed.localeCompare(a.changed));
		this.next = page.next;
	}

	async #fetchSchedules(query: ListQuery): Promise<void> {
		const page = await ask(api.GET('/api/v1/schedules', { params: { query: { cursor: query.cursor || undefined } } }));
		if (this.#query !== query) return;
		this.schedules = page.items.filter(({ next_at }) => next_at !== null).sort((a, b) => (a.next_at ?? '').localeCompare(b.next_at ?? ''));
		this.next = page.next;
	}

	async #renew(): Promise<void> {
		const query = this.#query;
		if (!query || ['drafts', 'scheduled'].includes(query.tab)) return;
		const page = await alertsOf(query).catch(() => null);
		if (!page || this.#query !== query) return;
		if (this.lines.length === 0) {
			this.lines = page.items;
			this.next = page.next;
			return;
		}
		const { lines, more } = renewed(this.lines, page.items);
		this.lines = lines;
		// On a later page what is new is on an earlier one.
		this.more = query.cursor ? 0 : more;
	}
}

async function alertsOf(query: ListQuery): Promise<{ items: Schema<'AlertSummary'>[]; next: string | null }> {
	const asked: { cursor?: string; limit?: number } = { ...apiQuery(query, session.zone), limit: PAGE };
	const items: Schema<'AlertSummary'>[] = [];
	for (let look = 0; look < LOOKS; look++) {
		const page = await ask(api.GET('/api/v1/alerts', { params: { query: asked } }));
		items.push(...page.items);
		if (page.next === null || items.length > 0) return { items, next: page.next };
		asked.cursor = page.next;
	}
	return { items, next: asked.cursor ?? null };
}
