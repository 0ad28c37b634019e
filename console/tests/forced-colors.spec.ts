import type { Page } from '@playwright/test';
import { expect, signIn, test } from './server';
import { town } from './town';

/** Where the system takes the colours away: states are words and shapes, and the focus is seen. */

const TABS = 15;

/** Each is read: a number of people and the words of their state, beside a pattern of its own. */
async function statesAreTold(page: Page): Promise<void> {
	const bar = page.getByRole('img', { name: /^\d+ people, / }).first();
	await expect(bar).toBeVisible();
	const states = page.locator('.key li:has(.sw)');
	await expect(states.nth(2)).toBeVisible();
	const keys = await states.evaluateAll((items) =>
		items.map((item) => {
			const { backgroundColor, backgroundImage } = getComputedStyle(item.querySelector('.sw') ?? item);
			return { words: item.textContent ?? '', fill: `${backgroundColor} ${backgroundImage}` };
		})
	);
	expect(keys.length).toBeGreaterThan(2);
	for (const { words } of keys) expect(words).toMatch(/\d.*\p{L}{4}/u);
	expect(new Set(keys.map(({ fill }) => fill)).size, 'each state has a fill of its own').toBe(keys.length);
}

/** Tabs through the page: each place that gets the focus shows it by a line around it or around its field. */
async function focusIsSeen(page: Page): Promise<void> {
	for (let n = 0; n < TABS; n += 1) {
		await page.keyboard.press('Tab');
		const { name, isSeen } = await page.evaluate(() => {
			const at = document.activeElement;
			let isSeen = false;
			for (let element = at; element && !isSeen; element = element.parentElement) {
				const { outlineStyle, outlineWidth } = getComputedStyle(element);
				isSeen = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2;
			}
			return { name: at?.outerHTML.slice(0, 120), isSeen };
		});
		expect(isSeen, `the focus on ${name}`).toBe(true);
	}
}

test('without colours of its own the console still tells states, places and the focus @all', async ({ page, server }) => {
	test.setTimeout(400_000);
	const { running, draft } = await town(server);
	await signIn(page, server);
	await page.emulateMedia({ forcedColors: 'active' });
	for (const path of ['/', `/alerts/${running}`]) {
		await page.goto(server.pages + path);
		await expect(page.locator('.bar').first()).toBeVisible();
		if (path !== '/') await statesAreTold(page);
		await focusIsSeen(page);
	}
	await expect(page.locator('.band')).toContainText('LIVE');
	for (const path of [`/alerts/${running}/people`, '/alerts', '/people']) {
		await page.goto(server.pages + path);
		const chip = (chosen: string) => page.locator(`main a.chip${chosen}`).first();
		await expect(chip('[aria-current]')).toBeVisible();
		const fill = (chosen: string) => chip(chosen).evaluate((element) => getComputedStyle(element).backgroundColor);
		expect(await fill('[aria-current]'), `${path}: the filter that holds`).not.toBe(await fill(':not([aria-current])'));
		await focusIsSeen(page);
	}
	await page.goto(`${server.pages}/drafts/${draft}/audience`);
	await expect(page.locator('main h1')).toBeVisible();
	await focusIsSeen(page);
	await page.goto(`${server.pages}/drill`);
	await expect(page.locator('.band')).toContainText('DRILL');
	await focusIsSeen(page);
});
