import { api, ask, type Schema } from '$lib/api/client';
import { asProblem, type ApiProblem } from '$lib/api/problem';
import { asBody, changed, type AlertContent } from './content';
import { withPlainLetters, type Language } from './texts';

const PREVIEW_AFTER_MS = 400;

/** The texts of an alert as people get them, while it is written. */
export class Preview {
	now = $state.raw<Schema<'AlertPreview'> | null>(null);
	error = $state.raw<ApiProblem | null>(null);
	/** Parts of an SMS by language, if it had plain letters alone. */
	plainParts = $state.raw<Record<string, number>>({});
	#timer: ReturnType<typeof setTimeout> | undefined;
	#asked: AbortController | null = null;

	/** Asks once nothing has changed for a moment. */
	look(content: AlertContent): void {
		this.stop();
		this.#timer = setTimeout(() => void this.#ask(content), this.now ? PREVIEW_AFTER_MS : 0);
	}

	stop(): void {
		clearTimeout(this.#timer);
		this.#asked?.abort();
	}

	/** What a channel gets in a language, by devices that show all of it. */
	text(channel: string, language: Language): Schema<'TextPreview'> | null {
		return this.now?.texts.find((text) => text.channel === channel && (text.language ?? null) === language && !text.profile) ?? null;
	}

	/** What devices get that show less. */
	shorter(language: Language): Schema<'TextPreview'>[] {
		return this.now?.texts.filter((text) => (text.language ?? null) === language && text.profile) ?? [];
	}

	async #ask(content: AlertContent): Promise<void> {
		const asked = new AbortController();
		this.#asked = asked;
		try {
			const found = await ask(api.POST('/api/v1/alerts:preview', { body: asBody(content), signal: asked.signal }));
			if (asked.signal.aborted) return;
			this.now = found;
			this.error = null;
			await this.#askPlain(content, asked.signal);
		} catch (error) {
			if (!asked.signal.aborted) this.error = asProblem(error);
		}
	}

	/** How many parts there would be without the letters at fault. */
	async #askPlain(content: AlertContent, signal: AbortSignal): Promise<void> {
		const parts: Record<string, number> = {};
		for (const text of this.now?.texts ?? []) {
			const letters = plainLetters(text);
			if (text.channel !== 'sms' || text.profile || letters.length === 0) continue;
			const language = text.language ?? null;
			const plain = changed({ ...content, channels: ['sms'] }, withPlainLetters(content, language, letters));
			const found = await ask(api.POST('/api/v1/alerts:preview', { body: asBody(plain), signal }));
			const same = found.texts.find((one) => one.channel === 'sms' && (one.language ?? null) === language && !one.profile);
			if (same) parts[language ?? ''] = same.parts;
		}
		this.plainParts = parts;
	}
}

/** Letters that force the long alphabet and have a plain one, each once. */
export function plainLetters(text: Schema<'TextPreview'>): { letter: string; plain: string }[] {
	const found = new Map<string, string>();
	for (const { letter, plain } of text.encoding?.at_fault ?? []) if (plain !== null) found.set(letter, plain);
	return [...found].map(([letter, plain]) => ({ letter, plain }));
}

/** A text in pieces, those of the letters at fault marked. */
export function marked(text: Schema<'TextPreview'>): { piece: string; isAtFault: boolean }[] {
	const pieces: { piece: string; isAtFault: boolean }[] = [];
	let from = 0;
	for (const { at_utf16, letter } of text.encoding?.at_fault ?? []) {
		if (at_utf16 > from) pieces.push({ piece: text.text.slice(from, at_utf16), isAtFault: false });
		pieces.push({ piece: letter, isAtFault: true });
		from = at_utf16 + letter.length;
	}
	if (from < text.text.length) pieces.push({ piece: text.text.slice(from), isAtFault: false });
	return pieces;
}
