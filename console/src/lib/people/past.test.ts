import { expect, test } from 'vitest';
import { furthest, lastOutcomes, newest, type PastAlert } from './past';

const delivery = (address: string, state: string) => ({ channel: 'sms', address, state }) as PastAlert['deliveries'][number];
const alert = (id: string, created: string, ...deliveries: PastAlert['deliveries']) => ({ id, created, deliveries, headline: id, state: 'done', values: {} }) as PastAlert;

test('a person is in the furthest state of their devices', () => {
	expect(furthest(['failed', 'delivered', 'held'])).toBe('delivered');
	expect(furthest([])).toBe('excluded');
});

test('of each device the newest alert counts, in whatever order they come', () => {
	const alerts = [alert('b', '2026-11-28T00:00:00Z', delivery('+1', 'failed')), alert('a', '2026-11-27T00:00:00Z', delivery('+1', 'delivered'), delivery('+2', 'answered'))];
	const last = lastOutcomes(alerts);
	expect([last.get('sms:+1')?.delivery.state, last.get('sms:+2')?.delivery.state]).toEqual(['failed', 'answered']);
	expect(newest(alerts).map(({ id }) => id)).toEqual(['b', 'a']);
});
