import type { Schema } from '$lib/api/client';
import { duration } from '$lib/format';
import { words } from '$lib/words/index.svelte';

type Verdict = Schema<'AlertVerdict'>;

/** A target as people set it: a part of the people, and the minutes within which they are to be reached. */
export interface Target {
	percent: number;
	minutes: number;
}

export const TARGET: Target = { percent: 95, minutes: 5 };
const MINUTES_MAX = 999;

/** As the API takes it: `95%/5m`. */
export const asParameter = ({ percent, minutes }: Target): string => `${percent}%/${minutes}m`;

/** From an address: what is not a target there is the usual one. */
export function targetOf(query: URLSearchParams): Target {
	const [percent, minutes] = [Number(query.get('percent')), Number(query.get('minutes'))];
	return {
		percent: percent > 0 && percent <= 100 ? Math.round(percent) : TARGET.percent,
		minutes: minutes >= 1 && minutes <= MINUTES_MAX ? Math.round(minutes) : TARGET.minutes
	};
}

/** Routes without any one of which the target would be missed: the worst first. */
export const neededRoutes = (verdict: Verdict): Verdict['plan']['without'] =>
	verdict.plan.without
		.filter((without) => !without.met)
		.sort((a, b) => a.people - b.people || (b.seconds ?? Infinity) - (a.seconds ?? Infinity));

/** All rows of the table, those that miss the target first. */
export const byHarm = (verdict: Verdict): Verdict['plan']['without'] => [
	...neededRoutes(verdict),
	...verdict.plan.without.filter((without) => without.met).sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0))
];

/** Points of a curve as a line of a picture that is `width` wide and `height` high. */
export function line(curve: [number, number][], seconds: number, people: number, width: number, height: number): string {
	const x = (at: number) => ((width * at) / Math.max(seconds, 0.001)).toFixed(1);
	const y = (count: number) => (height - (height * count) / Math.max(people, 1)).toFixed(1);
	let path = `M0 ${height}`;
	for (const [at, count] of curve) path += `H${x(at)}V${y(count)}`;
	return `${path}H${width}`;
}

/** `5 min`, `5 min 20 s`: a time without seconds that are none. */
export function time(seconds: number): string {
	const whole = Math.round(seconds);
	if (whole === 0 || whole % 60 !== 0 || whole >= 3_600) return duration(seconds);
	return new Intl.NumberFormat(words.language, { style: 'unit', unit: 'minute' }).format(whole / 60);
}
