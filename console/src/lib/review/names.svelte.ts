import { api } from '$lib/api/client';
import { readEntry } from './asked';

/** Names of groups and people by the entries of audiences that mean them: looked up once. */
class Names {
	#known: Record<string, string> = $state({});
	#asked = new Set<string>();

	of(entry: string): string {
		return this.#known[entry] ?? readEntry(entry).id;
	}

	/** A name that somebody has just chosen. */
	set(entry: string, name: string): void {
		this.#asked.add(entry);
		this.#known[entry] = name;
	}

	async learn(entries: readonly string[]): Promise<void> {
		const wanted = entries.filter((entry) => !this.#asked.has(entry));
		wanted.forEach((entry) => this.#asked.add(entry));
		await Promise.all(wanted.map((entry) => this.#look(entry)));
	}

	async #look(entry: string): Promise<void> {
		const { kind, id: whole } = readEntry(entry);
		// A group may be limited to a channel: `group:staff/sms`.
		const id = kind === 'group' ? whole.replace(/\/[a-z]+$/, '') : whole;
		const path = { params: { path: { id } } };
		const found =
			kind === 'group' ? (await api.GET('/api/v1/groups/{id}', path)).data : kind === 'recipient' ? (await api.GET('/api/v1/recipients/{id}', path)).data : undefined;
		const name = (found as { name?: string } | undefined)?.name;
		if (name) this.#known[entry] = id === whole ? name : `${name}, ${whole.slice(id.length + 1)}`;
	}
}

export const names = new Names();
