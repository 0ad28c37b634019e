/** A secret in groups of four, as people copy it by hand: `ABCD EFGH`. */
export const inFours = (secret: string): string => secret.match(/.{1,4}/g)?.join(' ') ?? '';

/** The dark cells of a QR code as one path of unit squares: each run of a row is a rectangle. */
export function cells(rows: boolean[][]): string {
	let path = '';
	rows.forEach((row, y) => {
		for (let x = 0; x < row.length; x++) {
			if (!row[x]) continue;
			let end = x;
			while (row[end]) end++;
			path += `M${x} ${y}h${end - x}v1H${x}z`;
			x = end;
		}
	});
	return path;
}
