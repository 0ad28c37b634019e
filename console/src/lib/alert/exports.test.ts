import { expect, test, vi } from 'vitest';

vi.mock('$app/state', () => ({ page: { url: new URL('http://localhost/') } }));
const { fileName } = await import('./exports');

test('a file is named by the headline, without what names of files cannot have', () => {
	expect(fileName('Gas leak: Östra/hamnen!', '01a220f2-a1fc', 'csv')).toBe('gas-leak-ostra-hamnen-01a220f2.csv');
	expect(fileName('…', '01a220f2-a1fc', 'evidence')).toBe('alert-01a220f2.evidence.ndjson');
});
