/// <reference lib="webworker" />
// Holds the only stream of a browser, one for each space that a page shows, and hands its events to all pages: a
// browser opens six connections to an origin, and the seventh page with a stream of its own would hang.
import { StreamSource, type StreamWord } from './stream-source';

/** What a page says to the worker. */
export type PageWord = { kind: 'follow'; space: string } | { kind: 'here' } | { kind: 'leave' } | { kind: 'again' };

interface Page {
	port: MessagePort;
	space: string;
	seen: number;
}

/** A page says every ten seconds that it is there; one that says nothing is gone. */
const GONE_MS = 35_000;
const LOOK_MS = 10_000;

const pages = new Map<MessagePort, Page>();
const sources = new Map<string, StreamSource>();

function tell(space: string, word: StreamWord): void {
	for (const page of pages.values()) if (page.space === space) page.port.postMessage(word);
}

function source(space: string): StreamSource {
	let found = sources.get(space);
	if (!found) {
		found = new StreamSource(space, (word) => tell(space, word));
		sources.set(space, found);
	}
	return found;
}

/** Streams that no page follows end. */
function tidy(): void {
	const used = new Set([...pages.values()].map((page) => page.space));
	for (const [space, open] of sources) {
		if (used.has(space)) continue;
		open.close();
		sources.delete(space);
	}
}

function take(port: MessagePort, word: PageWord): void {
	const page = pages.get(port);
	if (word.kind === 'follow') {
		pages.set(port, { port, space: word.space, seen: Date.now() });
		port.postMessage(source(word.space).whole());
	} else if (word.kind === 'leave') {
		pages.delete(port);
	} else if (word.kind === 'again') {
		// Somebody else signed in: what was known was another's.
		for (const open of sources.values()) open.close();
		sources.clear();
		for (const each of pages.values()) each.port.postMessage(source(each.space).whole());
	} else if (page) {
		page.seen = Date.now();
	}
	tidy();
}

(self as unknown as SharedWorkerGlobalScope).onconnect = ({ ports: [port] }) => {
	if (!port) return;
	port.onmessage = ({ data }) => take(port, data as PageWord);
	port.start();
};

setInterval(() => {
	for (const [port, page] of pages) if (Date.now() - page.seen > GONE_MS) pages.delete(port);
	tidy();
}, LOOK_MS);
