import { goto } from '$app/navigation';
import { api, ask } from '$lib/api/client';
import { space, to } from '$lib/space.svelte';

/** Begins a draft in the space of the page, and leads to it. */
export async function startBlank(): Promise<void> {
	const draft = await ask(api.POST('/api/v1/drafts', { body: { mode: space() } }));
	await goto(to(`/drafts/${draft.id}/message`));
}

/** Begins a draft of a template's alert, or of its all-clear. */
export async function startFrom(template: string, part: 'alert' | 'all_clear' = 'alert'): Promise<void> {
	const params = { path: { id: template }, query: { part, space: space() } };
	const draft = await ask(api.POST('/api/v1/templates/{id}:draft', { params }));
	await goto(to(`/drafts/${draft.id}/message`));
}
