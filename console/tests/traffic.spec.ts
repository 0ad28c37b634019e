import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, signIn, test } from './server';
import { looksRight } from './look';

/** Clients, messages and text topics, against a server with an SMPP door, a platform and a topic door. */

/** Ports of this folder: all processes of a run read the same config. */
const PLACE = [...import.meta.dirname].reduce((sum, letter) => (31 * sum + letter.charCodeAt(0)) % 5_000, 7);
const SMPP = 20_000 + 2 * PLACE;
const TOPICS = SMPP + 1;
const REPORTS = SMPP + 10_000;

test.use({
	config: `
[smpp]
listen = "127.0.0.1:${SMPP}"
[[smpp.client]]
system_id = "waterworks"
password = "pass"
rate = 50.0
[[platform]]
username = "water"
password = "change me"
dlr_url = "http://127.0.0.1:${REPORTS}/"
[topics]
listen = "127.0.0.1:${TOPICS}"
[[route]]
name = "edge"
channel = "edge"
mode = "live"
[[edge.site]]
name = "harbour-office"
address = "127.0.0.1:${TOPICS + 20_000}"
`
});

/** bind_transceiver (SMPP 3.4, section 4.1.5). */
function bind(systemId: string, password: string): Promise<Socket> {
	const body = Buffer.concat([Buffer.from(`${systemId}\0${password}\0\0`), Buffer.from([0x34, 0, 0, 0])]);
	const head = Buffer.alloc(16);
	[16 + body.length, 0x00000009, 0, 1].forEach((word, at) => head.writeUInt32BE(word, 4 * at));
	return new Promise((resolve, reject) => {
		const socket = connect(SMPP, '127.0.0.1', () => socket.write(Buffer.concat([head, body])));
		socket.once('data', () => resolve(socket));
		socket.once('error', reject);
	});
}

/** One request of the topic door, with its reply. */
function topic(request: string): Promise<string> {
	return new Promise((resolve, reject) => {
		const socket = connect(TOPICS, '127.0.0.1', () => socket.write(`${request}\n`));
		socket.once('data', (data) => {
			resolve(data.toString().trim());
			socket.end();
		});
		socket.once('error', reject);
	});
}

test('a message of a platform is found by its number and shown step by step @all', async ({ page, server }) => {
	const platform = createServer((_, answer) => answer.end()).listen(REPORTS, '127.0.0.1');
	// Both kinds of receipt are asked for: without them nobody would hear that it arrived.
	const query = new URLSearchParams({ username: 'water', password: 'change me', to: '+46701740605', text: 'The <b>water</b> is safe again', 'dlr-mask': '3' });
	const answer = await fetch(`${server.url}/cgi-bin/sendsms?${query}`);
	expect(answer.status).toBe(202);
	await server.until('/api/v1/messages?number=46701740605', ({ items }) => items[0]?.state === 'delivered');
	await signIn(page, server, 'vera', '/messages');
	await page.getByLabel("Number, or a message’s id").fill('46701740605');
	await page.getByRole('button', { name: 'Find messages' }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('Messages to and from 46701740605');
	await looksRight(page, undefined, ['light', 'dark']);
	await page.getByRole('link', { name: /^To \+?46701740605/ }).click();
	await expect(page.getByRole('heading', { level: 1 })).toHaveText(/The message to \+?46701740605 arrived/);
	await expect(page.getByText('The <b>water</b> is safe again')).toBeVisible();
	await expect(page.getByText('the client has taken it', { exact: false })).toBeVisible();
	await looksRight(page, undefined, ['light', 'dark']);
	platform.close();
});

test('a client that is connected is disconnected with a reason @all', async ({ page, server }) => {
	const refused = await bind('waterworks', 'wrong');
	refused.destroy();
	const socket = await bind('waterworks', 'pass');
	const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
	socket.resume();
	await signIn(page, server, 'jonas', '/clients');
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('1 of 1 SMPP client is connected');
	await expect(page.getByText('Its last attempt to connect was refused')).toBeVisible();
	await looksRight(page, undefined, ['light', 'dark']);
	await page.getByRole('button', { name: 'Disconnect waterworks' }).click();
	await page.getByLabel('Why').fill('They send twice');
	await page.getByRole('button', { name: 'Disconnect 1 session' }).click();
	await expect(page.getByText('1 session of waterworks is ending.')).toBeAttached();
	socket.end();
	await ended;
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('0 of 1 SMPP client is connected');
});

test('text topics are read from the last message back @all', async ({ page, server }) => {
	for (let n = 0; n < 130; n += 1) await topic(`POST@lobby#Lift ${n} is out of order`);
	await signIn(page, server, 'jonas', '/topics');
	await page.getByRole('link', { name: 'lobby' }).click();
	await expect(page.getByText('Lift 129 is out of order')).toBeVisible();
	await looksRight(page, undefined, ['light', 'dark']);
	await page.getByRole('link', { name: 'Earlier ones' }).click();
	await expect(page.getByText('Lift 0 is out of order')).toBeVisible();
	await page.goto(`${server.pages}/edge-sites`);
	await expect(page.getByRole('heading', { level: 1 })).toHaveText('1 edge site');
	await looksRight(page, undefined, ['light', 'dark']);
});
