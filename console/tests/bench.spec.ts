import type { Page } from '@playwright/test';
import { expect, signIn, test } from './server';

/** Figures, no gate: `make bench-console`. Frames of the live page while an alert to many people runs, and how fast
 * pages open on a computer of a quarter of this one's speed. */

const PEOPLE = Number(process.env.CONSOLE_PEOPLE ?? 100_000);
const SECONDS = Number(process.env.CONSOLE_SECONDS ?? 60);
const SLOWER = 4;
const PAGES = ['/', '/alerts', '/alerts/new', '/people', '/groups', '/routes', '/drills', '/audit', '/settings/users'];

/** The value below which a hundredth part of so many lie. */
const at = (values: number[], share: number): number => {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
};

test(`@bench frames of the live page, ${PEOPLE} people`, async ({ page, server }) => {
	test.setTimeout((SECONDS + 240) * 1_000);
	await server.addPeople(PEOPLE);
	const id = await server.send({ headline: 'Frames', priority: 'routine' });
	await signIn(page, server, 'jonas', `/alerts/${id}`);
	await expect(page.getByRole('heading', { level: 1 })).toContainText('Frames');
	const frames = await page.evaluate(
		(seconds) =>
			new Promise<number[]>((resolve) => {
				const frames: number[] = [];
				const begun = performance.now();
				let last = begun;
				const frame = (now: number) => {
					frames.push(now - last);
					last = now;
					scrollTo(0, (document.documentElement.scrollHeight - innerHeight) * (0.5 + 0.5 * Math.sin(now / 700)));
					if (now - begun < seconds * 1_000) requestAnimationFrame(frame);
					else resolve(frames.slice(1));
				};
				requestAnimationFrame(frame);
			}),
		SECONDS
	);
	const line = [0.5, 0.99, 1].map((share) => at(frames, share).toFixed(1));
	console.log(`live page, ${PEOPLE} people, ${frames.length} frames in ${SECONDS} s: p50 ${line[0]} ms, p99 ${line[1]} ms, largest ${line[2]} ms`);
});

test(`@bench pages on a processor ${SLOWER} times slower`, async ({ page, server }) => {
	test.setTimeout(240_000);
	await signIn(page, server, 'jonas');
	const session = await page.context().newCDPSession(page);
	await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
	const said = (took: number[]): string => `${at(took, 0.5)} ms (${Math.min(...took)} to ${Math.max(...took)})`;
	for (const path of PAGES) {
		const [loads, steps]: number[][] = [[], []];
		for (let n = 0; n < 5; n += 1) {
			let begun = Date.now();
			await page.goto(server.pages + path, { waitUntil: 'commit' });
			await page.locator('main h1').first().waitFor();
			loads?.push(Date.now() - begun);
			// From another page, by a link.
			await follow(page, path === '/alerts' ? '/routes' : '/alerts');
			begun = Date.now();
			await follow(page, path);
			steps?.push(Date.now() - begun);
		}
		console.log(`${path.padEnd(16)} whole load ${said(loads ?? [])}, by a link ${said(steps ?? [])}`);
	}
});

/** Goes by a link and waits for the headline of the page that it leads to. */
async function follow(page: Page, path: string): Promise<void> {
	await page.evaluate((path) => {
		for (const headline of document.querySelectorAll('main h1')) headline.setAttribute('data-before', '');
		const link = document.createElement('a');
		link.href = path;
		document.body.append(link);
		link.click();
		link.remove();
	}, path);
	await page.locator('main h1:not([data-before])').first().waitFor();
}
