import { after, EMPTY, type LiveState } from './live-state';
import { StreamSource, type StreamWord } from './stream-source';
import type { PageWord } from './stream.worker';
import workerUrl from './stream.worker?sharedworker&url';

/** After so long without a word, numbers may be old. */
const STALE_MS = 10_000;
const HERE_MS = 10_000;

/** What the stream says, for all parts of a page. */
class Live {
	state: LiveState = $state.raw(EMPTY);
	/** When the server last said anything, by this machine's clock; null before its first word. */
	heard: number | null = $state(null);
	isOpen = $state(false);
	/** Now, each second. */
	now = $state(Date.now());
	/** Status of the last refusal: 401 when the session is over, 0 where the server did not answer. */
	refused = $state(0);
	/** The last try to connect failed. */
	isCut = $state(false);

	#post: (word: PageWord) => void = () => {};
	#space: string | null = null;

	/** No word for ten seconds. */
	get isStale(): boolean {
		return this.heard !== null && this.now - this.heard > STALE_MS;
	}

	/** Follows a space; the first call opens the stream. */
	follow(space: string): void {
		if (this.#space === null) this.#begin();
		if (this.#space === space) return;
		this.#space = space;
		this.state = EMPTY;
		this.#post({ kind: 'follow', space });
	}

	/** Somebody signed in, perhaps another person. */
	again(): void {
		this.state = EMPTY;
		this.refused = 0;
		this.#post({ kind: 'again' });
	}

	#begin(): void {
		setInterval(() => (this.now = Date.now()), 1_000);
		this.#post = 'SharedWorker' in globalThis ? this.#shared() : this.#own();
	}

	#shared(): (word: PageWord) => void {
		const worker = new SharedWorker(trusted(workerUrl) as unknown as string, { type: 'module', name: 'campanile' });
		worker.port.onmessage = ({ data }) => this.#take(data as StreamWord);
		worker.port.start();
		const post = (word: PageWord) => worker.port.postMessage(word);
		setInterval(() => post({ kind: 'here' }), HERE_MS);
		addEventListener('pagehide', () => post({ kind: 'leave' }));
		addEventListener('pageshow', (event) => {
			const { persisted } = event as PageTransitionEvent;
			if (persisted && this.#space) post({ kind: 'follow', space: this.#space });
		});
		return post;
	}

	/** Without shared workers: a stream of this page's own, while it is seen. */
	#own(): (word: PageWord) => void {
		let open: StreamSource | null = null;
		const look = () => {
			open?.close();
			open = document.hidden || !this.#space ? null : new StreamSource(this.#space, (word) => this.#take(word));
		};
		document.addEventListener('visibilitychange', look);
		return ({ kind }) => {
			if (kind === 'follow' || kind === 'again') look();
		};
	}

	#take(word: StreamWord): void {
		if (word.kind === 'state') {
			this.state = word.state;
			this.heard = word.heard;
			this.isOpen = word.isOpen;
		} else if (word.kind === 'event') {
			this.state = after(this.state, word.name, word.data);
			this.heard = word.heard;
		} else if (word.kind === 'heard') {
			this.heard = word.heard;
		} else {
			this.isOpen = word.isOpen;
			this.isCut = !word.isOpen && word.status !== 401;
			this.refused = word.isOpen ? 0 : word.status;
		}
	}
}

/** Browsers that have Trusted Types take the address of a worker from a policy alone. */
function trusted(url: string): unknown {
	const types = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(url: string): unknown } } }).trustedTypes;
	policy ??= types?.createPolicy('campanile-worker', { createScriptURL: own }) ?? null;
	return policy?.createScriptURL(url) ?? url;
}

let policy: { createScriptURL(url: string): unknown } | null = null;

function own(url: string): string {
	if (new URL(url, location.href).origin !== location.origin) throw new TypeError('a worker of another origin');
	return url;
}

export const live = new Live();
