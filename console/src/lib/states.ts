import type { Schema } from './api/client';

/** States of people in the order in which bars and lists have them, the furthest first. */
export const STATES = ['answered', 'delivered', 'accepted', 'submitted', 'planned', 'held', 'failed', 'unknown', 'excluded'] as const;
export type PersonState = (typeof STATES)[number];

/** The name of a state's colour and pattern in the styles. */
export const FILL: Record<PersonState, string> = {
	answered: 'answered',
	delivered: 'reached',
	accepted: 'sent',
	submitted: 'sending',
	planned: 'waiting',
	held: 'held',
	failed: 'failed',
	unknown: 'unknown',
	excluded: 'out'
};

export type StateCounts = Partial<Record<PersonState, number>>;

/** People who have it for sure. */
export const reached = (counts: StateCounts): number => (counts.answered ?? 0) + (counts.delivered ?? 0);

/** Sent or still to be sent. */
export const onTheWay = (counts: StateCounts): number =>
	(counts.accepted ?? 0) + (counts.submitted ?? 0) + (counts.planned ?? 0) + (counts.held ?? 0);

/** An alert that is over does not change any more. */
export const isOver = (state: Schema<'AlertState'>): boolean => ['done', 'cancelled', 'expired'].includes(state);
