import { api, ask, type Schema } from '$lib/api/client';
import { newest } from './newest';

export type ChargingRecord = Schema<'ChargingRecord'>;

const PAGE = 100;
/** As many of one window are held; of more, a shorter window is asked for. */
const HELD_MAX = 2_000;
const ASKED_AT_ONCE = 1_000;
/** No ledger is older. */
const BEGAN = Date.UTC(2020, 0, 1);

async function window(id: string, from: number, until: number): Promise<ChargingRecord[] | null> {
	const found: ChargingRecord[] = [];
	let cursor: string | null = null;
	do {
		const query = { from: new Date(from).toISOString(), until: new Date(until).toISOString(), limit: ASKED_AT_ONCE, ...(cursor && { cursor }) };
		const page: Schema<'ChargingRecordPage'> = await ask(api.GET('/api/v1/accounts/{id}/records', { params: { path: { id }, query } }));
		found.push(...page.items);
		cursor = page.next;
		// A single millisecond is not divided any more.
		if (cursor && found.length >= HELD_MAX && until - from > 1) return null;
	} while (cursor);
	return found;
}

/** A page of an account's charging records, the newest first. */
export const recordsBefore = (id: string, until: number) => newest(({ from, until }) => window(id, from, until), until, PAGE, BEGAN);

/** What a record counts, with the unit that it has. */
export function amountOf(record: ChargingRecord): { word: 'parts' | 'octets' | 'seconds' | 'units' | 'nothing'; count: number } {
	for (const word of ['parts', 'octets', 'seconds', 'units'] as const) if (record[word] > 0) return { word, count: record[word] };
	return { word: 'nothing', count: 0 };
}

const COLUMNS = ['time', 'event', 'charged', 'owed', 'shortfall', 'parts', 'octets', 'seconds', 'units', 'destination', 'context', 'message', 'session', 'request_number', 'result', 'id'] as const;

/** The table of these records, with a line of names. */
export const tableOf = (records: ChargingRecord[]): (string | number)[][] => [[...COLUMNS], ...records.map((record) => COLUMNS.map((name) => record[name] ?? ''))];
