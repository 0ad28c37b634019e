import AxeBuilder from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

/** What every page has to be: without faults that axe finds, and no wider than the window. */

export const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 320, height: 700 };
/** Of a page that goes on for long its beginning is enough. */
const PICTURE_HEIGHT_MAX = 2_400;
export type Theme = 'light' | 'dark';

/** Catalogues of words: a page that lacks a word shows its key, `CATALOGUE.word`. */
const CATALOGUES = readdirSync(join(import.meta.dirname, '../src/lib/words/en')).map((file) => basename(file, '.json'));
const KEY = `(?<![\\w./@-])(?:${CATALOGUES.join('|')})\\.(?!csv\\b)[a-z]\\w*`;

/** Whatever is read out or seen has its words. */
export async function wordsAreThere(page: Page): Promise<void> {
	const missing = await page.evaluate((key) => {
		const texts: string[] = [document.title];
		const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		while (walker.nextNode()) if (!walker.currentNode.parentElement?.closest('script, style')) texts.push(walker.currentNode.textContent ?? '');
		const names = ['aria-label', 'aria-description', 'aria-roledescription', 'placeholder', 'title', 'alt', 'data-h'];
		for (const name of names) for (const element of document.querySelectorAll(`[${name}]`)) texts.push(element.getAttribute(name) ?? '');
		return texts.flatMap((text) => text.match(new RegExp(key, 'g')) ?? []);
	}, KEY);
	expect(missing, `${page.url()}: words are missing`).toEqual([]);
}

/** Looks at the page that is shown, at these widths and in these themes. */
export async function looksRight(page: Page, widths = [WIDE, NARROW], themes: Theme[] = ['light']): Promise<void> {
	await wordsAreThere(page);
	const before = page.viewportSize() ?? WIDE;
	for (const theme of themes) {
		await page.emulateMedia({ colorScheme: theme });
		for (const size of widths) {
			await page.setViewportSize(size);
			const { violations } = await new AxeBuilder({ page }).analyze();
			const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.target.join(' ')).join(', ')}`);
			expect(found, `${page.url()} at ${size.width}, ${theme}`).toEqual([]);
			const wide = await page.evaluate(() => document.documentElement.scrollWidth);
			expect(wide, `${page.url()} at ${size.width} is as wide as its window`).toBeLessThanOrEqual(size.width);
		}
	}
	await page.emulateMedia({ colorScheme: 'light' });
	await page.setViewportSize(before);
}

/** Pictures for the documentation, and to be looked at: `docs/console/NAME-light-1280.png` and so on. Made only
 * where `CONSOLE_PICTURES` names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
	const folder = process.env.CONSOLE_PICTURES;
	if (!folder) return;
	const before = page.viewportSize() ?? WIDE;
	for (const theme of ['light', 'dark'] as const) {
		await page.emulateMedia({ colorScheme: theme });
		for (const size of [WIDE, NARROW]) {
			await page.setViewportSize(size);
			const height = Math.min(await page.evaluate(() => document.documentElement.scrollHeight), PICTURE_HEIGHT_MAX);
			const clip = { x: 0, y: 0, width: size.width, height };
			await page.screenshot({ path: `${folder}/${name}-${theme}-${size.width}.png`, fullPage: true, clip });
		}
	}
	await page.emulateMedia({ colorScheme: 'light' });
	await page.setViewportSize(before);
}
