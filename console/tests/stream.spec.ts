import { expect, signIn, test, type Server } from './server';

/** Streams that were ever opened, as the server counts them. */
async function streams(server: Server): Promise<number> {
	const answer = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${server.token}` } });
	const lines = (await answer.text()).split('\n').filter((line) => /^campanile_http_requests_total\{.*path="\/api\/v1\/events"/.test(line));
	return lines.reduce((sum, line) => sum + Number(line.split(' ').pop()), 0);
}

test('seven pages of a browser share one stream, and all of them see an alert move', async ({ page, context, server }) => {
	await server.addPeople(20);
	const before = await streams(server);
	await signIn(page, server);
	const pages = [page];
	for (let n = 1; n < 7; n += 1) {
		const more = await context.newPage();
		await more.goto(server.pages);
		pages.push(more);
	}
	for (const each of pages) await expect(each.locator('.band')).toBeVisible();
	await server.send({ headline: 'Water off in Birch Street' });
	for (const each of pages) await expect(each.getByText('Water off in Birch Street').first()).toBeVisible();
	expect((await streams(server)) - before).toBe(1);
	await Promise.all(pages.slice(1).map((each) => each.close()));
});

test('a server that was killed is said to be silent, and seen again when it is back', async ({ page, server }) => {
	await signIn(page, server);
	await expect(page.getByRole('heading', { level: 1 })).toContainText('under way');
	await server.kill();
	await expect(page.getByText('No word from the server since')).toBeVisible({ timeout: 25_000 });
	await server.startAgain();
	await expect(page.getByText('No word from the server since')).toBeHidden({ timeout: 30_000 });
});
