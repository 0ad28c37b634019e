import type { Schema } from '$lib/api/client';

/** A rule of approval, as far as it is decided here. */
export interface ApprovalRule {
	mode?: string;
	priority: string[];
	people_over?: number;
	/** Whom it is about: only the server knows who is in which group. */
	has_audience: boolean;
	origin: string[];
	applies_to: string[];
	needs: string;
	limit?: number;
}

/** What rules ask for: `perhaps` where only the server can tell. */
export interface Need {
	needs: 'nobody' | 'one' | 'two' | 'perhaps';
	/** Whether the number of people is typed. */
	isTyped: boolean;
}

const NEEDS = ['nobody', 'one', 'two'] as const;

/** The rules of a config that is shown; values stand there as they are written, in forms that JSON has too. */
export function rulesOf(config: Schema<'ShownConfig'>): ApprovalRule[] {
	const sections = config.sections.filter(({ path }) => /^approval(\[|$)/.test(path));
	return sections.map(({ keys }) => {
		const values = new Map(keys.filter(({ is_set, value }) => is_set && value !== null).map(({ name, value }) => [name, parsed(value ?? '')]));
		const list = (name: string) => (Array.isArray(values.get(name)) ? (values.get(name) as unknown[]).map(String) : []);
		const count = (name: string) => (typeof values.get(name) === 'number' ? (values.get(name) as number) : undefined);
		return {
			mode: values.get('mode') as string | undefined,
			priority: list('priority'),
			people_over: count('people_over'),
			has_audience: list('audience').length > 0,
			origin: list('origin'),
			applies_to: list('applies_to'),
			needs: String(values.get('needs') ?? 'nobody'),
			limit: count('limit')
		};
	});
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text.replaceAll(/(?<=\d)_(?=\d)/g, ''));
	} catch {
		return text;
	}
}

interface Sent {
	mode: string;
	priority: string;
	people: number;
	follows: boolean;
}

/** What the rules ask for an alert that a signed-in person sends: of all that hold, the strictest. */
export function needOf(rules: readonly ApprovalRule[], sent: Sent): Need {
	const kinds = sent.follows ? ['alert', 'follow-up', 'correction'] : ['alert'];
	const holding = rules.filter(
		(rule) =>
			(!rule.mode || rule.mode === sent.mode) &&
			(rule.priority.length === 0 || rule.priority.includes(sent.priority)) &&
			(rule.people_over === undefined || sent.people > rule.people_over) &&
			(rule.origin.length === 0 || rule.origin.includes('console')) &&
			(rule.applies_to.length === 0 || rule.applies_to.some((kind) => kinds.includes(kind)))
	);
	const strictest = (of: readonly ApprovalRule[]) => Math.max(0, ...of.map(({ needs }) => NEEDS.indexOf(needs as (typeof NEEDS)[number])));
	const isUnsure = (rule: ApprovalRule) => rule.has_audience || sent.follows;
	const sure = strictest(holding.filter((rule) => !isUnsure(rule)));
	const most = strictest(holding);
	const isTyped = holding.some(({ limit }) => limit !== undefined && sent.people > limit);
	return { needs: most > sure ? 'perhaps' : (NEEDS[sure] ?? 'perhaps'), isTyped };
}
