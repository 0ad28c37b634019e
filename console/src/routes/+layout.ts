import { words } from '$lib/words/index.svelte';
import { session } from '$lib/session.svelte';

export const ssr = false;

/** Words and who is signed in, once. */
export async function load(): Promise<void> {
	if (session.isKnown) return;
	words.begin();
	await Promise.all([words.load('shell', 'states', 'problems'), session.load()]);
}
