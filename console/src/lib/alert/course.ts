import type { Schema } from '$lib/api/client';
import { momentOf, valueAt, type CurvePoint } from '$lib/parts/curve';

/** How an alert goes, beside what was forecast. People count once their message is with a carrier: that is what a
 * forecast can tell. */
export interface Course {
	/** Seconds since sending began. */
	now: number;
	/** People whose message a carrier has, and those that are sent to. */
	people: number;
	total: number;
	/** Points of a hundred ahead of the forecast; behind it: less than 0. Null without a forecast. */
	ahead: number | null;
	/** When 95 of 100 have it, in seconds: it was so, or it is likely. Null: nobody can say. */
	most: { seconds: number; isPast: boolean } | null;
	plan: CurvePoint[];
	fact: CurvePoint[];
}

const MOST = 0.95;
/** Where the plan is nearly whole, points tell little: a forecast that long is over. */
const MS = 1_000;

/** Pairs of numbers, as the API has them. */
export const pointsOf = (curve: Schema<'Curve'>): CurvePoint[] => curve.map(([seconds = 0, people = 0]) => [seconds, people]);

/** `people`: those whom a carrier has by now, of the live counts; `at` when that was said; `isOver` when nothing goes on. */
export function courseOf(story: Schema<'AlertForecast'>, people: number, at: number, isOver: boolean): Course {
	const plan = story.forecast ? pointsOf(story.forecast.curve) : [];
	const kept = pointsOf(story.fact.curve);
	const start = Date.parse(story.start);
	const now = isOver ? story.fact.seconds : Math.max(story.fact.seconds, (at - start) / MS);
	const here = isOver ? story.fact.people : Math.max(story.fact.people, people);
	const fact: CurvePoint[] = isOver ? kept : [...kept, [now, here]];
	const total = Math.max(story.forecast?.people ?? 0, here);
	const ahead = plan.length > 0 && total > 0 ? Math.round((100 * (here - valueAt(plan, now))) / total) : null;
	return { now, people: here, total, ahead, most: most(plan, fact, now, here, total), plan, fact };
}

function most(plan: CurvePoint[], fact: CurvePoint[], now: number, here: number, total: number): Course['most'] {
	const past = momentOf(fact, MOST * total);
	if (past !== null && here >= MOST * total) return { seconds: past, isPast: true };
	const planned = momentOf(plan, MOST * total);
	const planHere = momentOf(plan, here);
	// What is behind now is behind at the end, if nothing else happens.
	return planned === null || planHere === null ? null : { seconds: Math.max(now, planned + now - planHere), isPast: false };
}

/** Whether a cause explains the difference: a route that is faster than reckoned delays nothing. `late`: seconds or
 * points behind the forecast; below 0 ahead of it. */
export const explains = (cause: string, late: number): boolean => (cause === 'route_faster' ? late < 0 : true);

/** People whose message a carrier has at least. */
export const handedOver = (people: Schema<'PeopleCounts'>): number => people.accepted + people.delivered + people.answered;

/** Devices that would get nothing if it were stopped now. */
export const waitingDevices = (counts: Partial<Schema<'Counts'>>): number => (counts.planned ?? 0) + (counts.held ?? 0);

/** Devices that have it, or may have. */
export const sentDevices = (counts: Partial<Schema<'Counts'>>): number =>
	(counts.submitted ?? 0) + (counts.accepted ?? 0) + (counts.delivered ?? 0) + (counts.answered ?? 0) + (counts.unknown ?? 0);

/** Devices whose carrier said that the device has it. */
export const confirmedDevices = (counts: Partial<Schema<'Counts'>>): number => (counts.delivered ?? 0) + (counts.answered ?? 0);

/** People who got it or may have: whom an all-clear is for. */
export const mayHaveIt = (people: Schema<'PeopleCounts'>): number =>
	people.submitted + people.accepted + people.delivered + people.answered + people.unknown;

/** People without an answer of theirs, though it reached them or may have. */
export const notAnswered = (people: Schema<'PeopleCounts'>): number => mayHaveIt(people) - people.answered;

/** Nothing waits to be sent: answers may still come. */
export const isHandedOver = (counts: Partial<Schema<'Counts'>>): boolean => waitingDevices(counts) + (counts.submitted ?? 0) === 0;
