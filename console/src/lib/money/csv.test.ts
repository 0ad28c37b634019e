import { expect, test } from 'vitest';
import { csv } from './csv';

test('cells that a spreadsheet would work out are made texts', () => {
	expect(csv([['=1+1', '+cmd', '-x', '@sum', '\tx', 'plain']])).toBe("'=1+1,'+cmd,'-x,'@sum,'\tx,plain\r\n");
});

test('numbers stay numbers', () => {
	expect(csv([[-5, '-12.50', '+46701234567', 3]])).toBe('-5,-12.50,+46701234567,3\r\n');
});

test('quotes, commas and lines are kept', () => {
	expect(csv([['a "b"', 'c,d', 'e\nf']])).toBe('"a ""b""","c,d","e\nf"\r\n');
});
