import type { Schema } from '$lib/api/client';
import type { LiveRoute } from '$lib/api/live-state';

export type Route = Schema<'CarrierRoute'>;
export type RouteState = Route['state'];

/** Whether a state is good, worth a look, bad, or neither. */
export const TONE: Record<RouteState, 'good' | 'unsure' | 'bad' | 'out'> = {
	up: 'good',
	paced: 'good',
	slow: 'unsure',
	down: 'bad',
	held: 'unsure',
	unknown: 'out'
};

/** A route as fetched, with what the stream said since. The stream has no word for a route that is slowed down or at its
 * limit (to it both are up), and of the rate it says what the carrier allows, not what is sent. */
export function withLive(route: Route, live: LiveRoute | undefined): Route {
	if (!live || live.state === 'removed') return route;
	const isKept = live.state === 'up' && (route.state === 'slow' || route.state === 'paced');
	const { emergency = 0, urgent = 0, routine = 0 } = live.waiting;
	return {
		...route,
		state: isKept ? route.state : live.state,
		since: live.since ?? route.since,
		note: live.note ?? '',
		sessions: { ...route.sessions, bound: live.sessions },
		rate: { ...route.rate, allowed: live.rate_now },
		waiting: { emergency, urgent, routine }
	};
}

export interface RouteCounts {
	all: number;
	working: number;
	down: number;
	held: number;
	unknown: number;
}

/** How many routes stand how. */
export function counted(routes: { state: RouteState }[]): RouteCounts {
	const of = (...states: RouteState[]) => routes.filter(({ state }) => states.includes(state)).length;
	return { all: routes.length, working: of('up', 'paced', 'slow'), down: of('down'), held: of('held'), unknown: of('unknown') };
}

/** The part of its limit that a route uses; null where either is not known or there is no limit. */
export function load({ now, limit }: Route['rate']): number | null {
	return now === null || now === undefined || limit <= 0 ? null : now / limit;
}

export const waitingAll = ({ emergency, urgent, routine }: Route['waiting']): number => emergency + urgent + routine;
