import { createHmac } from 'node:crypto';
import { another, expect, PASSWORD, signIn, test } from './server';
import { looksRight } from './look';

test.use({ config: '\n[[approval]]\nmode = "live"\npeople_over = 1000\nneeds = "one"\nexpires = "30m"\n' });

test('a route is tested, stopped with a reason, and used again @all', async ({ page, server }) => {
	await server.until('/api/v1/routes/carrier-north', ({ state }) => state === 'up');
	await signIn(page, server, 'jonas', '/routes');
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('All 3 routes work');
	await page.getByRole('link', { name: 'carrier-north', exact: true }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('carrier-north works');

	await page.getByRole('textbox', { name: 'Number' }).fill('+46701740600');
	await page.getByRole('button', { name: 'Send one test message' }).click();
	await expect(page.getByText(/Sent to \+46701740600, arrived after/)).toBeVisible();

	await page.getByRole('button', { name: 'Stop using this route' }).click();
	const dialog = page.getByRole('dialog');
	await expect(dialog).toContainText('What is planned for it goes by carrier-south.');
	await dialog.getByLabel('Reason').fill('The carrier works on its masts');
	await dialog.getByRole('button', { name: 'Stop using this route' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toContainText('carrier-north is stopped since');
	await expect(page.getByText('The carrier works on its masts')).toBeVisible();
	await looksRight(page);
	expect((await server.call('GET', '/api/v1/routes/carrier-north')).hold.reason).toBe('The carrier works on its masts');

	await page.getByRole('button', { name: 'Use this route again' }).click();
	await page.getByRole('dialog').getByRole('button', { name: 'Use this route again' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('carrier-north works');
});

test('a viewer sees how a route stands, and no button that changes it @all', async ({ page, server }) => {
	await signIn(page, server, 'vera', '/routes/carrier-south');
	await expect(page.getByRole('heading', { name: 'Now' })).toBeVisible();
	await expect(page.getByRole('button', { name: 'Stop using this route' })).toHaveCount(0);
	await expect(page.getByRole('button', { name: 'Send one test message' })).toHaveCount(0);
	await page.goto(`${server.pages}/settings/users`);
	await expect(page.getByText('This is not open to you.')).toBeVisible();
});

test('a user is added, gets a link that is shown once, signs in, and is disabled', async ({ page, browser, server }) => {
	await signIn(page, server, 'jonas', '/settings/users/new');
	await page.getByLabel('Full name').fill('Sven Dahl');
	await page.getByRole('button', { name: 'Add a user' }).click();
	expect(await page.getByLabel('Name to sign in with').evaluate((field: HTMLInputElement) => field.validity.valueMissing)).toBe(true);
	await page.getByLabel('Name to sign in with').fill('sven');
	await page.getByLabel('Viewer').check();
	await page.getByRole('button', { name: 'Add a user' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sven Dahl is invited, and has not come yet');
	await page.getByRole('button', { name: 'Make a link to invite them' }).click();
	const link = await page.locator('.once code').textContent();
	const token = link?.split('#')[1]?.replace(/^token=/, '');
	await server.call('POST', '/api/v1/invitations:accept', { token, password: PASSWORD }, { authorization: '' });
	await page.reload();
	await expect(page.locator('.once')).toHaveCount(0);
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sven Dahl can sign in');

	const sven = await another(browser, server, { name: 'sven', full_name: 'Sven Dahl', roles: ['viewer'] }, '/drill');
	await page.getByRole('button', { name: 'Disable' }).click();
	await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sven Dahl cannot sign in');
	await sven.page.reload();
	await expect(sven.page.getByLabel('Password')).toBeVisible();
	await sven.context.close();
});

test('the secret of a token is shown once, works, and is revoked @all', async ({ page, server }) => {
	await signIn(page, server, 'jonas', '/settings/tokens');
	await page.getByRole('button', { name: 'Make a token' }).click();
	const dialog = page.getByRole('dialog');
	await dialog.getByLabel('Name').fill('sirens');
	await dialog.getByLabel('May').selectOption('viewer');
	await dialog.getByRole('button', { name: 'Make a token' }).click();
	const secret = (await page.locator('.once code').textContent()) ?? '';
	const look = () => fetch(`${server.url}/api/v1/alerts`, { headers: { authorization: `Bearer ${secret}` } }).then(({ status }) => status);
	expect(await look()).toBe(200);
	await page.getByRole('button', { name: 'Revoke sirens' }).click();
	await page.getByRole('dialog').getByRole('button', { name: 'Revoke sirens' }).click();
	await expect(page.locator('summary').filter({ hasText: '1 revoked' })).toBeVisible();
	expect(await look()).toBe(401);
	await page.reload();
	await expect(page.locator('summary').filter({ hasText: '1 revoked' })).toBeVisible();
	await expect(page.getByText(secret)).toHaveCount(0);
});

test('a mistake in a configuration is found on its line, and the rules of approval are told @all', async ({ page, server }) => {
	await signIn(page, server, 'jonas', '/settings/server');
	await page.getByLabel('Text of a configuration').fill('[http]\nlisten = "127.0.0.1:8080"\n\n[engine]\nretry_aftr = "5s"\n');
	await page.getByRole('button', { name: 'Check this text' }).click();
	await expect(page.getByText('One mistake')).toBeVisible();
	await page.getByRole('button', { name: 'Line 5' }).click();
	const chosen = await page.getByLabel('Text of a configuration').evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd));
	expect(chosen).toBe('retry_aftr = "5s"');
	await page.getByRole('button', { name: 'Load the configuration' }).click();
	await expect(page.getByText('Loaded: nothing has changed.')).toBeVisible();
	await page.goto(`${server.pages}/settings/approval`);
	await expect(page.getByText('Alerts in live space need one other person.')).toBeVisible();
	await expect(page.getByText('it goes to more than 1,000 people')).toBeVisible();
});

/** The code of an authenticator (RFC 6238): SHA-1, six digits, 30 seconds. */
function totp(secret: string, at = Date.now()): string {
	const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
	const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
	const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => parseInt(octet, 2)));
	const step = Buffer.alloc(8);
	step.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
	const hash = createHmac('sha1', key).update(step).digest();
	const offset = (hash.at(-1) ?? 0) & 15;
	return String((hash.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

test('codes of an app are switched on with ten recovery codes, and asked for from then on @all', async ({ page, browser, server }) => {
	await signIn(page, server, 'mira', '/me');
	await page.getByRole('button', { name: 'Set up codes of an app' }).click();
	await expect(page.getByRole('img', { name: 'QR code of the secret, for an authenticator app' })).toBeVisible();
	const secret = ((await page.locator('.secret code').textContent()) ?? '').replaceAll(' ', '');
	await looksRight(page);
	await page.getByLabel('Code of the app').fill(totp(secret));
	await page.getByRole('button', { name: 'Switch codes on' }).click();
	await expect(page.locator('.codes li')).toHaveCount(10);
	await expect(page.getByRole('heading', { name: 'Second factor: on' })).toBeVisible();
	const recovery = (await page.locator('.codes li').first().textContent()) ?? '';

	const context = await browser.newContext();
	const other = await context.newPage();
	await other.goto(`${server.pages}/sign-in`);
	await other.getByLabel('Name').fill('mira');
	await other.getByLabel('Password').fill(PASSWORD);
	await other.getByRole('button', { name: 'Sign in', exact: true }).click();
	await other.getByRole('button', { name: 'Use a recovery code' }).click();
	await other.getByLabel('Recovery code').fill(recovery);
	await other.getByRole('button', { name: 'Go on' }).click();
	await expect(other.locator('.band')).toBeVisible();
	await context.close();
});

test('the theme and the language of this browser stay @all', async ({ page, server }) => {
	await signIn(page, server, 'vera', '/me');
	await page.getByLabel('Dark').check();
	await page.getByLabel('Language').selectOption('sv');
	await page.reload();
	await expect(page.getByLabel('Språk')).toHaveValue('sv');
	await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
});
