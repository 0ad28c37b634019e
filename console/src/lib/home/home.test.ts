import { expect, test, vi } from 'vitest';
import type { LiveAlert, LiveLine } from '$lib/api/live-state';
import { atMost } from './at-most';
import { routesToShow, shownState, triedBy, underWay } from './home';

const alert = (more: object) => ({ eta: null, finished: null, at: '2026-11-26T02:14:32Z', ...more }) as LiveAlert;

test('an alert that waits for approval, or is over, is not under way', () => {
	const lines = ['running', 'awaiting_approval', 'paused', 'done'].map((state) => ({ id: state, state }) as LiveLine);
	expect(underWay(lines).map(({ id }) => id)).toEqual(['running', 'paused']);
});

test('an alert is open for answers once all is handed over', () => {
	expect(shownState('running', alert({}))).toBe('running');
	expect(shownState('running', alert({ finished: '2026-11-26T02:14:30Z' }))).toBe('open');
	expect(shownState('paused', alert({ finished: '2026-11-26T02:14:30Z' }))).toBe('paused');
});

test('everybody is tried by the moment of the report and what is left', () => {
	expect(triedBy(alert({ eta: 58 }))).toBe(Date.parse('2026-11-26T02:15:30Z'));
	expect(triedBy(alert({}))).toBeNull();
});

test('routes stay in order until there are too many, then those that do not work come first', () => {
	const routes = [{ state: 'up' as const }, { state: 'down' as const }, { state: 'paced' as const }];
	expect(routesToShow(routes, 3)).toEqual(routes);
	expect(routesToShow(routes, 2)).toEqual([{ state: 'down' }, { state: 'up' }]);
});

test('what is asked for too often is done at once and once more', () => {
	vi.useFakeTimers();
	const act = vi.fn();
	const list = atMost(2_000, act);
	list.ask();
	list.ask();
	list.ask();
	expect(act).toHaveBeenCalledTimes(1);
	vi.advanceTimersByTime(2_000);
	expect(act).toHaveBeenCalledTimes(2);
	vi.advanceTimersByTime(10_000);
	expect(act).toHaveBeenCalledTimes(2);
	vi.useRealTimers();
});
