import { words } from '$lib/words/index.svelte';

/** Money is kept in hundredths; currencies are not known to the server. */
const HUNDRED = 100;
/** What the server takes at once. */
const MINOR_MAX = 1e15;

/** `4,979.00`. */
export const money = (minor: number): string =>
	new Intl.NumberFormat(words.language, { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(minor / HUNDRED);

/** Hundredths of what somebody typed: `12`, `12.5`, `1 000,50`; null of anything else, and of more decimals than two. */
export function minorOf(text: string): number | null {
	const match = /^(\d+)(?:[.,](\d{1,2}))?$/.exec(text.replace(/[\s\u00a0\u202f']/g, ''));
	if (!match) return null;
	const minor = Number(match[1]) * HUNDRED + Number((match[2] ?? '').padEnd(2, '0'));
	return minor <= MINOR_MAX ? minor : null;
}
