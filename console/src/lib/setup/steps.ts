import type { Schema } from '$lib/api/client';

/** Steps of the first run, in their order. Each can wait. */
export const STEPS = ['organisation', 'administrator', 'factor', 'carrier', 'people', 'test', 'drill'] as const;
export type StepName = (typeof STEPS)[number];

/** What the admin token alone can do: the others are done by somebody who is signed in. */
export const BY_TOKEN: readonly StepName[] = ['organisation', 'administrator'];

export type StepsDone = Record<StepName, boolean>;

/** Which steps are done. The server counts no tests: `isTested` says whether one arrived in this browser. */
export function stepsDone(setup: Schema<'SetupState'>, user: Schema<'User'> | null, isTested: boolean): StepsDone {
	return {
		organisation: setup.organisation.done,
		administrator: setup.administrator.done,
		factor: user !== null && (user.factors.totp || user.factors.passkeys > 0),
		carrier: setup.live_route.done,
		people: setup.people.done,
		test: isTested || setup.alert.done,
		drill: setup.drill.done
	};
}

/** The first step after this one that is not done, then the first of all; null when nothing is left. */
export function nextStep(done: StepsDone, after: StepName | null): StepName | null {
	const from = after === null ? 0 : STEPS.indexOf(after) + 1;
	const others = [...STEPS.slice(from), ...STEPS.slice(0, from)].filter((step) => step !== after);
	return others.find((step) => !done[step]) ?? null;
}

/** The step that an address names. */
export const stepOf = (text: string | null): StepName | null => STEPS.find((step) => step === text) ?? null;
