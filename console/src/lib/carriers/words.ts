import { duration, number } from '$lib/format';
import { t, words } from '$lib/words/index.svelte';
import type { Route } from './health';

/** `22 ms`, `2.1 s`, `1 min 20 s`. */
export function pause(ms: number): string {
	if (ms < 1) return t('routes.ms_under');
	if (ms < 1_000) return t('routes.ms', { ms: number(Math.round(ms)) });
	if (ms < 20_000) return t('routes.s', { seconds: number(Math.round(ms / 100) / 10) });
	return duration(ms / 1_000);
}

/** `118 of 120 a second`; what is not known is said so. */
export function rate({ now, limit }: Route['rate']): string {
	const shown = now === null || now === undefined ? null : number(Math.round(now * 10) / 10);
	if (shown === null) return limit > 0 ? t('routes.rate_unknown_of', { limit: number(limit) }) : t('routes.rate_unknown');
	return limit > 0 ? t('routes.rate_of', { now: shown, limit: number(limit) }) : t('routes.rate_free', { now: shown });
}

/** Protocols whose names are words. */
const PROPER: Record<string, string> = { matrix: 'Matrix', telegram: 'Telegram' };

/** What carries it: `SMS by SMPP`. */
export function way({ channel, protocol }: Route): string {
	const name = words.has(`routes.channel_${channel}`) ? t(`routes.channel_${channel}`) : channel;
	return protocol ? t('routes.by', { channel: name, protocol: PROPER[protocol] ?? protocol.toUpperCase() }) : name;
}

/** How long confirmations take, in a sentence; nothing where none came. */
export function confirmations(route: Route): string {
	const { confirmation } = route;
	return confirmation ? t('routes.confirmed_in', { half: pause(confirmation.p50_ms), most: pause(confirmation.p95_ms) }) : '';
}
