import { looksRight } from './look';
import { expect, PASSWORD, test } from './server';

test.use({ users: [] });

test('a new server is set up from its admin token to the first drill', async ({ page, server }) => {
	test.setTimeout(120_000);
	await page.goto(server.pages);
	await page.getByRole('link', { name: 'Set up this server' }).click();
	await page.getByLabel('Admin token').fill('cmp_no-such-token');
	await page.getByRole('button', { name: 'Begin the setup' }).click();
	await expect(page.getByText('The server does not know this token.')).toBeVisible();
	await page.getByLabel('Admin token').fill(server.token);
	await page.getByRole('button', { name: 'Begin the setup' }).click();

	const step = page.getByRole('heading', { level: 2 }).filter({ hasText: /^Step / });
	const heading = (name: string) => expect(page.getByRole('heading', { name }).first()).toBeVisible();
	await heading('Make yourself the administrator');
	await looksRight(page);
	await page.getByLabel('Your full name').fill('Jonas Ek');
	await page.getByLabel('Name to sign in with').fill('jonas');
	await page.getByLabel('New password').fill('short');
	await page.getByRole('button', { name: 'Make the administrator and sign in' }).click();
	await expect(page.getByText('It has 5 characters and needs 12 or more.')).toBeVisible();
	await page.getByLabel('New password').fill(PASSWORD);
	await page.getByRole('button', { name: 'Make the administrator and sign in' }).click();

	await heading('Protect your sign-in');
	await page.getByRole('button', { name: 'Leave it for later' }).click();
	// The carrier stands in the configuration: that step is done.
	await heading('Bring in the people');
	await page.getByRole('button', { name: 'Take the sample' }).click();
	await expect(page.getByText('20 people were added.')).toBeVisible();
	await page.getByRole('button', { name: 'Go to the next step' }).click();
	await heading('Send yourself a test');
	await page.getByLabel('Your mobile number or mail address').fill('+46701740600');
	await page.getByRole('button', { name: 'Send me a test' }).click();
	await expect(page.getByText(/^Sent to \+?46 ?70.*, arrived after/)).toBeVisible({ timeout: 30_000 });
	await page.getByRole('button', { name: /^(Go to the next step|Leave it for later)$/ }).click();
	await heading('Hold a first drill');
	await page.getByRole('link', { name: 'Write the first drill' }).or(page.getByRole('button', { name: 'Write the first drill' })).click();
	await expect(page).toHaveURL(/\/drill\//);
	await expect(page.locator('.band')).toContainText('DRILL');
	expect(await step.count()).toBe(0);
});
