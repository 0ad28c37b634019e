import { t } from '$lib/words/index.svelte';

const NAMES = ['full_name', 'name', 'mail', 'person', 'roles', 'spaces', 'groups', 'areas'];

/** Where the form has what the request names. */
export const fieldsOfUser = (): Record<string, { id: string; label: string }> =>
	Object.fromEntries(NAMES.map((name) => [name, { id: `user-${name}`, label: t(`users.${name}`) }]));
