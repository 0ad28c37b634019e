/** The newest of a list that the server gives the oldest first: it is asked for windows of time, from the end back. */

export interface Dated {
	id: string;
	time: string;
}

export interface Window {
	/** Milliseconds; the window ends before `until`. */
	from: number;
	until: number;
}

/** All of a window, the oldest first; null where they are more than can be held. */
export type Look<T extends Dated> = (window: Window) => Promise<T[] | null>;

const MINUTE_MS = 60_000;
/** The first window is a day; a fruitless one is followed by one so many times as wide. */
const FIRST_MS = 1_440 * MINUTE_MS;
const WIDER = 8;
const NARROWER = 4;

/** So many of the newest that are before `until`, the newest first, and where the next page ends: null where nothing is
 * older. `began`: nothing is older than that. */
export async function newest<T extends Dated>(look: Look<T>, until: number, count: number, began: number): Promise<{ items: T[]; next: number | null }> {
	let items: T[] = [];
	let [end, width] = [until, FIRST_MS];
	while (end > began) {
		const from = Math.max(began, end - width);
		const found = await look({ from, until: end });
		if (found === null && width > 1) {
			width = Math.max(1, Math.floor(width / NARROWER));
			continue;
		}
		items = [...items, ...(found ?? []).reverse()];
		end = from;
		if (items.length >= count) return cut(items, count, end > began ? end : null);
		width *= WIDER;
	}
	return { items, next: null };
}

/** A page ends between two milliseconds, so that the next one begins where it ended: it may be somewhat longer. */
function cut<T extends Dated>(items: T[], count: number, older: number | null): { items: T[]; next: number | null } {
	const last = Math.floor(Date.parse(items[count - 1]?.time ?? ''));
	const page = items.filter(({ time }, at) => at < count || Math.floor(Date.parse(time)) === last);
	return { items: page, next: page.length < items.length ? last : older };
}
