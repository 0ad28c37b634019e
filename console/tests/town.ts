import type { Server } from './server';

/** Something of everything, so that every page has something to show. */
export interface Town {
	running: string;
	done: string;
	draft: string;
	template: string;
	/** Waits for a second person where a policy wants one for what is urgent. */
	waiting: string;
	/** A dry run of an import, to be decided. */
	dryRun: string;
	/** One of the users. */
	user: string;
}

const CHOICES = [
	{ key: '1', label: 'I am safe' },
	{ key: '2', label: 'I need help', needs_help: true }
];
const NORTH = { type: 'Polygon', coordinates: [[[18.0, 59.3], [18.1, 59.3], [18.1, 59.36], [18.0, 59.36], [18.0, 59.3]]] };
const DONE = ['done', 'cancelled', 'expired'];

const built = new WeakMap<Server, Promise<Town>>();

/** Built once a server. */
export function town(server: Server): Promise<Town> {
	const there = built.get(server) ?? build(server);
	built.set(server, there);
	return there;
}

async function build(server: Server): Promise<Town> {
	await server.addPeople(60);
	await server.call('PUT', '/api/v1/groups/staff', { id: 'staff', rule: { attribute: 'floor', is: '3' } });
	await server.call('PUT', '/api/v1/groups/harbour', { id: 'harbour', groups: ['staff'] });
	await server.call('PUT', '/api/v1/areas/north-shore', { type: 'Feature', properties: { name: 'North shore' }, geometry: NORTH });
	const { id: template } = await server.call('POST', '/api/v1/templates', {
		name: 'Leave the area now',
		request: { headline: 'Leave the area now', text: 'Leave the area at once.', priority: 'emergency', choices: CHOICES },
		all_clear: { text: 'The danger is over.' }
	});
	await server.call('PUT', '/api/v1/schedules/siren', {
		name: 'Sirens, monthly',
		start: '2026-12-07T12:00:00',
		time_zone: 'Europe/Stockholm',
		rule: 'RRULE:FREQ=MONTHLY;BYDAY=1MO',
		space: 'live',
		request: { headline: 'Sirens are tested', text: 'This is a test.', audience: ['group:staff'] }
	});
	const { id: dryRun } = await server.call('POST', '/api/v1/recipients:import?dry_run=true', 'id,name,sms\np61,Person 61,+46701740061\np62,Person 62,flowers\n');
	const { id: draft } = await server.call('POST', '/api/v1/drafts', { mode: 'live', headline: 'Water off in Birch Street', text: 'No water until noon.', audience: ['group:staff'] });
	const done = await server.send({ headline: 'Sirens are tested', audience: ['recipient:p0'], expires: inSeconds(3) });
	const running = await server.send({ headline: 'Gas leak at Old Harbour', text: 'Leave the harbour. Are you safe?', priority: 'emergency', choices: CHOICES, expires: inSeconds(3_600) });
	const waiting = await server.send({ headline: 'Water off in Birch Street', audience: ['group:staff'], priority: 'urgent' });
	await server.until(`/api/v1/alerts/${running}/report`, (report) => report.people.delivered > 10);
	await server.call('POST', '/api/v1/answers', { alert: running, recipient: 'p1', text: '1' });
	await server.call('POST', '/api/v1/answers', { alert: running, recipient: 'p2', text: '2' });
	await server.until(`/api/v1/alerts/${done}`, (alert) => DONE.includes(alert.state));
	const { items } = await server.call('GET', '/api/v1/users');
	return { running, done, draft, template, waiting, dryRun, user: items[0].id };
}

const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString();
