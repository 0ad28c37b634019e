// The first page at most 200 kB compressed: what its document, the script that it starts, and what these import
// statically weigh. A build over it fails.
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

const BUILD = new URL('../build/', import.meta.url).pathname;
const LIMIT = 200_000;
/** The pages whose parts count as the first page. */
const FIRST = ['sign-in', 'home'];

const manifest = JSON.parse(
	await readFile(new URL('../.svelte-kit/output/client/.vite/manifest.json', import.meta.url), 'utf8')
);
const wanted = new Set();
function take(key) {
	const entry = manifest[key];
	if (!entry || wanted.has(entry.file)) return;
	wanted.add(entry.file);
	for (const css of entry.css ?? []) wanted.add(css);
	for (const asset of entry.assets ?? []) wanted.add(asset);
	for (const imported of entry.imports ?? []) take(imported);
}
const isFirst = (entry) => {
	const source = entry.src ?? '';
	return (
		/(start|app)\.js$/.test(source) ||
		/nodes\/[0-9]+\.js$/.test(source) && FIRST_NODES.has(Number(/([0-9]+)\.js$/.exec(source)[1])) ||
		/words\/en\/(shell|states|home|signin)\.json$/.test(source)
	);
};
const FIRST_NODES = await firstNodes();
for (const [key, entry] of Object.entries(manifest)) if (isFirst(entry)) take(key);

/** Numbers of the layout, the error page and the first pages, as the generated manifest of routes has them. */
async function firstNodes() {
	const folder = new URL('../.svelte-kit/generated/client-optimized/', import.meta.url);
	const numbers = new Set([0, 1]);
	for (const name of await readdir(new URL('nodes/', folder))) {
		const text = await readFile(new URL(`nodes/${name}`, folder), 'utf8');
		const isPage = /routes\/\[\[space=drill\]\]\/\+page\.svelte|routes\/sign-in\/\+page\.svelte/.test(text);
		if (isPage) numbers.add(Number(name.replace('.js', '')));
	}
	return numbers;
}

let total = (await stat(join(BUILD, 'index.html.gz'))).size;
const lines = [];
for (const file of wanted) {
	const path = join(BUILD, normalize(file));
	const size = await stat(`${path}.gz`).catch(() => stat(path));
	total += size.size;
	lines.push(`${String(size.size).padStart(8)}  ${dirname(file)}/${file.split('/').pop()}`);
}
console.log(lines.sort().reverse().slice(0, 12).join('\n'));
console.log(`First page (${FIRST.join(', ')}): ${(total / 1000).toFixed(1)} kB compressed, of ${LIMIT / 1000} kB.`);
if (total > LIMIT) {
	console.error('The first page is too heavy: load what it does not need at once by import().');
	process.exit(1);
}
