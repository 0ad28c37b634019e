import { expect, JONAS, signIn, test, type Json, type Server } from './server';
import type { Page } from '@playwright/test';

/** Whatever people write is text on every page: names, headlines, choices, answers, groups, areas, file names. */

const SCRIPT = '"><img src=x onerror="window.hit=1"><script>window.hit=1</script>';
const LINK = 'javascript:window.hit=1';
const EVIL = { ...JONAS, name: 'evil', full_name: `Eva ${SCRIPT}` };
const SQUARE = { type: 'Polygon', coordinates: [[[18.0, 59.3], [18.1, 59.3], [18.1, 59.36], [18.0, 59.36], [18.0, 59.3]]] };

test.use({ users: [EVIL] });

interface Evil {
	alert: string;
	draft: string;
	template: string;
	group: string;
}

/** Writes it into everything that takes a text. */
async function everywhere(server: Server): Promise<Evil> {
	const group = `Crew ${SCRIPT}`;
	const person: Json = { id: 'evil', name: `Bo ${SCRIPT}`, groups: [group], devices: [{ channel: 'sms', address: '+46701740601' }, { channel: 'mail', address: 'bo@example.org' }], attributes: { floor: SCRIPT } };
	await server.call('POST', '/api/v1/recipients', person);
	await server.call('PUT', `/api/v1/groups/${encodeURIComponent(group)}`, { id: group, members: ['evil'] });
	await server.call('PUT', '/api/v1/areas/evil', { type: 'Feature', properties: { name: `Harbour ${SCRIPT}` }, geometry: SQUARE });
	const alert = {
		headline: `Leak ${SCRIPT}`,
		text: `Leave. ${SCRIPT} ${LINK}`,
		audience: [`group:${group}`],
		choices: [
			{ key: '1', label: `Safe ${SCRIPT}` },
			{ key: '2', label: `Help ${SCRIPT}`, needs_help: true }
		]
	};
	const { id: template } = await server.call('POST', '/api/v1/templates', { name: `Form ${SCRIPT}`, request: alert });
	const { id: draft } = await server.call('POST', '/api/v1/drafts', { mode: 'live', ...alert });
	const id = await server.send({ ...alert, expires: new Date(Date.now() + 3_600_000).toISOString() });
	await server.until(`/api/v1/alerts/${id}/report`, (report) => report.people.delivered + report.people.accepted > 0);
	await server.call('POST', '/api/v1/answers', { alert: id, recipient: 'evil', text: `I say ${SCRIPT}` });
	return { alert: id, draft, template, group };
}

async function isText(page: Page, path: string): Promise<void> {
	for (const frame of page.frames()) {
		const found = await frame
			.evaluate(() => ({ hit: (window as { hit?: number }).hit ?? 0, images: document.querySelectorAll('img[src="x"]').length, links: document.querySelectorAll('a[href^="javascript:"]').length }))
			.catch(() => ({ hit: 0, images: 0, links: 0 }));
		expect(found, `${path}, ${frame.url()}`).toEqual({ hit: 0, images: 0, links: 0 });
	}
}

test('a script that somebody wrote stays text on every page', async ({ page, server }) => {
	test.setTimeout(180_000);
	const { alert, draft, template, group } = await everywhere(server);
	await signIn(page, server, EVIL);
	const paths = ['/', '/alerts', `/drafts/${draft}/message`, `/drafts/${draft}/audience`, `/drafts/${draft}/delivery`, `/drafts/${draft}/review`, `/alerts/${alert}`, `/alerts/${alert}/people`, `/alerts/${alert}/answers`, `/alerts/${alert}/timeline`, `/alerts/${alert}/report`, '/templates', `/templates/${template}`, '/areas', '/people', '/people/evil', '/groups', `/groups/${encodeURIComponent(group)}`, '/schedules', '/audit', '/settings/users', '/me', '/wall'];
	for (const path of paths) {
		await page.goto(server.pages + path);
		await expect(page.locator('main h1').first(), path).toBeVisible();
		await expect(page.locator('.skeleton'), path).toHaveCount(0);
		await isText(page, path);
	}
	await page.goto(`${server.pages}/alerts/${alert}`);
	await expect(page.getByText(`Leak ${SCRIPT}`).first()).toBeVisible();
	await page.goto(`${server.pages}/alerts/${alert}/report`);
	await page.emulateMedia({ media: 'print' });
	await isText(page, 'the printed report');
});

test('a script that is typed into the composer stays text in its previews', async ({ page, server }) => {
	await signIn(page, server, EVIL, '/alerts/new');
	await page.getByRole('button', { name: 'Write a new alert' }).click();
	await page.getByLabel('Headline').fill(`Typed ${SCRIPT}`);
	await page.getByLabel('Text for all', { exact: true }).fill(`Typed ${SCRIPT}`);
	await expect(page.locator('.phone')).toContainText(`Typed ${SCRIPT.slice(0, 20)}`);
	await isText(page, 'the composer');
});
