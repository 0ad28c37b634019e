import { download } from '$lib/people/download';

/** What an alert can be saved as. A file is fetched with the headers of the session, as a plain link has none. */
export const FILES = {
	csv: { path: 'report', type: 'text/csv', ending: 'csv' },
	json: { path: 'report', type: 'application/json', ending: 'json' },
	xml: { path: 'report', type: 'application/xml', ending: 'xml' },
	cap: { path: 'cap', type: 'application/cap+xml, application/xml, text/xml', ending: 'cap.xml' },
	evidence: { path: 'evidence/export', type: 'application/x-ndjson, */*', ending: 'evidence.ndjson' }
} as const;
export type FileOfAlert = keyof typeof FILES;

/** `gas-leak-at-old-harbour-01a220f2.csv`. */
export function fileName(headline: string, id: string, file: FileOfAlert): string {
	const name = headline.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '').replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '');
	return `${name || 'alert'}-${id.slice(0, 8)}.${FILES[file].ending}`;
}

/** Fetches a file and gives it to the browser to save. */
export async function save(id: string, headline: string, file: FileOfAlert): Promise<void> {
	const { path, type } = FILES[file];
	await download(`/api/v1/alerts/${id}/${path}`, fileName(headline, id, file), type);
}
