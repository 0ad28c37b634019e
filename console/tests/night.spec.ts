import { another, expect, JONAS, MIRA, signIn, test, type Server } from './server';

/** From a blank page to the all-clear, as two people do it in one night: written, placed by coordinates, returned,
 * approved, followed, somebody helped, ended. */

test.use({
	config: `
[[approval]]
mode = "live"
origin = ["console"]
needs = "one"
`
});

async function harbour(server: Server): Promise<void> {
	const rows = Array.from({ length: 24 }, (_, n) => `n${n},Person ${n},en,harbour,+46701743${String(n).padStart(3, '0')},59.33,18.05`);
	const far = Array.from({ length: 6 }, (_, n) => `f${n},Far ${n},en,hill,+46701744${String(n).padStart(3, '0')},59.60,18.05`);
	await server.call('POST', '/api/v1/recipients:import', `id,name,language,groups,sms,lat,lon\n${[...rows, ...far].join('\n')}\n`);
}

test('an alert is written, returned, approved, followed and ended by two people', async ({ page, server, browser }) => {
	test.setTimeout(150_000);
	await harbour(server);
	await signIn(page, server, JONAS, '/alerts/new');
	await page.getByRole('button', { name: 'Write a new alert' }).click();
	await page.getByLabel('Headline', { exact: true }).fill('Gas leak at Old Harbour');
	await page.getByLabel('Text for all', { exact: true }).fill('Gas leak. Leave the harbour now, on foot.');

	await page.getByRole('link', { name: 'Audience' }).click();
	await page.getByText('Type coordinates', { exact: true }).click();
	await page.getByLabel('Middle').fill('59.33, 18.05');
	await page.getByLabel('Radius').fill('2 km');
	await page.getByRole('button', { name: 'Add the circle' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('24 people get it');

	await page.getByRole('link', { name: 'Delivery' }).click();
	await page.getByRole('button', { name: /Add an answer/ }).click();
	await page.getByLabel('Answer 1').fill('I am safe');
	await page.getByRole('button', { name: /Add an answer/ }).click();
	await page.getByLabel('Answer 2').fill('I need help');
	await page.getByRole('checkbox', { name: 'Who answers so needs help' }).last().check();

	const draft = new URL(page.url()).pathname.split('/')[2];
	await page.getByRole('link', { name: 'Review' }).click();
	await page.getByRole('button', { name: 'Ask for approval' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toContainText('waits for approval');

	// She sees it on her home page, and sends it back.
	const mira = await another(browser, server, MIRA);
	await mira.page.getByRole('link', { name: 'Review and decide' }).click();
	await mira.page.getByRole('button', { name: 'Return it for changes' }).click();
	await mira.page.getByLabel('What has to change?').fill('Say where they are to go');
	await mira.page.getByRole('dialog').getByRole('button', { name: 'Return it for changes' }).click();

	await page.goto(`${server.pages}/drafts/${draft}/message`);
	await expect(page.getByText('Say where they are to go').first()).toBeVisible();
	await page.getByLabel('Text for all', { exact: true }).fill('Gas leak. Leave the harbour now, on foot, to Church Square.');
	await expect(page.getByText(/saved \d\d:\d\d:\d\d/i).first()).toBeVisible();
	await page.getByRole('link', { name: 'Review' }).click();
	await page.getByRole('button', { name: 'Ask for approval' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toContainText('waits for approval');
	const path = new URL(page.url()).pathname;

	await mira.page.goto(server.pages);
	await mira.page.getByRole('link', { name: 'Review and decide' }).click();
	await expect(mira.page.getByText('to Church Square').first()).toBeVisible();
	await mira.page.getByLabel('I have read the message and the area').check();
	await mira.page.getByRole('button', { name: 'Approve and send now' }).click();

	// The page of who asked becomes the live page by itself.
	await expect(page.getByText(/of 24 people reached/)).toBeVisible({ timeout: 30_000 });
	await server.call('POST', `/api/v1${path}/people/n3:answer`, { choice: '2' });
	await expect(page.getByText('1 person needs help.')).toBeVisible();
	await page.getByRole('link', { name: /See (all|who)/ }).first().click();
	await page.getByRole('button', { name: 'I look after it' }).click();
	await expect(page.getByText(/looks after it since/)).toBeVisible();

	await page.goto(server.pages + path);
	await page.getByRole('button', { name: 'All clear' }).click();
	await page.getByRole('dialog', { name: 'All clear' }).getByRole('button', { name: /^Send all clear to/ }).click();
	await expect(page.getByText('The all-clear is being sent.')).toBeVisible();
	await mira.context.close();
});
