import { words } from '$lib/words/index.svelte';

export const load = () => words.load('audience', 'review', 'map', 'curve');
