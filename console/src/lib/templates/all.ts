import { api, ask, type Schema } from '$lib/api/client';

/** An account has at most 1,000 templates: ten pages. */
const PAGES_MAX = 10;
const PAGE = 100;

/** All templates, by name. */
export async function allTemplates(): Promise<Schema<'TemplateSummary'>[]> {
	const found: Schema<'TemplateSummary'>[] = [];
	let cursor: string | undefined;
	for (let pages = 0; pages < PAGES_MAX; pages++) {
		const page = await ask(api.GET('/api/v1/templates', { params: { query: { limit: PAGE, cursor } } }));
		found.push(...page.items);
		if (page.next === null) break;
		cursor = page.next;
	}
	return found.sort((one, other) => one.name.localeCompare(other.name));
}

/** Those with all these words in their name, description or categories. */
export function withWords(templates: Schema<'TemplateSummary'>[], words: string): Schema<'TemplateSummary'>[] {
	const wanted = words.toLocaleLowerCase().split(/\s+/).filter(Boolean);
	return templates.filter(({ name, description, categories }) => {
		const text = [name, description, ...categories].join(' ').toLocaleLowerCase();
		return wanted.every((word) => text.includes(word));
	});
}
