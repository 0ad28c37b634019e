import { api, ask, type Schema } from '$lib/api/client';
import { asProblem } from '$lib/api/problem';
import { bodyOf, entriesOf, nameOf, readEntry, type Asked, type Planned } from './asked';

/** What the server says of a request before it is sent, each part as soon as it is there. */
export class Look {
	planned = $state.raw<Planned | null>(null);
	count = $state.raw<Schema<'AudienceCount'> | null>(null);
	preview = $state.raw<Schema<'AlertPreview'> | null>(null);
	check = $state.raw<Schema<'AlertCheck'> | null>(null);
	/** Named areas of the audience, by id. */
	areas = $state.raw<Record<string, Schema<'AreaFeature'>>>({});
	/** What could not be told, by part; a part that this person may not see is no error. */
	errors = $state.raw<Partial<Record<Part, unknown>>>({});
	isDone = $state(false);
	#round = 0;

	/** Asks about a request; `alert` has a forecast of its own, for those who may not reckon one. */
	async load(request: object, alert?: string): Promise<void> {
		const round = ++this.#round;
		const body = bodyOf(request);
		this.isDone = false;
		const errors: Partial<Record<Part, unknown>> = {};
		const part = async <T>(name: Part, asked: Promise<T>, take: (answer: T) => void): Promise<void> => {
			try {
				const answer = await asked;
				if (round === this.#round) take(answer);
			} catch (error) {
				if (asProblem(error).status !== 403) errors[name] = error;
			}
		};
		const draft = body as Schema<'DraftBody'>;
		await Promise.all([
			part('forecast', forecast(body, alert), (planned) => (this.planned = planned)),
			part('count', ask(api.POST('/api/v1/audience:count', { body: draft })), (count) => (this.count = count)),
			part('preview', ask(api.POST('/api/v1/alerts:preview', { body: draft })), (preview) => (this.preview = preview)),
			part('check', ask(api.POST('/api/v1/alerts:check', { body: draft })), (check) => (this.check = check)),
			part('areas', areasOf(body), (areas) => (this.areas = areas))
		]);
		if (round !== this.#round) return;
		this.errors = errors;
		this.isDone = true;
	}
}

export type Part = 'forecast' | 'count' | 'preview' | 'check' | 'areas';

async function forecast(body: Asked, alert?: string): Promise<Planned> {
	try {
		return await ask(api.POST('/api/v1/alerts:forecast', { body: body as Schema<'AlertRequest'> }));
	} catch (error) {
		if (!alert || asProblem(error).status !== 403) throw error;
		const kept = await ask(api.GET('/api/v1/alerts/{id}/forecast', { params: { path: { id: alert } } }));
		if (!kept.forecast) throw error;
		return kept.forecast;
	}
}

async function areasOf(body: Asked): Promise<Record<string, Schema<'AreaFeature'>>> {
	const named = [...entriesOf(body.audience).map(nameOf), ...(body.exclude ?? [])].map(readEntry);
	const ids = [...new Set(named.filter(({ kind }) => kind === 'area').map(({ id }) => id))];
	const found = await Promise.all(ids.map((id) => areaOf(id)));
	return Object.fromEntries(found.flatMap((area) => (area ? [[area.id, area] as const] : [])));
}

/** An area that is gone is told by the count; here it is only not drawn. */
async function areaOf(id: string): Promise<Schema<'AreaFeature'> | null> {
	const { data } = await api.GET('/api/v1/areas/{id}', { params: { path: { id } } });
	return (data as unknown as Schema<'AreaFeature'> | undefined) ?? null;
}
