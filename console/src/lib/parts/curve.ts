/** A point of a curve: seconds since sending began, people by then. */
export type CurvePoint = readonly [seconds: number, people: number];

/** What one step of an axis of time is, from the finest to the coarsest, with the unit that its numbers are in. */
const STEPS: [step: number, unit: TimeUnit][] = [
	[5, 's'],
	[10, 's'],
	[15, 's'],
	[30, 's'],
	[60, 'min'],
	[120, 'min'],
	[300, 'min'],
	[600, 'min'],
	[900, 'min'],
	[1_800, 'min'],
	[3_600, 'h'],
	[7_200, 'h'],
	[14_400, 'h'],
	[21_600, 'h'],
	[43_200, 'h'],
	[86_400, 'd'],
	[172_800, 'd']
];
export type TimeUnit = 's' | 'min' | 'h' | 'd';
const SECONDS: Record<TimeUnit, number> = { s: 1, min: 60, h: 3_600, d: 86_400 };

export interface Axis {
	/** Where it ends, in seconds: the last tick. */
	end: number;
	unit: TimeUnit;
	ticks: { seconds: number; value: number }[];
}

/** An axis of time that holds `seconds` in at most `most` steps. */
export function axis(seconds: number, most: number): Axis {
	const longest = STEPS[STEPS.length - 1] ?? [1, 's'];
	const [step, unit] = STEPS.find(([step]) => seconds <= step * most) ?? [Math.ceil(seconds / most / longest[0]) * longest[0], longest[1]];
	const count = Math.max(1, Math.ceil(seconds / step));
	const ticks = Array.from({ length: count + 1 }, (_, at) => ({ seconds: at * step, value: (at * step) / SECONDS[unit] }));
	return { end: count * step, unit, ticks };
}

/** People by a moment: between two points on the line between them, before the first nobody, after the last as many. */
export function valueAt(points: readonly CurvePoint[], seconds: number): number {
	const after = points.findIndex(([at]) => at >= seconds);
	if (after < 0) return points[points.length - 1]?.[1] ?? 0;
	const [atAfter, peopleAfter] = points[after] ?? [0, 0];
	const [atBefore, peopleBefore] = points[after - 1] ?? [0, 0];
	if (atAfter <= atBefore) return peopleAfter;
	return peopleBefore + ((peopleAfter - peopleBefore) * (seconds - atBefore)) / (atAfter - atBefore);
}

/** When so many people are first there; null where they never are. */
export function momentOf(points: readonly CurvePoint[], people: number): number | null {
	const at = points.findIndex(([, there]) => there >= people);
	if (at < 0) return null;
	const [seconds, there] = points[at] ?? [0, 0];
	const [before, thereBefore] = points[at - 1] ?? [0, 0];
	if (there <= thereBefore) return seconds;
	return before + ((seconds - before) * (people - thereBefore)) / (there - thereBefore);
}

/** The furthest moment that an axis has to hold: how long it went on, or until most of the plan is there. */
export function furthest(plan: readonly CurvePoint[], fact: readonly CurvePoint[], now: number | null): number {
	const most = plan[plan.length - 1]?.[1] ?? 0;
	const planned = momentOf(plan, NEARLY_ALL * most) ?? 0;
	return Math.max(planned, fact[fact.length - 1]?.[0] ?? 0, now ?? 0, LEAST_S);
}

/** The tail of a plan is long and flat: it is drawn as far as this part of its people. */
const NEARLY_ALL = 0.98;
const LEAST_S = 15;
