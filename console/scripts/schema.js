// Types of the API from `campanile openapi`: `npm run schema -- openapi.json` writes them, `npm run schema:check --
// openapi.json` compares them with what is there.
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';

const TARGET = new URL('../src/lib/api/schema.d.ts', import.meta.url);
const HEAD = '// Written by `npm run schema` from `campanile openapi`.\n\n';

const [file, check] = process.argv.slice(2).reduce(
	([file, check], argument) => (argument === '--check' ? [file, true] : [argument, check]),
	['', false]
);
if (!file) throw new Error('name the file that `campanile openapi` wrote: npm run schema -- openapi.json');
const document = JSON.parse(await readFile(file, 'utf8'));
// "One of these members at least" makes an unknown type of the whole request.
delete document.components.schemas.AlertRequest?.anyOf;
const text = HEAD + astToString(await openapiTS(document, { defaultNonNullable: false }));
if (!check) {
	await writeFile(TARGET, text);
} else if ((await readFile(TARGET, 'utf8')) !== text) {
	console.error('src/lib/api/schema.d.ts is not that of this server: run `npm run schema` and commit it.');
	process.exit(1);
}
