import { words } from '$lib/words/index.svelte';
import { session } from '$lib/session.svelte';

export const ssr = false;

/** Words and who is signed in, once. */
export async function load(): Promise<void> {
	if (session.isKnown) return;
	words.begin();
	// Those of signing in too: a session may end where nothing can be fetched any more.
	await Promise.all([words.load('shell', 'states', 'problems', 'signin'), session.load()]);
}
