import { IntlMessageFormat } from 'intl-messageformat';

/** Languages whose catalogues are complete. */
export const LANGUAGES = { en: 'English', sv: 'Svenska' } as const;
export type Language = keyof typeof LANGUAGES;
export type WordArguments = Record<string, string | number | boolean | null | undefined>;

/** What every page needs; of signing in too: a session may end where nothing can be fetched any more. */
export const FIRST_WORDS = ['shell', 'states', 'problems', 'signin'];

type Catalogue = Record<string, string>;

const KEPT_AS = 'campanile.language';
const files = import.meta.glob<{ default: Catalogue }>('./*/*.json');

/** Texts that only name their arguments need no parser, which is what a page would wait for longest. */
const SIMPLE = /^(?:[^{}'#]|\{\w+\})*$/;
const ARGUMENT = /\{(\w+)\}/g;

/** A name or text that runs from right to left stands by itself in a sentence that does not (Unicode's FSI and PDI). */
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const ISOLATE = String.fromCharCode(0x2068);
const END_OF_ISOLATE = String.fromCharCode(0x2069);

function isolated(args: WordArguments): WordArguments {
	const entries = Object.entries(args).map(([name, value]) => [name, typeof value === 'string' && RIGHT_TO_LEFT.test(value) ? ISOLATE + value + END_OF_ISOLATE : value]);
	return Object.fromEntries(entries) as WordArguments;
}

/** Words that are sent: phones show the marks of isolation as boxes. */
export const unmarked = (text: string): string => text.replace(/[\u2068\u2069]/g, '');

/** The words in use. Catalogues are in ICU form; a page loads those that it needs in its `load`. */
class Words {
	language: Language = $state('en');
	#texts: Record<string, string> = $state.raw({});
	#formats = new Map<string, IntlMessageFormat>();
	#loaded = new Set<string>();

	/** Words of these catalogues in the language of the page, and in English where that lacks one. */
	async load(...names: string[]): Promise<void> {
		const wanted = names.filter((name) => !this.#loaded.has(name));
		if (wanted.length === 0) return;
		const languages: Language[] = this.language === 'en' ? ['en'] : ['en', this.language];
		const found: Record<string, string> = {};
		for (const language of languages) {
			const catalogues = await Promise.all(wanted.map((name) => catalogue(language, name)));
			wanted.forEach((name, at) => {
				for (const [key, text] of Object.entries(catalogues[at] ?? {})) found[`${name}.${key}`] = text;
			});
		}
		// Others may have loaded theirs meanwhile.
		this.#texts = { ...this.#texts, ...found };
		wanted.forEach((name) => this.#loaded.add(name));
	}

	/** The language that somebody chose here, else the first of the browser's that there is. */
	begin(): void {
		const wanted = [localStorage.getItem(KEPT_AS) ?? '', ...navigator.languages];
		this.language = wanted.map((tag) => tag.slice(0, 2)).find((tag) => tag in LANGUAGES) as Language ?? 'en';
		document.documentElement.lang = this.language;
	}

	/** Another language, from now on in this browser. */
	async speak(language: Language): Promise<void> {
		localStorage.setItem(KEPT_AS, language);
		this.language = language;
		document.documentElement.lang = language;
		const names = [...this.#loaded];
		this.#loaded.clear();
		this.#formats.clear();
		await this.load(...names);
	}

	/** The words of a key, `catalogue.key`. */
	say(key: string, args?: WordArguments): string {
		const text = this.#texts[key];
		if (text === undefined) return key;
		if (!args && !text.includes('{') && !text.includes("'")) return text;
		const given = args && isolated(args);
		if (SIMPLE.test(text)) return text.replace(ARGUMENT, (_, name: string) => String(given?.[name] ?? ''));
		let format = this.#formats.get(key);
		if (!format) {
			format = new IntlMessageFormat(text, this.language, undefined, { ignoreTag: true });
			this.#formats.set(key, format);
		}
		return String(format.format(given as Record<string, string | number>));
	}

	has(key: string): boolean {
		return this.#texts[key] !== undefined;
	}
}

async function catalogue(language: Language, name: string): Promise<Catalogue> {
	const file = files[`./${language}/${name}.json`];
	return file ? (await file()).default : {};
}

export const words = new Words();

/** The words of a key: `t('shell.menu')`, `t('home.reached', { count: 3 })`. */
export const t = (key: string, args?: WordArguments): string => words.say(key, args);
