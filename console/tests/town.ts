import type { Server } from './server';

/** Something of everything, so that every page has something to show. */
export interface TownAlerts {
	running: string;
	done: string;
	draft: string;
	template: string;
}

const CHOICES = [
	{ key: '1', label: 'I am safe' },
	{ key: '2', label: 'I need help', needs_help: true }
];
const NORTH = { type: 'Polygon', coordinates: [[[18.0, 59.3], [18.1, 59.3], [18.1, 59.36], [18.0, 59.36], [18.0, 59.3]]] };
const DONE = ['done', 'cancelled', 'expired'];

export async function town(server: Server): Promise<TownAlerts> {
	await server.addPeople(60);
	await server.call('PUT', '/api/v1/groups/staff', { id: 'staff', rule: { attribute: 'floor', is: '3' } });
	await server.call('PUT', '/api/v1/groups/harbour', { id: 'harbour', groups: ['staff'] });
	await server.call('PUT', '/api/v1/areas/north-shore', { type: 'Feature', properties: { name: 'North shore' }, geometry: NORTH });
	const { id: template } = await server.call('POST', '/api/v1/templates', {
		name: 'Leave the area now',
		request: { headline: 'Leave the area now', text: 'Leave the area at once.', priority: 'emergency', choices: CHOICES },
		all_clear: { text: 'The danger is over.' }
	});
	const { id: draft } = await server.call('POST', '/api/v1/drafts', { mode: 'live', headline: 'Water off in Birch Street', text: 'No water until noon.', audience: ['group:staff'] });
	const done = await server.send({ headline: 'Sirens are tested', audience: ['recipient:p0'], expires: inSeconds(3) });
	const running = await server.send({ headline: 'Gas leak at Old Harbour', text: 'Leave the harbour. Are you safe?', priority: 'emergency', choices: CHOICES, expires: inSeconds(3_600) });
	await server.until(`/api/v1/alerts/${running}/report`, (report) => report.people.delivered > 10);
	await server.call('POST', '/api/v1/answers', { alert: running, recipient: 'p1', text: '1' });
	await server.call('POST', '/api/v1/answers', { alert: running, recipient: 'p2', text: '2' });
	await server.until(`/api/v1/alerts/${done}`, (alert) => DONE.includes(alert.state));
	return { running, done, draft, template };
}

const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString();
