import { expect, test } from 'vitest';
import { asLines, dayOf, fromLines, NEW_RULE } from './rule';

test.each([
	'RRULE:FREQ=DAILY',
	'RRULE:FREQ=DAILY;COUNT=1',
	'RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR',
	'RRULE:FREQ=MONTHLY;BYDAY=1MO',
	'RRULE:FREQ=MONTHLY;BYDAY=-1FR',
	'RRULE:FREQ=MONTHLY;INTERVAL=3',
	'RRULE:FREQ=YEARLY'
])('the form has fields for %s and writes the same again', (text) => {
	const rule = fromLines(`DTSTART;TZID=Europe/Stockholm:20261207T120000\n${text}`);
	expect(rule.every).not.toBe('own');
	expect(asLines(rule)).toBe(text);
});

test.each(['RRULE:FREQ=MONTHLY;BYMONTHDAY=1,15', 'RRULE:FREQ=DAILY;COUNT=5', 'RRULE:FREQ=WEEKLY;BYDAY=MO\nEXDATE:20261224T120000'])(
	'%s is kept as it is written',
	(text) => {
		expect(fromLines(text)).toEqual({ ...NEW_RULE, every: 'own', own: text });
		expect(asLines(fromLines(text))).toBe(text);
	}
);

test('the day of the week of a start is that of its own zone', () => {
	expect(dayOf('2026-12-07T23:30:00')).toBe('MO');
	expect(dayOf('2026-12-06')).toBe('SU');
});
