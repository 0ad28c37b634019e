import { expect, test } from 'vitest';
import { changed, differing, mergePatch, merged } from './content';

test('null takes a member away', () => {
	expect(changed({ headline: 'Gas', text: 'Leave' }, { text: null })).toEqual({ headline: 'Gas' });
});

test('a merge patch names what changed at any depth, and null for what is gone', () => {
	const before = { text: 'Leave', texts: { sv: { sms: 'Gå', text: 'Gå ut' }, de: { text: 'Raus' } }, channels: ['sms' as const] };
	const after = { text: 'Leave', texts: { sv: { sms: 'Gå nu' }, de: { text: 'Raus' } }, channels: ['sms' as const, 'mail' as const] };
	expect(mergePatch(before, after)).toEqual({ texts: { sv: { sms: 'Gå nu', text: null } }, channels: ['sms', 'mail'] });
	expect(mergePatch(after, after)).toEqual({});
});

test('a text that becomes an object is replaced whole', () => {
	expect(mergePatch({ strategy: 'all' }, { strategy: { escalate_after: '5m' } })).toEqual({ strategy: { escalate_after: '5m' } });
});

test('changes of different members are both kept', () => {
	const base = { headline: 'Gas', text: 'Leave' };
	expect(merged(base, { headline: 'Gas', text: 'Leave now' }, { headline: 'Gas leak', text: 'Leave' })).toEqual({ headline: 'Gas leak', text: 'Leave now' });
	expect(merged(base, { headline: 'Gas' }, { headline: 'Gas leak', text: 'Leave' })).toEqual({ headline: 'Gas leak' });
});

test('two changes of one member are not merged, unless they are the same', () => {
	const base = { text: 'Leave' };
	expect(merged(base, { text: 'Leave now' }, { text: 'Go' })).toBeNull();
	expect(merged(base, { text: 'Go' }, { text: 'Go' })).toEqual({ text: 'Go' });
});

test('members that differ are named in order', () => {
	expect(differing({ text: 'a', headline: 'b', flash: true }, { text: 'a', headline: 'c' })).toEqual(['flash', 'headline']);
});
