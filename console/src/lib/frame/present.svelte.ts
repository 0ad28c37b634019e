import { api } from '$lib/api/client';

/** What this server has: places of what is not configured are not shown. */
type Part = 'messages' | 'clients' | 'topics' | 'edge_sites';

const LOOKS: Record<Part, () => Promise<{ data?: unknown }>> = {
	messages: () => api.GET('/api/v1/messages', { params: { query: { limit: 1 } } }),
	clients: () => api.GET('/api/v1/clients', { params: { query: { limit: 1 } } }),
	topics: () => api.GET('/api/v1/topics', { params: { query: { limit: 1 } } }),
	edge_sites: () => api.GET('/api/v1/edge-sites', {})
};

class Present {
	#found: Part[] = $state([]);

	has(part: Part): boolean {
		return this.#found.includes(part);
	}

	/** Asks once somebody is signed in. */
	async look(): Promise<void> {
		const parts = Object.keys(LOOKS) as Part[];
		const found = await Promise.all(
			parts.map(async (part) => {
				const { data } = await LOOKS[part]().catch(() => ({ data: undefined }));
				const items = (data as { items?: unknown[] } | undefined)?.items;
				return (items?.length ?? 0) > 0;
			})
		);
		this.#found = parts.filter((_, at) => found[at]);
	}
}

export const present = new Present();
