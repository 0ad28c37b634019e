import { expect, test } from 'vitest';
import { filterOf, queryOf } from './people';

test('a list is narrowed by what its address says, and a state that is none narrows nothing', () => {
	expect(filterOf(new URLSearchParams('state=failed&q=%20bo%20&cursor=abc'))).toEqual({ state: 'failed', q: 'bo', cursor: 'abc' });
	expect(filterOf(new URLSearchParams('state=lost&answer='))).toEqual({});
});

test('another filter keeps the others and begins at the first page', () => {
	expect(queryOf({ state: 'failed', q: 'bo', cursor: 'abc' }, { state: 'unknown' })).toBe('?state=unknown&q=bo');
	expect(queryOf({ state: 'failed' }, { state: undefined })).toBe('');
	expect(queryOf({ state: 'failed' }, { who: 'p 1' })).toBe('?state=failed&who=p+1');
});
