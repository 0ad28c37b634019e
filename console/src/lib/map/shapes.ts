import type { Schema } from '$lib/api/client';

/** Latitude and longitude, in degrees. */
export type Place = [lat: number, lon: number];

/** A part of an area: a circle, or a polygon by its rings, the first the outer one, others holes. */
export type Shape = { kind: 'circle'; at: Place; km: number } | { kind: 'polygon'; rings: Place[][] };

type AnyArea = { circles?: number[][] | null; polygons?: number[][][] | null } | null | undefined;

const place = ([lat = 0, lon = 0]: readonly number[]): Place => [lat, lon];

/** The shapes of an alert's own area. */
export function shapesOfArea(area: AnyArea): Shape[] {
	const circles = (area?.circles ?? []).map((circle): Shape => ({ kind: 'circle', at: place(circle), km: circle[2] ?? 0 }));
	const polygons = (area?.polygons ?? []).map((ring): Shape => ({ kind: 'polygon', rings: [ring.map(place)] }));
	return [...circles, ...polygons];
}

/** The area of an alert with these shapes; what else it says stays. Nothing where nothing is left. */
export function areaWith(before: Schema<'Area'> | null | undefined, shapes: readonly Shape[]): Schema<'Area'> | null {
	const area: Schema<'Area'> = { ...before };
	delete area.circles;
	delete area.polygons;
	const circles = shapes.flatMap((shape) => (shape.kind === 'circle' ? [[...shape.at, shape.km]] : []));
	const polygons = shapes.flatMap((shape) => (shape.kind === 'polygon' && shape.rings[0] ? [closed(shape.rings[0])] : []));
	if (circles.length > 0) area.circles = circles;
	if (polygons.length > 0) area.polygons = polygons;
	const isThere = circles.length + polygons.length > 0 || (area.geocodes?.length ?? 0) > 0;
	return isThere ? area : null;
}

/** A ring whose last point is its first. */
export function closed(ring: readonly Place[]): Place[] {
	const [first, last] = [ring[0], ring[ring.length - 1]];
	if (!first || !last || (first[0] === last[0] && first[1] === last[1])) return [...ring];
	return [...ring, first];
}

const METRES = 1_000;
/** GeoJSON has longitude first. */
const turned = ([lon = 0, lat = 0]: readonly number[]): Place => [lat, lon];

/** The shapes of a named area, which is GeoJSON. */
export function shapesOf({ geometry, properties }: Pick<Schema<'AreaFeature'>, 'geometry'> & { properties: object }): Shape[] {
	if (geometry.type === 'Point') {
		const { radius } = properties as { radius?: number };
		return [{ kind: 'circle', at: turned(geometry.coordinates as unknown as number[]), km: (radius ?? 0) / METRES }];
	}
	const polygons = (geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates) as unknown as number[][][][];
	return polygons.map((rings) => ({ kind: 'polygon', rings: rings.map((ring) => ring.map(turned)) }));
}

/** A named area of these shapes, as GeoJSON: one circle, or polygons. */
export function featureOf(name: string, shapes: readonly Shape[]): Schema<'AreaBody'> | null {
	const [first] = shapes;
	if (!first) return null;
	if (first.kind === 'circle') {
		const coordinates = [first.at[1], first.at[0]];
		return body({ name, radius: Math.round(first.km * METRES) }, { type: 'Point', coordinates });
	}
	const polygons = shapes.flatMap((shape) => (shape.kind === 'polygon' ? [shape.rings.map((ring) => closed(ring).map(([lat, lon]) => [lon, lat]))] : []));
	const [only] = polygons;
	return body({ name }, polygons.length === 1 && only ? { type: 'Polygon', coordinates: only } : { type: 'MultiPolygon', coordinates: polygons });
}

function body(properties: object, geometry: object): Schema<'AreaBody'> {
	return { type: 'Feature', properties, geometry } as Schema<'AreaBody'>;
}

const EARTH_KM = 6_371.0088;
const radians = (degrees: number): number => (degrees * Math.PI) / 180;

function ringKm2(ring: readonly Place[]): number {
	let sum = 0;
	ring.forEach(([lat, lon], at) => {
		const [nextLat, nextLon] = ring[(at + 1) % ring.length] ?? [lat, lon];
		// Over the antimeridian the short way round.
		const turn = radians(((nextLon - lon + 540) % 360) - 180);
		sum += turn * (2 + Math.sin(radians(lat)) + Math.sin(radians(nextLat)));
	});
	return Math.abs((sum * EARTH_KM * EARTH_KM) / 2);
}

/** Its size in square kilometres. */
export function km2(shape: Shape): number {
	if (shape.kind === 'circle') return Math.PI * shape.km * shape.km;
	const [outer, ...holes] = shape.rings.map(ringKm2);
	return Math.max(0, (outer ?? 0) - holes.reduce((sum, hole) => sum + hole, 0));
}

/** Corners of a polygon; the closing point is none. */
export const corners = (ring: readonly Place[]): number => closed(ring).length - 1;

/** The middle of a shape, roughly. */
export function middle(shape: Shape): Place {
	if (shape.kind === 'circle') return shape.at;
	const ring = shape.rings[0] ?? [];
	const lats = ring.map(([lat]) => lat);
	const lons = ring.map(([, lon]) => lon);
	return [(Math.min(...lats) + Math.max(...lats)) / 2, (Math.min(...lons) + Math.max(...lons)) / 2];
}
