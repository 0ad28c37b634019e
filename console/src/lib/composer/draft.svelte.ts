import { api, ask, askWhole, type Schema } from '$lib/api/client';
import { ApiProblem, asProblem } from '$lib/api/problem';
import { getContext, setContext } from 'svelte';
import { Check } from './check.svelte';
import { changed, differing, isSame, mergePatch, merged, type AlertContent, type ContentEditor, type ContentPatch } from './content';
import { isMissing, STEPS, stepOf, type Step } from './steps';

export type SaveState = 'saved' | 'saving' | 'unsaved' | 'conflict' | 'failed';
type Draft = Schema<'AlertDraft'>;

/** Somebody else saved meanwhile: what they wrote, and what is written here. */
export interface Conflict {
	by: string;
	theirs: Draft;
	/** Members that differ. */
	members: (keyof AlertContent)[];
	/** Both changes together, where they are of different members. */
	both: AlertContent | null;
}

const SAVE_AFTER_MS = 1_000;
const RETRY_AFTER_MS = 5_000;
/** Browsers send no more than this once a page is left. */
const KEEPALIVE_OCTETS_MAX = 60_000;
const MERGE = { 'Content-Type': 'application/merge-patch+json' };

/** A draft as it is written: saved a second after the last change, and when the page is left. */
export class DraftEditor implements ContentEditor {
	readonly id: string;
	/** The draft as the server last gave it. */
	draft = $state.raw<Draft | null>(null);
	/** What is written here. It is replaced, never changed in place: use {@link change}. */
	request = $state.raw<AlertContent>({});
	state = $state<SaveState>('saved');
	savedAt = $state<string | null>(null);
	/** Why it could not be read or saved. */
	error = $state.raw<ApiProblem | null>(null);
	conflict = $state.raw<Conflict | null>(null);
	readonly check = new Check();
	/** The step whose problems stand on top of it. */
	shown = $state<Step | null>(null);
	/** Steps that somebody was on: what is missing there is marked. */
	#seen = $state<Step[]>([]);
	#base: AlertContent = {};
	#version = 0;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#saving: Promise<void> | null = null;

	constructor(id: string) {
		this.id = id;
	}

	/** What changes go out with, as `If-Match`, and what a submission does. */
	get etag(): string {
		return `"${this.#version}"`;
	}

	/** Submitted drafts take no changes any more. */
	get isOpen(): boolean {
		return this.draft?.state === 'open';
	}

	/** Something is written here that the server has not. */
	get isUnsaved(): boolean {
		return this.state !== 'saved';
	}

	get problems(): Schema<'FieldProblem'>[] {
		return this.check.problems;
	}

	get marked(): Schema<'FieldProblem'>[] {
		return this.problems.filter(({ field, reason }) => !isMissing(reason) || this.isSeen(stepOf(field)));
	}

	get warnings(): Schema<'AlertWarning'>[] {
		return this.check.warnings;
	}

	problemsOf(step: Step): Schema<'FieldProblem'>[] {
		return step === 'review' ? this.problems : this.problems.filter(({ field }) => stepOf(field) === step);
	}

	warningsOf(step: Step): Schema<'AlertWarning'>[] {
		return step === 'review' ? this.warnings : this.warnings.filter(({ field }) => stepOf(field) === step);
	}

	/** Somebody was on this step, or wrote it before. */
	isSeen(step: Step): boolean {
		return this.#seen.includes(step);
	}

	see(step: Step): void {
		if (!this.isSeen(step)) this.#seen = [...this.#seen, step];
	}

	async load(): Promise<void> {
		try {
			const draft = await ask(api.GET('/api/v1/drafts/{id}', { params: { path: { id: this.id } } }));
			this.#take(draft);
			if (draft.version > 1) this.#seen = [...STEPS];
			this.error = null;
		} catch (error) {
			this.error = asProblem(error);
		}
	}

	/** Changes members: `change({ headline: 'Gas leak' })`; null takes one away. */
	change(patch: ContentPatch): void {
		if (!this.isOpen) return;
		this.request = changed(this.request, patch);
		if (this.state === 'conflict') return;
		this.#afterChange();
	}

	/** Saves now what is not saved. False: it could not be; what is written stays here. */
	async flush(): Promise<boolean> {
		clearTimeout(this.#timer);
		await this.#saving;
		if (this.state === 'unsaved' || this.state === 'failed') await this.#save();
		// Typed while it was saved.
		if (this.state === 'unsaved') return this.flush();
		return this.state === 'saved';
	}

	/** The page goes away: what is not saved goes out with it. */
	leave(): void {
		if (this.state === 'saved' || this.state === 'conflict' || !this.isOpen) return;
		clearTimeout(this.#timer);
		const body = mergePatch(this.#base, this.request);
		const keepalive = JSON.stringify(body).length < KEEPALIVE_OCTETS_MAX;
		// A save on its way makes another version, whose number is not known here.
		void api.PATCH('/api/v1/drafts/{id}', { ...this.#params(this.#saving === null), headers: MERGE, body, keepalive });
	}

	/** Ends a conflict: what is written here replaces what the other one saved. */
	async keepMine(): Promise<void> {
		await this.#settle(this.request);
	}

	/** Ends a conflict: what is written here is dropped. */
	async takeTheirs(): Promise<void> {
		if (this.conflict) await this.#settle(this.conflict.theirs.request as AlertContent);
	}

	/** Ends a conflict where different members were changed. */
	async keepBoth(): Promise<void> {
		if (this.conflict?.both) await this.#settle(this.conflict.both);
	}

	/** Nobody looks at it any more. */
	close(): void {
		clearTimeout(this.#timer);
		this.check.stop();
	}

	async #settle(content: AlertContent): Promise<void> {
		const conflict = this.conflict;
		if (!conflict) return;
		this.#take(conflict.theirs);
		this.request = content;
		this.conflict = null;
		this.#afterChange();
		await this.flush();
	}

	#take(draft: Draft): void {
		this.draft = draft;
		this.#base = draft.request as AlertContent;
		this.request = this.#base;
		this.#saved(draft);
		this.check.look(this.request, 0);
	}

	#saved(draft: Draft): void {
		this.draft = draft;
		this.#version = draft.version;
		this.savedAt = draft.changed;
		this.state = 'saved';
		this.error = null;
	}

	#afterChange(): void {
		clearTimeout(this.#timer);
		this.check.look(this.request);
		if (isSame(this.#base, this.request)) {
			if (!this.#saving) this.state = 'saved';
			return;
		}
		if (!this.#saving) this.state = 'unsaved';
		this.#timer = setTimeout(() => void this.flush(), SAVE_AFTER_MS);
	}

	#params(isVersioned = true) {
		const header = isVersioned ? { 'If-Match': this.etag } : {};
		return { params: { path: { id: this.id }, header } };
	}

	#save(): Promise<void> {
		this.#saving = this.#send().finally(() => {
			this.#saving = null;
			if (this.state === 'saved' && !isSame(this.#base, this.request)) this.#afterChange();
		});
		return this.#saving;
	}

	async #send(): Promise<void> {
		const content = this.request;
		const body = mergePatch(this.#base, content);
		this.state = 'saving';
		try {
			const { data } = await askWhole(api.PATCH('/api/v1/drafts/{id}', { ...this.#params(), headers: MERGE, body }));
			this.#base = content;
			this.#saved(data);
		} catch (error) {
			this.#failed(asProblem(error));
		}
	}

	#failed(problem: ApiProblem): void {
		const { current, changed_by } = problem.document;
		if (problem.status === 412 && current) {
			const theirs = current.request as AlertContent;
			this.conflict = {
				by: changed_by?.name ?? current.changed_by.name,
				theirs: current,
				members: differing(this.request, theirs),
				both: merged(this.#base, this.request, theirs)
			};
			this.state = 'conflict';
			return;
		}
		this.error = problem;
		this.state = 'failed';
		if (problem.status === 0 || problem.status >= 500) {
			this.#timer = setTimeout(() => void this.flush(), RETRY_AFTER_MS);
		}
	}
}

const KEY = Symbol('draft');

/** The one editor of the draft of these pages; the steps get it by {@link useDraft}. */
export const giveDraft = (editor: DraftEditor): DraftEditor => setContext(KEY, editor);

export const useDraft = (): DraftEditor => getContext<DraftEditor>(KEY);
