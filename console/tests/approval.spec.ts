import { looksRight } from './look';
import { another, expect, JONAS, MIRA, signIn, test, type Json, type Server } from './server';

test.use({
	config: `
[[approval]]
mode = "live"
priority = ["emergency"]
needs = "one"
limit = 20
`
});

const HARBOUR = { type: 'Feature', properties: { name: 'Old Harbour' }, geometry: { type: 'Polygon', coordinates: [[[18.0, 59.3], [18.1, 59.3], [18.1, 59.36], [18.0, 59.36], [18.0, 59.3]]] } };

/** So many people with a position in the harbour. */
async function peopleThere(server: Server, count: number): Promise<void> {
	const rows = Array.from({ length: count }, (_, n) => `h${n},Person ${n},en,harbour,+46701741${String(n).padStart(3, '0')},59.33,18.05`);
	await server.call('POST', '/api/v1/recipients:import', `id,name,language,groups,sms,lat,lon\n${rows.join('\n')}\n`);
	await server.call('PUT', '/api/v1/areas/old-harbour', HARBOUR);
}

const draft = (server: Server, more: Json = {}) =>
	server.call('POST', '/api/v1/drafts', { mode: 'live', headline: 'Gas leak at Old Harbour', text: 'Gas leak at Old Harbour. Leave the area on foot towards Salt Street.', priority: 'emergency', audience: ['area:old-harbour'], ...more });

test('a second person returns an alert, then approves it, and the number of people is typed', async ({ page, server, browser }) => {
	await peopleThere(server, 30);
	const { id } = await draft(server);
	await signIn(page, server, JONAS, `/drafts/${id}/review`);
	await expect(page.getByText('30 of 30 people').or(page.getByText(/\d+ to 30 of 30 people/))).toBeVisible();
	await page.getByRole('button', { name: 'Ask for approval' }).click();
	await expect(page).toHaveURL(/\/alerts\/[0-9a-f-]{36}$/);
	await expect(page.getByRole('heading', { level: 1 })).toContainText('waits for approval');
	const path = new URL(page.url()).pathname;

	const mira = await another(browser, server, MIRA, path);
	await expect(mira.page.getByRole('heading', { level: 1 })).toContainText('Jonas Ek wants to send “Gas leak at Old Harbour”');
	await looksRight(mira.page);
	await mira.page.getByRole('button', { name: 'Return it for changes' }).click();
	await mira.page.getByRole('dialog').getByRole('button', { name: 'Return it for changes' }).click();
	await expect(mira.page.getByText('Give a reason.')).toBeVisible();
	await mira.page.getByLabel('What has to change?').fill('Name the street people go to');
	await mira.page.getByRole('dialog').getByRole('button', { name: 'Return it for changes' }).click();
	await server.until(`/api/v1/drafts/${id}`, (now) => now.state === 'open' && now.returned.reason === 'Name the street people go to');

	await page.goto(`${server.pages}/drafts/${id}/review`);
	await expect(page.getByText('Name the street people go to')).toBeVisible();
	await page.getByRole('button', { name: 'Ask for approval' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toContainText('waits for approval');
	const again = new URL(page.url()).pathname;
	expect(again).not.toBe(path);

	await mira.page.goto(server.pages + again);
	const approve = mira.page.getByRole('button', { name: 'Approve and send now' });
	await approve.click();
	await expect(mira.page.getByText('Say first that you have read the message and the area.')).toBeVisible();
	await mira.page.getByLabel('I have read the message and the area').check();
	await mira.page.getByLabel('Type the number of people').fill('29');
	await approve.click();
	await expect(mira.page.getByText(/not the number of people/)).toBeVisible();
	await mira.page.getByLabel('Type the number of people').fill('30');
	await approve.click();
	await server.until(`/api/v1${again}`, (alert) => alert.state === 'running' || alert.state === 'done');
	await mira.context.close();
});

test('an alert that cannot wait is sent alone, with a reason @all', async ({ page, server }) => {
	await peopleThere(server, 5);
	const { id } = await draft(server, { headline: 'Chlorine in the harbour' });
	await signIn(page, server, JONAS, `/drafts/${id}/review`);
	await page.getByRole('button', { name: 'Ask for approval' }).click();
	await page.getByRole('button', { name: 'Send alone' }).click();
	await page.getByLabel('Why can it not wait?').fill('short');
	await page.getByRole('button', { name: /^Send alone to/ }).click();
	await expect(page.getByText('Give a reason of at least 10 letters.')).toBeVisible();
	await page.getByLabel('Why can it not wait?').fill('Nobody answers, and the gas spreads');
	if (await page.getByLabel('Type the number of people').isVisible()) {
		const waiting = await server.call('GET', `/api/v1${new URL(page.url()).pathname}`);
		await page.getByLabel('Type the number of people').fill(String(waiting.approval.people));
	}
	const path = new URL(page.url()).pathname;
	await page.getByRole('button', { name: /^Send alone to/ }).click();
	await server.until(`/api/v1${path}`, (alert) => alert.approval?.sent_alone?.reason === 'Nobody answers, and the gas spreads');
});

test('an approver who wrote an alert is told that another person decides @all', async ({ page, server }) => {
	await peopleThere(server, 5);
	const { id } = await draft(server);
	await signIn(page, server, MIRA, `/drafts/${id}/review`);
	await page.getByRole('button', { name: /^Send to/ }).click();
	await expect(page.getByRole('dialog').getByText('If a rule asks for approval, nothing is sent until another person says yes.')).toBeVisible();
	await page.getByRole('dialog').getByRole('button', { name: /^Send to/ }).click();
	await expect(page.getByText('You wrote it, so another person has to approve it.')).toBeVisible();
	await expect(page.getByRole('button', { name: /^Approve/ })).toHaveCount(0);
});
