/** An event of a stream; without a name it is a comment, which says that the server is there. */
export interface StreamEvent {
	name: string;
	data: string;
}

/** Reads `text/event-stream` (HTML, section 9.2.6) piece by piece. Comments are events without a name: browsers'
 * own reader hides them, and they are what says that the server still lives. */
export class EventReader {
	#rest = '';
	#name = '';
	#data: string[] = [];

	/** Takes the next piece; gives the events that it ended. */
	take(piece: string): StreamEvent[] {
		const text = this.#rest + piece;
		// The other half of a line's end may be in the next piece.
		const whole = text.endsWith('\r') ? text.slice(0, -1) : text;
		const lines = whole.split(/\r\n|\n|\r/);
		this.#rest = (lines.pop() ?? '') + text.slice(whole.length);
		return lines.flatMap((line) => this.#line(line));
	}

	#line(line: string): StreamEvent[] {
		if (line === '') return this.#end();
		if (line.startsWith(':')) return [{ name: '', data: '' }];
		const [field, ...value] = line.split(':');
		const text = value.join(':').replace(/^ /, '');
		if (field === 'event') this.#name = text;
		if (field === 'data') this.#data.push(text);
		return [];
	}

	#end(): StreamEvent[] {
		const event = { name: this.#name || 'message', data: this.#data.join('\n') };
		const isThere = this.#data.length > 0;
		this.#name = '';
		this.#data = [];
		return isThere ? [event] : [];
	}
}
