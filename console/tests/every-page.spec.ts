import { looksRight } from './look';
import { another, expect, MIRA, signIn, test, type Server } from './server';
import { town, type Town } from './town';
import type { Page } from '@playwright/test';

test.use({ config: '\n[[approval]]\nmode = "live"\npriority = ["urgent"]\nneeds = "one"\n' });

/** Pages that an alert goes through, with something on each. */
const ofAlerts = ({ running, done, draft, template, waiting }: Town): string[] => [
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
	`/alerts/${waiting}`,
	`/alerts/${done}/report`,
	'/templates',
	`/templates/${template}`,
	'/areas',
	'/drill',
	'/drill/alerts',
	'/drill/alerts/new'
];

/** Pages of whom it reaches, by what, and what it costs. */
const ofPeople = ({ dryRun }: Town): string[] => [
	'/people',
	'/people?add=1',
	'/people/p1',
	'/people/p1?edit=1',
	'/people/import',
	`/people/import/${dryRun}`,
	'/groups',
	'/groups?add=1',
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
	'/tariffs'
];

/** Pages of plans, of who did what, and of the server. */
const ofServer = ({ user }: Town): string[] => [
	'/drills',
	'/drill/drills',
	'/schedules',
	'/schedules/new',
	'/schedules/siren',
	'/schedules/siren/edit',
	'/audit',
	'/settings',
	'/settings/users',
	'/settings/users/new',
	`/settings/users/${user}`,
	'/settings/tokens',
	'/settings/approval',
	'/settings/sign-in',
	'/settings/server',
	'/me',
	'/wall',
	'/nowhere'
];

async function open(page: Page, server: Server, path: string): Promise<void> {
	await page.goto(server.pages + path);
	await expect(page.locator('main h1').first(), path).toBeVisible();
	await expect(page.locator('.skeleton'), path).toHaveCount(0);
}

/** Those that an operator needs in the night. */
const AT_NIGHT = /^\/$|^\/alerts|^\/drafts|^\/people$|^\/routes$|^\/drills$|^\/settings$/;

test('axe finds nothing on the pages of a night, by day, wide and narrow', async ({ page, server }) => {
	test.setTimeout(400_000);
	const there = await town(server);
	await signIn(page, server);
	for (const path of [...ofAlerts(there), ...ofPeople(there), ...ofServer(there)].filter((path) => AT_NIGHT.test(path))) {
		await open(page, server, path);
		await looksRight(page);
	}
});

for (const [what, paths] of [['alerts', ofAlerts], ['people, routes and money', ofPeople], ['plans and the server', ofServer]] as const) {
	test(`axe finds nothing on any page of ${what}, by day and by night @all`, async ({ page, server }) => {
		test.setTimeout(900_000);
		const there = await town(server);
		await signIn(page, server);
		for (const path of paths(there)) {
			await open(page, server, path);
			await looksRight(page, undefined, ['light', 'dark']);
		}
	});
}

test('axe finds nothing on the pages of an approver, and of who is not signed in @all', async ({ page, server, browser }) => {
	const { waiting } = await town(server);
	const mira = await another(browser, server, MIRA, `/alerts/${waiting}`);
	await expect(mira.page.getByRole('button', { name: 'Approve and send now' })).toBeVisible();
	await looksRight(mira.page, undefined, ['light', 'dark']);
	await mira.context.close();
	for (const path of ['/sign-in', '/invitation', '/invitation#cmp_none']) {
		await page.goto(server.pages + path);
		await page.reload();
		await expect(page.getByRole('heading', { level: 1 }), path).toBeVisible();
		await looksRight(page, undefined, ['light', 'dark']);
	}
});
