import { looksRight } from './look';
import { expect, signIn, test, type Json } from './server';

const GAS = { headline: 'Gas leak at Old Harbour', text: 'Leave Old Harbour on foot. Don’t use lifts.', mode: 'live' };

test.beforeAll(async ({ server }) => {
	await server.addPeople(8);
});

/** The draft as the server has it, once it is so. */
async function kept(server: { until: (path: string, isSo: (draft: Json) => boolean) => Promise<Json> }, id: string, isSo: (request: Json) => boolean): Promise<Json> {
	return server.until(`/api/v1/drafts/${id}`, ({ request }) => isSo(request));
}

test('an alert is written from nothing by keyboard, and is kept as it is written', async ({ page, server }) => {
	await signIn(page, server, 'jonas', '/alerts/new');
	await page.getByRole('button', { name: 'Write a new alert' }).press('Enter');
	await expect(page).toHaveURL(/\/drafts\/[^/]+\/message$/);
	const id = new URL(page.url()).pathname.split('/')[2] ?? '';
	await expect(page.getByLabel('Headline')).toBeFocused();
	await page.keyboard.type('Gas leak at Old Harbour');
	await page.keyboard.press('Tab');
	await page.keyboard.type(GAS.text);
	await kept(server, id, ({ headline, text }) => headline === GAS.headline && text === GAS.text);
	await expect(page.getByText(/^Draft, saved \d\d:\d\d:\d\d/)).toBeVisible();
	await expect(page.getByRole('heading', { level: 1, name: `Message: ${GAS.headline}` })).toBeVisible();
});

test('the letter that makes an SMS long is marked, and a plain one takes its place @all', async ({ page, server }) => {
	const { id } = await server.call('POST', '/api/v1/drafts', { ...GAS, audience: ['all'], texts: { sv: { text: 'Lämna Gamla hamnen.' } } });
	await signIn(page, server, 'jonas', `/drafts/${id}/message`);
	await expect(page.locator('.bubble mark')).toHaveText('’');
	await expect(page.getByText('1 part, 27 more letters until a second')).toBeVisible();
	await expect(page.getByRole('link', { name: /Svenska 2/ })).toBeVisible();
	await looksRight(page, undefined, ['light', 'dark']);
	await page.getByRole('button', { name: 'Use a plain one' }).click();
	await expect(page.getByLabel('Text for all')).toHaveValue(/Don't use/);
	await expect(page.locator('.bubble mark')).toHaveCount(0);
});

test('a language has its own text, and a channel too @all', async ({ page, server }) => {
	const { id } = await server.call('POST', '/api/v1/drafts', { ...GAS, audience: ['all'] });
	await signIn(page, server, 'jonas', `/drafts/${id}/message`);
	await page.getByRole('link', { name: /Svenska 2.*no text/ }).click();
	await page.getByLabel('Text in Swedish').fill('Lämna Gamla hamnen till fots.');
	await page.getByRole('button', { name: 'SMS', exact: true }).click();
	await page.getByRole('group', { name: 'Different text: SMS' }).getByLabel('Text').fill('Lämna hamnen.');
	const { request } = await kept(server, id, ({ texts }) => texts?.sv?.sms !== undefined);
	expect(request.texts).toEqual({ sv: { text: 'Lämna Gamla hamnen till fots.', sms: 'Lämna hamnen.' } });
	await expect(page.locator('.bubble')).toContainText('Lämna hamnen.');
});

test('what two people change at once is both kept, once somebody says so', async ({ page, server }) => {
	const { id } = await server.call('POST', '/api/v1/drafts', { ...GAS, audience: ['all'] });
	await signIn(page, server, 'jonas', `/drafts/${id}/message`);
	await expect(page.getByLabel('Headline')).toHaveValue(GAS.headline);
	await server.call('PATCH', `/api/v1/drafts/${id}`, { priority: 'urgent' });
	await page.getByLabel('Headline').fill('Gas leak at the quays');
	const conflict = page.getByRole('alert').filter({ hasText: 'changed this draft' });
	await expect(conflict).toContainText('Priority');
	await conflict.getByRole('button', { name: 'Keep both changes' }).click();
	await kept(server, id, ({ headline, priority }) => headline === 'Gas leak at the quays' && priority === 'urgent');
	await expect(conflict).toBeHidden();
});

test('what was typed a moment before leaving is there when one comes back', async ({ page, server }) => {
	const { id } = await server.call('POST', '/api/v1/drafts', { ...GAS, audience: ['all'] });
	await signIn(page, server, 'jonas', `/drafts/${id}/message`);
	await page.getByLabel('Text for all').fill('Leave at once.');
	await page.goto('about:blank');
	await kept(server, id, ({ text }) => text === 'Leave at once.');
});

test('what is wrong stands on top, focused, and leads to its field @all', async ({ page, server }) => {
	const { id } = await server.call('POST', '/api/v1/drafts', { ...GAS, audience: ['all'], choices: [{ key: '1', label: 'I am safe' }, { key: '2', label: '' }] });
	await signIn(page, server, 'jonas', `/drafts/${id}/delivery`);
	await page.getByRole('button', { name: 'Review the alert' }).click();
	const summary = page.getByRole('group', { name: 'One thing to put right' });
	await expect(summary).toBeFocused();
	await looksRight(page);
	await summary.getByRole('link', { name: 'Answer 2' }).click();
	await expect(page.getByLabel('Answer 2')).toBeFocused();
	await page.keyboard.type('I need help');
	await page.getByRole('checkbox', { name: 'Who answers so needs help' }).last().check();
	await kept(server, id, ({ choices }) => choices[1].label === 'I need help' && choices[1].needs_help === true);
	await expect(summary).toBeHidden();
});

test('how it is sent is set on the delivery step @all', async ({ page, server }) => {
	const { id } = await server.call('POST', '/api/v1/drafts', { ...GAS, audience: ['all'] });
	await signIn(page, server, 'jonas', `/drafts/${id}/delivery`);
	await page.getByRole('radio', { name: /^Emergency/ }).check();
	await expect(page.getByText('Not kept: this is an emergency')).toBeVisible();
	await page.getByRole('button', { name: 'Ask whether people are safe' }).click();
	await page.getByRole('radio', { name: /^The next device after/ }).check();
	await page.getByLabel('Minutes to wait for an answer').fill('3');
	await page.getByRole('button', { name: '2 hours', exact: true }).click();
	await page.getByLabel('Attach files').setInputFiles({ name: 'map.txt', mimeType: 'text/plain', buffer: Buffer.from('the quays') });
	await expect(page.getByRole('link', { name: 'map.txt' })).toBeVisible();
	const { request } = await kept(server, id, ({ attachments, strategy }) => attachments?.length === 1 && strategy?.escalate_after === '180s');
	expect(request).toMatchObject({ priority: 'emergency', choices: [{ key: '1', label: 'I am safe' }, { key: '2', label: 'I need help', needs_help: true }] });
	expect(Date.parse(request.expires) - Date.now()).toBeGreaterThan(110 * 60_000);
	await looksRight(page, undefined, ['light', 'dark']);
});

test('a template is made with its all-clear, and an alert is written from it @all', async ({ page, server }) => {
	await signIn(page, server, 'jonas', '/templates');
	await page.getByRole('button', { name: 'New template' }).first().click();
	await page.getByRole('dialog').getByLabel('Name').fill('Gas leak');
	await page.getByRole('button', { name: 'Make the template' }).click();
	await expect(page.getByRole('heading', { level: 1, name: 'Gas leak' })).toBeVisible();
	await page.getByLabel('Text for all').fill('Leave Old Harbour.');
	await page.getByRole('link', { name: 'The all-clear' }).click();
	await page.getByRole('button', { name: 'Prepare an all-clear' }).click();
	await page.getByLabel('Text for all').fill('You can go back to Old Harbour.');
	await looksRight(page);
	await page.getByRole('button', { name: 'Save the template' }).click();
	await expect(page.getByText(/^Saved \d\d:\d\d:\d\d/)).toBeVisible();
	await page.goto(`${server.pages}/drill/alerts/new`);
	await looksRight(page);
	await page.getByRole('button', { name: /^Write its all-clear ?: Gas leak$/ }).click();
	await expect(page).toHaveURL(/\/drill\/drafts\/[^/]+\/message$/);
	await expect(page.getByLabel('Text for all')).toHaveValue('You can go back to Old Harbour.');
});

test('a viewer sees templates, and writes nothing @all', async ({ page, server }) => {
	await server.call('POST', '/api/v1/templates', { id: 'fire', name: 'Fire in a building', request: { text: 'Leave the building.' } });
	await signIn(page, server, 'vera', '/templates/fire');
	await expect(page.getByLabel('Text for all')).toBeDisabled();
	await expect(page.getByRole('button', { name: 'Save the template' })).toHaveCount(0);
	await page.goto(`${server.pages}/alerts/new`);
	await expect(page.getByText('This is not open to you.')).toBeVisible();
});
