import { expect, signIn, test, VERA } from './server';
import { looksRight } from './look';

const GAS = {
	headline: 'Gas leak at Old Harbour',
	text: 'Gas leak at the old harbour. Leave the area on foot, go up the hill.',
	priority: 'emergency',
	choices: [
		{ key: '1', label: 'I am safe' },
		{ key: '2', label: 'I need help', needs_help: true }
	]
};

test('home counts what is under way, says who needs help, and leads to them', async ({ page, server }) => {
	await server.addPeople(400);
	await signIn(page, server);
	await expect(page.getByRole('heading', { level: 1, name: 'No alert is under way' })).toBeVisible();
	// An alert that asks for answers stays open until it ends.
	const id = await server.send({ ...GAS, terminal: 'answered', expires: new Date(Date.now() + 3_600_000).toISOString() });
	await expect(page.getByRole('heading', { level: 1, name: 'One alert is under way' })).toBeVisible();
	await server.until(`/api/v1/alerts/${id}/people?state=delivered&limit=1`, ({ items }) => items.length === 1);
	const { items } = await server.call('GET', `/api/v1/alerts/${id}/people?state=delivered&limit=1`);
	await server.call('POST', `/api/v1/alerts/${id}/people/${items[0].recipient}:answer`, { choice: '2' });
	await expect(page.getByText('One person needs help.')).toBeVisible();
	await looksRight(page);
	await page.getByRole('link', { name: 'See who' }).click();
	await expect(page).toHaveURL(new RegExp(`/alerts/${id}/people\\?answer=2$`));
	await page.goto(`${server.pages}/wall`);
	await expect(page.locator('.fact').first()).toContainText('1 person needs help');
	await looksRight(page);
});

test('a viewer sees home without a button @all', async ({ page, server }) => {
	await signIn(page, server, VERA);
	await expect(page.getByRole('heading', { level: 1 })).toContainText('under way');
	await expect(page.getByRole('heading', { name: 'Routes' })).toBeVisible();
	await expect(page.locator('main .btn')).toHaveCount(0);
});

test('a schedule is made, its next time left out and put back @all', async ({ page, server }) => {
	await server.call('POST', '/api/v1/templates', { id: 'siren', name: 'Siren test', request: { text: 'A test of the sirens.', audience: ['all'] } });
	await signIn(page, server, 'jonas', '/drill/schedules/new');
	await page.getByLabel('Name', { exact: true }).fill('Siren staff, monthly test');
	await page.getByRole('button', { name: 'Save the schedule' }).click();
	await expect(page.getByRole('heading', { level: 1, name: 'Siren staff, monthly test' })).toBeVisible();
	await page.getByRole('button', { name: 'Leave this one out' }).click();
	await expect(page.getByText('left out')).toBeVisible();
	await looksRight(page);
	await page.getByRole('button', { name: 'Put it back' }).click();
	await expect(page.getByText('left out')).toBeHidden();
});

test('the audit trail is verified, and filtered by an address that can be sent on @all', async ({ page, server }) => {
	await signIn(page, server, 'jonas', '/audit?verb=user.create');
	await expect(page.getByRole('heading', { level: 1 })).toContainText('Chain verified up to');
	await expect(page.getByRole('row').filter({ hasText: 'Made a user' })).toHaveCount(3);
	await looksRight(page);
	await page.getByRole('link', { name: 'Clear the filters' }).click();
	await expect(page).toHaveURL(/\/audit$/);
	await expect(page.getByRole('row').filter({ hasText: 'Signed in' }).first()).toBeVisible();
});

test('a drill has a verdict, and a past one is replayed without a route @all', async ({ page, server }) => {
	await server.addPeople(60);
	const id = await server.send({ ...GAS, mode: 'drill', headline: 'Evacuate Old Harbour' });
	await server.until(`/api/v1/alerts/${id}`, ({ state }) => state === 'done');
	await signIn(page, server, 'jonas', '/drill/drills');
	await expect(page.getByRole('heading', { level: 1, name: 'The last drill met its target' })).toBeVisible();
	await expect(page.getByRole('row').filter({ hasText: 'carrier-north-drill is down' })).toBeVisible();
	await page.getByLabel('carrier-south-drill').check();
	await page.getByRole('button', { name: 'Replay it' }).click();
	await expect(page.getByText('The target would be met.')).toBeVisible();
	await looksRight(page);
});
