import { expect, test } from 'vitest';
import { nextStep, stepOf, stepsDone } from './steps';

const NONE = { done: false, count: 0 };
const SOME = { done: true, count: 1 };
type Setup = Parameters<typeof stepsDone>[0];
type User = Parameters<typeof stepsDone>[1];
const fresh = { organisation: NONE, administrator: NONE, live_route: NONE, people: NONE, alert: NONE, drill: NONE } as unknown as Setup;

test('a server without anything has every step left, the organisation first', () => {
	const done = stepsDone(fresh, null, false);
	expect(Object.values(done)).not.toContain(true);
	expect(nextStep(done, null)).toBe('organisation');
});

test('a passkey is a second factor, and an alert that was sent is a test', () => {
	const user = { factors: { totp: false, passkeys: 1 } } as User;
	const done = stepsDone({ ...fresh, alert: SOME }, user, false);
	expect([done.factor, done.test, done.drill]).toEqual([true, true, false]);
});

test('a step that waits is offered again when the later ones are done', () => {
	const done = stepsDone({ ...fresh, administrator: SOME, people: SOME, drill: SOME }, null, true);
	expect(nextStep(done, 'administrator')).toBe('factor');
	expect(nextStep(done, 'drill')).toBe('organisation');
});

test('nothing is left when all is done but the step that is shown', () => {
	const user = { factors: { totp: true, passkeys: 0 } } as User;
	const all = { organisation: SOME, administrator: SOME, live_route: SOME, people: SOME, alert: SOME, drill: NONE } as unknown as Setup;
	expect(nextStep(stepsDone(all, user, true), 'drill')).toBeNull();
});

test('an address names a step, or none', () => {
	expect([stepOf('people'), stepOf('nonsense'), stepOf(null)]).toEqual(['people', null, null]);
});
