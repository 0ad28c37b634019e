import type { Schema } from '$lib/api/client';
import { t } from '$lib/words/index.svelte';

type Job = Schema<'ImportJob'>;

/** `412 new, 11,803 changed, 3 wrong`. */
export function tally({ counts }: Pick<Job, 'counts'>): string {
	const parts = (['new', 'changed', 'gone', 'wrong'] as const).filter((name) => counts[name] > 0 || name === 'new' || name === 'changed');
	return parts.map((name) => t(`imports.tally_${name}`, { count: counts[name] })).join(', ');
}

/** Where its people come from. */
export const source = ({ source: from }: Pick<Job, 'source'>): string => (from.startsWith('directory:') ? t('imports.from_directory', { name: from.slice('directory:'.length) }) : t('imports.from_file'));

export const isWorking = ({ state }: Pick<Job, 'state'>): boolean => state === 'reading' || state === 'comparing';

/** What a column was taken for. */
export const meaning = (field: string): string => (field === '' ? t('imports.as_nothing') : KNOWN.has(field) ? t(`imports.as_${field}`) : t('imports.as_detail_named', { name: field }));

const KNOWN = new Set(['id', 'name', 'language', 'time_zone', 'groups', 'sms', 'mail', 'pager', 'im', 'webhook', 'mqtt', 'line', 'topic', 'edge', 'file', 'lat', 'lon', 'opted_out', 'prefers']);

/** What the server notes of the file. That it knew a column by its heading stands beside the column already. */
export const otherNotes = ({ columns, notes }: Pick<Job, 'columns' | 'notes'>): Job['notes'] =>
	notes.filter((note) => !columns.some(({ column, field }) => column === note.field && KNOWN.has(field)));
