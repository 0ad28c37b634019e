import { session } from '$lib/session.svelte';
import { FIRST_WORDS, words } from '$lib/words/index.svelte';

// What every page asks for is on its way while the page itself is still being read.
session.ahead();
words.begin();
void words.load(...FIRST_WORDS);
