import type { Schema } from '$lib/api/client';

/** What an alert or a draft asks for, as the API takes it. Drafts may lack anything. */
export type Asked = Partial<Schema<'AlertRequest'>>;
export type Entry = Schema<'AudienceEntry'>;

/** Members of an alert that its request does not take back as they are. */
const NOT_ASKED = ['attachments', 'callback'];

/** The request of an alert or a draft, to ask the server about it again: how many people, how long, what is wrong. */
export function bodyOf(request: object): Asked {
	const kept = Object.entries(request).filter(([name, value]) => !NOT_ASKED.includes(name) && value !== null);
	return Object.fromEntries(kept) as Asked;
}

/** Entries of an audience one by one; one entry alone need not be a list. */
export function entriesOf(audience: Asked['audience']): Entry[] {
	if (audience === null || audience === undefined) return [];
	return typeof audience === 'string' ? [audience] : audience;
}

/** Whom an entry names. */
export const nameOf = (entry: Entry): string => (typeof entry === 'string' ? entry : entry.to);

export type EntryKind = 'all' | 'shapes' | 'area' | 'group' | 'recipient' | 'alert' | 'address';

/** What kind of entry it is, and what stands behind the colon. */
export function readEntry(entry: string): { kind: EntryKind; id: string } {
	if (entry === 'all') return { kind: 'all', id: '' };
	if (entry === 'area') return { kind: 'shapes', id: '' };
	const at = entry.indexOf(':');
	const [kind, id] = [entry.slice(0, at), entry.slice(at + 1)];
	if (kind === 'area' || kind === 'group' || kind === 'recipient' || kind === 'alert') return { kind, id };
	return { kind: 'address', id: entry };
}

/** Calls `change` with each text that people get. */
function mapTexts(value: unknown, change: (text: string) => string): unknown {
	if (typeof value === 'string') return change(value);
	if (Array.isArray(value)) return value.map((part) => mapTexts(part, change));
	if (typeof value !== 'object' || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, mapTexts(part, change)]));
}

/** The texts of a request with plain letters in place of others. */
export function withPlainLetters(asked: Asked, letters: ReadonlyMap<string, string>): Asked {
	const change = (text: string) => [...text].map((letter) => letters.get(letter) ?? letter).join('');
	const changed: Record<string, unknown> = {};
	for (const name of ['headline', 'text', 'texts'] as const) {
		if (asked[name]) changed[name] = mapTexts(asked[name], change);
	}
	return changed as Asked;
}

/** Parts of a short message in the plain alphabet: 160 letters, or 153 in each of several. */
const ONE_PART = 160;
const OF_SEVERAL = 153;
const parts = (letters: number): number => (letters <= ONE_PART ? 1 : Math.ceil(letters / OF_SEVERAL));

/** Letters that make short messages longer, and what the longest of these would come to without them. Nothing where
 * some letter has no plain one. */
export function lettersAtFault(texts: readonly Schema<'TextPreview'>[]): { letters: Map<string, string>; parts: number; without: number } | null {
	const letters = new Map<string, string>();
	let most = { parts: 0, without: 0 };
	for (const text of texts) {
		const fault = text.encoding?.at_fault ?? [];
		if (fault.length === 0 || (text.encoding?.more_at_fault ?? 0) > 0) continue;
		if (fault.some(({ plain }) => plain === null)) continue;
		const without = parts(text.letters);
		if (without >= text.parts) continue;
		for (const { letter, plain } of fault) letters.set(letter, plain ?? letter);
		if (text.parts > most.parts) most = { parts: text.parts, without };
	}
	return letters.size > 0 ? { letters, ...most } : null;
}

/** A text cut where letters at fault stand, to mark them. */
export function marked(text: string, at: readonly { at_utf16: number; letter: string }[]): { text: string; isMarked: boolean }[] {
	const pieces: { text: string; isMarked: boolean }[] = [];
	let from = 0;
	for (const fault of [...at].sort((a, b) => a.at_utf16 - b.at_utf16)) {
		if (fault.at_utf16 < from) continue;
		if (fault.at_utf16 > from) pieces.push({ text: text.slice(from, fault.at_utf16), isMarked: false });
		from = fault.at_utf16 + fault.letter.length;
		pieces.push({ text: text.slice(fault.at_utf16, from), isMarked: true });
	}
	if (from < text.length) pieces.push({ text: text.slice(from), isMarked: false });
	return pieces;
}

/** A forecast of a request, or the one that is kept with an alert. */
export type Planned = Pick<Schema<'Forecast'>, 'people' | 'p50' | 'p95' | 'curve' | 'left_out' | 'routes' | 'cost' | 'reach' | 'assumptions' | 'parts'> & {
	/** What the rules of approval ask; a forecast that was kept does not say it. */
	approval?: Schema<'ForecastApproval'>;
};

/** People of an audience to whom nothing goes, by reason, the most first. */
export function leftOut(count: Schema<'AudienceCount'> | null, planned: Planned | null): { code: string; people: number }[] {
	// A count knows who is left out; a forecast alone knows those whom no route takes.
	const found = new Map<string, number>(Object.entries(count?.left_out ?? {}));
	for (const [code, { people }] of Object.entries(planned?.left_out ?? {})) {
		if (!found.has(code) && people > 0) found.set(code, people);
	}
	return [...found].map(([code, people]) => ({ code, people })).sort((a, b) => b.people - a.people);
}
