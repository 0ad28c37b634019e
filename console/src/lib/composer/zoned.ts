/** Times as fields have them, `2026-11-28T03:15`, in a zone that need not be the browser's. */

/** The wall clock of a moment in a zone. */
export function toLocal(at: string | number, zone: string): string {
	const parts = new Intl.DateTimeFormat('en-CA', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' }).formatToParts(new Date(at));
	const part = (type: string) => parts.find((one) => one.type === type)?.value ?? '';
	return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}`;
}

/** The moment of a wall clock in a zone, as RFC 3339; null for what is no time. */
export function fromLocal(local: string, zone: string): string | null {
	if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(local)) return null;
	const asUtc = Date.parse(`${local}:00Z`);
	if (Number.isNaN(asUtc)) return null;
	// The offset before and after a change of clocks: the guess is corrected by what it shows.
	let at = asUtc;
	for (let tries = 0; tries < 2; tries++) at -= Date.parse(`${toLocal(at, zone)}:00Z`) - asUtc;
	return new Date(at).toISOString().replace('.000Z', 'Z');
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds of a duration as the API writes it: `90s`, `5m`, `1h30m`; null for anything else. */
export function secondsOf(text: string): number | null {
	if (!/^(\d+[smhd])+$/.test(text)) return null;
	return [...text.matchAll(/(\d+)([smhd])/g)].reduce((sum, [, count, unit]) => sum + Number(count) * (UNITS[unit ?? ''] ?? 0), 0);
}
