import type { Schema } from '$lib/api/client';

export type HistoryPoint = Schema<'RouteHistory'>['items'][number];

/** The window of the history. */
export const WINDOW_MS = 900_000;
/** Steps of the upper end of an axis. */
const STEPS = [1, 2, 2.5, 5, 10];

/** The least round number that is not below `most`, at least 1. */
export function roundUp(most: number): number {
	if (most <= 1) return 1;
	const power = 10 ** Math.floor(Math.log10(most));
	return (STEPS.find((step) => step * power >= most) ?? 10) * power;
}

export interface Frame {
	left: number;
	right: number;
	top: number;
	bottom: number;
}

/** Points of a line in a frame; the window ends now. What is older than it is left out. */
export function placed(points: HistoryPoint[], now: number, most: number, frame: Frame): { x: number; y: number; point: HistoryPoint }[] {
	const began = now - WINDOW_MS;
	return points
		.filter(({ at }) => Date.parse(at) >= began && Date.parse(at) <= now)
		.map((point) => ({
			x: frame.left + ((Date.parse(point.at) - began) / WINDOW_MS) * (frame.right - frame.left),
			y: frame.bottom - (Math.min(point.sent_per_s, most) / most) * (frame.bottom - frame.top),
			point
		}));
}

/** `M1 2L3 4`, rounded to a tenth. */
export const path = (points: { x: number; y: number }[]): string =>
	points.map(({ x, y }, at) => `${at === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');
