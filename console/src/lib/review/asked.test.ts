import { expect, test } from 'vitest';
import { bodyOf, entriesOf, leftOut, lettersAtFault, marked, readEntry, withPlainLetters } from './asked';
import type { Schema } from '$lib/api/client';

const text = (more: object) => ({ channel: 'sms', letters: 70, missing: [], parts: 2, text: '', ...more }) as Schema<'TextPreview'>;
const fault = (letter: string, plain: string | null, more = 0) => ({ encoding: { alphabet: 'ucs2', at_fault: [{ at: 0, at_utf16: 0, letter, plain }], left: 0, more_at_fault: more } });

test('what is asked again leaves out what a request does not take back', () => {
	expect(bodyOf({ text: 'Fire', headline: null, attachments: [{ id: 'a' }] })).toEqual({ text: 'Fire' });
});

test('one entry alone need not be a list', () => {
	expect(entriesOf('all')).toEqual(['all']);
	expect(entriesOf(null)).toEqual([]);
});

test('an entry is read by what stands before its colon', () => {
	expect(readEntry('group:staff')).toEqual({ kind: 'group', id: 'staff' });
	expect(readEntry('area')).toEqual({ kind: 'shapes', id: '' });
	expect(readEntry('sms:+4670')).toEqual({ kind: 'address', id: 'sms:+4670' });
});

test('letters that have a plain one are told with the parts that they cost', () => {
	expect(lettersAtFault([text(fault('’', "'"))])).toEqual({ letters: new Map([['’', "'"]]), parts: 2, without: 1 });
	expect(lettersAtFault([text(fault('ж', null))])).toBeNull();
	expect(lettersAtFault([text({ ...fault('’', "'"), parts: 1 })])).toBeNull();
});

test('plain letters replace others in every text, and nowhere else', () => {
	const asked = { text: 'Don’t', texts: { sv: { sms: 'd’or' } }, sender: '’' };
	expect(withPlainLetters(asked as never, new Map([['’', "'"]]))).toEqual({ text: "Don't", texts: { sv: { sms: "d'or" } } });
});

test('letters at fault are marked where browsers count them', () => {
	expect(marked('🚒 Don’t', [{ at_utf16: 6, letter: '’' }])).toEqual([
		{ text: '🚒 Don', isMarked: false },
		{ text: '’', isMarked: true },
		{ text: 't', isMarked: false }
	]);
});

test('who is left out is counted by people, the most first', () => {
	const count = { left_out: { opted_out: 3, no_device: 9 } } as unknown as Schema<'AudienceCount'>;
	const planned = { left_out: { no_route: { devices: 4, people: 4 }, opted_out: { devices: 8, people: 1 } } } as never;
	expect(leftOut(count, planned)).toEqual([
		{ code: 'no_device', people: 9 },
		{ code: 'no_route', people: 4 },
		{ code: 'opted_out', people: 3 }
	]);
});
