import { session } from '$lib/session.svelte';
import type { Space } from '$lib/space.svelte';
import { t } from '$lib/words/index.svelte';

/** Whether what is sent from a space reaches real people; where that is not known, it may. */
export function isReal(space: Space): boolean {
	const spaces = session.now?.spaces;
	if (space === 'live') return !(spaces?.live.simulated && spaces.live.routes > 0);
	return spaces?.drill.simulated === false;
}

/** "18,079 real people", or what they are instead. */
export function peopleIn(space: Space, count: number): string {
	if (isReal(space)) return t('review.real_people', { count });
	return t(space === 'live' ? 'review.simulated_people' : 'review.drill_people', { count });
}
