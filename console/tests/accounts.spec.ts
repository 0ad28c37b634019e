import { readFile } from 'node:fs/promises';
import { expect, signIn, test } from './server';
import { looksRight } from './look';

test.use({ config: '\n[charging]\nmode = "ledger"\n[[charging.tariff]]\nprefix = "+46"\nunit = {price = 35, per = 1}\n' });

test('an account is topped up, pays an alert, shows its records, and is blocked @all', async ({ page, server }) => {
	await server.addPeople(3);
	await server.call('POST', '/api/v1/accounts', { id: 'default', balance: 1_000 });
	await signIn(page, server, 'jonas', '/accounts');
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('One account');
	await page.getByRole('link', { name: 'default', exact: true }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('default can spend 10.00');

	await page.getByRole('button', { name: 'Top up', exact: true }).click();
	const dialog = page.getByRole('dialog');
	await dialog.getByLabel('Amount').fill('5.505');
	await dialog.getByRole('button', { name: 'Top up' }).click();
	await expect(dialog.getByText('Write an amount with at most two decimals')).toBeVisible();
	await dialog.getByLabel('Amount').fill('5.50');
	await expect(dialog).toContainText('The balance goes from 10.00 to 15.50.');
	await dialog.getByRole('button', { name: 'Top up by 5.50' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('default can spend 15.50');

	await server.send({ channels: ['sms'] });
	await server.until('/api/v1/accounts/default', ({ used, reserved }) => used === 105 && reserved === 0);
	await page.reload();
	const records = page.getByRole('table', { name: 'Records, newest first' });
	await expect(records.getByRole('row').nth(1)).toContainText('Message paid');
	await expect(records.getByRole('row').last()).toContainText('Account opened');
	await looksRight(page);
	const saved = page.waitForEvent('download');
	await page.getByRole('button', { name: /Save these \d+ records as CSV/ }).click();
	const text = await readFile(await (await saved).path(), 'utf8');
	expect(text).toMatch(/^time,event,charged,/);
	expect(text).toContain(',TopUp,-550,');

	await page.getByRole('button', { name: 'Block the account' }).click();
	await page.getByRole('dialog').getByRole('button', { name: 'Block the account' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('default is blocked');
	await page.getByRole('button', { name: 'Unblock the account' }).click();
	await page.getByRole('dialog').getByRole('button', { name: 'Unblock the account' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('default can spend 14.45');
});

test('tariffs that were set by the API give way to those of the configuration @all', async ({ page, server }) => {
	await server.call('PUT', '/api/v1/tariffs', { items: [{ prefix: '+47', unit: { price: 50, per: 1 } }] });
	await signIn(page, server, 'jonas', '/tariffs');
	await expect(page.getByRole('cell', { name: '0.50 for a message part' })).toBeVisible();
	await page.getByRole('button', { name: 'Return to the tariffs of the configuration' }).click();
	await page.getByRole('dialog').getByRole('button', { name: 'Return to the tariffs of the configuration' }).click();
	await expect(page.getByRole('cell', { name: '0.35 for a message part' })).toBeVisible();
});

test('a viewer sees money and cannot move it @all', async ({ page, server }) => {
	await signIn(page, server, 'vera', '/accounts');
	await expect(page.getByRole('button', { name: 'Open an account' })).toHaveCount(0);
	await page.goto(`${server.pages}/credit-sessions`);
	await expect(page.getByRole('heading', { level: 1 })).toHaveText(/account|Credit sessions/);
});
