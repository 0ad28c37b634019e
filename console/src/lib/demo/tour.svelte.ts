/** Where somebody is in the tour of the demo: kept in this tab. */
const KEPT_AS = 'campanile.tour';

/** Its steps, each with the page that it leads to. */
export const TOUR = [
	{ word: 'town', path: '/demo', space: 'live' },
	{ word: 'alert', path: '/alerts', space: 'live' },
	{ word: 'break', path: '/demo#break', space: 'live' },
	{ word: 'approve', path: '/demo#second', space: 'live' },
	{ word: 'drill', path: '/alerts/new', space: 'drill' }
] as const;

/** The one of whoever signed in as the second person. */
export const SECOND = { word: 'second', path: '/', space: 'live' } as const;

interface Kept {
	at: number;
	isEnded: boolean;
}

/** What the tab has kept; anything else is the beginning. */
export function readKept(text: string | null): Kept {
	try {
		const kept = JSON.parse(text ?? '') as Partial<Kept>;
		const isStep = Number.isInteger(kept.at) && (kept.at as number) >= 0 && (kept.at as number) < TOUR.length;
		return { at: isStep ? (kept.at as number) : 0, isEnded: kept.isEnded === true };
	} catch {
		return { at: 0, isEnded: false };
	}
}

class Tour {
	#kept: Kept = $state(readKept(globalThis.sessionStorage?.getItem(KEPT_AS) ?? null));

	get at(): number {
		return this.#kept.at;
	}

	get isEnded(): boolean {
		return this.#kept.isEnded;
	}

	go(at: number): void {
		this.#keep({ at: Math.min(Math.max(at, 0), TOUR.length - 1), isEnded: false });
	}

	end(): void {
		this.#keep({ at: 0, isEnded: true });
	}

	#keep(kept: Kept): void {
		this.#kept = kept;
		sessionStorage.setItem(KEPT_AS, JSON.stringify(kept));
	}
}

export const tour = new Tour();
