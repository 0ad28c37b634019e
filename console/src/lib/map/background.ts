import { api, sessionFetch } from '$lib/api/client';
import type { GeoJsonObject } from 'geojson';
import type { Topology } from 'topojson-client';

/** What lies under the zones: streets and outlines of this server, or the outlines of the world. */
export interface Background {
	tiles: Tiles | null;
	/** Land and borders, drawn under everything. */
	outlines: GeoJsonObject | null;
}

export interface Tiles {
	url: string;
	min_zoom: number;
	max_zoom: number;
	/** West, south, east, north. */
	bounds: [number, number, number, number] | null;
	center: [number, number] | null;
	attribution: string | null;
	name: string | null;
}

interface MapAnswer {
	tiles: Tiles | null;
	outlines: string | null;
}

let kept: Promise<Background> | null = null;

/** Looked up once; what fails leaves the world's outlines. */
export function background(): Promise<Background> {
	kept ??= look();
	return kept;
}

async function look(): Promise<Background> {
	const answer = await sessionFetch(new URL('/api/v1/map', location.origin).href)
		.then((response) => (response.ok ? (response.json() as Promise<MapAnswer>) : null))
		.catch(() => null);
	const own = answer?.outlines ? await outlines(answer.outlines) : null;
	return { tiles: answer?.tiles ?? null, outlines: own ?? (answer?.tiles ? null : await world()) };
}

async function outlines(path: string): Promise<GeoJsonObject | null> {
	const url = new URL(path, location.origin);
	if (url.origin !== location.origin) return null;
	const response = await sessionFetch(url.href).catch(() => null);
	return response?.ok ? ((await response.json()) as GeoJsonObject) : null;
}

async function world(): Promise<GeoJsonObject | null> {
	const [{ feature }, { default: atlas }] = await Promise.all([import('topojson-client'), import('world-atlas/countries-110m.json')]);
	const topology = atlas as unknown as Topology;
	const { countries } = topology.objects;
	return countries ? feature(topology, countries) : null;
}

/** Where the people are, for a map that has nothing else to show: the middle of some of them. */
export async function somePeople(): Promise<[number, number][]> {
	const { data } = await api.GET('/api/v1/recipients', { params: { query: { limit: 100 } } }).catch(() => ({ data: undefined }));
	return (data?.items ?? []).flatMap(({ lat, lon }) => (lat === undefined || lon === undefined ? [] : [[lat, lon] as [number, number]]));
}
