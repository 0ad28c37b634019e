import { expect, test } from 'vitest';
import { cell, hasFilters, objectPath, trailPath, trailQuery } from './audit';

test('an address and what it says of the trail are the same', () => {
	const path = '/audit?who=user%3Au_1&verb=alert.cancel&from=2026-11-26&cursor=Mg';
	const query = trailQuery(new URLSearchParams(path.split('?')[1]));
	expect(trailPath(query)).toBe(path);
	expect(hasFilters(query)).toBe(true);
	expect(hasFilters(trailQuery(new URLSearchParams('cursor=Mg&from=soon')))).toBe(false);
});

test('cells that begin like a formula are text, and quotes are kept', () => {
	expect(cell('=HYPERLINK("x")')).toBe(`"'=HYPERLINK(""x"")"`);
	expect(cell('+46701740600')).toBe("'+46701740600");
	expect(cell('plain')).toBe('plain');
	expect(cell('two\nlines')).toBe('"two\nlines"');
});

test('an entry leads to what it was done on, unless that is gone', () => {
	const alert = '019ac000-0000-7000-8000-000000000000';
	expect(objectPath({ verb: 'alert.cancel', object: alert })).toBe(`/alerts/${alert}`);
	expect(objectPath({ verb: 'user.change', object: 'u_1' })).toBe('/settings/users/u_1');
	expect(objectPath({ verb: 'template.delete', object: 'fire' })).toBeNull();
	expect(objectPath({ verb: 'config.reload', object: 'campanile.toml' })).toBeNull();
});
