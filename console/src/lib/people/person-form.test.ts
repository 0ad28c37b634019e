import { expect, test } from 'vitest';
import { differences, formOf, patchOf, readPosition } from './person-form';

const ann = {
	id: '7',
	name: 'Ann Ek',
	language: 'sv',
	quiet_hours: '22:00-07:00',
	lat: 58.9,
	lon: 13.2,
	groups: ['fire'],
	devices: [{ channel: 'sms' as const, address: '+46701740605', enabled: true, verified: true, opted_out: false }],
	attributes: { floor: '3', role: 'nurse' }
};

test('a form that nobody touched changes nothing', () => {
	expect(patchOf(ann, formOf(ann))).toEqual({});
});

test('only what was changed is sent, and what was emptied is taken away', () => {
	const form = formOf(ann);
	form.name = ' Ann Berg ';
	form.language = '';
	form.quiet_until = '06:30';
	form.position = '';
	form.attributes = [{ name: 'role', value: 'doctor' }, { name: ' ', value: 'x' }];
	expect(patchOf(ann, form)).toEqual({
		name: 'Ann Berg',
		language: null,
		quiet_hours: '22:00-06:30',
		lat: null,
		lon: null,
		attributes: { floor: null, role: 'doctor' }
	});
});

test('the order of devices is a change, an empty line is none', () => {
	const form = formOf(ann);
	form.devices.push({ ...ann.devices[0]!, address: ' ' });
	expect(patchOf(ann, form)).toEqual({});
	form.devices[1] = { channel: 'mail', address: ' ann@x.example', enabled: true, verified: false, opted_out: false };
	form.devices.reverse();
	expect(patchOf(ann, form).devices?.map(({ address }) => address)).toEqual(['ann@x.example', '+46701740605']);
});

test('positions are read as people write them', () => {
	expect(readPosition('58.892, -13.27')).toEqual({ lat: 58.892, lon: -13.27 });
	expect(readPosition('58,892 13,27')).toEqual({ lat: 58.892, lon: 13.27 });
	expect(readPosition('33.9° S 18.4° W')).toEqual({ lat: -33.9, lon: -18.4 });
	expect([readPosition('  '), readPosition('harbour'), readPosition('91, 0')]).toEqual([null, 'form', 'range']);
});

test('of two versions only what differs is shown', () => {
	const form = formOf(ann);
	form.name = 'Ann Berg';
	form.language = 'en';
	const theirs = { ...ann, name: 'Anna Ek', language: 'en' };
	expect(differences(patchOf(ann, form), theirs)).toEqual([{ field: 'name', mine: 'Ann Berg', theirs: 'Anna Ek' }]);
});
