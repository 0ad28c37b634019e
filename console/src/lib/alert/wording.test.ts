import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Schema } from '$lib/api/client';
import { gathered } from './wording';

const catalogues = import.meta.glob<{ default: Record<string, string> }>('../words/*/{reasons,timeline,alert}.json', { eager: true });
const keys = (language: string, name: string): string[] => Object.keys(catalogues[`../words/${language}/${name}.json`]?.default ?? {});

const schema = readFileSync(new URL('../api/schema.d.ts', import.meta.url), 'utf8');
const crates = new URL('../../../../crates/', import.meta.url);
const source = (path: string): string => readFileSync(new URL(path, crates), 'utf8');

/** The words of an enum of the schema, by one that is in it. */
function enumOf(part: string): string[] {
	const line = schema.split('\n').find((line) => line.includes(part) && line.includes(' | ')) ?? '';
	return [...line.matchAll(/"([a-z_]+)"/g)].map(([, word]) => word ?? '');
}

const snake = (name: string): string => name.replace(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();

test.each(['en', 'sv'])('every code of a timeline has words (%s)', (language) => {
	const codes = enumOf('"first_sent"');
	expect(codes.length).toBeGreaterThan(15);
	expect(keys(language, 'timeline')).toEqual(expect.arrayContaining(codes));
});

test.each(['en', 'sv'])('every reason of a delivery has words (%s)', (language) => {
	const body = /pub enum Reason \{([^}]*)\}/.exec(source('records/src/delivery.rs'))?.[1] ?? '';
	const reasons = [...body.matchAll(/^\s*([A-Z]\w+)/gm)].map(([, name]) => snake(name ?? '')).filter((name) => name !== 'none');
	expect(reasons.length).toBeGreaterThan(20);
	expect(keys(language, 'reasons')).toEqual(expect.arrayContaining(reasons));
});

test.each(['en', 'sv'])('every cause why a forecast did not hold, and all that it took for granted, has words (%s)', (language) => {
	const coded = (path: string) => [...source(path).matchAll(/Coded::new\(\s*"([a-z_]+)"|\(json!\(\{[^)]*\}\), "([a-z_]+)"/g)].map(([, one, other]) => one ?? other ?? '');
	const [causes] = source('engine/src/plan/causes.rs').split('mod tests');
	const causeCodes = [...(causes ?? '').matchAll(/Coded::new\(\s*"([a-z_]+)"/g)].map(([, code]) => `cause_${code}`);
	const assumed = coded('engine/src/plan/assumptions.rs').map((code) => `assumption_${code}`);
	expect([causeCodes.length, assumed.length].every((count) => count >= 6)).toBe(true);
	expect(readdirSync(new URL('engine/src/plan/', crates))).toContain('causes.rs');
	expect(keys(language, 'reasons')).toEqual(expect.arrayContaining([...causeCodes, ...assumed]));
});

test.each(['en', 'sv'])('every channel has a name (%s)', (language) => {
	const channels = enumOf('"pager"');
	expect(channels.length).toBeGreaterThan(5);
	expect(keys(language, 'alert')).toEqual(expect.arrayContaining(channels.flatMap((channel) => [`channel_${channel}`, `by_${channel}`])));
});

test('calls for help in a row are told as one, and what comes between them parts them', () => {
	const entry = (code: string): Schema<'TimelineEntry'> => ({ code, at: '2026-11-26T02:14:00Z', args: {} }) as Schema<'TimelineEntry'>;
	const found = gathered(['needs_help', 'needs_help', 'paused', 'needs_help', 'paused', 'paused'].map(entry));
	expect(found.map(({ entry: { code }, calls }) => `${code} ${calls}`)).toEqual(['needs_help 2', 'paused 1', 'needs_help 1', 'paused 1', 'paused 1']);
});
