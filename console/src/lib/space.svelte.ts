import { page } from '$app/state';

/** Live space reaches real people; drill space is for practice. Its addresses begin with `/drill`. */
export type Space = 'live' | 'drill';

const DRILL = '/drill';

/** The space that an address belongs to. */
export function spaceOf(pathname: string): Space {
	return pathname === DRILL || pathname.startsWith(`${DRILL}/`) ? 'drill' : 'live';
}

/** The space of the page that is shown. */
export function space(): Space {
	return spaceOf(page.url.pathname);
}

/** An address in a space; without one in that of the page. `path` begins with `/` and names no space. */
export function to(path: string, of: Space = space()): string {
	if (of === 'live') return path;
	return path === '/' ? DRILL : DRILL + path;
}

/** The address without its space: `/drill/alerts` is `/alerts`. */
export function bare(pathname: string): string {
	return spaceOf(pathname) === 'drill' ? pathname.slice(DRILL.length) || '/' : pathname;
}
