import * as L from 'leaflet';
import { TerraDraw, TerraDrawCircleMode, TerraDrawPolygonMode } from 'terra-draw';
import { TerraDrawLeafletAdapter } from 'terra-draw-leaflet-adapter';
import type { Place, Shape } from './shapes';

export type Tool = 'polygon' | 'circle';

/** Digits of degrees that are kept: about a metre. */
const PRECISION = 5;
const PANES_ABOVE = 600;

/** Draws polygons and circles with the mouse or a finger. */
export class Pen {
	readonly #draw: TerraDraw;

	constructor(map: L.Map, drawn: (shape: Shape) => void) {
		const adapter = new TerraDrawLeafletAdapter({ lib: L, map, coordinatePrecision: 9 });
		// The adapter writes a style sheet for each pane, which the policy of contents refuses.
		Object.assign(adapter, {
			createPaneStyleSheet(pane: string, zIndex: number): HTMLElement {
				const element = map.createPane(pane);
				element.style.zIndex = String(PANES_ABOVE + zIndex);
				return element;
			}
		});
		const ink = inkOf(map.getContainer());
		const styles = { fillColor: ink, outlineColor: ink, fillOpacity: 0.15, outlineWidth: 3, closingPointColor: ink, closingPointWidth: 7 };
		this.#draw = new TerraDraw({ adapter, modes: [new TerraDrawPolygonMode({ styles }), new TerraDrawCircleMode({ styles })] });
		this.#draw.start();
		this.#draw.on('finish', (id) => {
			const feature = this.#draw.getSnapshotFeature(id);
			// It is still being written while it is told.
			queueMicrotask(() => this.#draw.hasFeature(id) && this.#draw.removeFeatures([id]));
			if (feature?.geometry.type !== 'Polygon') return;
			const ring = (feature.geometry.coordinates[0] ?? []).map(([lon = 0, lat = 0]): Place => [rounded(lat), rounded(lon)]);
			const km = Number(feature.properties.radiusKilometers);
			drawn(feature.properties.mode === 'circle' ? { kind: 'circle', at: centre(ring), km: Math.max(0.001, Number(km.toFixed(3))) } : { kind: 'polygon', rings: [ring] });
		});
	}

	take(tool: Tool | null): void {
		this.#draw.setMode(tool ?? 'static');
	}

	close(): void {
		this.#draw.stop();
	}
}

const rounded = (degrees: number): number => Number(degrees.toFixed(PRECISION));

function centre(ring: readonly Place[]): Place {
	const points = ring.slice(0, -1);
	const mean = (of: (place: Place) => number) => rounded(points.reduce((sum, place) => sum + of(place), 0) / Math.max(1, points.length));
	return [mean(([lat]) => lat), mean(([, lon]) => lon)];
}

/** The colour of zones in this theme, as terra-draw takes it. */
function inkOf(element: HTMLElement): `#${string}` {
	const probe = document.createElement('span');
	probe.className = 'zone-ink';
	element.append(probe);
	const parts = getComputedStyle(probe).color.match(/[\d.]+/g) ?? [];
	probe.remove();
	const hex = parts.slice(0, 3).map((part) => Math.round(Number(part)).toString(16).padStart(2, '0'));
	return `#${hex.join('')}`;
}
