import { expect, test } from 'vitest';
import { after, EMPTY, type LiveLine } from './live-state';

const line = (id: string, state: LiveLine['state'], created = '2026-11-28T03:12:02Z'): LiveLine => ({
	id,
	headline: id,
	state,
	mode: 'live',
	version: 1,
	created
});

test('the first event is the whole state, also the second time', () => {
	const said = { version: '1', running: [line('a', 'running')], alerts: [], routes: [{ name: 'r' }], approvals: [], notices: [] };
	const first = after(EMPTY, 'hello', said);
	expect(first.running.map(({ id }) => id)).toEqual(['a']);
	const second = after(first, 'hello', { ...said, running: [], routes: [] });
	expect([second.running, second.routes, second.alertsChanged]).toEqual([[], {}, 2]);
});

test('an alert that ended is not under way any more', () => {
	let state = after(EMPTY, 'alerts', line('a', 'accepted'));
	state = after(state, 'alerts', line('b', 'running', '2026-11-28T03:13:02Z'));
	expect(state.running.map(({ id }) => id)).toEqual(['b', 'a']);
	state = after(state, 'alerts', line('b', 'done'));
	expect([state.running.map(({ id }) => id), state.alertsChanged]).toEqual([['a'], 3]);
});

test('a route that was removed is gone, a notice that is over too', () => {
	let state = after(EMPTY, 'route', { name: 'r', state: 'up' });
	state = after(state, 'notice', { kind: 'store', server: 's', is_over: false });
	expect([Object.keys(state.routes), state.notices.length]).toEqual([['r'], 1]);
	state = after(state, 'route', { name: 'r', state: 'removed' });
	state = after(state, 'notice', { kind: 'store', server: 's', is_over: true });
	expect([Object.keys(state.routes), state.notices.length]).toEqual([[], 0]);
});

test('an event of a later version changes nothing', () => {
	expect(after(EMPTY, 'weather', { rain: true })).toEqual(EMPTY);
});
