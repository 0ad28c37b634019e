import { expect, test } from 'vitest';
import { carrierLines, EXAMPLES, PASSWORD_HERE, quoted } from './carrier-lines';

test('a carrier by SMPP has its address, its sender and a drill route of the same limit', () => {
	const lines = carrierLines('sms', { ...EXAMPLES.sms, name: 'north', sender: '+46 70 174 06 05' });
	expect(lines).toContain('name = "north"\nchannel = "sms"\nmode = "live"\naddress = "smsc.example:2775"');
	expect(lines).toContain('source = {ton = 1, npi = 1, addr = "46701740605"}');
	expect(lines).toContain(`password = "${PASSWORD_HERE}"`);
	expect(lines).toContain('name = "north-drill"\nchannel = "sms"\nmode = "drill"\nsim = true\nrate = 20.0\n');
});

test('a relay has its sender in both routes', () => {
	const lines = carrierLines('mail', EXAMPLES.mail);
	expect(lines.match(/^from = "Alerts <alerts@city\.example>"$/gm)).toHaveLength(2);
});

test('a route for practice is simulated and needs no password', () => {
	const lines = carrierLines('practice', { ...EXAMPLES.practice, withDrill: false, rate: '' });
	expect(lines).toBe('[[route]]\nname = "practice"\nchannel = "sms"\nmode = "live"\nsim = true\n');
});

test('short codes and words are senders of their own kinds', () => {
	expect(carrierLines('sms', { ...EXAMPLES.sms, sender: '71700' })).toContain('{ton = 3, npi = 0, addr = "71700"}');
	expect(carrierLines('sms', { ...EXAMPLES.sms, sender: 'CITY' })).toContain('{ton = 5, npi = 0, addr = "CITY"}');
});

test('what somebody types stays within its string', () => {
	expect(quoted('a"b\\c\nd')).toBe('"a\\"b\\\\c\\u000ad"');
});
