import type { Schema } from '$lib/api/client';
import type { LiveAlert, LiveLine, LiveRoute } from '$lib/api/live-state';
import { isOver } from '$lib/states';

/** Whether everything is ready; a member that is not known, or not for this person, is null. */
export type Readiness = Schema<'Readiness'>;

/** Alerts that are being worked out, sent or open for answers. */
export const underWay = (lines: LiveLine[]): LiveLine[] =>
	lines.filter(({ state }) => !isOver(state) && state !== 'awaiting_approval');

/** The state as people read it: all is handed over, and answers may come. */
export function shownState(state: Schema<'AlertState'>, alert: LiveAlert | undefined): Schema<'AlertState'> | 'open' {
	return state === 'running' && alert?.finished ? 'open' : state;
}

/** When everybody will have been tried. */
export function triedBy(alert: LiveAlert): number | null {
	return alert.eta === null || alert.finished !== null ? null : Date.parse(alert.at) + 1_000 * alert.eta;
}

/** The choices of an alert that say that somebody needs help. */
export const helpChoices = (alert: Schema<'Alert'> | undefined): Schema<'Choice'>[] =>
	alert?.request.choices.filter((choice) => choice.needs_help === true) ?? [];

/** When it is to be sent, if that is still to come. */
export function startsAt(alert: Schema<'Alert'> | undefined, now: number): string | null {
	const at = alert?.request.not_before;
	return at && Date.parse(at) > now ? at : null;
}

export type RouteState = Schema<'CarrierRoute'>['state'];

/** The state of a route: that of the stream is newer, that of the list knows more. */
export function routeState(route: Schema<'CarrierRoute'>, live: LiveRoute | undefined): RouteState {
	if (!live || live.state === 'removed') return route.state;
	if (live.state === 'up') return route.state === 'paced' || route.state === 'slow' ? route.state : 'up';
	return live.state;
}

/** Those that do not work first, where not all can be shown; else in their own order: rows do not jump. */
export function routesToShow<R extends { state: RouteState }>(routes: R[], most: number): R[] {
	if (routes.length <= most) return routes;
	const works = (route: R) => route.state === 'up' || route.state === 'paced';
	return [...routes.filter((route) => !works(route)), ...routes.filter(works)].slice(0, most);
}

/** A step of the first day: its name in the words, and where it is done. */
export interface FirstStep {
	name: 'organisation' | 'administrator' | 'live_route' | 'people' | 'drill' | 'alert';
	path: string;
	space?: 'drill';
	isDone: boolean;
}

export function firstSteps(setup: Schema<'SetupState'>): FirstStep[] {
	return [
		{ name: 'organisation', path: '/setup', isDone: setup.organisation.done },
		{ name: 'administrator', path: '/setup', isDone: setup.administrator.done },
		{ name: 'live_route', path: '/routes', isDone: setup.live_route.done },
		{ name: 'people', path: '/people', isDone: setup.people.done },
		{ name: 'drill', path: '/alerts/new', space: 'drill', isDone: setup.drill.done },
		{ name: 'alert', path: '/alerts/new', isDone: setup.alert.done }
	];
}
