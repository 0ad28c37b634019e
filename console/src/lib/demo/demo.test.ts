import { EMPTY, type LiveAlert, type LiveLine } from '$lib/api/live-state';
import { expect, test, vi } from 'vitest';
import type { DemoCarrier } from './demo';

vi.mock('$lib/api/client', () => ({ api: {}, ask: () => {} }));
const { newestAlert, whereToLook } = await import('./demo');

const carrier = (behaviour: DemoCarrier['behaviour']) => ({ name: 'carrier a', channel: 'sms', behaviour, since: null, can_be: [] }) as DemoCarrier;

test('a carrier that is down is looked at on its own page', () => {
	expect(whereToLook(carrier('down'), 'x')).toEqual({ page: 'route', path: '/routes/carrier%20a' });
});

test('missing receipts show as people of whom nothing is confirmed', () => {
	expect(whereToLook(carrier('without_receipts'), 'x').path).toBe('/alerts/x/people?state=accepted');
	expect(whereToLook(carrier('without_receipts'), null).page).toBe('route');
});

test('an alert under way comes before one that is over', () => {
	const line = { id: 'b', state: 'running', created: '2026-11-28T07:00:00Z' } as LiveLine;
	const over = { id: 'c', created: '2026-11-28T08:00:00Z' } as LiveAlert;
	expect(newestAlert({ ...EMPTY, running: [line], alerts: { c: over } })).toBe('b');
	expect(newestAlert({ ...EMPTY, alerts: { c: over } })).toBe('c');
	expect(newestAlert(EMPTY)).toBeNull();
});
