import { words } from '$lib/words/index.svelte';

/** The name of a language in the language of the page: "Swedish"; the tag itself where it has none. */
export function languageName(tag: string): string {
	try {
		const name = new Intl.DisplayNames([words.language], { type: 'language' }).of(tag) ?? tag;
		return name.charAt(0).toLocaleUpperCase(words.language) + name.slice(1);
	} catch {
		return tag;
	}
}

/** Its name as its readers write it: "Svenska". */
export function ownName(tag: string): string {
	try {
		const name = new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? tag;
		return name.charAt(0).toLocaleUpperCase(tag) + name.slice(1);
	} catch {
		return tag;
	}
}
