import { looksRight } from './look';
import { expect, signIn, test, type Server } from './server';

/** People of a town round 59.33, 18.06; every second in the ward, each third at the harbour. */
async function people(server: Server): Promise<void> {
	const rows = Array.from({ length: 30 }, (_, n) => `a${n},Person ${n},${n % 2 ? 'en' : 'sv'},${n % 2 ? 'ward' : 'staff'},+46701742${String(n).padStart(3, '0')},${n % 3 ? 59.5 : 59.33},18.06`);
	await server.call('POST', '/api/v1/recipients:import', `id,name,language,groups,sms,lat,lon\n${rows.join('\n')}\n`);
	await server.call('PUT', '/api/v1/groups/ward', { name: 'Old ward' });
}

test('an audience is found by name, typed by coordinates, and counted once', async ({ page, server }) => {
	await people(server);
	const { id } = await server.call('POST', '/api/v1/drafts', { mode: 'live', headline: 'Water off', text: 'No water until noon.' });
	await signIn(page, server, 'jonas', `/drafts/${id}/audience`);

	const find = page.getByLabel('Add groups, people or areas');
	await find.fill('old w');
	await page.getByRole('option', { name: /Old ward/ }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('15 people get it');

	await page.getByText('Type coordinates', { exact: true }).click();
	await page.getByLabel('Middle').fill('59.33, 18.06');
	await page.getByLabel('Radius').fill('far');
	await page.getByRole('button', { name: 'Add the circle' }).click();
	await expect(page.getByText('That is no radius.')).toBeVisible();
	await page.getByLabel('Radius').fill('800 m');
	await page.getByRole('button', { name: 'Add the circle' }).click();
	await expect(page.getByText(/Circle, 0.8 km round 59.3300, 18.0600/).first()).toBeVisible();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('20 people get it');
	await expect(page.getByText('5 are in several of these and counted once.')).toBeVisible();

	await page.getByLabel('Except groups, people or areas').fill('person 1');
	await page.getByRole('option', { name: /^Person 1 / }).first().click();
	await expect(page.getByRole('link', { name: /^1 See who/ })).toBeVisible();
	await looksRight(page);

	await page.getByRole('link', { name: 'See who', exact: true }).click();
	await expect(page).toHaveURL(/who=all/);
	const dialog = page.getByRole('dialog');
	await expect(dialog.getByText('member of Old ward').first()).toBeVisible();
	await expect(dialog.getByText('Left out: excepted')).toBeVisible();
	await page.goBack();
	await expect(dialog).toHaveCount(0);
	await server.until(`/api/v1/drafts/${id}`, ({ request }) => request.audience?.length === 2 && request.area?.circles?.[0][2] === 0.8 && request.exclude?.length === 1);
});

test('a polygon is drawn with the mouse @all', async ({ page, server }) => {
	await people(server);
	const { id } = await server.call('POST', '/api/v1/drafts', { mode: 'live', text: 'No water until noon.' });
	await signIn(page, server, 'jonas', `/drafts/${id}/audience`);
	const draw = page.getByRole('button', { name: 'Draw a polygon' });
	const map = page.locator('.canvas.leaflet-container');
	await expect(map).toBeVisible();
	await draw.click();
	await expect(page.getByText('Click corner after corner')).toBeVisible();
	await map.scrollIntoViewIfNeeded();
	const box = await map.boundingBox();
	if (!box) throw new Error('the map has no size');
	for (const [x, y] of [[0.3, 0.3], [0.7, 0.3], [0.6, 0.7], [0.3, 0.3]] as const) {
		await page.mouse.move(box.x + x * box.width, box.y + y * box.height, { steps: 4 });
		await page.mouse.down();
		await page.mouse.up();
	}
	await expect(page.getByText(/Polygon, 3 corners/).first()).toBeVisible();
	await server.until(`/api/v1/drafts/${id}`, ({ request }) => request.area?.polygons?.[0]?.length === 4 && request.audience?.[0] === 'area');
	await page.getByRole('button', { name: /^Remove Polygon/ }).click();
	await server.until(`/api/v1/drafts/${id}`, ({ request }) => !request.area && !request.audience);
});

test('areas are typed, read from a file, and deleted @all', async ({ page, server }) => {
	await signIn(page, server, 'jonas', '/areas');
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('No named areas yet');
	await page.getByText('Type coordinates', { exact: true }).click();
	await page.getByLabel('Middle').fill('59,33 18,06');
	await page.getByLabel('Radius').fill('1,5 km');
	await page.getByRole('button', { name: 'Add the circle' }).click();
	await page.getByRole('textbox', { name: 'Name' }).fill('Old Harbour');
	await page.getByRole('button', { name: 'Save the area' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('1 named area');

	const feature = (name: string) => ({ type: 'Feature', properties: { name, radius: 500 }, geometry: { type: 'Point', coordinates: [18.1, 59.35] } });
	const file = (text: string) => ({ name: 'areas.geojson', mimeType: 'application/geo+json', buffer: Buffer.from(text) });
	await page.getByLabel('GeoJSON file', { exact: true }).setInputFiles(file('{"type":"Point"}'));
	await expect(page.getByText('This file has no Features.')).toBeVisible();
	await page.getByLabel('GeoJSON file', { exact: true }).setInputFiles(file(JSON.stringify({ type: 'FeatureCollection', features: [feature('North Shore'), feature('Old Harbour')] })));
	await expect(page.getByText('1 of them replaces an area that is there.')).toBeVisible();
	await page.getByRole('button', { name: 'Save 2 areas' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('2 named areas');
	await looksRight(page);

	await page.getByRole('button', { name: 'Delete North Shore' }).click();
	await page.getByRole('dialog').getByRole('button', { name: 'Delete the area' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('1 named area');
});
