import { api, ask, type Schema } from '$lib/api/client';
import { asBody, isSame, type AlertContent } from './content';
import { languageFor } from './texts';

const COUNT_AFTER_MS = 400;

/** How many people read each language, of those that an alert goes to. */
export class Readers {
	now = $state.raw<Schema<'AudienceCount'> | null>(null);
	#of: AlertContent | null = null;
	#timer: ReturnType<typeof setTimeout> | undefined;
	#asked: AbortController | null = null;

	/** Counts again where the audience is another one. */
	look(content: AlertContent): void {
		const { audience, exclude, area, channels, participants_only, mode } = content;
		const of = { audience, exclude, area, channels, participants_only, mode };
		if (this.#of && isSame(this.#of, of)) return;
		const isFirst = this.#of === null;
		this.#of = of;
		this.stop();
		const isNobody = audience === undefined || audience.length === 0;
		if (isNobody) this.now = null;
		else this.#timer = setTimeout(() => void this.#ask(of), isFirst ? 0 : COUNT_AFTER_MS);
	}

	stop(): void {
		clearTimeout(this.#timer);
		this.#asked?.abort();
	}

	/** People by the language whose text they get; '' is the text for all. Null: not known. */
	byText(content: AlertContent): Record<string, number> | null {
		if (!this.now) return null;
		const counts: Record<string, number> = { '': this.now.reached };
		for (const [tag, people] of Object.entries(this.now.languages)) {
			const language = languageFor(content, tag);
			if (language === null) continue;
			counts[language] = (counts[language] ?? 0) + people;
			counts[''] = (counts[''] ?? 0) - people;
		}
		return counts;
	}

	async #ask(content: AlertContent): Promise<void> {
		const asked = new AbortController();
		this.#asked = asked;
		try {
			const found = await ask(api.POST('/api/v1/audience:count', { body: asBody(content), signal: asked.signal }));
			if (!asked.signal.aborted) this.now = found;
		} catch {
			// Not counted is not known: the tabs say no numbers.
			if (!asked.signal.aborted) this.now = null;
		}
	}
}
