import type { Schema } from '$lib/api/client';

export const HEALTHS = ['no_device', 'bounced', 'not_verified', 'stopped'] as const;
export type Health = (typeof HEALTHS)[number];

export const isHealth = (text: string | null): text is Health => HEALTHS.some((health) => health === text);

/** A device that an alert would use. */
export const isUsable = ({ enabled, opted_out }: Schema<'Device'>): boolean => enabled && !opted_out;

/** What is wrong with a person's devices, as far as their record says it. */
export function marks({ devices }: Schema<'Recipient'>): Exclude<Health, 'bounced'>[] {
	const found: Exclude<Health, 'bounced'>[] = [];
	if (!devices.some(({ enabled }) => enabled)) found.push('no_device');
	if (devices.some(({ opted_out }) => opted_out)) found.push('stopped');
	if (devices.some(({ verified }) => !verified)) found.push('not_verified');
	return found;
}
