import type { AlertContent, ContentPatch } from './content';
import { CHANNELS } from './steps';

/** Texts by language and channel, as they stand in an alert. Null is the language of the text for all. */
export type Channel = (typeof CHANNELS)[number];
export type Language = string | null;
/** Parts of a channel's own text. */
export type Part = 'text' | 'subject' | 'html' | 'spoken';
type Own = string | Partial<Record<Part, string | null>>;
type TextsOfLanguage = { headline?: string; text?: string } & Partial<Record<Channel, Own>>;
type Members = Record<string, unknown>;

/** The parts in which a channel's own text is written. */
export const PARTS: Partial<Record<Channel, Part[]>> = { mail: ['subject', 'text'], line: ['subject', 'text'], mqtt: ['text', 'spoken'] };

const isLanguage = (name: string): boolean => name !== 'headline' && name !== 'text' && !CHANNELS.some((channel) => channel === name);

/** Languages that have texts of their own. */
export const languagesOf = (content: AlertContent): string[] => Object.keys(content.texts ?? {}).filter(isLanguage);

export function headline(content: AlertContent, language: Language): string {
	return (language === null ? content.headline : undefined) ?? inLanguage(content, language).headline ?? '';
}

export function text(content: AlertContent, language: Language): string {
	return (language === null ? content.text : undefined) ?? inLanguage(content, language).text ?? '';
}

/** A part of a channel's own text; empty where the general one is used. */
export function own(content: AlertContent, language: Language, channel: Channel, part: Part = 'text'): string {
	const value = inLanguage(content, language)[channel];
	if (typeof value === 'string') return part === 'text' ? value : '';
	return value?.[part] ?? '';
}

/** Channels with a text of their own in a language. */
export function ownChannels(content: AlertContent, language: Language): Channel[] {
	const texts = inLanguage(content, language);
	return CHANNELS.filter((channel) => texts[channel] !== undefined && texts[channel] !== null);
}

export function withHeadline(content: AlertContent, language: Language, value: string): ContentPatch {
	if (language === null) return { headline: value || null, ...without(content, 'headline') };
	return withMember(content, language, 'headline', value || undefined);
}

export function withText(content: AlertContent, language: Language, value: string): ContentPatch {
	if (language === null) return { text: value || null, ...without(content, 'text') };
	return withMember(content, language, 'text', value || undefined);
}

/** A part of a channel's own text; the channel has none once all its parts are empty. */
export function withOwn(content: AlertContent, language: Language, channel: Channel, value: string, part: Part = 'text'): ContentPatch {
	const before = inLanguage(content, language)[channel];
	const parts: Members = typeof before === 'string' ? { text: before } : { ...before };
	if (value) parts[part] = value;
	else delete parts[part];
	const names = Object.keys(parts).filter((name) => parts[name] !== null && parts[name] !== undefined);
	const isPlain = names.length === 1 && names[0] === 'text';
	return withMember(content, language, channel, names.length === 0 ? undefined : isPlain ? parts.text : parts);
}

/** A language without its texts. */
export function withoutLanguage(content: AlertContent, language: string): ContentPatch {
	return withTexts(content, { [language]: undefined });
}

/** Letters replaced in all texts that an SMS of this language is made of, and in the answers. */
export function withPlainLetters(content: AlertContent, language: Language, letters: { letter: string; plain: string }[]): ContentPatch {
	const plain = (value: string) => letters.reduce((text, { letter, plain }) => text.replaceAll(letter, plain), value);
	const ofLanguage = languageFor(content, language);
	const patch = own(content, ofLanguage, 'sms')
		? withOwn(content, ofLanguage, 'sms', plain(own(content, ofLanguage, 'sms')))
		: withText(content, ofLanguage, plain(text(content, ofLanguage)));
	const choices = content.choices?.map((choice) => ({ ...choice, label: plain(choice.label) }));
	const isChanged = choices?.some(({ label }, at) => label !== content.choices?.[at]?.label);
	return isChanged ? { ...patch, choices } : patch;
}

/** The language whose text readers of a language get: its own, or the text for all. */
export function languageFor(content: AlertContent, language: Language): Language {
	if (language === null) return null;
	const known = languagesOf(content);
	const primary = (tag: string) => tag.toLowerCase().split('-')[0];
	return known.find((tag) => tag.toLowerCase() === language.toLowerCase()) ?? known.find((tag) => primary(tag) === primary(language)) ?? null;
}

function inLanguage(content: AlertContent, language: Language): TextsOfLanguage {
	const texts = (content.texts ?? {}) as Members;
	if (language === null) return texts as TextsOfLanguage;
	const found = texts[language];
	return typeof found === 'string' ? { text: found } : ((found ?? {}) as TextsOfLanguage);
}

function withMember(content: AlertContent, language: Language, name: string, value: unknown): ContentPatch {
	if (language === null) return withTexts(content, { [name]: value });
	const texts: Members = { ...inLanguage(content, language), [name]: value };
	if (value === undefined) delete texts[name];
	return withTexts(content, { [language]: Object.keys(texts).length > 0 ? texts : undefined });
}

function withTexts(content: AlertContent, changes: Members): ContentPatch {
	const texts: Members = { ...content.texts, ...changes };
	for (const name of Object.keys(texts)) if (texts[name] === undefined || texts[name] === null) delete texts[name];
	return { texts: Object.keys(texts).length > 0 ? (texts as AlertContent['texts']) : null };
}

/** A text for all may stand in two places: only one stays. */
function without(content: AlertContent, name: 'headline' | 'text'): ContentPatch {
	return content.texts?.[name] === undefined ? {} : withTexts(content, { [name]: undefined });
}
