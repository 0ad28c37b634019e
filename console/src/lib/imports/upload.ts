import { ApiProblem } from '$lib/api/problem';
import type { Schema } from '$lib/api/client';
import { session } from '$lib/session.svelte';
import { space } from '$lib/space.svelte';

type Progress = (sent: number, whole: number) => void;

/** Sends a file as a stream to be looked at; nothing changes by it. `fetch` does not say how far it is: this does. */
export async function upload(file: File, mapping: string[], isJson: boolean, progress: Progress, given: AbortSignal): Promise<Schema<'ImportJob'>> {
	const query = new URLSearchParams([['dry_run', 'true'], ...mapping.map((each) => ['mapping', each])]);
	const path = `/api/v1/recipients:import?${query.toString()}`;
	const type = isJson ? 'application/x-ndjson' : 'text/csv';
	const answer = await send(path, file, type, progress, given);
	// The session ended: the password is asked for in place, and the file goes out again.
	if (answer.status !== 401 || !(await session.ask('again'))) return read(answer);
	return read(await send(path, file, type, progress, given));
}

function send(path: string, file: File, type: string, progress: Progress, given: AbortSignal): Promise<XMLHttpRequest> {
	return new Promise((resolve, reject) => {
		const request = new XMLHttpRequest();
		request.open('POST', path);
		request.setRequestHeader('Content-Type', type);
		request.setRequestHeader('X-Campanile-CSRF', session.now?.csrf ?? '');
		request.setRequestHeader('X-Campanile-Space', space());
		request.upload.onprogress = ({ loaded, total }) => progress(loaded, total);
		request.onload = () => resolve(request);
		request.onerror = () => reject(new Error('the connection broke'));
		request.onabort = () => reject(new DOMException('given up', 'AbortError'));
		given.addEventListener('abort', () => request.abort(), { once: true });
		request.send(file);
	});
}

function read({ status, responseText }: XMLHttpRequest): Schema<'ImportJob'> {
	let document: unknown = {};
	try {
		document = JSON.parse(responseText);
	} catch {
		// What is no JSON says no more than its status.
	}
	if (status >= 400) throw new ApiProblem(status, document as Schema<'Problem'>);
	return document as Schema<'ImportJob'>;
}
