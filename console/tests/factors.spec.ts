import { createHmac } from 'node:crypto';
import { CLIENT, provider } from './provider';
import { expect, PASSWORD, Server, signIn, test } from './server';
import type { Page } from '@playwright/test';

/** Second factors, passkeys, and a provider elsewhere. */

const STEP_S = 30;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The code of a moment (RFC 6238, RFC 4226 section 5.3). */
function code(secret: string, at: number): string {
	const bits = [...secret.replaceAll('=', '')].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('');
	const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => parseInt(octet, 2)));
	const counter = Buffer.alloc(8);
	counter.writeBigUInt64BE(BigInt(Math.floor(at / 1_000 / STEP_S)));
	const hash = createHmac('sha1', key).update(counter).digest();
	const offset = (hash[19] ?? 0) & 15;
	return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

async function signOut(page: Page): Promise<void> {
	await page.getByRole('button', { name: 'Sign out' }).first().click();
	await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
}

test('codes of an app are set up, asked for, and a recovery code stands in for them @all', async ({ page, server }) => {
	await signIn(page, server, 'jonas', '/me');
	const offered = page.waitForResponse((response) => response.url().endsWith('/me/totp') && response.request().method() === 'POST');
	await page.getByRole('button', { name: 'Set up codes of an app' }).click();
	const { secret } = await (await offered).json();
	const switched = page.waitForResponse((response) => response.url().endsWith('/me/totp') && response.request().method() === 'PUT');
	await page.getByLabel('Code of the app').fill(code(secret, Date.now()));
	await page.getByRole('button', { name: 'Switch codes on' }).click();
	const { codes } = await (await switched).json();
	await expect(page.getByText('Ten recovery codes, shown this once')).toBeVisible();
	await page.getByRole('button', { name: 'I have them' }).click();
	await signOut(page);

	await page.getByLabel('Name').fill('jonas');
	await page.getByLabel('Password').fill(PASSWORD);
	await page.getByRole('button', { name: 'Sign in', exact: true }).click();
	await page.getByLabel('Code').fill('000000');
	await page.getByRole('button', { name: 'Go on' }).click();
	await expect(page.getByText('This code is wrong, or was used before.')).toBeVisible();
	await page.getByRole('button', { name: 'Use a recovery code' }).click();
	await page.getByLabel('Recovery code').fill(codes[0]);
	await expect(async () => {
		await page.getByRole('button', { name: 'Go on' }).click();
		await expect(page.locator('.band')).toBeVisible({ timeout: 1_000 });
	}).toPass();
});

test('a passkey is made, and signs in without a password @all', async ({ page, server }) => {
	const session = await page.context().newCDPSession(page);
	await session.send('WebAuthn.enable');
	await session.send('WebAuthn.addVirtualAuthenticator', {
		options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true }
	});
	await signIn(page, server, 'mira', '/me');
	await page.getByLabel('Name of a new passkey').fill('this computer');
	await page.getByRole('button', { name: 'Add a passkey' }).click();
	await expect(page.getByText('this computer')).toBeVisible();
	await signOut(page);
	await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
	await expect(page.locator('.band')).toBeVisible();
	await expect(page.getByText('Mira Holm').locator('visible=true').first()).toBeVisible();
});

test('a provider elsewhere signs in, and one comes back to the page that one wanted @all', async ({ page }) => {
	const elsewhere = await provider({ sub: 'eva-1', name: 'Eva Lind', preferred_username: 'eva', email: 'eva@lindvik.example', groups: ['duty'] });
	const config = `
[oidc]
issuer = "${elsewhere.issuer}"
client_id = "${CLIENT}"
name = "Lindvik"
claim = "groups"
[[oidc.role]]
value = "duty"
roles = ["author", "operator"]
[outbound]
allow = ["127.0.0.1"]
`;
	const server = await Server.start(config, []);
	try {
		await page.goto(`${server.pages}/drill/people`);
		await page.getByRole('link', { name: 'Sign in with Lindvik' }).click();
		await expect(page.locator('.band')).toContainText('DRILL');
		expect(new URL(page.url()).pathname).toBe('/drill/people');
		await expect(page.getByText('Eva Lind').locator('visible=true').first()).toBeVisible();
	} finally {
		await server.stop();
		elsewhere.stop();
	}
});
