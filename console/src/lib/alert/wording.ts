import type { Schema } from '$lib/api/client';
import { duration, number, when } from '$lib/format';
import { t, words } from '$lib/words/index.svelte';

/** Codes of the server in words: why a delivery is where it is, why an alert goes otherwise than was forecast, and
 * what happened to it. A code that is newer than this page is shown as it is. */

type Args = Record<string, unknown>;

const text = (value: unknown): string => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '');
const given = (value: unknown): string => text(value) || 'none';
const moment = (value: unknown): string => (text(value) ? when(text(value)) : 'none');

/** How somebody is reached: `SMS`, `mail`. */
export function channelName(channel: string | null | undefined): string {
	const key = `alert.channel_${channel ?? 'none'}`;
	return words.has(key) ? t(key) : (channel ?? '');
}

/** `By SMS`. */
export function byChannel(channel: string): string {
	const key = `alert.by_${channel}`;
	return words.has(key) ? t(key) : channel;
}

/** Why a delivery is where it is: `The carrier refused the number`. The carrier's own words come beside it. */
export function reasonWords(reason: Schema<'Explained'>): string {
	const { channel, route, until } = reason.args;
	return worded('reasons', reason.code, { channel: given(channel), route: given(route), until: moment(until) });
}

/** Why an alert goes otherwise than was forecast, as a sentence. */
export function causeWords({ code, args }: Schema<'CodedArgs'>): string {
	return worded('reasons', `cause_${code}`, codedArguments(args as Args));
}

/** What a forecast took for granted, as a sentence. */
export function assumptionWords({ code, args }: Schema<'CodedArgs'>): string {
	return worded('reasons', `assumption_${code}`, codedArguments(args as Args));
}

function codedArguments(args: Args): Record<string, string | number> {
	const seconds = (value: unknown) => (typeof value !== 'number' ? 'none' : value < 1 ? t('reasons.under_a_second') : duration(value));
	const amount = (value: unknown) => (typeof value === 'number' ? value : 0);
	return {
		route: given(args.route),
		routes: Array.isArray(args.routes) ? new Intl.ListFormat(words.language).format(args.routes.map(text)) : 'none',
		of: given(args.of),
		by: given(args.by),
		since: moment(args.since ?? args.from),
		until: moment(args.until),
		rate: rounded(args.rate),
		limit: rounded(args.limit),
		devices: amount(args.devices),
		days: amount(args.days),
		alerts: amount(args.alerts),
		times: rounded(args.times),
		parts: amount(args.parts) + amount(args.under_way),
		priority: given(args.priority),
		p95: seconds(args.p95),
		usual_p95: seconds(args.usual_p95),
		after: seconds(args.after_s)
	};
}

const rounded = (value: unknown): string => (typeof value === 'number' ? number(value < 10 ? Math.round(10 * value) / 10 : Math.round(value)) : '–');

/** What happened, as a sentence. `calls`: so many calls for help in a row, told as one. */
export function happenedWords(entry: Schema<'TimelineEntry'>, calls = 1): string {
	const args = entry.args as Args;
	return worded('timeline', entry.code, {
		origin: given(args.origin),
		people: typeof args.people === 'number' ? args.people : 0,
		state: given(args.state),
		route: given(args.route),
		by: text(args.by) || t('timeline.somebody'),
		reason: given(args.reason),
		name: text(args.name) || text(args.recipient) || t('timeline.somebody'),
		label: text(args.label) || text(args.choice),
		others: calls - 1
	});
}

function worded(catalogue: string, code: string, args: Record<string, string | number>): string {
	const key = `${catalogue}.${code.replaceAll(':', '_')}`;
	return words.has(key) ? t(key, args) : code;
}

/** How an entry is marked on the line: what went well, what went wrong. */
export function kindOf(code: string): 'good' | 'bad' | '' {
	if (['half_reached', 'most_reached', 'handed_over', 'route_up', 'help_resolved'].includes(code)) return 'good';
	return ['route_down', 'needs_help', 'rejected', 'sent_alone', 'stopped'].includes(code) ? 'bad' : '';
}

export interface Happening {
	entry: Schema<'TimelineEntry'>;
	/** Calls for help that followed one another. */
	calls: number;
}

/** Calls for help in a row become one entry, that of the newest: one alarmed street does not hide all else. */
export function gathered(entries: readonly Schema<'TimelineEntry'>[]): Happening[] {
	const found: Happening[] = [];
	for (const entry of entries) {
		const last = found[found.length - 1];
		if (last && entry.code === 'needs_help' && last.entry.code === 'needs_help') last.calls += 1;
		else found.push({ entry, calls: 1 });
	}
	return found;
}
