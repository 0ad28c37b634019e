// Writes licenses.txt into the pages: the licence of each package of which a build contains code, of the font, and of the
// map's outlines. A package without a text of its own needs one in the folder `licenses` beside this file.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const OWN = new URL('./licenses/', import.meta.url).pathname;
/** Packages that are published without the text of their licence. */
const KEPT_HERE = { 'terra-draw': 'terra-draw.txt', 'terra-draw-leaflet-adapter': 'terra-draw.txt' };
/** What is no package, and what is in one without being its authors'. */
const OTHERS = [
	{ title: 'Atkinson Hyperlegible Next (font), OFL-1.1', file: 'atkinson-next.txt' },
	{ title: 'Natural Earth (outlines of the world, by way of world-atlas)', file: 'natural-earth.txt' }
];
const RULE = `${'-'.repeat(80)}\n`;
const NAMED = /^(licen[cs]e|copying)(\.(md|txt))?$/i;
/** Code that the bundler itself writes into its output. */
const OF_TOOLS = ['rolldown', 'vite'];

/** The folder of the package that a module is of; null for one of ours. */
export function packageOf(id) {
	const path = id.replace(/^\0/, '').replace(/\?.*$/, '').replaceAll('\\', '/');
	const at = path.lastIndexOf('/node_modules/');
	if (at < 0) return null;
	const from = at + '/node_modules/'.length;
	const [scope, name] = path.slice(from).split('/');
	return path.slice(0, from) + (scope.startsWith('@') ? `${scope}/${name}` : scope);
}

function textOf(folder, name) {
	const file = readdirSync(folder).find((entry) => NAMED.test(entry));
	if (file) return readFileSync(join(folder, file), 'utf8');
	const kept = KEPT_HERE[name];
	if (!kept) throw new Error(`${name} has no text of its licence: put it into scripts/licenses and name it in scripts/licenses.js`);
	return readFileSync(join(OWN, kept), 'utf8');
}

function entry(folder) {
	const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
	return { title: [`${name} ${version}`, license].filter(Boolean).join(', '), text: textOf(folder, name) };
}

/** The text for the packages in these folders. */
export function licences(folders) {
	const packages = [...folders].map(entry).sort((a, b) => a.title.localeCompare(b.title));
	const others = OTHERS.map(({ title, file }) => ({ title, text: readFileSync(join(OWN, file), 'utf8') }));
	const head = 'These pages contain the works below, each under its own licence.\n\n';
	return head + [...packages, ...others].map(({ title, text }) => `${RULE}${title}\n${RULE}\n${text.trim()}\n`).join('\n');
}

/** The plugin of Vite. What a chunk contains no code of any more is not named; style sheets are no part of chunks. */
export function licensesFile() {
	return {
		name: 'licenses-file',
		apply: 'build',
		generateBundle(_, bundle) {
			if (this.environment?.name !== 'client') return;
			const inChunks = Object.values(bundle).flatMap((output) => (output.type === 'chunk' ? output.moduleIds : []));
			const styles = [...this.getModuleIds()].filter((id) => /\.css(\?|$)/.test(id));
			const folders = new Set([...inChunks, ...styles].map(packageOf).filter((folder) => folder && existsSync(join(folder, 'package.json'))));
			const wanted = [...folders].filter((folder) => !OF_TOOLS.some((tool) => folder.endsWith(`/node_modules/${tool}`)));
			this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: licences(wanted) });
		}
	};
}
