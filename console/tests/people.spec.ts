import { expect, signIn, test } from './server';
import { looksRight } from './look';

/** Forty people, three of them wrong: a number with letters, a language that is none, a mail address without @. */
function file(): string {
	const rows = Array.from({ length: 40 }, (_, n) => `n${n},New Person ${n},sv,+4670174${7000 + n},n${n}@example.org,South`);
	rows[7] = 'n7,New Person 7,sv,070 FLOWERS,,South';
	rows[11] = 'n11,New Person 11,tlhh-!,+46701747011,,South';
	rows[19] = 'n19,New Person 19,sv,+46701747019,nowhere,South';
	return `Staff no,Namn,Språk,Mobil,Mejl,Site\n${rows.join('\n')}\n`;
}

test('a file with three wrong rows is looked at, committed without them, and undone', async ({ page, server }) => {
	await server.addPeople(5);
	const before = (await server.call('GET', '/api/v1/recipients?sort=id&limit=1')).total;
	await signIn(page, server, 'jonas', '/people/import');
	await page.getByLabel(/Drop a file here/).setInputFiles({ name: 'staff.csv', mimeType: 'text/csv', buffer: Buffer.from(file()) });
	await expect(page.getByText('Say which column is the id')).toBeVisible();
	await page.getByLabel('What the column Staff no is taken as').selectOption('id');
	await looksRight(page);
	await page.getByRole('button', { name: 'Check the file' }).click();

	await expect(page.getByRole('heading', { level: 1 })).toHaveText('37 new, 0 changed, 3 wrong');
	const wrong = page.getByRole('table', { name: '3 problems in rows' });
	await expect(wrong.getByRole('row')).toHaveCount(4);
	await expect(wrong).toContainText('070 FLOWERS');
	await looksRight(page);
	const saved = page.waitForEvent('download');
	await page.getByRole('button', { name: 'Download all 3 as a file' }).click();
	expect((await saved).suggestedFilename()).toBe('problems.csv');

	await page.getByRole('button', { name: 'Commit 37 people' }).click();
	const dialog = page.getByRole('dialog');
	await expect(dialog).toContainText('3 wrong rows are left out.');
	await dialog.getByRole('button', { name: 'Commit 37 people now' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('37 people imported');
	expect((await server.call('GET', '/api/v1/recipients?sort=id&limit=1')).total).toBe(before + 37);

	await page.getByRole('button', { name: 'Undo this import' }).click();
	await page.getByRole('dialog').getByRole('button', { name: 'Undo it now' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('Undone');
	expect((await server.call('GET', '/api/v1/recipients?sort=id&limit=1')).total).toBe(before);
});

test('people are found by name, number and what is wrong, and Back restores the search @all', async ({ page, server }) => {
	await server.addPeople(30);
	await server.call('PATCH', '/api/v1/recipients/p3', { devices: [] });
	await signIn(page, server, 'vera', '/people');
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('30 people');
	await looksRight(page);
	await page.keyboard.press('/');
	await page.keyboard.type('person 7');
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('1 person found');
	await page.getByRole('link', { name: 'Person 7' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('Person 7');
	await expect(page.getByRole('link', { name: 'Edit' })).toHaveCount(0);
	await page.goBack();
	await expect(page.getByLabel('Search people')).toHaveValue('person 7');
	await page.getByLabel('Search people').fill('');
	await page.getByRole('link', { name: 'No device' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('1 person has no device');
	await page.getByLabel('Search people').fill('nobody at all');
	await expect(page.getByText('Nobody fits.')).toBeVisible();
	await page.getByRole('link', { name: 'Clear the search' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('30 people');
});

test('a person is edited, and of two versions somebody chooses @all', async ({ page, server }) => {
	await server.addPeople(3);
	await signIn(page, server, 'jonas', '/people/p0?edit=1');
	await page.getByLabel('Name', { exact: true }).fill('Ann <script>alert(1)</script> Ek');
	await page.getByLabel('Position').fill('the harbour');
	await page.getByRole('button', { name: 'Save the changes' }).click();
	await expect(page.getByRole('alert').getByRole('link', { name: 'Position' })).toBeVisible();
	await page.getByLabel('Position').fill('58.892, 13.27');
	await server.call('PATCH', '/api/v1/recipients/p0', { name: 'Anna Berg', language: 'fi' });
	await page.getByRole('button', { name: 'Save the changes' }).click();
	const both = page.getByRole('table', { name: 'Both versions' });
	await expect(both).toContainText('Anna Berg');
	await looksRight(page);
	await page.getByRole('button', { name: 'Save mine over it' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('Ann <script>alert(1)</script> Ek');
	const stored = await server.call('GET', '/api/v1/recipients/p0');
	expect([stored.name, stored.language, stored.lat]).toEqual(['Ann <script>alert(1)</script> Ek', 'fi', 58.892]);
});

test('a test message says when it arrived, and past alerts say why @all', async ({ page, server }) => {
	await server.addPeople(2);
	const id = await server.send({ headline: 'Leave the school' });
	await server.until(`/api/v1/alerts/${id}`, ({ state }) => ['running', 'done'].includes(state));
	await signIn(page, server, 'jonas', '/people/p0');
	await page.getByRole('button', { name: 'Send a test +467017400000' }).click();
	await page.getByRole('dialog').getByRole('button', { name: 'Send the test' }).click();
	await expect(page.getByText(/^Sent to \+467017400000, arrived after [\d.]+ s\.$/)).toBeVisible({ timeout: 30_000 });
	await page.getByRole('button', { name: 'Look up past alerts' }).click();
	await expect(page.getByRole('link', { name: 'Leave the school' })).toBeVisible();
	await page.getByText('Why', { exact: true }).last().click();
	await expect(page.getByText('The alert was for everybody.').first()).toBeVisible();
	await looksRight(page);
});

test('who is erased is gone, once their id was typed @all', async ({ page, server }) => {
	await server.addPeople(2);
	await signIn(page, server, 'jonas', '/people/p1');
	await page.getByRole('button', { name: 'Erase this person' }).click();
	const dialog = page.getByRole('dialog');
	await expect(dialog.getByRole('button', { name: /^Erase Person 1/ })).toBeDisabled();
	await dialog.getByLabel('Type p1 to go on').fill('p1');
	await dialog.getByRole('button', { name: /^Erase Person 1/ }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('Person 1 was erased');
	await page.goto(`${server.pages}/people/p1`);
	await expect(page.getByText('There is no such person.')).toBeVisible();
});

test('a group is made by a rule in sentences that counts while it is written @all', async ({ page, server }) => {
	await server.addPeople(12);
	const { count } = await server.call('POST', '/api/v1/groups:preview', { rule: { attribute: 'language', is: 'sv' } });
	const inWords = (people: number) => (people === 1 ? '1 person' : `${people} people`);
	await signIn(page, server, 'jonas', '/groups');
	await page.getByRole('link', { name: 'Make a group' }).click();
	await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Svenskspråkiga');
	await page.getByRole('button', { name: 'Make this group' }).click();
	await page.getByLabel('A rule finds people for this group').check();
	await page.getByLabel('Detail of condition 1').fill('language');
	await page.getByLabel('Value of condition 1').fill('sv');
	await expect(page.getByText(`${inWords(count)} fit`)).toBeVisible();
	await page.getByRole('button', { name: 'Add a condition' }).click();
	await page.getByLabel('Detail of condition 2').fill('id');
	await page.getByLabel('How condition 2 compares').selectOption('not_in');
	await page.getByLabel('Value of condition 2').fill('p0, p4');
	await expect(page.getByText(`${inWords(count - 2)} fit`)).toBeVisible();
	await looksRight(page);
	await page.getByRole('button', { name: 'Save the group' }).click();
	await expect(page.getByRole('table', { name: /in it$/ })).toContainText('Person 8');
	const group = await server.call('GET', '/api/v1/groups/svensksprakiga');
	expect(group.rule).toEqual({ all: [{ attribute: 'language', is: 'sv' }, { not: { attribute: 'id', in: ['p0', 'p4'] } }] });
	await page.getByRole('button', { name: 'Delete this group' }).click();
	await expect(page.getByRole('dialog')).toContainText(`${inWords(count - 2)}`);
	await page.getByRole('button', { name: 'Delete Svenskspråkiga for good' }).click();
	await expect(page).toHaveURL(/\/groups$/);
});
