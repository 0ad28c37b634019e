import { api, ask, keepSession, type Schema } from './api/client';
import { asProblem } from './api/problem';
import { live } from './api/live.svelte';

export type Role = Schema<'UserRole'>;
export type SignedIn = Schema<'Session'>;

/** What the pages ask whether the person may. The server decides again on each request. */
export type Act = 'see' | 'write' | 'send' | 'approve' | 'directory' | 'money' | 'accounts' | 'admin' | 'system';

const ROLES: Record<Act, Role[]> = {
	see: ['viewer', 'author', 'operator', 'approver', 'directory', 'accounts', 'administrator'],
	write: ['author', 'operator', 'administrator'],
	send: ['operator', 'administrator'],
	approve: ['approver'],
	directory: ['directory'],
	money: ['viewer', 'operator', 'accounts'],
	accounts: ['accounts'],
	admin: ['administrator'],
	system: ['viewer', 'operator', 'administrator']
};

const TO_KEPT_AS = 'campanile.to';

/** Where to go once a provider elsewhere signed somebody in: it leads back to the home page alone. */
export const comeBackTo = (path: string): void => sessionStorage.setItem(TO_KEPT_AS, path);

/** That address, once. */
export function cameBackTo(): string | null {
	const path = sessionStorage.getItem(TO_KEPT_AS);
	sessionStorage.removeItem(TO_KEPT_AS);
	return path;
}

/** The person of this browser. */
class Session {
	now: SignedIn | null = $state(null);
	/** Nothing until the server said whether somebody is signed in. */
	isKnown = $state(false);
	/** The password is asked for in place: the session ended, or an act wants it again. */
	asked: 'again' | 'confirm' | null = $state(null);
	#answer: ((isGiven: boolean) => void)[] = [];
	#ahead: Promise<SignedIn> | null = null;

	get user(): Schema<'User'> | null {
		return this.now?.state === 'signed_in' ? this.now.user : null;
	}

	/** The zone in which times are shown. */
	get zone(): string {
		return this.now?.time_zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
	}

	may(act: Act): boolean {
		return this.user?.roles.some((role) => ROLES[act].includes(role)) ?? false;
	}

	/** Somebody who may, as the page names them where this person may not. */
	rolesFor(act: Act): Role[] {
		return ROLES[act];
	}

	has(space: 'live' | 'drill'): boolean {
		return this.user?.spaces.includes(space) ?? false;
	}

	/** Asks the server who is signed in while the pages are still being read. */
	ahead(): void {
		this.#ahead = ask(api.GET('/api/v1/session'));
		// Who takes it is told.
		this.#ahead.catch(() => {});
	}

	/** Asks the server who is signed in. */
	async load(): Promise<void> {
		try {
			const answer = this.#ahead ?? ask(api.GET('/api/v1/session'));
			this.#ahead = null;
			this.now = await answer;
		} catch (error) {
			if (asProblem(error).status !== 401) throw error;
			this.now = null;
		} finally {
			this.isKnown = true;
		}
	}

	/** A step of signing in was answered. */
	take(session: SignedIn): void {
		const isAnother = this.user?.id !== session.user?.id;
		this.now = session;
		this.isKnown = true;
		if (isAnother || live.refused === 401) live.again();
	}

	async signOut(): Promise<void> {
		await ask(api.DELETE('/api/v1/session')).catch(() => {});
		this.now = null;
		live.again();
	}

	/** Shows the dialog; true once it was answered well. */
	ask(why: 'again' | 'confirm'): Promise<boolean> {
		this.asked ??= why;
		return new Promise((resolve) => this.#answer.push(resolve));
	}

	/** The dialog is over. */
	answered(isGiven: boolean): void {
		this.asked = null;
		this.#answer.splice(0).forEach((resolve) => resolve(isGiven));
	}
}

export const session = new Session();

keepSession({
	csrf: () => session.now?.csrf ?? '',
	signInAgain: () => (session.now ? session.ask('again') : Promise.resolve(false)),
	confirm: () => session.ask('confirm')
});
