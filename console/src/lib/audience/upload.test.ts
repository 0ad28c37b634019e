import { expect, test } from 'vitest';
import { AREAS_MAX, idOf, readAreas, WrongFile } from './upload';

const feature = (more: object) => ({ type: 'Feature', geometry: { type: 'Point', coordinates: [18, 59] }, properties: { radius: 5 }, ...more });
const wrong = (text: string): string => {
	try {
		readAreas(text);
	} catch (error) {
		return (error as WrongFile).key;
	}
	return '';
};

test('a short name is made of a name', () => {
	expect(idOf('Gamla Hamnen, östra')).toBe('gamla-hamnen-ostra');
	expect(idOf('  ')).toBe('');
});

test('features are named by their id, else by their name', () => {
	const file = { type: 'FeatureCollection', features: [feature({ id: 7 }), feature({ properties: { name: 'Old Harbour', radius: 5 } })] };
	expect(readAreas(JSON.stringify(file)).map(({ id }) => id)).toEqual(['7', 'old-harbour']);
	expect(readAreas(JSON.stringify(feature({ id: 'one' })))).toHaveLength(1);
});

test('a file that has no areas says why', () => {
	expect(wrong('{')).toBe('upload_not_json');
	expect(wrong('{"type": "Point"}')).toBe('upload_not_features');
	expect(wrong('null')).toBe('upload_not_features');
	expect(wrong(JSON.stringify(feature({})))).toBe('upload_no_id');
	const many = { type: 'FeatureCollection', features: Array.from({ length: AREAS_MAX + 1 }, (_, id) => feature({ id })) };
	expect(wrong(JSON.stringify(many))).toBe('upload_too_many');
});
