/** The beginning of a file of people: its columns and some values, so that somebody can say what each is. */

export interface FileHead {
	kind: 'csv' | 'ndjson';
	columns: { heading: string; example: string }[];
}

/** What a column can be taken for, beside a detail of its own name, or nothing. */
export const FIELDS = ['id', 'name', 'language', 'time_zone', 'groups', 'sms', 'mail', 'pager', 'im', 'webhook', 'mqtt', 'line', 'lat', 'lon', 'opted_out', 'prefers'] as const;
export type FieldName = (typeof FIELDS)[number];

/** As much of a file as is looked at here; the server reads it whole. */
export const HEAD_OCTETS = 65_536;
const ROWS_LOOKED_AT = 20;

/** Files whose lines are JSON begin with a brace. */
export function headOf(text: string): FileHead {
	const begin = text.replace(/^\uFEFF/, '');
	if (begin.trimStart().startsWith('{')) return { kind: 'ndjson', columns: [] };
	const rows = cells(begin, separator(begin));
	const [headings = [], ...rest] = rows;
	const examples = rest.slice(0, ROWS_LOOKED_AT);
	const columns = headings.map((heading, at) => ({
		heading: heading.trim(),
		example: examples.map((row) => row[at]?.trim() ?? '').find((cell) => cell !== '') ?? ''
	}));
	return { kind: 'csv', columns: columns.filter(({ heading }) => heading !== '') };
}

/** The sign that stands between columns: that of which the first line has most. */
function separator(text: string): string {
	const first = text.slice(0, text.search(/\r|\n|$/));
	const count = (sign: string) => first.split(sign).length;
	return [',', ';', '\t'].reduce((best, sign) => (count(sign) > count(best) ? sign : best));
}

/** Rows of cells (RFC 4180). A last row that the end of the text cuts is left out, unless it is the only one. */
function cells(text: string, sign: string): string[][] {
	const rows: string[][] = [];
	let row: string[] = [];
	let cell = '';
	let isQuoted = false;
	for (let at = 0; at < text.length && rows.length <= ROWS_LOOKED_AT; at += 1) {
		const letter = text[at] ?? '';
		if (isQuoted) {
			if (letter !== '"') cell += letter;
			else if (text[at + 1] === '"') (cell += '"'), (at += 1);
			else isQuoted = false;
		} else if (letter === '"' && cell === '') isQuoted = true;
		else if (letter === sign) row.push(cell), (cell = '');
		else if (letter === '\n' || letter === '\r') {
			if (letter === '\r' && text[at + 1] === '\n') at += 1;
			rows.push([...row, cell]);
			(row = []), (cell = '');
		} else cell += letter;
	}
	if (rows.length <= ROWS_LOOKED_AT && (row.length > 0 || cell !== '')) rows.push([...row, cell]);
	return rows.filter((each) => each.some((value) => value.trim() !== ''));
}

/** What somebody chose for a column: as its heading says, a field, nothing, or a detail of that name. */
export type Choice = 'heading' | 'nothing' | 'detail' | FieldName;

/** `mapping=COLUMN:FIELD` for the columns whose headings do not decide. */
export function mapping(columns: FileHead['columns'], choices: Choice[]): string[] {
	return columns.flatMap(({ heading }, at) => {
		const choice = choices[at] ?? 'heading';
		if (choice === 'heading') return [];
		return [`${heading}:${choice === 'nothing' ? '-' : choice === 'detail' ? heading : choice}`];
	});
}

/** Whether the file says who each row is: without that nothing can be taken of it. */
export function hasId(columns: FileHead['columns'], choices: Choice[]): boolean {
	return columns.some(({ heading }, at) => {
		const choice = choices[at] ?? 'heading';
		return choice === 'id' || (choice === 'heading' && heading.toLowerCase() === 'id');
	});
}
