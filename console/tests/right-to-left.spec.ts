import type { Page } from '@playwright/test';
import { looksRight } from './look';
import { another, expect, JONAS, MIRA, signIn, test, type NewUser, type Server } from './server';

/** Texts and names that run from right to left, on pages that do not. */

const NOOR: NewUser = { ...JONAS, name: 'noor', full_name: 'نور حداد' };
const HEADLINE = 'تسرب غاز في الميناء القديم';
const TEXT = 'غادروا المنطقة 12 فوراً باتجاه شارع الملح!';
const HEBREW = 'דליפת גז: עזבו את אזור 12 מיד!';
const CHOICES = [
	{ key: '1', label: 'أنا بخير' },
	{ key: '2', label: 'צריך עזרה', needs_help: true }
];

test.use({ users: [[NOOR, MIRA], { scope: 'test' }], config: '\n[[approval]]\nmode = "live"\npriority = ["urgent"]\nneeds = "one"\n' });

interface Written {
	alert: string;
	waiting: string;
	draft: string;
}

async function write(server: Server): Promise<Written> {
	const person = (id: string, name: string, language: string, number: string) => ({ id, name, language, groups: ['طاقم'], devices: [{ channel: 'sms', address: number }] });
	await server.call('POST', '/api/v1/recipients', [person('ahmad', 'أحمد خليل', 'ar', '+46701740601'), person('noa', 'נועה לוי', 'he', '+46701740602')]);
	await server.call('PUT', `/api/v1/groups/${encodeURIComponent('طاقم')}`, { id: 'طاقم', name: 'طاقم الميناء', members: ['ahmad'] });
	const request = { headline: HEADLINE, text: TEXT, texts: { he: { text: HEBREW } }, audience: ['group:طاقم'], choices: CHOICES };
	const { id: draft } = await server.call('POST', '/api/v1/drafts', { mode: 'live', ...request });
	const alert = await server.send({ ...request, expires: new Date(Date.now() + 3_600_000).toISOString() });
	const waiting = await server.send({ ...request, priority: 'urgent' });
	await server.until(`/api/v1/alerts/${alert}/report`, (report) => report.people.delivered === 2);
	await server.call('POST', '/api/v1/answers', { alert, recipient: 'ahmad', text: '2' });
	await server.call('POST', '/api/v1/answers', { alert, recipient: 'noa', text: 'אנחנו בקומה 3' });
	await server.until(`/api/v1/alerts/${alert}/report`, (report) => report.people.answered === 2);
	return { alert, waiting, draft };
}

/** Text from right to left, but for the message itself, that the sentence around it would put in disorder, and sentences of the page that such a
 * text has turned around. */
async function disorder(page: Page): Promise<string[]> {
	return page.evaluate(() => {
		const rightToLeft = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;
		const found: string[] = [];
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) {
			const element = walker.currentNode.parentElement;
			const text = (walker.currentNode.textContent ?? '').replace(/\u2068[^\u2069]*\u2069/g, '').trim();
			if (!element || text === '' || element.closest('script, style, svg, option, .hush, .bubble, .body, .plain, .lines')) continue;
			const { direction } = getComputedStyle(element);
			if (rightToLeft.test(text) && direction !== 'rtl') found.push(`not isolated: ${text}`);
			if (!rightToLeft.test(text) && /\p{Script=Latin}{3}/u.test(text) && direction === 'rtl') found.push(`turned around: ${text}`);
		}
		return found;
	});
}

async function isInOrder(page: Page, path: string): Promise<void> {
	await expect(page.locator('main h1').first(), path).toBeVisible();
	await expect(page.locator('.skeleton'), path).toHaveCount(0);
	expect.soft(await disorder(page), path).toEqual([]);
}

test('what runs from right to left does so in its previews, and where it is typed @all', async ({ page, server }) => {
	const { draft } = await write(server);
	await signIn(page, server, NOOR, `/drafts/${draft}/message`);
	const bubble = page.locator('.bubble');
	await expect(bubble).toHaveText(new RegExp(`^${TEXT}`));
	await expect(bubble).toHaveCSS('direction', 'rtl');
	await expect(page.getByLabel('Text for all', { exact: true })).toHaveCSS('direction', 'rtl');
	await expect(page.getByLabel('Headline')).toHaveCSS('direction', 'rtl');
	const mail = page.frameLocator('.mailbox iframe').getByText(TEXT.slice(0, 14)).first();
	if (await page.locator('.mailbox iframe').count()) await expect(mail).toHaveCSS('direction', 'rtl');
	await looksRight(page);
	await page.getByRole('link', { name: /^(Hebrew|עברית)/ }).click();
	await expect(bubble).toHaveText(new RegExp(`^${HEBREW}`));
	await expect(bubble).toHaveCSS('direction', 'rtl');
	await isInOrder(page, 'the message');
});

test('no name or text from right to left puts a page in disorder @all', async ({ page, server, browser }) => {
	const { alert, waiting, draft } = await write(server);
	await signIn(page, server, NOOR);
	const group = encodeURIComponent('طاقم');
	for (const path of ['/', '/alerts', `/drafts/${draft}/audience`, `/drafts/${draft}/delivery`, `/drafts/${draft}/review`, `/alerts/${alert}`, `/alerts/${alert}/people`, `/alerts/${alert}/people?why=ahmad`, `/alerts/${alert}/answers`, `/alerts/${alert}/timeline`, `/alerts/${alert}/report`, `/alerts/${waiting}`, '/people', '/people/ahmad', '/groups', `/groups/${group}`, '/audit', '/settings/users', '/me']) {
		await page.goto(server.pages + path);
		await isInOrder(page, path);
	}
	await page.goto(`${server.pages}/alerts/${alert}`);
	await expect(page.getByRole('heading', { level: 1 })).toHaveCSS('direction', 'rtl');
	await looksRight(page);
	const mira = await another(browser, server, MIRA, `/alerts/${waiting}`);
	await expect(mira.page.getByRole('heading', { level: 1 })).toContainText(HEADLINE);
	await isInOrder(mira.page, 'the approval');
	await mira.context.close();
});
