import { IntlMessageFormat } from 'intl-messageformat';
import { expect, test } from 'vitest';
import { words } from './index.svelte';

const files = import.meta.glob<{ default: Record<string, string> }>('./*/*.json', { eager: true });

function catalogue(language: string, name: string): Record<string, string> {
	return files[`./${language}/${name}.json`]?.default ?? {};
}

/** Names of the arguments of a text, at any depth. */
function args(text: string): string[] {
	const found = new Set<string>();
	const look = (parts: unknown): void => {
		for (const part of parts as { type: number; value: string; options?: Record<string, { value: unknown }> }[]) {
			if (part.type !== 0 && part.type !== 7) found.add(part.value);
			for (const option of Object.values(part.options ?? {})) look(option.value);
		}
	};
	look(new IntlMessageFormat(text, 'en', undefined, { ignoreTag: true }).getAst());
	return [...found].sort();
}

const names = Object.keys(files)
	.filter((path) => path.startsWith('./en/'))
	.map((path) => path.slice('./en/'.length, -'.json'.length));

test.each(names)('every word of %s is there in Swedish, with the same arguments', (name) => {
	const [english, swedish] = [catalogue('en', name), catalogue('sv', name)];
	expect(Object.keys(swedish).sort()).toEqual(Object.keys(english).sort());
	for (const [key, text] of Object.entries(english)) {
		expect([key, args(swedish[key] ?? '')]).toEqual([key, args(text)]);
	}
});

test.each(names)('a text of %s that only names its arguments is said as the ICU form has it', async (name) => {
	await words.load(name);
	for (const [key, text] of Object.entries(catalogue('en', name))) {
		const names = args(text);
		if (/plural|select|number|date|time/.test(text)) continue;
		for (const value of ['a & b', 7, 0, '', undefined]) {
			const given = Object.fromEntries(names.map((one) => [one, value]));
			const icu = String(new IntlMessageFormat(text, 'en', undefined, { ignoreTag: true }).format({ ...given }));
			expect([key, words.say(`${name}.${key}`, given)]).toEqual([key, icu]);
		}
	}
});

/** Verbs of the audit trail look like words, and are not. */
const sources = import.meta.glob<string>(['/src/**/*.svelte', '/src/**/*.ts', '!/src/**/*.test.ts', '!/src/lib/api/schema.d.ts', '!/src/lib/audit/verbs.ts'], { eager: true, query: '?raw', import: 'default' });

test('every word that a page asks for is in a catalogue', () => {
	const known = new Set(names.flatMap((name) => Object.keys(catalogue('en', name)).map((key) => `${name}.${key}`)));
	const catalogues = names.join('|');
	const missing: string[] = [];
	for (const [path, text] of Object.entries(sources)) {
		for (const [, key] of text.matchAll(new RegExp(`['"]((?:${catalogues})\\.(?!csv)[a-z]\\w*)['"]`, 'g'))) if (!known.has(key ?? '')) missing.push(`${path}: ${key}`);
		// Where a part of the key is computed there is at least one word that begins so.
		for (const [, start] of text.matchAll(new RegExp(`\`((?:${catalogues})\\.\\w*)\\$\\{`, 'g'))) if (![...known].some((key) => key.startsWith(start ?? ''))) missing.push(`${path}: ${start}…`);
	}
	expect(missing).toEqual([]);
});
