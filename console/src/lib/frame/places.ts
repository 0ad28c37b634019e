import type { Act } from '$lib/session.svelte';
import BellRing from '@lucide/svelte/icons/bell-ring';
import CalendarClock from '@lucide/svelte/icons/calendar-clock';
import Cable from '@lucide/svelte/icons/cable';
import FlaskConical from '@lucide/svelte/icons/flask-conical';
import FileText from '@lucide/svelte/icons/file-text';
import House from '@lucide/svelte/icons/house';
import Layers from '@lucide/svelte/icons/layers';
import MapIcon from '@lucide/svelte/icons/map';
import MessageSquare from '@lucide/svelte/icons/message-square';
import RadioTower from '@lucide/svelte/icons/radio-tower';
import Satellite from '@lucide/svelte/icons/satellite';
import ScrollText from '@lucide/svelte/icons/scroll-text';
import Settings from '@lucide/svelte/icons/settings';
import Target from '@lucide/svelte/icons/target';
import Users from '@lucide/svelte/icons/users';
import Wallet from '@lucide/svelte/icons/wallet';
import Hash from '@lucide/svelte/icons/hash';
import type { Component } from 'svelte';

export interface Place {
	path: string;
	/** Its word in the catalogue of the shell. */
	word: string;
	icon: Component<Record<string, unknown>>;
	may: Act;
	/** Shown only where the server has it. */
	if?: 'messages' | 'clients' | 'topics' | 'edge_sites' | 'demo';
}

/** The places of the side, in three parts. */
export const PLACES: Place[][] = [
	[
		{ path: '/', word: 'home', icon: House, may: 'see' },
		{ path: '/alerts', word: 'alerts', icon: BellRing, may: 'see' },
		{ path: '/templates', word: 'templates', icon: FileText, may: 'see' },
		{ path: '/areas', word: 'areas', icon: MapIcon, may: 'see' },
		{ path: '/people', word: 'people', icon: Users, may: 'see' },
		{ path: '/groups', word: 'groups', icon: Layers, may: 'see' },
		{ path: '/demo', word: 'demo_page', icon: FlaskConical, may: 'see', if: 'demo' }
	],
	[
		{ path: '/routes', word: 'routes', icon: RadioTower, may: 'see' },
		{ path: '/messages', word: 'messages', icon: MessageSquare, may: 'see', if: 'messages' },
		{ path: '/clients', word: 'clients', icon: Cable, may: 'see', if: 'clients' },
		{ path: '/topics', word: 'topics', icon: Hash, may: 'see', if: 'topics' },
		{ path: '/edge-sites', word: 'edge_sites', icon: Satellite, may: 'see', if: 'edge_sites' },
		{ path: '/accounts', word: 'accounts', icon: Wallet, may: 'money' }
	],
	[
		{ path: '/drills', word: 'drills', icon: Target, may: 'see' },
		{ path: '/schedules', word: 'schedules', icon: CalendarClock, may: 'see' },
		{ path: '/audit', word: 'audit', icon: ScrollText, may: 'admin' },
		{ path: '/settings', word: 'settings', icon: Settings, may: 'see' }
	]
];
