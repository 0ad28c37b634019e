import type { Schema } from './client';

/** What `/api/v1/events` says of an alert: its report in short. */
export type LiveAlert = Pick<
	Schema<'Report'>,
	'id' | 'state' | 'mode' | 'simulated' | 'headline' | 'note' | 'counts' | 'people' | 'needs_help' | 'times' | 'rate_now' | 'eta' | 'finished' | 'created' | 'at'
> & {
	routes: Record<string, { counts: Partial<Schema<'Counts'>>; rate: number; up: boolean; simulated: boolean }>;
	other_routes?: { counts: Partial<Schema<'Counts'>> } | null;
	answers: Record<string, number>;
	other_answers?: number;
};

/** An alert in a list: that it is there, and its state. */
export interface LiveLine {
	id: string;
	headline: string;
	state: Schema<'AlertState'>;
	mode: Schema<'Mode'>;
	version: number;
	created: string;
}

/** What it says of a route. */
export interface LiveRoute {
	name: string;
	channel: string;
	mode: Schema<'Mode'>;
	simulated: boolean;
	state: 'up' | 'down' | 'held' | 'unknown' | 'removed';
	since: string | null;
	sessions: number | null;
	rate: number;
	rate_now: number;
	note: string | null;
	waiting: Record<string, number>;
}

export interface LiveNotice {
	kind: string;
	is_over: boolean;
	server: string | null;
	why: string | null;
}

/** All that the stream has said, the newest of each. */
export interface LiveState {
	/** When the first event came: before it nothing is known. */
	version: string | null;
	running: LiveLine[];
	more_running: number;
	alerts: Record<string, LiveAlert>;
	routes: Record<string, LiveRoute>;
	approvals: Schema<'WaitingAlert'>[];
	notices: LiveNotice[];
	/** Counts the changes of lists: who shows one fetches it again. */
	alertsChanged: number;
	approvalsChanged: number;
}

export const EMPTY: LiveState = {
	version: null,
	running: [],
	more_running: 0,
	alerts: {},
	routes: {},
	approvals: [],
	notices: [],
	alertsChanged: 0,
	approvalsChanged: 0
};

/** An alert in one of these states is over. */
export const OVER: readonly string[] = ['done', 'cancelled', 'expired'];

/** The state after an event. Unknown events change nothing. */
export function after(state: LiveState, name: string, data: unknown): LiveState {
	switch (name) {
		case 'hello':
			return hello(state, data as Hello);
		case 'alert': {
			const alert = data as LiveAlert;
			return { ...state, alerts: { ...state.alerts, [alert.id]: alert } };
		}
		case 'alerts':
			return changed(state, data as LiveLine);
		case 'route': {
			const route = data as LiveRoute;
			const routes = { ...state.routes, [route.name]: route };
			if (route.state === 'removed') delete routes[route.name];
			return { ...state, routes };
		}
		case 'approval': {
			const { alert, state: now } = data as { alert: string; state: string };
			const approvals = now === 'waiting' ? state.approvals : state.approvals.filter(({ id }) => id !== alert);
			return { ...state, approvals, approvalsChanged: state.approvalsChanged + 1 };
		}
		case 'notice': {
			const notice = data as LiveNotice;
			const others = state.notices.filter((known) => known.kind !== notice.kind || known.server !== notice.server);
			return { ...state, notices: notice.is_over ? others : [...others, notice] };
		}
		default:
			return state;
	}
}

interface Hello {
	version: string;
	running: LiveLine[];
	more_running?: number;
	alerts: LiveAlert[];
	routes: LiveRoute[];
	approvals: Schema<'WaitingAlert'>[];
	notices: LiveNotice[];
}

function hello(state: LiveState, said: Hello): LiveState {
	return {
		version: said.version,
		running: said.running ?? [],
		more_running: said.more_running ?? 0,
		alerts: Object.fromEntries((said.alerts ?? []).map((alert) => [alert.id, alert])),
		routes: Object.fromEntries((said.routes ?? []).map((route) => [route.name, route])),
		approvals: said.approvals ?? [],
		notices: (said.notices ?? []).filter((notice) => !notice.is_over),
		alertsChanged: state.alertsChanged + 1,
		approvalsChanged: state.approvalsChanged + 1
	};
}

function changed(state: LiveState, line: LiveLine): LiveState {
	const others = state.running.filter(({ id }) => id !== line.id);
	const isRunning = !OVER.includes(line.state) && line.state !== 'awaiting_approval';
	const running = isRunning ? [line, ...others].sort((a, b) => b.created.localeCompare(a.created)) : others;
	return { ...state, running, alertsChanged: state.alertsChanged + 1 };
}
