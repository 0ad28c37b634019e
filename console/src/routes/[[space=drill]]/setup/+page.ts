import { words } from '$lib/words/index.svelte';

export const load = () => words.load('setup', 'invitation', 'problems', 'routes', 'server', 'settings');
