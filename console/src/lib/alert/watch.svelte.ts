import { untrack } from 'svelte';
import type { Schema } from '$lib/api/client';
import { live } from '$lib/api/live.svelte';
import type { LiveAlert } from '$lib/api/live-state';
import { isOver } from '$lib/states';
import { courseOf, handedOver, isHandedOver, type Course } from './course';
import { reportOf, storyOf, type Report } from './report';

/** A report is fetched so often at most, for what the stream leaves out. */
const REPORT_EVERY_MS = 2_000;
/** The story changes slowly: its curve grows by the live counts in between. */
const STORY_EVERY_MS = 5_000;

/** What a page shows of an alert: the newest of the report and of what the stream says, changed once a second. Made in
 * a component, whose life it shares. */
export class AlertWatch {
	report: Report = $state.raw() as Report;
	story: Schema<'AlertForecast'> | null = $state.raw(null);
	timeline: Schema<'TimelineEntry'>[] = $state.raw([]);
	/** The last fetch that failed: the numbers shown are older. */
	failed: unknown = $state.raw(null);
	#live: LiveAlert | null = $state.raw(null);
	#reportAt = 0;
	#storyAt = 0;
	#isBusy = false;

	constructor(given: { report: Report; story: Schema<'AlertForecast'> | null; timeline: Schema<'TimelineEntry'>[] }) {
		this.report = given.report;
		this.story = given.story;
		this.timeline = given.timeline;
		this.#reportAt = this.#storyAt = Date.now();
		$effect(() => {
			void live.now;
			untrack(() => this.#look());
		});
	}

	get id(): string {
		return this.report.id;
	}

	/** The newer of the two. */
	#newest = $derived.by(() => (this.#live && this.#live.at > this.report.at ? this.#live : this.report));

	get state(): Schema<'AlertState'> {
		return this.#newest.state;
	}
	get people(): Schema<'PeopleCounts'> {
		return this.#newest.people;
	}
	get counts(): Schema<'Counts'> {
		return this.#newest.counts;
	}
	get answers(): Record<string, number> {
		return this.#newest.answers;
	}
	get needsHelp(): number {
		return this.#newest.needs_help;
	}
	/** Seconds until all is handed over; null: nobody can say. */
	get eta(): number | null {
		return this.#newest.eta;
	}
	get finished(): string | null {
		return this.#newest.finished;
	}
	/** When the newest numbers were said. */
	get at(): string {
		return this.#newest.at;
	}
	get routes(): Record<string, { counts: Partial<Schema<'Counts'>>; rate: number; up: boolean }> {
		return this.#newest.routes;
	}
	get isOver(): boolean {
		return isOver(this.state);
	}
	/** The state in words: open for answers once all is handed over. */
	get shownState(): Schema<'AlertState'> | 'open' {
		return this.state === 'running' && this.people.total > 0 && isHandedOver(this.counts) ? 'open' : this.state;
	}
	course: Course | null = $derived.by(() => (this.story ? courseOf(this.story, handedOver(this.people), Date.parse(this.at), this.isOver) : null));

	/** Once a second: takes in what the stream said, and fetches what it leaves out. */
	#look(): void {
		const said = live.state.alerts[this.id] ?? null;
		if (said !== this.#live) this.#live = said;
		if (this.#isBusy) return;
		const now = Date.now();
		const isOld = this.at !== this.report.at || this.#isOther();
		if (isOld && now - this.#reportAt >= REPORT_EVERY_MS) void this.fetch(now - this.#storyAt >= STORY_EVERY_MS || this.isOver);
	}

	/** The list of running alerts has another state of it: after an end the stream may say no more. */
	#isOther(): boolean {
		const line = live.state.running.find(({ id }) => id === this.id);
		const isRunning = !isOver(this.report.state) && this.report.state !== 'awaiting_approval';
		return line ? line.state !== this.report.state : isRunning && live.state.version !== null;
	}

	/** Everything anew: after an act of this page too. */
	async fetch(withStory = true): Promise<void> {
		this.#isBusy = true;
		try {
			this.report = await reportOf(this.id);
			this.#reportAt = Date.now();
			if (withStory) {
				[this.story, this.timeline] = await storyOf(this.id);
				this.#storyAt = Date.now();
			}
			this.failed = null;
		} catch (error) {
			this.failed = error;
			this.#reportAt = Date.now();
		} finally {
			this.#isBusy = false;
		}
	}
}
