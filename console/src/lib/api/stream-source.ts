import { after, EMPTY, type LiveState } from './live-state';
import { EventReader } from './sse';

/** What whoever follows the stream is told. */
export type StreamWord =
	| { kind: 'state'; state: LiveState; heard: number | null; isOpen: boolean }
	| { kind: 'event'; name: string; data: unknown; heard: number }
	| { kind: 'heard'; heard: number }
	| { kind: 'open'; isOpen: boolean; status: number };

/** The server sends a comment after five seconds without an event; after three times that the connection is dead. */
const SILENCE_MS = 15_000;
const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 15_000;

/** One connection to `/api/v1/events` of a space, kept open until it is closed. */
export class StreamSource {
	#state: LiveState = EMPTY;
	#heard: number | null = null;
	#isOpen = false;
	#wait = FIRST_WAIT_MS;
	#abort = new AbortController();
	readonly #space: string;
	readonly #tell: (word: StreamWord) => void;

	constructor(space: string, tell: (word: StreamWord) => void) {
		this.#space = space;
		this.#tell = tell;
		void this.#run(this.#abort.signal);
	}

	/** All that is known, for who comes later. */
	whole(): StreamWord {
		return { kind: 'state', state: this.#state, heard: this.#heard, isOpen: this.#isOpen };
	}

	close(): void {
		this.#abort.abort();
	}

	async #run(closed: AbortSignal): Promise<void> {
		while (!closed.aborted) {
			const status = await this.#connect(closed).catch(() => 0);
			if (closed.aborted) return;
			this.#isOpen = false;
			this.#tell({ kind: 'open', isOpen: false, status });
			await new Promise((resolve) => setTimeout(resolve, this.#wait));
			this.#wait = Math.min(this.#wait * 2, LAST_WAIT_MS);
		}
	}

	/** Until the stream ends; gives the status of a refusal, else 0. */
	async #connect(closed: AbortSignal): Promise<number> {
		const silent = new AbortController();
		const watch = () => setTimeout(() => silent.abort(), SILENCE_MS);
		let timer = watch();
		try {
			const response = await fetch('/api/v1/events?alerts=running', {
				headers: { Accept: 'text/event-stream', 'X-Campanile-Space': this.#space },
				signal: AbortSignal.any([closed, silent.signal]),
				cache: 'no-store'
			});
			if (!response.ok || !response.body) return response.status;
			this.#isOpen = true;
			this.#wait = FIRST_WAIT_MS;
			this.#tell({ kind: 'open', isOpen: true, status: response.status });
			const reader = new EventReader();
			const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
			for (;;) {
				const { value, done } = await pieces.read();
				if (done) return 0;
				clearTimeout(timer);
				timer = watch();
				reader.take(value).forEach(({ name, data }) => this.#event(name, data));
			}
		} finally {
			clearTimeout(timer);
		}
	}

	#event(name: string, text: string): void {
		this.#heard = Date.now();
		if (name === '') return this.#tell({ kind: 'heard', heard: this.#heard });
		const data: unknown = JSON.parse(text);
		this.#state = after(this.#state, name, data);
		this.#tell({ kind: 'event', name, data, heard: this.#heard });
	}
}
