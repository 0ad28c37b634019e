import type { Schema } from '$lib/api/client';

/** What an alert says, to whom and how: members that nobody has written are absent. */
export type AlertContent = { [Member in keyof Schema<'AlertRequest'>]?: NonNullable<Schema<'AlertRequest'>[Member]> };

/** A change of it: members to set; null takes one away. */
export type ContentPatch = { [Member in keyof AlertContent]?: AlertContent[Member] | null };

/** Where a content is written: a draft's, a template's alert, a template's all-clear. */
export interface ContentEditor {
	readonly request: AlertContent;
	/** It takes changes. */
	readonly isOpen: boolean;
	readonly problems: Schema<'FieldProblem'>[];
	/** Those that are shown at their fields: what is only missing is, once somebody was there. */
	readonly marked: Schema<'FieldProblem'>[];
	readonly warnings: Schema<'AlertWarning'>[];
	change(patch: ContentPatch): void;
}

/** As the API takes it where members may be missing or wrong. */
export const asBody = (content: AlertContent): Schema<'DraftBody'> => content as Schema<'DraftBody'>;

export type Json = string | number | boolean | null | Json[] | { [member: string]: Json };

/** The content after a change. */
export function changed(content: AlertContent, patch: ContentPatch): AlertContent {
	const given = Object.entries({ ...content, ...patch });
	return Object.fromEntries(given.filter(([, value]) => value !== null && value !== undefined)) as AlertContent;
}

export function isSame(one: unknown, other: unknown): boolean {
	if (one === other) return true;
	if (Array.isArray(one) || Array.isArray(other)) {
		if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
		return one.every((value, at) => isSame(value, other[at]));
	}
	if (!isRecord(one) || !isRecord(other)) return false;
	const names = new Set([...Object.keys(one), ...Object.keys(other)]);
	return [...names].every((name) => isSame(one[name], other[name]));
}

/** Members that differ, in the order of their names. */
export function differing(one: AlertContent, other: AlertContent): (keyof AlertContent)[] {
	const names = new Set([...Object.keys(one), ...Object.keys(other)] as (keyof AlertContent)[]);
	return [...names].filter((name) => !isSame(one[name], other[name])).sort();
}

/** The JSON merge patch (RFC 7396) that makes `after` of `before`. */
export function mergePatch(before: AlertContent, after: AlertContent): { [member: string]: Json } {
	return patchOf(before as Members, after as Members);
}

/** What two people wrote at the same time, where they changed different members; else null. */
export function merged(base: AlertContent, mine: AlertContent, theirs: AlertContent): AlertContent | null {
	const both = differing(base, mine).filter((name) => !isSame(base[name], theirs[name]) && !isSame(mine[name], theirs[name]));
	if (both.length > 0) return null;
	const ofMine = differing(base, mine).map((name) => [name, mine[name] ?? null]);
	return changed(theirs, Object.fromEntries(ofMine) as ContentPatch);
}

type Members = { [member: string]: Json | undefined };

function isRecord(value: unknown): value is Members {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function patchOf(before: Members, after: Members): { [member: string]: Json } {
	const patch: { [member: string]: Json } = {};
	for (const name of Object.keys(before)) if (after[name] === undefined) patch[name] = null;
	for (const [name, value] of Object.entries(after)) {
		const was = before[name];
		if (value === undefined || isSame(value, was)) continue;
		patch[name] = isRecord(value) && isRecord(was) ? patchOf(was, value) : value;
	}
	return patch;
}
