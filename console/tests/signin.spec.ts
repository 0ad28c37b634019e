import { expect, PASSWORD, signIn, test } from './server';
import { looksRight } from './look';

test('who signs in comes back to the page they wanted, and a wrong password says so', async ({ page, server }) => {
	await page.goto(`${server.pages}/alerts`);
	await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
	await looksRight(page);
	await page.getByLabel('Name').fill('jonas');
	await page.getByLabel('Password').fill('a wrong one entirely');
	await page.getByRole('button', { name: 'Sign in', exact: true }).click();
	await expect(page.getByText('The name or the password is wrong.')).toBeVisible();
	await expect(page.getByLabel('Password')).toBeFocused();
	await page.getByLabel('Password').fill(PASSWORD);
	// After a failure a name waits for a second.
	await expect(async () => {
		await page.getByRole('button', { name: 'Sign in', exact: true }).click();
		await expect(page.locator('.band')).toBeVisible({ timeout: 1_000 });
	}).toPass();
	expect(new URL(page.url()).pathname).toBe('/alerts');
});

test('an address of another site is not where signing in leads', async ({ page, server }) => {
	await signIn(page, server, 'jonas', '//elsewhere.example/x');
	expect(new URL(page.url()).pathname).toBe('/');
});

test('a session that ended asks for the password in place', async ({ page, server }) => {
	await signIn(page, server, 'vera');
	const { items } = await server.call('GET', '/api/v1/users?limit=100');
	const vera = items.find((user: { name: string }) => user.name === 'vera');
	await server.call('DELETE', `/api/v1/users/${vera.id}/sessions`);
	const dialog = page.getByRole('dialog', { name: 'Sign in again' });
	await expect(dialog).toBeVisible();
	await dialog.getByLabel('Password').fill(PASSWORD);
	await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
	await expect(dialog).toBeHidden();
	await expect(page.locator('.band')).toContainText('LIVE');
});
