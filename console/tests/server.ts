import { test as base, expect, type Browser, type BrowserContext, type Page } from '@playwright/test';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { front } from './front';

/** A real server for each file of stories, with carriers and a relay that are processes of their own, as real ones
 * would be, and people who sign in. */

export const PASSWORD = 'seven green umbrellas';
const BINARY = process.env.CAMPANILE_BIN ?? '../target/ci/campanile';
/** A folder of pages to be tried in front of a server that was built earlier; without it they come from the server. */
const PAGES_FOLDER = process.env.CONSOLE_BUILD;
const READY_MS = 30_000;
const END_MS = 10_000;

/** Two carriers of different limits and a relay; what is sent for practice stays in the server's own simulators. */
const CONFIG = `
[organisation]
name = "City of Lindvik"
[http]
listen = "127.0.0.1:PORT"
public_url = "http://localhost:PORT"
ROUTES
`;
const ROUTES: [name: string, channel: string, rate: number][] = [
	['carrier-north', 'sms', 40],
	['carrier-south', 'sms', 20],
	['relay', 'mail', 60]
];
const CARRIER_PASSWORD = 'carrier';

/** Live routes lead to other processes: the server cannot know that these only pretend. */
function routes(places: string[]): string {
	const tables = ROUTES.flatMap(([name, channel, rate], at) =>
		['live', 'drill'].map((mode) =>
			[
				'[[route]]',
				`name = "${mode === 'live' ? name : `${name}-drill`}"`,
				`channel = "${channel}"`,
				`mode = "${mode}"`,
				`rate = ${rate}.0`,
				...(mode === 'drill' ? ['sim = true'] : [`address = "${places[at]}"`]),
				...(mode === 'live' && channel === 'sms' ? ['system_id = "campanile"', `password = "${CARRIER_PASSWORD}"`] : []),
				...(channel === 'mail' ? ['from = "City of Lindvik <alerts@lindvik.example>"'] : []),
			].join('\n')
		)
	);
	return tables.join('\n');
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Json = Record<string, any>;

/** A user of the stories. */
export interface NewUser {
	name: string;
	full_name: string;
	roles: string[];
	spaces?: string[];
	[more: string]: unknown;
}

export const JONAS: NewUser = { name: 'jonas', full_name: 'Jonas Ek', roles: ['author', 'operator', 'directory', 'accounts', 'administrator'] };
export const MIRA: NewUser = { name: 'mira', full_name: 'Mira Holm', roles: ['approver', 'operator', 'author'] };
export const VERA: NewUser = { name: 'vera', full_name: 'Vera Lund', roles: ['viewer'] };

export class Server {
	/** Of the server itself. */
	readonly url: string;
	/** Where the pages are. */
	pages: string;
	readonly token: string;
	readonly folder: string;
	#process: ChildProcess;
	#outside: Outside;
	#front: { close: () => void } | null = null;

	private constructor(url: string, token: string, folder: string, process: ChildProcess, outside: Outside) {
		this.url = url;
		this.pages = url;
		this.token = token;
		this.folder = folder;
		this.#process = process;
		this.#outside = outside;
	}

	/** A server on a free port, in a folder of its own. `more` is appended to its config. */
	static async start(more = '', users: NewUser[] = [JONAS, MIRA, VERA]): Promise<Server> {
		const folder = await mkdtemp(join(tmpdir(), 'campanile-console-'));
		const outside = await Outside.start(folder);
		const port = await freePort();
		const config = CONFIG.replaceAll('PORT', String(port)).replace('ROUTES', routes(outside.places)) + more;
		await writeFile(join(folder, 'campanile.toml'), config);
		const { process, token } = await run(folder);
		const server = new Server(`http://localhost:${port}`, token, folder, process, outside);
		if (PAGES_FOLDER) {
			const before = await front(PAGES_FOLDER, () => server.url);
			server.#front = before;
			server.pages = before.url;
		}
		await server.call('PATCH', '/api/v1/setup', { time_zone: 'Europe/Stockholm' });
		for (const user of users) await server.addUser(user);
		return server;
	}

	/** Ends the process at once, as a power cut would. */
	async kill(): Promise<void> {
		await ended(this.#process, 'SIGKILL');
	}

	/** A carrier's process ends: nobody listens there any more. */
	async breakCarrier(name: string): Promise<void> {
		await this.#outside.end(ROUTES.findIndex(([known]) => known === name));
	}

	/** Starts it again on the same folder and port. */
	async startAgain(): Promise<void> {
		this.#process = (await run(this.folder, this.url)).process;
	}

	async stop(): Promise<void> {
		await ended(this.#process, 'SIGTERM');
		this.#front?.close();
		await this.#outside.stop();
		await rm(this.folder, { recursive: true, force: true });
	}

	/** The API by the admin token; anything but success fails the story. */
	async call<Answer = Json>(method: Method, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
		const isText = typeof body === 'string';
		const response = await fetch(this.url + path, {
			method,
			headers: {
				authorization: `Bearer ${this.token}`,
				...(body === undefined ? {} : { 'content-type': isText ? 'text/csv' : 'application/json' }),
				...headers
			},
			body: body === undefined ? undefined : isText ? body : JSON.stringify(body)
		});
		const text = await response.text();
		if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
		return (text ? JSON.parse(text) : null) as Answer;
	}

	async addUser(user: NewUser): Promise<void> {
		const { id } = await this.call('POST', '/api/v1/users', { spaces: ['live', 'drill'], ...user });
		const { token } = await this.call('POST', `/api/v1/users/${id}:invite`);
		await this.call('POST', '/api/v1/invitations:accept', { token, password: PASSWORD }, { authorization: '' });
	}

	/** So many people with a telephone each, every third with a mailbox too; `groups` in turn. */
	async addPeople(count: number, groups = ['staff', 'harbour']): Promise<void> {
		const rows = Array.from({ length: count }, (_, n) => {
			const number = `+46701740${String(n).padStart(4, '0')}`;
			const mail = n % 3 === 0 ? `p${n}@example.org` : '';
			return `p${n},Person ${n},${n % 4 === 0 ? 'sv' : 'en'},${groups[n % groups.length]},${number},${mail}`;
		});
		await this.call('POST', '/api/v1/recipients:import', `id,name,language,groups,sms,mail\n${rows.join('\n')}\n`);
	}

	/** Sends an alert by the token; gives its id. */
	async send(alert: Json): Promise<string> {
		const { id } = await this.call('POST', '/api/v1/alerts', { mode: 'live', audience: ['all'], text: 'Leave the building.', ...alert });
		return id;
	}

	/** Asks again until it is so, for half a minute if nothing else is said. */
	async until<Answer extends Json>(path: string, isSo: (answer: Answer) => boolean, timeout = READY_MS): Promise<Answer> {
		let answer: Answer | undefined;
		await expect
			.poll(async () => isSo((answer = await this.call<Answer>('GET', path))), { timeout, intervals: [100] })
			.toBe(true);
		return answer as Answer;
	}
}

/** The world outside: a process for each live route. */
class Outside {
	readonly places: string[];
	#processes: ChildProcess[];

	private constructor(places: string[], processes: ChildProcess[]) {
		this.places = places;
		this.#processes = processes;
	}

	static async start(folder: string): Promise<Outside> {
		const places = await Promise.all(ROUTES.map(async () => `127.0.0.1:${await freePort()}`));
		const processes = ROUTES.map(([, channel], at) => {
			const kind = channel === 'mail' ? ['mail'] : ['smsc', '--password', CARRIER_PASSWORD];
			return spawn(BINARY, ['sim', ...kind, '--listen', places[at] ?? ''], { cwd: folder, stdio: 'ignore' });
		});
		return new Outside(places, processes);
	}

	async end(at: number): Promise<void> {
		const process = this.#processes[at];
		if (process) await ended(process, 'SIGTERM');
	}

	async stop(): Promise<void> {
		await Promise.all(this.#processes.map((process) => ended(process, 'SIGTERM')));
	}
}

/** A port that nobody listens on now. */
function freePort(): Promise<number> {
	return new Promise((resolve, reject) => {
		const socket = createServer();
		socket.once('error', reject);
		socket.listen(0, '127.0.0.1', () => {
			const address = socket.address();
			socket.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
		});
	});
}

/** Starts the server and waits until it is ready; the first start prints its admin token. */
async function run(folder: string, url?: string): Promise<{ process: ChildProcess; token: string }> {
	const file = join(folder, 'campanile.toml');
	const child = spawn(BINARY, ['serve', '--config', file, '--data', join(folder, 'data')], {
		cwd: folder,
		stdio: ['ignore', 'pipe', 'pipe']
	});
	let log = '';
	let token = '';
	const lines = createInterface({ input: child.stdout });
	lines.on('line', (line) => {
		log += `${line}\n`;
		token ||= /cmp_[\w-]+/.exec(line)?.[0] ?? '';
	});
	child.stderr.on('data', (piece) => (log += piece));
	const place = /listen = "([^"]+)"/.exec(await readFile(file, 'utf8'))?.[1];
	const ready = url ?? `http://${place}`;
	const until = Date.now() + READY_MS;
	for (;;) {
		if (child.exitCode !== null) throw new Error(`the server ended:\n${log}`);
		const isReady = await fetch(`${ready}/readyz`).then(
			(response) => response.ok,
			() => false
		);
		if (isReady && (token || url)) return { process: child, token };
		if (Date.now() > until) throw new Error(`the server is not ready after ${READY_MS / 1000} s:\n${log}`);
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}

async function ended(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const end = new Promise<void>((resolve) => child.once('exit', () => resolve()));
	child.kill(signal);
	const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
	await end;
	clearTimeout(timer);
}

/** A page on which somebody is signed in, by the form as anybody would. */
export async function signIn(page: Page, server: Server, user: string | NewUser = JONAS, path = '/'): Promise<void> {
	const name = typeof user === 'string' ? user : user.name;
	await page.goto(`${server.pages}/sign-in?to=${encodeURIComponent(path)}`);
	await page.getByLabel('Name').fill(name);
	await page.getByLabel('Password').fill(PASSWORD);
	await page.getByRole('button', { name: 'Sign in', exact: true }).click();
	await expect(page.locator('.band')).toBeVisible();
}

/** A browser of another person. */
export async function another(browser: Browser, server: Server, user: NewUser, path = '/'): Promise<{ page: Page; context: BrowserContext }> {
	const context = await browser.newContext();
	const page = await context.newPage();
	await signIn(page, server, user, path);
	return { page, context };
}

/** One server at a time in a worker: that of the file whose stories run. */
class Servers {
	#file = '';
	#server: Server | null = null;

	async of(file: string, config: string, users: NewUser[]): Promise<Server> {
		if (this.#server && this.#file === file) return this.#server;
		await this.stop();
		this.#server = await Server.start(config, users);
		this.#file = file;
		return this.#server;
	}

	async stop(): Promise<void> {
		await this.#server?.stop();
		this.#server = null;
	}
}

interface WorkerFixtures {
	servers: Servers;
}

interface PageFixtures {
	/** Appended to the config of the file's server: `test.use({ config: '…' })`. */
	config: string;
	users: NewUser[];
	/** The server of this file. */
	server: Server;
	/** Whatever the pages write to the console as an error, or throw, fails the story. */
	quiet: void;
}

/** Said by browsers of requests whose refusal the page expects, and of the one inline style of the router (its hash),
 * which the policy refuses and the styles replace. */
const EXPECTED = /sha256-S8qMpvofolR8Mpjy4kQvEm7m1q8clzU4dfDH0AmvZjo=|the server responded with a status of (401|403|404|409|412|422|429|503)|net::ERR_/;

export const test = base.extend<PageFixtures, WorkerFixtures>({
	config: ['', { option: true }],
	users: [[JONAS, MIRA, VERA], { option: true }],
	servers: [
		async ({}, use) => {
			const servers = new Servers();
			await use(servers);
			await servers.stop();
		},
		{ scope: 'worker' }
	],
	server: async ({ servers, config, users }, use, { file }) => use(await servers.of(file, config, users)),
	quiet: [
		async ({ page }, use) => {
			const said: string[] = [];
			page.on('pageerror', (error) => said.push(error.message));
			page.on('console', (message) => {
				if (message.type() === 'error' && !EXPECTED.test(message.text())) said.push(message.text());
			});
			await use();
			expect(said, 'errors of the page').toEqual([]);
		},
		{ auto: true }
	]
});

export { expect };
