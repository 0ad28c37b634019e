/** A rule as the form has it: one of the usual ones, or lines of iCalendar as somebody wrote them. */
export interface Rule {
	every: 'once' | 'day' | 'week' | 'month' | 'year' | 'own';
	interval: number;
	/** Days of a week, such as `MO`. */
	days: string[];
	/** Of a month: the day of the start, or the first … fourth or last of a day of the week. */
	nth: 'day' | '1' | '2' | '3' | '4' | '-1';
	own: string;
}

export const DAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;
export const NTH = ['1', '2', '3', '4', '-1'] as const;
const FREQUENCY = { day: 'DAILY', week: 'WEEKLY', month: 'MONTHLY', year: 'YEARLY' } as const;
const EVERY = { DAILY: 'day', WEEKLY: 'week', MONTHLY: 'month', YEARLY: 'year' } as const;
const FORM = /^RRULE:FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)((?:;(?:INTERVAL|BYDAY|COUNT)=[^;\n]+)*)$/;

export const NEW_RULE: Rule = { every: 'month', interval: 1, days: ['MO'], nth: '1', own: '' };

/** The day of the week of a local day. */
export const dayOf = (start: string): string => DAYS[(new Date(`${start.slice(0, 10)}T00:00:00Z`).getUTCDay() + 6) % 7] ?? 'MO';

/** The lines that the API takes. */
export function asLines({ every, interval, days, nth, own }: Rule): string {
	if (every === 'own') return own.trim();
	if (every === 'once') return 'RRULE:FREQ=DAILY;COUNT=1';
	const parts = [`FREQ=${FREQUENCY[every]}`];
	if (interval > 1) parts.push(`INTERVAL=${interval}`);
	if (every === 'week' && days.length > 0) parts.push(`BYDAY=${DAYS.filter((day) => days.includes(day)).join(',')}`);
	if (every === 'month' && nth !== 'day') parts.push(`BYDAY=${nth}${days[0] ?? 'MO'}`);
	return `RRULE:${parts.join(';')}`;
}

/** The form of lines of the API; what it has no fields for stays as it is written. */
export function fromLines(text: string): Rule {
	const lines = text.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('DTSTART'));
	const own: Rule = { ...NEW_RULE, every: 'own', own: lines.join('\n') };
	const found = lines.length === 1 ? FORM.exec(lines[0] ?? '') : null;
	if (!found) return own;
	const every = EVERY[found[1] as keyof typeof EVERY];
	const parts = new Map((found[2] ?? '').split(';').filter(Boolean).map((part) => part.split('=') as [string, string]));
	if (parts.has('COUNT')) return every === 'day' && parts.get('COUNT') === '1' && parts.size === 1 ? { ...NEW_RULE, every: 'once' } : own;
	const interval = Number(parts.get('INTERVAL') ?? 1);
	const byDay = parts.get('BYDAY');
	const rule: Rule = { ...NEW_RULE, every, interval, days: [], nth: 'day' };
	if (!byDay) return every === 'week' ? { ...rule, days: [] } : rule;
	if (every === 'week' && /^(MO|TU|WE|TH|FR|SA|SU)(,(MO|TU|WE|TH|FR|SA|SU))*$/.test(byDay)) return { ...rule, days: byDay.split(',') };
	const monthly = every === 'month' ? /^(-1|[1-4])(MO|TU|WE|TH|FR|SA|SU)$/.exec(byDay) : null;
	return monthly ? { ...rule, nth: monthly[1] as Rule['nth'], days: [monthly[2] ?? 'MO'] } : own;
}
