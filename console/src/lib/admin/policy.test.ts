import { expect, test } from 'vitest';
import { rulesOf, seconds } from './policy';

const key = (name: string, value: string) => ({ name, value, is_set: true, is_secret: false, line: 5, environment: null });

test('a rule is read with what it leaves open', () => {
	const sections = [
		{ path: 'http', line: 1, keys: [] },
		{ path: 'approval[0]', line: 4, keys: [key('needs', '"two"'), key('priority', '["emergency"]'), key('people_over', '1000')] },
		{ path: 'approval[1]', line: 9, keys: [key('needs', '"one"'), key('applies_to', '["stop", "pause"]'), key('expires', '"30m"')] }
	];
	const rules = rulesOf({ file: 'campanile.toml', sections });
	expect(rules).toEqual([
		{ line: 4, needs: 'two', mode: null, priority: ['emergency'], peopleOver: 1_000, audience: [], origin: [], appliesTo: ['alert'], limit: null, remind: '2m', expires: null },
		{ line: 9, needs: 'one', mode: null, priority: [], peopleOver: null, audience: [], origin: [], appliesTo: ['stop', 'pause'], limit: null, remind: '2m', expires: '30m' }
	]);
});

test('lengths of time are read', () => {
	expect(['30m', '1h30m', '2d', 'soon'].map(seconds)).toEqual([1_800, 5_400, 172_800, null]);
});
