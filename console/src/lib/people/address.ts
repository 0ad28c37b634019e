/** The address of this page with other filters; who filters begins with the first page again. */
export function withQuery(url: URL, changes: Record<string, string | null>): string {
	const query = new URLSearchParams(url.search);
	if (!('cursor' in changes)) query.delete('cursor');
	for (const [name, value] of Object.entries(changes)) {
		if (value === null || value === '') query.delete(name);
		else query.set(name, value);
	}
	const text = query.toString();
	return text ? `${url.pathname}?${text}` : url.pathname;
}

/** Addresses of the next page of a list and of its first. */
export function pages(url: URL, next: string | null): { next: string | null; first: string | null } {
	return {
		next: next === null ? null : withQuery(url, { cursor: next }),
		first: url.searchParams.has('cursor') ? withQuery(url, { cursor: null }) : null
	};
}
