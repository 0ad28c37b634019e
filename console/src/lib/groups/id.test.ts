import { expect, test } from 'vitest';
import { idOf } from './id';

test('a name becomes an id that can be typed', () => {
	expect([idOf('Östra skolan, vaktmästare'), idOf('  Ward 3 '), idOf('Житла №2'), idOf('–')]).toEqual(['ostra-skolan-vaktmastare', 'ward-3', 'житла-no2', '']);
});
