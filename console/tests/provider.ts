import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';

/** A provider of OpenID Connect that signs one person in at once: authorization code flow with PKCE (RFC 7636), ID
 * tokens by RS256. */

export const CLIENT = 'campanile';
const KEY = 'k1';
const TOKEN_S = 300;

export interface Provider {
	issuer: string;
	stop: () => void;
}

const base64url = (text: string | Buffer): string => Buffer.from(text).toString('base64url');

export async function provider(claims: Record<string, unknown>): Promise<Provider> {
	const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
	const codes = new Map<string, URLSearchParams>();
	let issuer = '';

	function idToken(asked: URLSearchParams): string {
		const now = Math.floor(Date.now() / 1_000);
		const head = base64url(JSON.stringify({ alg: 'RS256', kid: KEY, typ: 'JWT' }));
		const body = base64url(JSON.stringify({ iss: issuer, aud: CLIENT, iat: now, exp: now + TOKEN_S, nonce: asked.get('nonce'), ...claims }));
		const signature = createSign('RSA-SHA256').update(`${head}.${body}`).sign(privateKey);
		return `${head}.${body}.${base64url(signature)}`;
	}

	const server: Server = createServer((request, answer) => {
		const url = new URL(request.url ?? '/', issuer);
		const json = (status: number, body: unknown) => answer.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
		if (url.pathname === '/.well-known/openid-configuration') {
			return json(200, { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys`, id_token_signing_alg_values_supported: ['RS256'], response_types_supported: ['code'], subject_types_supported: ['public'], code_challenge_methods_supported: ['S256'] });
		}
		if (url.pathname === '/keys') return json(200, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: KEY, use: 'sig', alg: 'RS256' }] });
		if (url.pathname === '/authorize') {
			const code = randomBytes(16).toString('hex');
			codes.set(code, url.searchParams);
			const back = new URL(url.searchParams.get('redirect_uri') ?? '');
			back.searchParams.set('code', code);
			back.searchParams.set('state', url.searchParams.get('state') ?? '');
			return answer.writeHead(302, { Location: back.href }).end();
		}
		if (url.pathname !== '/token') return json(404, {});
		let body = '';
		request.on('data', (piece) => (body += piece));
		request.on('end', () => {
			const form = new URLSearchParams(body);
			const asked = codes.get(form.get('code') ?? '');
			codes.delete(form.get('code') ?? '');
			const challenge = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
			if (!asked || challenge !== asked.get('code_challenge')) return json(400, { error: 'invalid_grant' });
			json(200, { access_token: randomBytes(16).toString('hex'), token_type: 'Bearer', expires_in: TOKEN_S, id_token: idToken(asked) });
		});
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const address = server.address();
	issuer = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
	return { issuer, stop: () => void (server.closeAllConnections(), server.close()) };
}
