import { api, askWhole, type Schema } from '$lib/api/client';
import { asProblem, type ApiProblem } from '$lib/api/problem';
import { isMissing } from '$lib/composer/steps';
import { Check } from '$lib/composer/check.svelte';
import { changed, isSame, type AlertContent, type ContentEditor, type ContentPatch } from '$lib/composer/content';

type Template = Schema<'Template'>;
/** A template as it is written here. */
interface Written {
	name: string;
	description: string;
	categories: string[];
	request: AlertContent;
	all_clear: AlertContent | null;
}

/** One of the two contents of a template, with the parts of the composer. */
class Part implements ContentEditor {
	readonly check = new Check();
	readonly #of: TemplateEditor;
	readonly #name: 'request' | 'all_clear';

	constructor(of: TemplateEditor, name: 'request' | 'all_clear') {
		this.#of = of;
		this.#name = name;
	}

	get request(): AlertContent {
		return this.#of.written[this.#name] ?? {};
	}

	get isOpen(): boolean {
		return this.#of.mayChange;
	}

	/** A template may lack what its alerts need: only what stands there can be wrong. */
	get problems(): Schema<'FieldProblem'>[] {
		return this.check.problems.filter(({ reason }) => !isMissing(reason));
	}

	get marked(): Schema<'FieldProblem'>[] {
		return this.problems;
	}

	get warnings(): Schema<'AlertWarning'>[] {
		return this.check.warnings;
	}

	change(patch: ContentPatch): void {
		this.#of.write({ [this.#name]: changed(this.request, patch) });
		this.look();
	}

	look(after?: number): void {
		this.check.look(this.request, after);
	}
}

/** A template while it is written. It is saved when somebody says so: others may be using it. */
export class TemplateEditor {
	readonly id: string;
	readonly mayChange: boolean;
	template = $state.raw<Template | null>(null);
	written = $state.raw<Written>({ name: '', description: '', categories: [], request: {}, all_clear: null });
	error = $state.raw<ApiProblem | null>(null);
	isSaving = $state(false);
	readonly request = new Part(this, 'request');
	readonly all_clear = new Part(this, 'all_clear');
	#etag: string | null = null;
	#base = $state.raw<Written | null>(null);

	constructor(id: string, mayChange: boolean) {
		this.id = id;
		this.mayChange = mayChange;
	}

	get isChanged(): boolean {
		return this.#base !== null && !isSame(this.#base, this.written);
	}

	/** Somebody else saved it meanwhile. */
	get isConflict(): boolean {
		return this.error?.status === 412;
	}

	write(changes: Partial<Written>): void {
		this.written = { ...this.written, ...changes };
	}

	async load(): Promise<void> {
		await this.#asking(api.GET('/api/v1/templates/{id}', { params: { path: { id: this.id } } }));
	}

	/** True once it is saved. `isOver`: over what somebody else saved meanwhile. */
	async save(isOver = false): Promise<boolean> {
		this.isSaving = true;
		const header = this.#etag && !isOver ? { 'If-Match': this.#etag } : {};
		const body = { ...this.written, description: this.written.description.trim() || null } as Schema<'TemplateBody'>;
		const isSaved = await this.#asking(api.PUT('/api/v1/templates/{id}', { params: { path: { id: this.id }, header }, body }));
		this.isSaving = false;
		return isSaved;
	}

	async #asking(answer: Parameters<typeof askWhole<Template>>[0]): Promise<boolean> {
		const asked = this.written;
		try {
			const { data, etag } = await askWhole<Template>(answer);
			this.#take(data, etag, asked);
			this.error = null;
			return true;
		} catch (error) {
			this.error = asProblem(error);
			return false;
		}
	}

	/** What was typed while it was saved stays. */
	#take(template: Template, etag: string | null, asked: Written): void {
		const { name, categories } = template;
		const description = template.description ?? '';
		const given = { name, description, categories, request: template.request as AlertContent, all_clear: template.all_clear as AlertContent | null };
		if (this.written === asked) this.written = given;
		this.template = template;
		this.#base = given;
		this.#etag = etag;
		this.request.look(0);
		this.all_clear.look(0);
	}
}
