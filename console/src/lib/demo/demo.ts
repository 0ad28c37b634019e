import { api, ask, type Schema } from '$lib/api/client';
import { OVER, type LiveState } from '$lib/api/live-state';

export type DemoCarrier = Schema<'DemoCarrier'>;
export type Behaviour = Schema<'CarrierBehaviour'>;

/** Where one sees what became of a carrier's behaviour. */
export function whereToLook(carrier: DemoCarrier, alert: string | null): { page: 'route' | 'people' | 'alert'; path: string } {
	if (carrier.behaviour === 'without_receipts' && alert) return { page: 'people', path: `/alerts/${alert}/people?state=accepted` };
	if (carrier.behaviour === 'slow' && alert) return { page: 'alert', path: `/alerts/${alert}` };
	return { page: 'route', path: `/routes/${encodeURIComponent(carrier.name)}` };
}

/** The alert that the demo shows: the newest under way, else the newest that the stream still knows. */
export function newestAlert(state: LiveState): string | null {
	const under = state.running.find((line) => !OVER.includes(line.state));
	if (under) return under.id;
	const known = Object.values(state.alerts).sort((a, b) => b.created.localeCompare(a.created));
	return known[0]?.id ?? null;
}

/** The newest alert of this space, whatever its state; null where there is none. */
export async function newestOfAll(): Promise<string | null> {
	const { items } = await ask(api.GET('/api/v1/alerts', { params: { query: { limit: 1 } } }));
	return items[0]?.id ?? null;
}
