import type { HandleClientError } from '@sveltejs/kit';
import { session } from '$lib/session.svelte';
import { FIRST_WORDS, words } from '$lib/words/index.svelte';

// What every page asks for is on its way while the page itself is still being read.
session.ahead();
words.begin();
void words.load(...FIRST_WORDS);

/** An address that leads nowhere is told on the page; it is no fault of the pages. */
export const handleError: HandleClientError = ({ error, status, message }) => {
	if (status !== 404) console.error(error);
	return { message };
};
