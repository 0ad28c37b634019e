import type { Schema } from '$lib/api/client';

/** As the server takes in one body. */
export const AREAS_MAX = 100;
export const FILE_MB_MAX = 20;
const ID_CHARS_MAX = 64;

/** Why a file is refused, as a key of words with its arguments. */
export class WrongFile extends Error {
	constructor(
		readonly key: string,
		readonly args: Record<string, string | number> = {}
	) {
		super(key);
	}
}

/** A short name of letters, digits and dashes, as programs write an area: `The old harbour` is `the-old-harbour`. */
export function idOf(name: string): string {
	const plain = name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
	return plain.replaceAll(/[^a-z0-9]+/g, '-').replaceAll(/^-+|-+$/g, '').slice(0, ID_CHARS_MAX);
}

interface AnyFeature {
	type?: unknown;
	id?: unknown;
	properties?: Record<string, unknown> | null;
	features?: unknown;
}

/** The named areas of a GeoJSON file; one without an id is named by its `name`. */
export function readAreas(text: string): Schema<'AreaBody'>[] {
	let read: AnyFeature;
	try {
		read = JSON.parse(text) as AnyFeature;
	} catch (error) {
		throw new WrongFile('upload_not_json', { why: error instanceof Error ? error.message : String(error) });
	}
	const features = read?.type === 'FeatureCollection' && Array.isArray(read.features) ? (read.features as AnyFeature[]) : read?.type === 'Feature' ? [read] : [];
	if (features.length === 0) throw new WrongFile('upload_not_features');
	if (features.length > AREAS_MAX) throw new WrongFile('upload_too_many', { count: features.length, limit: AREAS_MAX });
	return features.map((feature, at) => {
		const given = feature.id ?? feature.properties?.id;
		const id = given !== undefined && given !== null ? String(given) : idOf(String(feature.properties?.name ?? ''));
		if (!id) throw new WrongFile('upload_no_id', { at: at + 1 });
		return { ...feature, id } as Schema<'AreaBody'>;
	});
}
