import { FIRST_WORDS, words } from '$lib/words/index.svelte';
import { session } from '$lib/session.svelte';

export const ssr = false;

/** Words and who is signed in, once. */
export async function load(): Promise<void> {
	if (session.isKnown) return;
	await Promise.all([words.load(...FIRST_WORDS), session.load()]);
}
