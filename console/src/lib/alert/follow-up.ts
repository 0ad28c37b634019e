import { goto } from '$app/navigation';
import { api, ask, type Schema } from '$lib/api/client';
import { to } from '$lib/space.svelte';

/** Whom a follow-up is to. */
export type FollowUpTo = 'not_answered' | 'not_reached' | 'everyone' | `answer=${string}`;

/** A draft of another alert to some of its people, which opens in the composer. Choices, priority and way of sending are
 * those of the first: what is written is new. */
export function followUpDraft({ id, request }: Schema<'Alert'>, whom: FollowUpTo): Schema<'DraftBody'> {
	const audience: Record<string, unknown> =
		whom === 'everyone'
			? { audience: request.audience, exclude: request.exclude, ...(request.area ? { area: request.area } : {}) }
			: { audience: [`alert:${id}/${whom}`] };
	return {
		...audience,
		follows: id,
		mode: request.mode,
		priority: request.priority,
		...(request.headline ? { headline: request.headline } : {}),
		...(request.choices.length > 0 ? { choices: request.choices } : {}),
		...(request.channels.length > 0 ? { channels: request.channels } : {})
	} as Schema<'DraftBody'>;
}

/** Makes the draft and opens it. */
export async function writeFollowUp(alert: Schema<'Alert'>, whom: FollowUpTo): Promise<void> {
	const draft = await ask(api.POST('/api/v1/drafts', { body: followUpDraft(alert, whom) }));
	await goto(to(`/drafts/${draft.id}/message`));
}
