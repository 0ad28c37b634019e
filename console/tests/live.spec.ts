import { expect, signIn, test, type Json, type Server } from './server';
import { looksRight } from './look';

const CHOICES = [
	{ key: '1', label: 'I am safe' },
	{ key: '2', label: 'I need help', needs_help: true }
];
const PEOPLE = 120;

/** Records an answer by the API, as a person's own would come. */
async function answer(server: Server, alert: string, recipient: string, choice: string): Promise<void> {
	await server.call('POST', `/api/v1/alerts/${alert}/people/${recipient}:answer`, { choice });
}

test('a call for help is taken and settled, and the list says why a person got it', async ({ page, server }) => {
	await server.addPeople(PEOPLE);
	const id = await server.send({ headline: 'Flood', require_answer: true, choices: CHOICES });
	await server.until<Json>(`/api/v1/alerts/${id}/report`, ({ people }) => people.total === PEOPLE && people.planned === 0);
	await answer(server, id, 'p2', '2');
	await signIn(page, server, 'jonas', `/alerts/${id}/people?help=open`);
	await expect(page.getByRole('heading', { name: '1 person needs help.' })).toBeVisible();
	await page.getByRole('button', { name: 'I look after it' }).click();
	await expect(page.getByText(/looks after it since/)).toBeVisible();
	await page.getByText('Note or settle').click();
	await page.getByLabel('What was found out or done').fill('Carried down by the fire brigade');
	await page.getByRole('button', { name: 'Settle it' }).click();
	await expect(page.getByRole('heading', { name: 'Nobody needs help' })).toBeVisible();

	await page.goto(`${server.pages}/alerts/${id}/people?who=p3`);
	await expect(page.getByRole('heading', { name: 'Why: Person 3' })).toBeVisible();
	await expect(page.getByText('The alert is for everyone.')).toBeVisible();
	await page.getByRole('button', { name: 'Record an answer' }).click();
	const record = page.getByRole('dialog', { name: 'Record an answer for Person 3' });
	await record.getByLabel('Note').fill('Seen at the north gate');
	await record.getByRole('button', { name: 'Record the answer' }).click();
	await expect(record).toBeHidden();
	await page.goto(`${server.pages}/alerts/${id}/answers?choice=1`);
	await expect(page.getByRole('heading', { name: '1 person answered: 1 I am safe' })).toBeVisible();
	await expect(page.getByText('Recorded by')).toBeVisible();
	await looksRight(page);
});

test('a follow-up opens as a draft to who has not answered @all', async ({ page, server }) => {
	await server.addPeople(PEOPLE);
	const id = await server.send({ headline: 'Storm', require_answer: true, choices: CHOICES });
	await server.until<Json>(`/api/v1/alerts/${id}/report`, ({ people }) => people.total === PEOPLE && people.planned === 0);
	await signIn(page, server, 'jonas', `/alerts/${id}`);
	await page.getByRole('button', { name: 'Follow up' }).click();
	await page.getByRole('dialog', { name: 'Follow up' }).getByRole('button', { name: 'Write the message' }).click();
	await page.waitForURL(/\/drafts\/[^/]+\/message$/);
	const draft = new URL(page.url()).pathname.split('/')[2];
	const { request } = await server.call<Json>('GET', `/api/v1/drafts/${draft}`);
	expect([request.audience, request.follows]).toEqual([[`alert:${id}/not_answered`], id]);
});

test('a viewer sees the report on paper, without controls, and who printed it @all', async ({ page, server }) => {
	await server.addPeople(PEOPLE);
	const id = await server.send({ headline: 'Test of sirens' });
	await server.until<Json>(`/api/v1/alerts/${id}`, ({ state }) => state === 'done');
	await signIn(page, server, 'vera', `/alerts/${id}`);
	await expect(page.getByRole('button', { name: 'All clear' })).toHaveCount(0);
	await page.goto(`${server.pages}/alerts/${id}/report`);
	await expect(page.getByRole('heading', { name: 'Forecast against fact' })).toBeVisible();
	const download = page.waitForEvent('download');
	await page.getByRole('button', { name: 'CSV' }).click();
	expect((await download).suggestedFilename()).toMatch(/^test-of-sirens-.*\.csv$/);
	await looksRight(page);
	await page.emulateMedia({ media: 'print' });
	await expect(page.getByRole('button', { name: 'Print the report' })).toBeHidden();
	await expect(page.getByText(/Printed from .* by Vera Lund/)).toBeVisible();
	await page.emulateMedia({ media: 'screen' });
});

/** So many that carriers of 60 a second are not done before a page is open. */
const MANY = 9_000;

test('an alert is followed live, paused, stopped, and its all-clear goes to who has it', async ({ page, server }) => {
	await server.addPeople(MANY);
	const id = await server.send({ headline: 'Gas leak at Old Harbour', text: 'Leave the harbour.', priority: 'emergency', require_answer: true, choices: CHOICES });
	await signIn(page, server, 'jonas', `/alerts/${id}`);
	await expect(page.getByRole('heading', { name: 'Gas leak at Old Harbour' })).toBeVisible();
	await page.getByRole('button', { name: 'Pause' }).click();
	await expect(page.getByText('It is paused.')).toBeVisible();
	await expect(page.getByText('Paused', { exact: true }).first()).toBeVisible();
	await answer(server, id, 'p1', '2');
	await expect(page.getByText('1 person needs help.')).toBeVisible();
	await looksRight(page);

	await page.getByRole('button', { name: 'Stop sending' }).click();
	const stop = page.getByRole('dialog', { name: 'Stop sending?' });
	await expect(stop).toContainText('This cannot be undone.');
	await stop.getByRole('button', { name: 'Stop sending' }).click();
	await expect(page.getByText('It is stopped.')).toBeVisible();
	await expect(page.getByText('Stopped', { exact: true }).first()).toBeVisible();

	await page.getByRole('button', { name: 'All clear' }).click();
	const clear = page.getByRole('dialog', { name: 'All clear' });
	await clear.getByRole('button', { name: /^Send all clear to/ }).click();
	await expect(page.getByText('The all-clear is being sent.')).toBeVisible();
	const { items } = await server.call<Json>('GET', '/api/v1/alerts?limit=1');
	const sent = await server.call<Json>('GET', `/api/v1/alerts/${items[0].id}`);
	expect([sent.request.follows, sent.request.audience]).toEqual([id, [`alert:${id}/received`]]);
});
