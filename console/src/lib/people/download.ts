import { sessionFetch } from '$lib/api/client';
import { ApiProblem } from '$lib/api/problem';
import { saveFile } from '$lib/save-file';

/** Fetches a file as the person who is signed in, and hands it to the browser to be kept. */
export async function download(path: string, name: string, accept: string): Promise<void> {
	const response = await sessionFetch(new URL(path, location.origin).href, { headers: { Accept: accept } });
	if (!response.ok) throw new ApiProblem(response.status, await response.json().catch(() => ({})));
	saveFile(name, await response.blob());
}
