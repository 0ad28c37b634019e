import createClient from 'openapi-fetch';
import { spaceOf } from '../space.svelte';
import { ApiProblem } from './problem';
import type { components, paths } from './schema';

/** Schemas of the API by name: `Schema<'Report'>`. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

/** What the client asks of the session: its token against forged requests, and a person who signs in again. */
export interface SessionKeeper {
	csrf(): string;
	/** The session is over: asks for the password in place. False: they went away. */
	signInAgain(): Promise<boolean>;
	/** A dangerous act: asks for the password or a factor. False: they left it. */
	confirm(): Promise<boolean>;
}

let keeper: SessionKeeper = { csrf: () => '', signInAgain: async () => false, confirm: async () => false };

/** Called once by the session. */
export function keepSession(by: SessionKeeper): void {
	keeper = by;
}

const SAFE = new Set(['GET', 'HEAD']);
/** Requests whose 401 is an answer to what was typed, not the end of a session. */
const SIGN_IN = /^\/api\/v1\/(session(\/options|:second|:confirm)?|invitations:accept)$/;

/** `fetch` with the headers of a session. A session that ended and an act that wants a password are asked for in
 * place, and the same request goes out again: nothing that was typed is lost. */
export async function sessionFetch(input: Request | string, init?: RequestInit): Promise<Response> {
	const request = new Request(input, init);
	const path = new URL(request.url).pathname;
	const again = request.clone();
	const response = await fetch(signed(request));
	if (response.ok || SIGN_IN.test(path)) return response;
	const kind = await kindOf(response);
	const isAsked =
		(response.status === 401 && (await keeper.signInAgain())) ||
		(kind === 'confirmation-needed' && (await keeper.confirm()));
	return isAsked ? fetch(signed(again)) : response;
}

function signed(request: Request): Request {
	const headers = new Headers(request.headers);
	if (!headers.has('X-Campanile-Space')) headers.set('X-Campanile-Space', spaceOf(location.pathname));
	if (!SAFE.has(request.method)) headers.set('X-Campanile-CSRF', keeper.csrf());
	return new Request(request, { headers, credentials: 'same-origin', cache: 'no-store' });
}

async function kindOf(response: Response): Promise<string> {
	if (response.status !== 403) return '';
	const document = await response
		.clone()
		.json()
		.catch(() => ({}));
	return String(document.type ?? '').split(':').pop() ?? '';
}

/** The API, typed by its description. */
export const api = createClient<paths>({ baseUrl: globalThis.location?.origin ?? '', fetch: sessionFetch });

interface Answer<Data> {
	data?: Data;
	error?: unknown;
	response: Response;
}

/** What was asked for, or an {@link ApiProblem}: `const alert = await ask(api.GET('/api/v1/alerts/{id}', …))`. */
export async function ask<Data>(answer: Promise<Answer<Data>>): Promise<NonNullable<Data>> {
	return (await askWhole(answer)).data;
}

/** The same with the version that the server gave, for `If-Match`. */
export async function askWhole<Data>(
	answer: Promise<Answer<Data>>
): Promise<{ data: NonNullable<Data>; etag: string | null }> {
	const { data, error, response } = await answer;
	if (!response.ok) {
		const document = typeof error === 'object' && error !== null ? error : {};
		const after = Number(response.headers.get('Retry-After'));
		throw new ApiProblem(response.status, document, after > 0 ? after : null);
	}
	return { data: data as NonNullable<Data>, etag: response.headers.get('ETag') };
}
