import { expect, test } from 'vitest';
import { counted, load, withLive, type Route } from './health';

const route: Route = {
	name: 'north',
	channel: 'sms',
	mode: 'live',
	state: 'slow',
	since: '2026-11-28T03:00:00Z',
	note: 'throttled',
	address: null,
	protocol: 'smpp',
	line: 9,
	simulated: false,
	hold: null,
	sessions: { bound: 1, wanted: 2 },
	rate: { now: 12, limit: 120, allowed: 60 },
	waiting: { emergency: 1, urgent: 0, routine: 0 },
	confirmation: null,
	errors: [],
	substitutes: []
};
const said = { name: 'north', channel: 'sms', mode: 'live' as const, simulated: false, since: null, sessions: 2, rate: 120, rate_now: 118, note: null, waiting: { routine: 4 } };

test('the stream changes numbers, and leaves what it has no word for', () => {
	const now = withLive(route, { ...said, state: 'up' });
	expect(now.state).toBe('slow');
	expect(now.since).toBe(route.since);
	expect(now.note).toBe('');
	expect(now.sessions).toEqual({ bound: 2, wanted: 2 });
	expect(now.rate).toEqual({ now: 12, limit: 120, allowed: 118 });
	expect(now.waiting).toEqual({ emergency: 0, urgent: 0, routine: 4 });
});

test('a route that the stream calls down is down', () => {
	expect(withLive(route, { ...said, state: 'down', since: '2026-11-28T03:05:00Z' })).toMatchObject({ state: 'down', since: '2026-11-28T03:05:00Z' });
	expect(withLive(route, undefined)).toBe(route);
});

test('routes are counted by whether they can send', () => {
	const states = ['up', 'slow', 'paced', 'down', 'held', 'unknown'] as const;
	expect(counted(states.map((state) => ({ state })))).toEqual({ all: 6, working: 3, down: 1, held: 1, unknown: 1 });
});

test('what is not known is no load', () => {
	expect(load({ now: null, limit: 120, allowed: null })).toBeNull();
	expect(load({ now: 5, limit: 0, allowed: null })).toBeNull();
	expect(load({ now: 60, limit: 120, allowed: null })).toBe(0.5);
});
