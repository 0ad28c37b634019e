import { picture } from './look';
import { another, expect, JONAS, MIRA, signIn, test, type Json, type Server } from './server';

/** Makes the pictures of docs/console: `CONSOLE_PICTURES=../docs/console npm run test:all -- -g pictures`. Without the
 * folder it is a story of an operator's night: what they see is what is checked. */

const POLICY = `
[[approval]]
mode = "live"
origin = ["console"]
people_over = 100
needs = "one"
`;
test.use({ config: POLICY });

const NAMES = ['Eva Lindqvist', 'Bo Lind', 'Greta Norén', 'Yusuf Demir', 'Aino Virtanen', 'Per Håkansson', 'Sara Ek', 'Ludvig Åberg', 'Maja Sjöberg', 'Omar Haddad'];
const STREETS = ['Salt Street', 'Harbour Lane', 'Birch Street', 'Mill Hill', 'Church Square'];
const PEOPLE = 6_000;
const HARBOUR = { type: 'Polygon', coordinates: [[[18.056, 59.318], [18.078, 59.316], [18.083, 59.325], [18.061, 59.328], [18.056, 59.318]]] };
const CHOICES = [
	{ key: '1', label: 'I am safe' },
	{ key: '2', label: 'I need help', needs_help: true }
];
const ALERT = {
	headline: 'Gas leak at Old Harbour',
	text: 'Gas leak at Old Harbour. Leave the area now towards Church Square and do not use lifts. Are you safe?',
	audience: ['group:harbour'],
	priority: 'emergency',
	choices: CHOICES
};

async function fill(server: Server): Promise<void> {
	const people = Array.from({ length: PEOPLE }, (_, n) => ({
		id: `p${n}`,
		name: `${NAMES[n % NAMES.length]}${n < NAMES.length ? '' : ` ${n}`}`,
		language: n % 5 === 0 ? 'sv' : 'en',
		groups: n % 3 === 0 ? ['harbour', 'staff'] : ['harbour'],
		devices: [
			{ channel: 'sms', address: `+46701740${String(n).padStart(4, '0')}` },
			...(n % 2 === 0 ? [{ channel: 'mail', address: `p${n}@lindvik.example` }] : [])
		],
		position: { lat: 59.3 + (n % 40) / 1000, lon: 18.05 + (n % 37) / 1000 },
		attributes: { address: `${STREETS[n % STREETS.length]} ${1 + (n % 40)}` }
	}));
	for (let from = 0; from < PEOPLE; from += 1_000) await server.call('POST', '/api/v1/recipients', people.slice(from, from + 1_000));
	await server.call('PUT', '/api/v1/areas/old-harbour', { type: 'Feature', properties: { name: 'Old Harbour' }, geometry: HARBOUR });
	const templates: [string, Json][] = [
		['Leave the area now', { ...ALERT, headline: 'Leave the area now', priority: 'emergency' }],
		['Stay indoors', { headline: 'Stay indoors', text: 'Smoke over the harbour. Stay indoors and close the windows.', priority: 'emergency', audience: ['area:old-harbour'] }],
		['Call in the night staff', { headline: 'Night staff wanted', text: 'Can you come in tonight?', priority: 'urgent', audience: ['group:staff'], choices: [{ key: '1', label: 'I come' }, { key: '2', label: 'I cannot' }] }],
		['Systems are down', { headline: 'Systems are down', text: 'The patient system is down. Use the paper routine.', audience: ['group:staff'] }]
	];
	for (const [name, request] of templates) await server.call('POST', '/api/v1/templates', { name, request });
	await server.call('PUT', '/api/v1/schedules/siren-staff', {
		name: 'Siren staff, monthly test',
		start: '2026-12-07T12:00:00',
		time_zone: 'Europe/Stockholm',
		rule: 'RRULE:FREQ=MONTHLY;BYDAY=1MO',
		space: 'drill',
		request: { headline: 'Monthly test', text: 'This is the monthly test. Answer 1.', audience: ['group:staff'], choices: [{ key: '1', label: 'Received' }] }
	});
}

test('pictures of the pages that an operator sees in a night @all', async ({ page, server, browser }) => {
	test.setTimeout(400_000);
	await fill(server);
	const drill = await server.send({ ...ALERT, mode: 'drill', headline: 'Drill: Evacuate Old Harbour', audience: ['group:staff'], expires: new Date(Date.now() + 90_000).toISOString() });
	await signIn(page, server, JONAS);
	const { id: draft } = await server.call('POST', '/api/v1/drafts', { mode: 'live', ...ALERT });

	await page.goto(`${server.pages}/drafts/${draft}/message`);
	await expect(page.locator('.phone')).toContainText('Gas leak');
	await picture(page, 'message');
	await page.goto(`${server.pages}/drafts/${draft}/audience`);
	await expect(page.getByText('6,000').first()).toBeVisible();
	await picture(page, 'audience');
	await page.goto(`${server.pages}/drafts/${draft}/review`);
	await expect(page.getByRole('button', { name: /approval/ })).toBeEnabled();
	await picture(page, 'review');
	await page.getByRole('button', { name: /approval/ }).click();
	await page.waitForURL(/\/alerts\/[0-9a-f-]{36}/);
	const id = page.url().split('/').pop() ?? '';

	const mira = await another(browser, server, MIRA, `/alerts/${id}`);
	await expect(mira.page.getByRole('heading', { level: 1 })).toContainText('Jonas Ek');
	await picture(mira.page, 'approve');
	await mira.page.getByRole('checkbox').check();
	await mira.page.getByRole('button', { name: /Approve and send now/ }).click();
	await server.until(`/api/v1/alerts/${id}/report`, (report) => report.people.delivered > 400);
	for (let n = 0; n < 90; n += 1) {
		const choice = n % 12 === 5 ? '2' : n % 12 === 7 ? 'We are on the roof' : '1';
		await server.call('POST', '/api/v1/answers', { alert: id, recipient: `p${n}`, text: choice });
	}
	await server.breakCarrier('carrier-south');
	await server.until(`/api/v1/alerts/${id}/report`, (report) => report.people.delivered > 900);
	await page.goto(server.pages);
	await expect(page.getByText('people reached').first()).toBeVisible();
	await expect(page.getByText(/carrier-south/).first()).toBeVisible();
	await picture(page, 'home');
	await page.goto(`${server.pages}/alerts/${id}`);
	await expect(page.getByText(/need help/).first()).toBeVisible();
	await picture(page, 'live');
	await page.goto(`${server.pages}/alerts/${id}/people?state=delivered`);
	await expect(page.locator('tbody tr').first()).toBeVisible();
	await picture(page, 'people-of-alert');
	await page.goto(`${server.pages}/people`);
	await expect(page.locator('main').getByText('Aino Virtanen').first()).toBeVisible();
	await picture(page, 'people');

	await server.until(`/api/v1/alerts/${drill}`, (alert) => ['done', 'expired'].includes(alert.state), 120_000);
	await page.goto(`${server.pages}/drill/alerts/${drill}/report`);
	await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
	await picture(page, 'report');
	await page.goto(`${server.pages}/drill/drills`);
	await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
	await picture(page, 'drills');
	await page.goto(`${server.pages}/drill`);
	await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
	await picture(page, 'drill');
	await mira.context.close();
});
