import type { Place } from './shapes';

const PART = String.raw`(\d+(?:[.,]\d+)?)`;
const DEGREES = new RegExp(String.raw`([NSEWÖV])?\s*(-?)${PART}\s*°\s*(?:${PART}\s*['′’]\s*)?(?:${PART}\s*["″”]\s*)?([NSEWÖV])?`, 'gi');
const NUMBERS = /^([NS])?\s*(-?\d+(?:\.\d+)?)\s*([NS])?\s*[,;\s]\s*([EWÖV])?\s*(-?\d+(?:\.\d+)?)\s*([EWÖV])?$/i;
const COMMAS = /^\s*-?\d+,\d+\s*[;\s]\s*-?\d+,\d+\s*$/;
const MINUTES = 60;
const SECONDS = 3_600;

const value = (text: string | undefined): number => Number((text ?? '0').replace(',', '.'));
/** South and west are below zero; Swedish writes V for west. */
const isNegative = (letter: string | undefined): boolean => 'SWV'.includes((letter ?? '-').toUpperCase());

function onEarth(lat: number, lon: number): Place | null {
	return Number.isFinite(lat) && Number.isFinite(lon) && Math.abs(lat) <= 90 && Math.abs(lon) <= 180 ? [lat, lon] : null;
}

/** A place as people write it: `59.33, 18.06`, `59,33 18,06`, `59° 20′ 15″ N 18° 3′ 30″ E`. Latitude comes first. */
export function readPlace(text: string): Place | null {
	const line = text.trim();
	if (line.includes('°')) {
		const found = [...line.matchAll(DEGREES)].map(([, before, minus, degrees, minutes, seconds, after]) => {
			const size = value(degrees) + value(minutes) / MINUTES + value(seconds) / SECONDS;
			return minus === '-' || isNegative(before ?? after) ? -size : size;
		});
		return found.length === 2 ? onEarth(found[0] ?? NaN, found[1] ?? NaN) : null;
	}
	const plain = COMMAS.test(line) ? line.replaceAll(',', '.') : line;
	const match = NUMBERS.exec(plain.replace(/\s*[,;]\s*/, ', ').replace(/\s{2,}/g, ' '));
	if (!match) return null;
	const [, north, lat, northAfter, east, lon, eastAfter] = match;
	const sign = (letter: string | undefined, size: number) => (isNegative(letter) ? -size : size);
	return onEarth(sign(north ?? northAfter, Number(lat)), sign(east ?? eastAfter, Number(lon)));
}

/** Corners of a polygon, one a line. `wrong` is the first line that is no place. */
export function readCorners(text: string): { ring: Place[]; wrong: number | null } {
	const lines = text.split('\n').map((line) => line.trim());
	const ring: Place[] = [];
	for (const [at, line] of lines.entries()) {
		if (line === '') continue;
		const place = readPlace(line);
		if (!place) return { ring, wrong: at + 1 };
		ring.push(place);
	}
	return { ring, wrong: null };
}

/** A radius as people write it: `1.5`, `1,5 km`, `800 m`. In kilometres. */
export function readKm(text: string): number | null {
	const match = /^\s*(\d+(?:[.,]\d+)?)\s*(km|m)?\s*$/i.exec(text);
	if (!match) return null;
	const size = value(match[1]);
	const km = match[2]?.toLowerCase() === 'm' ? size / 1_000 : size;
	return km > 0 ? km : null;
}
