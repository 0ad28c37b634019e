import { looksRight } from './look';
import { expect, signIn, test, type Server } from './server';
import { town, type TownAlerts } from './town';
import type { Page } from '@playwright/test';

/** Every page of the console, with something on it. */
const paths = ({ running, done, draft, template }: TownAlerts): string[] => [
	'/',
	'/alerts',
	'/alerts?state=past',
	'/alerts/new',
	`/drafts/${draft}/message`,
	`/drafts/${draft}/audience`,
	`/drafts/${draft}/delivery`,
	`/drafts/${draft}/review`,
	`/alerts/${running}`,
	`/alerts/${running}/people`,
	`/alerts/${running}/answers`,
	`/alerts/${running}/timeline`,
	`/alerts/${done}`,
	`/alerts/${done}/report`,
	'/templates',
	`/templates/${template}`,
	'/areas',
	'/people',
	'/people/p1',
	'/people/import',
	'/groups',
	'/groups/staff',
	'/routes',
	'/routes/carrier-north',
	'/messages',
	'/clients',
	'/topics',
	'/edge-sites',
	'/accounts',
	'/accounts/default',
	'/credit-sessions',
	'/tariffs',
	'/drills',
	'/schedules',
	'/audit',
	'/settings',
	'/settings/users',
	'/settings/tokens',
	'/settings/approval',
	'/settings/sign-in',
	'/settings/server',
	'/me',
	'/wall'
];

async function open(page: Page, server: Server, path: string): Promise<void> {
	await page.goto(server.pages + path);
	await expect(page.locator('main h1').first(), path).toBeVisible();
	await expect(page.locator('.skeleton'), path).toHaveCount(0);
	await expect(page.locator('main').getByText(/\b[a-z_]+\.[a-z_]+\b/).filter({ hasText: /^(shell|states|home|alert|people)\./ }), `${path}: a word is missing`).toHaveCount(0);
}

/** Those that an operator needs in the night. */
const AT_NIGHT = /^\/$|^\/alerts|^\/drafts|^\/people$|^\/routes$|^\/drills$|^\/settings$/;

test('axe finds nothing on the pages of a night, by day, wide and narrow', async ({ page, server }) => {
	test.setTimeout(400_000);
	const alerts = await town(server);
	await signIn(page, server);
	for (const path of paths(alerts).filter((path) => AT_NIGHT.test(path))) {
		await open(page, server, path);
		await looksRight(page);
	}
});

test('axe finds nothing on any page, by night and in drill space @all', async ({ page, server }) => {
	test.setTimeout(900_000);
	const alerts = await town(server);
	await signIn(page, server);
	for (const path of paths(alerts)) {
		await open(page, server, path);
		await looksRight(page, undefined, ['light', 'dark']);
	}
	for (const path of ['/drill', '/drill/alerts', '/drill/alerts/new', '/drill/drills']) {
		await open(page, server, path);
		await looksRight(page, undefined, ['light', 'dark']);
	}
});
