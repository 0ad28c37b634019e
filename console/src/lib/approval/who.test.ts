import type { Schema } from '$lib/api/client';
import { expect, test } from 'vitest';
import { cannotDecide } from './who';

const user = (name: string, roles: string[], person: string | null = null) => ({ id: `u_${name}`, name, roles, person }) as Schema<'User'>;
const by = (name: string, person: string | null = null) => ({ user: `user:${name}`, name, person });
const alert = (mode: string, approvals: string[] = []) =>
	({ request: { mode }, approval: { authors: [by('jonas', 'p1')], approvals: approvals.map((name) => ({ by: by(name) })) } }) as unknown as Schema<'Alert'>;

test('an approver decides what another person wrote', () => {
	expect(cannotDecide(alert('live'), user('mira', ['approver']))).toBeNull();
	expect(cannotDecide(alert('live'), user('vera', ['viewer', 'administrator']))).toBe('role');
});

test('nobody decides what they wrote, as any user of the same person, but in a drill', () => {
	expect(cannotDecide(alert('live'), user('jonas', ['approver']))).toBe('own');
	expect(cannotDecide(alert('live'), user('jonas2', ['approver'], 'p1'))).toBe('own');
	expect(cannotDecide(alert('drill'), user('jonas', ['approver']))).toBeNull();
});

test('nobody approves twice', () => {
	expect(cannotDecide(alert('live', ['mira']), user('mira', ['approver']))).toBe('twice');
});
