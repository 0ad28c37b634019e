/** The address of this page with other members of its query; null takes one out. */
export function withQuery(url: URL, changes: Record<string, string | null>): string {
	const query = new URLSearchParams(url.search);
	for (const [name, value] of Object.entries(changes)) {
		if (value === null) query.delete(name);
		else query.set(name, value);
	}
	const text = query.toString();
	return text ? `${url.pathname}?${text}` : url.pathname;
}

/** Whom the list of people shows: `reached`, a reason, or everybody. */
export const who = (url: URL, reason: string, entry: string | null = null): string =>
	withQuery(url, { who: reason, entry, cursor: null });
