/** The one function of it that is used; the package has no types of its own. */
declare module 'topojson-client' {
	import type { FeatureCollection } from 'geojson';
	export interface Topology {
		type: 'Topology';
		objects: Record<string, object>;
		arcs: number[][][];
	}
	export function feature(topology: Topology, object: object): FeatureCollection;
}
