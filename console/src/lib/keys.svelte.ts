import { goto } from '$app/navigation';
import { session } from './session.svelte';
import { to } from './space.svelte';

/** Single keys: `n`, `/`, `?`, and `g` with another one. They can be switched off on one's own page. */
const KEPT_AS = 'campanile.keys';
const GO_MS = 1_500;
const PLACES: Record<string, string> = { h: '/', a: '/alerts', p: '/people', r: '/routes' };

class Keys {
	isOn = $state(localStorage.getItem(KEPT_AS) !== 'off');
	isHelpOpen = $state(false);
	#goUntil = 0;

	turn(isOn: boolean): void {
		this.isOn = isOn;
		localStorage.setItem(KEPT_AS, isOn ? 'on' : 'off');
	}

	/** Keys typed into fields, or with another key held, are none of these. */
	pressed(event: KeyboardEvent): void {
		const target = event.target as HTMLElement | null;
		const isTyping = target?.closest('input, textarea, select, [contenteditable], [role="dialog"], [role="combobox"]');
		if (!this.isOn || isTyping || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
		const isGoing = Date.now() < this.#goUntil;
		this.#goUntil = 0;
		if (isGoing && PLACES[event.key]) this.#go(event, PLACES[event.key] ?? '/');
		else if (event.key === 'g') this.#goUntil = Date.now() + GO_MS;
		else if (event.key === 'n' && session.may('write')) this.#go(event, '/alerts/new');
		else if (event.key === '?') this.isHelpOpen = true;
		else if (event.key === '/') this.#search(event);
	}

	#go(event: KeyboardEvent, path: string): void {
		event.preventDefault();
		void goto(to(path));
	}

	/** The search field of this page, else that of people. */
	#search(event: KeyboardEvent): void {
		event.preventDefault();
		const field = document.querySelector<HTMLInputElement>('main input[type="search"]');
		if (field) field.focus();
		else void goto(to('/people'));
	}
}

export const keys = new Keys();
