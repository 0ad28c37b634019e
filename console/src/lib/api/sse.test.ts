import { expect, test } from 'vitest';
import { EventReader } from './sse';

test('events come whole, however the stream is cut', () => {
	const text = ': hi\n\nevent: alert\ndata: {"a":\ndata: 1}\n\nevent: route\r\ndata: x\r\n\r\n';
	for (let cut = 0; cut <= text.length; cut += 1) {
		const reader = new EventReader();
		const events = [...reader.take(text.slice(0, cut)), ...reader.take(text.slice(cut))];
		expect(events.filter(({ name }) => name !== '')).toEqual([
			{ name: 'alert', data: '{"a":\n1}' },
			{ name: 'route', data: 'x' }
		]);
	}
});

test('a comment says that the server is there, an event without data says nothing', () => {
	const reader = new EventReader();
	expect(reader.take(':\n')).toEqual([{ name: '', data: '' }]);
	expect(reader.take('event: alert\n\n')).toEqual([]);
});
