import type { Schema } from '$lib/api/client';
import { languageName } from './languages';
import { t, words } from '$lib/words/index.svelte';
import type { AlertContent } from './content';
import { CHANNELS, isMissing, languageOf, memberOf, wrongIn } from './steps';

/** The name of a field as people read it: "Text in Swedish, SMS", "Answer 2". */
export function fieldLabel(field: string): string {
	const member = memberOf(field);
	const key = `composer.member_${member}`;
	if (!words.has(key)) return field;
	if (member === 'texts') return textLabel(field);
	const at = /\[(\d+)\]/.exec(field);
	return at ? t('composer.member_at', { member: t(key), no: Number(at[1]) + 1 }) : t(key);
}

function textLabel(field: string): string {
	const language = languageOf(field);
	const channel = CHANNELS.find((name) => field.split('.').includes(name));
	const parts = [language ? t('composer.text_in', { language: languageName(language) }) : t('composer.member_text')];
	if (channel) parts.push(t(`composer.channel_${channel}`));
	return parts.join(', ');
}

/** A member's value in words, for two versions side by side. */
export function shownValue(member: keyof AlertContent, content: AlertContent): string {
	const value = content[member];
	if (value === undefined || value === null) return t('composer.nothing');
	if (typeof value === 'string') return value;
	if (member === 'choices') return (content.choices ?? []).map(({ key, label }) => `${key} ${label}`).join('\n');
	if (Array.isArray(value)) return value.map((one) => plain(one)).join('\n');
	return plain(value);
}

function plain(value: unknown): string {
	if (typeof value !== 'object' || value === null) return String(value);
	return Object.entries(value)
		.map(([name, part]) => `${name}: ${plain(part)}`)
		.join('\n');
}

/** What is wrong with a field, in words of these pages where they have them. */
export function wrongWords(problems: Schema<'FieldProblem'>[], field: string): string | null {
	const reason = wrongIn(problems, field);
	return reason && isMissing(reason) ? t('composer.needed') : reason;
}
