import * as L from 'leaflet';
import 'leaflet/dist/leaflet.css';
import type { GeoJsonObject } from 'geojson';
import { background, somePeople } from './background';
import { Pen, type Tool } from './pen';
import type { Shape } from './shapes';

export interface NamedShapes {
	name: string;
	shapes: Shape[];
}

interface Options {
	/** The pattern that fills zones: `url(#…)`. */
	hatch: string;
	isEditable: boolean;
	drawn: (shape: Shape) => void;
	/** The scale or the view has changed. */
	moved: () => void;
	attribution: (text: string | null) => void;
}

const ZOOM_MAX = 19;
const WORLD: L.LatLngBoundsExpression = [[-55, -170], [72, 175]];
/** A zone is shown with the streets around it, not larger. */
const FIT_ZOOM_MAX = 15;
const SCALE_PX = 90;

/** The map of a page, over Leaflet. Its zoom buttons, scale and attribution are the page's own: Leaflet writes its
 * controls as strings of HTML, which the policy of contents refuses. */
export class TownMap {
	readonly #map: L.Map;
	readonly #options: Options;
	readonly #zones = L.featureGroup();
	#pen: Pen | null = null;
	#hasFitted = false;

	constructor(element: HTMLElement, options: Options) {
		this.#options = options;
		this.#map = L.map(element, {
			zoomControl: false,
			attributionControl: false,
			scrollWheelZoom: options.isEditable,
			// A finger that scrolls the page is not held up by a map that is only looked at.
			dragging: options.isEditable || !L.Browser.mobile,
			maxZoom: ZOOM_MAX,
			zoomSnap: 0.5,
			fadeAnimation: false,
			zoomAnimation: false,
			markerZoomAnimation: false
		});
		this.#map.fitBounds(WORLD);
		this.#zones.addTo(this.#map);
		this.#map.on('zoomend moveend', options.moved);
	}

	async begin(): Promise<void> {
		const { tiles, outlines } = await background();
		if (outlines) this.#outlines(outlines);
		if (tiles) {
			const bounds = tiles.bounds ? L.latLngBounds([tiles.bounds[1], tiles.bounds[0]], [tiles.bounds[3], tiles.bounds[2]]) : undefined;
			L.tileLayer(tiles.url, { minZoom: tiles.min_zoom, maxNativeZoom: tiles.max_zoom, maxZoom: ZOOM_MAX, bounds }).addTo(this.#map).bringToBack();
			if (!this.#hasFitted && bounds) this.#map.fitBounds(bounds);
		} else if (!this.#hasFitted) {
			const people = await somePeople();
			if (!this.#hasFitted && people.length > 0) this.#map.fitBounds(L.latLngBounds(people), { maxZoom: FIT_ZOOM_MAX });
		}
		this.#options.attribution(tiles?.attribution ?? null);
	}

	#outlines(outlines: GeoJsonObject): void {
		const layer = L.geoJSON(outlines, { interactive: false, style: { className: 'land' }, pointToLayer: (_, at) => L.circleMarker(at, { radius: 2, interactive: false, className: 'land' }) });
		layer.addTo(this.#map).bringToBack();
	}

	/** Draws the zones anew: named ones, and those of this alert. The view follows the first time, and what is new. */
	show(named: readonly NamedShapes[], own: readonly Shape[]): void {
		this.#zones.clearLayers();
		for (const { name, shapes } of named) {
			const layers = shapes.map((shape) => this.#layer(shape, 'zone named'));
			layers.forEach((layer) => layer.addTo(this.#zones));
			layers[0]?.bindTooltip(label(name), { permanent: true, direction: 'center', className: 'zone-name', interactive: false });
		}
		own.forEach((shape) => this.#layer(shape, 'zone own').addTo(this.#zones));
		const bounds = this.#zones.getBounds();
		if (bounds.isValid() && (!this.#hasFitted || !this.#map.getBounds().contains(bounds))) this.fit();
	}

	#layer(shape: Shape, className: string): L.Path {
		const style = { className, interactive: false, fillColor: this.#options.hatch, fillOpacity: 1 };
		if (shape.kind === 'circle') return L.circle(shape.at, { ...style, radius: shape.km * 1_000 });
		return L.polygon(shape.rings, style);
	}

	/** Shows all zones. */
	fit(): void {
		const bounds = this.#zones.getBounds();
		if (!bounds.isValid()) return;
		this.#hasFitted = true;
		this.#map.fitBounds(bounds, { padding: [24, 24], maxZoom: FIT_ZOOM_MAX });
	}

	zoom(steps: number): void {
		this.#map.setZoom(this.#map.getZoom() + steps);
	}

	/** Takes a tool in hand, or lays it down. */
	draw(tool: Tool | null): void {
		this.#pen ??= new Pen(this.#map, this.#options.drawn);
		this.#pen.take(tool);
	}

	/** A round length and its width on the map, for the scale. */
	scale(): { km: number; px: number } {
		const y = this.#map.getSize().y / 2;
		const metres = this.#map.distance(this.#map.containerPointToLatLng([0, y]), this.#map.containerPointToLatLng([SCALE_PX, y]));
		const power = 10 ** Math.floor(Math.log10(Math.max(1, metres)));
		const round = [5, 2, 1].find((step) => step * power <= metres) ?? 1;
		return { km: (round * power) / 1_000, px: (SCALE_PX * round * power) / Math.max(1, metres) };
	}

	resized(): void {
		this.#map.invalidateSize({ animate: false });
	}

	close(): void {
		this.#pen?.close();
		this.#map.remove();
	}
}

function label(text: string): HTMLElement {
	const element = document.createElement('span');
	element.dir = 'auto';
	element.textContent = text;
	return element;
}
