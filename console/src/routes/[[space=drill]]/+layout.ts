import { redirect } from '@sveltejs/kit';
import { cameBackTo, session } from '$lib/session.svelte';
import { bare } from '$lib/space.svelte';
import type { LayoutLoad } from './$types';

/** Pages that somebody may see without being signed in. */
const OPEN = ['/setup'];

export const load: LayoutLoad = async ({ url, parent }) => {
	await parent();
	if (!session.user && !OPEN.includes(bare(url.pathname))) {
		const to = url.pathname + url.search;
		redirect(307, to === '/' ? '/sign-in' : `/sign-in?to=${encodeURIComponent(to)}`);
	}
	if (session.user && url.pathname === '/') {
		const wanted = cameBackTo();
		if (wanted && wanted !== '/') redirect(307, wanted);
	}
	// Who has not been given live space is led to the other one.
	if (session.user && !session.has('live') && session.has('drill') && bare(url.pathname) === url.pathname) {
		redirect(307, `/drill${url.pathname === '/' ? '' : url.pathname}${url.search}`);
	}
};
