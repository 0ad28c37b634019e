import { words } from '$lib/words/index.svelte';

export const load = () => words.load('credit_sessions', 'accounts', 'settings');
