import { expect, test } from 'vitest';
import { browserOf } from './browser';

test('browsers are named as people name them', () => {
	expect(browserOf('Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0')).toEqual({ browser: 'Edge', system: 'Windows' });
	expect(browserOf('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/604.1')).toEqual({ browser: 'Safari', system: 'iOS' });
	expect(browserOf('Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0')).toEqual({ browser: 'Firefox', system: 'Linux' });
	expect(browserOf('')).toEqual({ browser: '', system: '' });
});
