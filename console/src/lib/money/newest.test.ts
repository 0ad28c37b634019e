import { expect, test } from 'vitest';
import { newest, type Look } from './newest';

const BEGAN = Date.parse('2026-01-01T00:00:00Z');
const NOW = Date.parse('2026-11-28T08:00:00Z');
const HOUR = 3_600_000;

/** A server that has records at these times, and gives no more than `most` of a window. */
function server(times: number[], most = 1_000): { look: Look<{ id: string; time: string }>; asked: () => number } {
	let asked = 0;
	const records = [...times].sort((a, b) => a - b).map((time, at) => ({ id: String(at), time: new Date(time).toISOString() }));
	const look: Look<{ id: string; time: string }> = async ({ from, until }) => {
		asked += 1;
		const found = records.filter(({ time }) => Date.parse(time) >= from && Date.parse(time) < until);
		return found.length > most ? null : found;
	};
	return { look, asked: () => asked };
}

test('the newest come first, and the next page goes on where this one ended', async () => {
	const times = Array.from({ length: 25 }, (_, at) => NOW - (at + 1) * HOUR);
	const { look } = server(times);
	const seen: string[] = [];
	let until: number | null = NOW;
	while (until !== null) {
		const page: Awaited<ReturnType<typeof newest>> = await newest(look, until, 10, BEGAN);
		seen.push(...page.items.map(({ time }) => time));
		until = page.next;
	}
	expect(seen).toEqual(times.map((time) => new Date(time).toISOString()));
});

test('a quiet year is looked through in a few questions', async () => {
	const { look, asked } = server([BEGAN + HOUR]);
	expect((await newest(look, NOW, 10, BEGAN)).items).toHaveLength(1);
	expect(asked()).toBeLessThan(6);
});

test('of a busy hour no more is held than can be', async () => {
	const times = Array.from({ length: 5_000 }, (_, at) => NOW - 1_000 - at * 500);
	const { look } = server(times, 400);
	const { items, next } = await newest(look, NOW, 100, BEGAN);
	expect(items).toHaveLength(100);
	expect(items[0]?.time).toBe(new Date(NOW - 1_000).toISOString());
	expect(next).toBe(Date.parse(items[99]?.time ?? ''));
});

test('records of one millisecond stay on one page', async () => {
	const { look } = server([NOW - 1, NOW - 1, NOW - 1, NOW - 2]);
	const { items, next } = await newest(look, NOW, 2, BEGAN);
	expect([items.length, next]).toEqual([3, NOW - 1]);
});
