import type { Schema } from '$lib/api/client';

type Recipient = Schema<'Recipient'>;
type Device = Schema<'Device'>;

/** A person as the form has them: every value is there, empty where it is not known. */
export interface PersonForm {
	name: string;
	language: string;
	time_zone: string;
	quiet_from: string;
	quiet_until: string;
	prefers: '' | 'text' | 'voice';
	participant: boolean;
	/** `58.892, 13.270`. */
	position: string;
	groups: string[];
	devices: Device[];
	attributes: { name: string; value: string }[];
}

/** What changed, as a merge patch: what is not in it stays as the server has it. */
export interface PersonPatch {
	name?: string | null;
	language?: string | null;
	time_zone?: string | null;
	quiet_hours?: string | null;
	prefers?: 'text' | 'voice' | null;
	participant?: boolean;
	lat?: number | null;
	lon?: number | null;
	groups?: string[];
	devices?: Device[];
	attributes?: Record<string, string | null>;
}

export type PositionFault = 'form' | 'range';

export function formOf(person: Recipient): PersonForm {
	const [quiet_from = '', quiet_until = ''] = (person.quiet_hours ?? '').split('-');
	return {
		name: person.name ?? '',
		language: person.language ?? '',
		time_zone: person.time_zone ?? '',
		quiet_from,
		quiet_until,
		prefers: person.prefers ?? '',
		participant: person.participant ?? false,
		position: position(person),
		groups: [...person.groups],
		devices: person.devices.map((device) => ({ ...device })),
		attributes: Object.entries(person.attributes ?? {}).map(([name, value]) => ({ name, value }))
	};
}

export const position = ({ lat, lon }: { lat?: number; lon?: number }): string => (lat === undefined || lon === undefined ? '' : `${lat}, ${lon}`);

/** Latitude and longitude as people type them: `58.892, 13.27`, `58.892 N 13.27 E`, `58,892 13,270`. */
export function readPosition(text: string): { lat: number; lon: number } | null | PositionFault {
	if (text.trim() === '') return null;
	const found = /^\s*([+-]?\d+(?:[.,]\d+)?)\s*°?\s*([NS]?)\s*[,;\s]\s*([+-]?\d+(?:[.,]\d+)?)\s*°?\s*([EW]?)\s*$/i.exec(text);
	if (!found) return 'form';
	const [, north = '', half = '', east = '', side = ''] = found;
	const lat = Number(north.replace(',', '.')) * (half.toUpperCase() === 'S' ? -1 : 1);
	const lon = Number(east.replace(',', '.')) * (side.toUpperCase() === 'W' ? -1 : 1);
	return Math.abs(lat) <= 90 && Math.abs(lon) <= 180 ? { lat, lon } : 'range';
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Changes of the form since it was filled from this person. The position must be one. */
export function patchOf(person: Recipient, form: PersonForm): PersonPatch {
	const before = formOf(person);
	const patch: PersonPatch = {};
	for (const name of ['name', 'language', 'time_zone'] as const) {
		const value = form[name].trim();
		if (value !== before[name]) patch[name] = value || null;
	}
	const quiet = form.quiet_from && form.quiet_until ? `${form.quiet_from}-${form.quiet_until}` : '';
	if (quiet !== (person.quiet_hours ?? '')) patch.quiet_hours = quiet || null;
	if (form.prefers !== before.prefers) patch.prefers = form.prefers || null;
	if (form.participant !== before.participant) patch.participant = form.participant;
	if (form.position.trim() !== before.position) {
		const at = readPosition(form.position);
		if (typeof at !== 'string') Object.assign(patch, at ?? { lat: null, lon: null });
	}
	if (!same(form.groups, before.groups)) patch.groups = [...form.groups];
	const devices = form.devices.map((device) => ({ ...device, address: device.address.trim() })).filter(({ address }) => address !== '');
	if (!same(devices, before.devices)) patch.devices = devices;
	const attributes = changedAttributes(person.attributes ?? {}, form.attributes);
	if (Object.keys(attributes).length > 0) patch.attributes = attributes;
	return patch;
}

function changedAttributes(before: Record<string, string>, rows: PersonForm['attributes']): Record<string, string | null> {
	const now: Record<string, string> = {};
	for (const { name, value } of rows) if (name.trim() !== '') now[name.trim()] = value;
	const changed: Record<string, string | null> = {};
	for (const name of Object.keys(before)) if (!(name in now)) changed[name] = null;
	for (const [name, value] of Object.entries(now)) if (before[name] !== value) changed[name] = value;
	return changed;
}

/** A field that both changed: as one has it, and as it is now. */
export interface Difference {
	field: string;
	mine: string;
	theirs: string;
}

/** What saving this over the newer version would change in it. */
export function differences(patch: PersonPatch, theirs: Recipient): Difference[] {
	const found: Difference[] = [];
	const add = (field: string, mine: string, now: string) => mine !== now && found.push({ field, mine, theirs: now });
	for (const name of ['name', 'language', 'time_zone', 'quiet_hours', 'prefers'] as const) {
		if (name in patch) add(name, patch[name] ?? '', theirs[name] ?? '');
	}
	if ('participant' in patch) add('participant', String(patch.participant), String(theirs.participant ?? false));
	if ('lat' in patch) add('position', position({ lat: patch.lat ?? undefined, lon: patch.lon ?? undefined }), position(theirs));
	if (patch.groups) add('groups', patch.groups.join(', '), theirs.groups.join(', '));
	if (patch.devices) add('devices', patch.devices.map(inWords).join(', '), theirs.devices.map(inWords).join(', '));
	for (const [name, value] of Object.entries(patch.attributes ?? {})) add(name, value ?? '', theirs.attributes?.[name] ?? '');
	return found;
}

const inWords = ({ address, enabled, verified }: Device): string => `${address}${verified ? ' ✓' : ''}${enabled ? '' : ' (–)'}`;
