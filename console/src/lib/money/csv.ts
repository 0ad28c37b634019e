/** Cells that a spreadsheet would take for a formula. */
const FORMULA = /^[=+\-@\t\r\n]/;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

/** A cell: what a spreadsheet would work out has an apostrophe before it, numbers excepted. */
function cell(value: string | number): string {
	const text = String(value);
	const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
	return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A table as CSV (RFC 4180). */
export const csv = (rows: (string | number)[][]): string => rows.map((row) => row.map(cell).join(',') + '\r\n').join('');
