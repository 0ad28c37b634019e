import { expect, test, vi } from 'vitest';
import type { Schema } from '$lib/api/client';

vi.mock('$app/navigation', () => ({ goto: () => {} }));
vi.mock('$app/state', () => ({ page: { url: new URL('http://localhost/') } }));

const { followUpDraft } = await import('./follow-up');

const alert = {
	id: '01a220f2-a1fc-70c4-b810-00748c7b2ed0',
	request: { audience: ['group:harbour'], exclude: ['ann'], choices: [{ key: '1', label: 'I am safe' }], channels: [], mode: 'live', priority: 'emergency', headline: 'Gas' }
} as unknown as Schema<'Alert'>;

test('a follow-up goes to those people of the first alert alone, in its space, and follows it', () => {
	expect(followUpDraft(alert, 'not_answered')).toEqual({
		audience: ['alert:01a220f2-a1fc-70c4-b810-00748c7b2ed0/not_answered'],
		follows: alert.id,
		mode: 'live',
		priority: 'emergency',
		headline: 'Gas',
		choices: [{ key: '1', label: 'I am safe' }]
	});
	expect(followUpDraft(alert, 'answer=2').audience).toEqual([`alert:${alert.id}/answer=2`]);
});

test('a follow-up to everyone takes the audience of the first alert, with whom it left out', () => {
	expect(followUpDraft(alert, 'everyone')).toMatchObject({ audience: ['group:harbour'], exclude: ['ann'] });
});
