import { expect, test } from 'vitest';
import { faultOf } from './fault';

test('a note leads to the key to look at', () => {
	expect(faultOf('the carrier refused the bind: RINVPASWD (0x0E, invalid password)')).toBe('password');
	expect(faultOf('the carrier refused the bind: RINVSYSID (0x0F, invalid system id)')).toBe('system_id');
	expect(faultOf('connecting to 127.0.0.1:2775: Connection refused (os error 111)')).toBe('address');
	expect(faultOf('the carrier sent octets that are not SMPP')).toBe('tls');
	expect(faultOf('')).toBeNull();
});
