import type { Schema } from '$lib/api/client';

/** The steps of writing an alert, each its own address. */
export const STEPS = ['message', 'audience', 'delivery', 'review'] as const;
export type Step = (typeof STEPS)[number];

const MESSAGE = ['headline', 'text', 'texts', 'resources'];
const AUDIENCE = ['audience', 'exclude', 'area', 'participants_only'];
/** Members of `texts` that are no languages. */
export const CHANNELS = ['sms', 'mail', 'pager', 'im', 'mqtt', 'line', 'webhook', 'topic', 'edge', 'file'] as const;

/** The step on which a field stands; fields are named as in problems: `texts.sv.sms`, `audience[2]`. */
export function stepOf(field: string): Step {
	const member = memberOf(field);
	if (MESSAGE.includes(member)) return 'message';
	return AUDIENCE.includes(member) ? 'audience' : 'delivery';
}

/** The member of an alert that a field is or is in. */
export const memberOf = (field: string): string => field.split(/[.[]/, 1)[0] ?? '';

/** The element that a field is written in: problems link to it. */
export const fieldId = (field: string): string => `field-${field.replaceAll(/[^A-Za-z0-9]+/g, '-').replace(/-$/, '')}`;

/** Whether a field is only missing, as the server says it. */
export const isMissing = (reason: string): boolean => reason.startsWith('is needed');

/** What is wrong with a field. */
export function wrongIn(problems: Schema<'FieldProblem'>[], field: string): string | null {
	return problems.find((problem) => problem.field === field)?.reason ?? null;
}

/** The language in whose tab a field stands; null: in that for all. */
export function languageOf(field: string): string | null {
	const [member, second] = field.split('.');
	const isLanguage = member === 'texts' && second && ![...CHANNELS, 'headline', 'text'].some((name) => name === second);
	return isLanguage ? second : null;
}

/** The step with a field, as an address beside the other steps: `message?language=sv#field-texts-sv`. */
export function fieldAddress(field: string): string {
	const language = languageOf(field);
	return `${stepOf(field)}${language ? `?language=${encodeURIComponent(language)}` : ''}#${fieldId(field)}`;
}

/** Brings a field into sight, and the keyboard to it; the nearest that there is, if it is a part of one. */
export function focusField(id: string): void {
	for (let part = id; part.length > 'field-'.length; part = part.slice(0, part.lastIndexOf('-'))) {
		const found = document.getElementById(part) ?? document.querySelector<HTMLElement>(`[id^="${CSS.escape(part)}-"]`);
		if (!found) continue;
		for (let around = found.closest('details'); around; around = around.parentElement?.closest('details') ?? null) around.open = true;
		found.focus();
		found.scrollIntoView({ block: 'center' });
		return;
	}
}
