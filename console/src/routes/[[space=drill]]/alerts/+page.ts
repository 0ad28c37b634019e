import { words } from '$lib/words/index.svelte';

export const load = () => words.load('alerts', 'schedules');
