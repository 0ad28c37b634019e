import { api, ask, type Schema } from '$lib/api/client';
import { asProblem } from '$lib/api/problem';
import { session } from '$lib/session.svelte';
import type { Space } from '$lib/space.svelte';
import { isOver } from '$lib/states';
import { atMost, LIST_MS } from './at-most';
import type { Readiness } from './home';

const TEMPLATES = 4;
const COMING = 3;
/** So many of the newest alerts are looked through for one that is over. */
const NEWEST = 50;

/** What the home page fetches beside the stream. */
export class HomeData {
	approvals: Schema<'WaitingAlert'>[] = $state.raw([]);
	coming: Schema<'ScheduleSummary'>[] = $state.raw([]);
	routes: Schema<'CarrierRoute'>[] = $state.raw([]);
	templates: Schema<'TemplateSummary'>[] = $state.raw([]);
	ready: Readiness | null = $state.raw(null);
	setup: Schema<'SetupState'> | null = $state.raw(null);
	/** The newest alert that is over. */
	last: Schema<'AlertSummary'> | null = $state.raw(null);
	isLastKnown = $state(false);
	/** Alerts under way by id, as they were written. */
	details: Record<string, Schema<'Alert'>> = $state.raw({});
	problem: unknown = $state.raw(null);

	#space: Space = 'live';
	#asked = new Set<string>();
	#alerts = atMost(LIST_MS, () => void this.#take(() => this.#fetchLast()));
	#waiting = atMost(LIST_MS, () => void this.#take(() => this.#fetchApprovals()));
	#routes = atMost(LIST_MS, () => void this.#take(() => this.#fetchRoutes()));

	begin(space: Space): void {
		this.#space = space;
		this.isLastKnown = false;
		this.problem = null;
		this.#alerts.ask();
		this.#waiting.ask();
		this.#routes.ask();
		void this.#take(() => this.#fetchComing());
		void this.#take(() => this.#fetchTemplates());
		void this.#fetchReady();
		void this.#fetchSetup();
	}

	end(): void {
		for (const list of [this.#alerts, this.#waiting, this.#routes]) list.stop();
	}

	alertsChanged = (): void => this.#alerts.ask();
	approvalsChanged = (): void => this.#waiting.ask();
	routesMoved = (): void => this.#routes.ask();

	/** Fetches the alerts that are shown, each once. */
	look(ids: string[]): void {
		for (const id of ids) {
			if (this.#asked.has(id)) continue;
			this.#asked.add(id);
			ask(api.GET('/api/v1/alerts/{id}', { params: { path: { id } } })).then(
				(alert) => (this.details = { ...this.details, [id]: alert }),
				() => this.#asked.delete(id)
			);
		}
	}

	/** A list that cannot be fetched is said once; the rest of the page stays. */
	async #take(fetch: () => Promise<void>): Promise<void> {
		try {
			await fetch();
		} catch (error) {
			this.problem = error;
		}
	}

	async #fetchLast(): Promise<void> {
		const page = await ask(api.GET('/api/v1/alerts', { params: { query: { limit: NEWEST } } }));
		this.last = page.items.find(({ state }) => isOver(state)) ?? null;
		this.isLastKnown = true;
	}

	async #fetchApprovals(): Promise<void> {
		if (!session.may('approve') && !(this.#space === 'drill' && session.may('write'))) return;
		const page = await ask(api.GET('/api/v1/approvals', {}));
		this.approvals = page.items.filter((alert) => alert.may_approve && alert.mode === this.#space);
	}

	async #fetchRoutes(): Promise<void> {
		if (!session.may('system')) return;
		const page = await ask(api.GET('/api/v1/routes', {}));
		this.routes = page.items.filter(({ mode }) => mode === this.#space);
	}

	async #fetchComing(): Promise<void> {
		const page = await ask(api.GET('/api/v1/schedules', {}));
		const next = page.items.filter(({ next_at, enabled }) => enabled && next_at !== null);
		this.coming = next.sort((a, b) => (a.next_at ?? '').localeCompare(b.next_at ?? '')).slice(0, COMING);
	}

	async #fetchTemplates(): Promise<void> {
		if (!session.may('write')) return;
		const page = await ask(api.GET('/api/v1/templates', { params: { query: { limit: TEMPLATES } } }));
		this.templates = page.items;
	}

	async #fetchReady(): Promise<void> {
		this.ready = await ask(api.GET('/api/v1/readiness', {})).catch(() => null);
	}

	async #fetchSetup(): Promise<void> {
		if (!session.may('system')) return;
		this.setup = await ask(api.GET('/api/v1/setup', {})).catch((error) => {
			// Only the account `default` has a first day.
			if (asProblem(error).status !== 403) this.problem = error;
			return null;
		});
	}
}
