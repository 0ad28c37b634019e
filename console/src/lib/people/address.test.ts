import { expect, test } from 'vitest';
import { pages, withQuery } from './address';

const url = new URL('http://a/drill/people?q=ann&cursor=x');

test('another filter leads to the first page and keeps the others', () => {
	expect(withQuery(url, { health: 'stopped' })).toBe('/drill/people?q=ann&health=stopped');
	expect(withQuery(url, { q: null })).toBe('/drill/people');
	expect(withQuery(url, { q: 'bo & co' })).toBe('/drill/people?q=bo+%26+co');
});

test('a page knows its next one and the first', () => {
	expect(pages(url, 'y')).toEqual({ next: '/drill/people?q=ann&cursor=y', first: '/drill/people?q=ann' });
	expect(pages(new URL('http://a/people'), null)).toEqual({ next: null, first: null });
});
