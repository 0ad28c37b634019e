import { expect, test } from 'vitest';
import { hasId, headOf, mapping, type Choice } from './file';

test('columns are found with each sign between them, and an example of each', () => {
	for (const sign of [',', ';', '\t']) {
		const text = ['id', 'Namn', 'Mobil'].join(sign) + '\r\n' + ['1', '', '0701740605'].join(sign) + '\r\n' + ['2', '"Ek, Ann ""A"""', ''].join(sign) + '\r\n';
		expect(headOf(`\uFEFF${text}`)).toEqual({
			kind: 'csv',
			columns: [
				{ heading: 'id', example: '1' },
				{ heading: 'Namn', example: 'Ek, Ann "A"' },
				{ heading: 'Mobil', example: '0701740605' }
			]
		});
	}
});

test('lines of JSON name their fields themselves', () => {
	expect(headOf(' {"id": "1"}\n')).toEqual({ kind: 'ndjson', columns: [] });
});

test('a line break between quotes ends no row', () => {
	expect(headOf('id,note\n1,"two\nlines"\n').columns[1]).toEqual({ heading: 'note', example: 'two\nlines' });
});

test('only what somebody chose is told to the server', () => {
	const { columns } = headOf('Nr,Mobil,Note,Floor\n1,2,3,4\n');
	const choices: Choice[] = ['id', 'heading', 'nothing', 'detail'];
	expect(mapping(columns, choices)).toEqual(['Nr:id', 'Note:-', 'Floor:Floor']);
	expect([hasId(columns, choices), hasId(columns, []), hasId(headOf('ID\n1').columns, [])]).toEqual([true, false, true]);
});
