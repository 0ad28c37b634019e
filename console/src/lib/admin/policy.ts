import type { Schema } from '$lib/api/client';
import { tomlTexts, tomlValue } from './toml';

/** A rule of the configuration by which other people approve an alert. */
export interface Rule {
	line: number | null;
	needs: 'nobody' | 'one' | 'two';
	mode: 'live' | 'drill' | null;
	priority: string[];
	peopleOver: number | null;
	audience: string[];
	origin: string[];
	appliesTo: string[];
	/** Over so many people the one who approves types their number. */
	limit: number | null;
	remind: string;
	expires: string | null;
}

/** What the server takes where a rule does not say it. */
const REMIND = '2m';

export const rulesOf = (config: Schema<'ShownConfig'>): Rule[] => config.sections.filter(({ path }) => /^approval\[\d+\]$/.test(path)).map(ruleOf);

function ruleOf(section: Schema<'ConfigSection'>): Rule {
	const of = (name: string) => section.keys.find((key) => key.name === name && key.is_set)?.value ?? null;
	const count = (name: string) => (of(name) === null ? null : Number(tomlValue(of(name))));
	const text = (name: string) => (of(name) === null ? null : String(tomlValue(of(name))));
	const appliesTo = tomlTexts(of('applies_to'));
	return {
		line: section.line,
		needs: (text('needs') ?? 'one') as Rule['needs'],
		mode: text('mode') as Rule['mode'],
		priority: tomlTexts(of('priority')),
		peopleOver: count('people_over'),
		audience: tomlTexts(of('audience')),
		origin: tomlTexts(of('origin')),
		appliesTo: appliesTo.length > 0 ? appliesTo : ['alert'],
		limit: count('limit'),
		remind: text('remind') ?? REMIND,
		expires: text('expires')
	};
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds of `30m`, `1h30m`; null of what is no such length. */
export function seconds(text: string): number | null {
	const parts = [...text.matchAll(/(\d+)([smhd])/g)];
	if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== text) return null;
	return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (SECONDS[unit ?? 's'] ?? 1), 0);
}
