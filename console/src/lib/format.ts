import { session } from './session.svelte';
import { t, words } from './words/index.svelte';

/** Numbers, shares and times as people read them: in the language of the page, times with their zone. */

/** `14,215`. */
export const number = (value: number): string => new Intl.NumberFormat(words.language).format(value);

/** `78 %`, of two counts; an empty whole is no share. */
export function share(part: number, whole: number): string {
	if (whole <= 0) return '–';
	const percent = (100 * part) / whole;
	// Neither all nor nobody, if that is not so.
	const shown = part > 0 && percent < 1 ? 1 : part < whole && percent > 99 ? 99 : Math.round(percent);
	return `${number(shown)} %`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
	const key = JSON.stringify([words.language, session.zone, options]);
	let found = formats.get(key);
	if (!found) {
		// English of Europe: the day before the month, and the names of zones that people there use.
		const locale = words.language === 'en' ? 'en-GB' : words.language;
		found = new Intl.DateTimeFormat(locale, { timeZone: session.zone, hourCycle: 'h23', ...options });
		formats.set(key, found);
	}
	return found;
}

type Moment = string | number | Date;

/** `CET`. */
export function zone(at: Moment): string {
	const parts = format({ timeZoneName: 'short' }).formatToParts(new Date(at));
	return parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

/** `03:12:02 CET`. */
export function clock(at: Moment): string {
	return `${format({ hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(new Date(at))} ${zone(at)}`;
}

/** `Thu 26 Nov`. */
export const day = (at: Moment): string => format({ weekday: 'short', day: 'numeric', month: 'short' }).format(new Date(at)).replace(',', '');

/** `Thu 26 Nov 2026, 03:12 CET`; today without the day. */
export function when(at: Moment, now: Moment = Date.now()): string {
	const date = new Date(at);
	const time = `${format({ hour: '2-digit', minute: '2-digit' }).format(date)} ${zone(at)}`;
	if (day(at) === day(now) && Math.abs(date.getTime() - new Date(now).getTime()) < 86_400_000) return time;
	const year = format({ year: 'numeric' });
	const isThisYear = year.format(date) === year.format(new Date(now));
	return `${day(at)}${isThisYear ? '' : ` ${year.format(date)}`}, ${time}`;
}

/** `2 min 30 s`, `4 h 10 min`, `3 days`. */
export function duration(seconds: number): string {
	const whole = Math.max(0, Math.round(seconds));
	const [days, hours, minutes] = [Math.floor(whole / 86_400), Math.floor(whole / 3_600) % 24, Math.floor(whole / 60) % 60];
	if (days > 0) return t('shell.days', { days, hours });
	if (hours > 0) return minutes === 0 ? t('shell.hours_only', { hours }) : t('shell.hours', { hours, minutes });
	if (minutes > 0) return whole % 60 === 0 ? t('shell.minutes_only', { minutes }) : t('shell.minutes', { minutes, seconds: whole % 60 });
	return t('shell.seconds', { seconds: whole });
}

/** `6 minutes ago`: only beside the time itself. */
export function ago(at: Moment, now: Moment = Date.now()): string {
	const seconds = (new Date(at).getTime() - new Date(now).getTime()) / 1_000;
	const relative = new Intl.RelativeTimeFormat(words.language, { numeric: 'always' });
	const [unit, size] = Math.abs(seconds) < 90 ? (['second', 1] as const) : Math.abs(seconds) < 5_400 ? (['minute', 60] as const) : Math.abs(seconds) < 129_600 ? (['hour', 3_600] as const) : (['day', 86_400] as const);
	return relative.format(Math.round(seconds / size), unit);
}
