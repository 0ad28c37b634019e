import { sveltekit } from '@sveltejs/kit/vite';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { licensesFile } from './scripts/licenses.js';

/** `npm run dev` shows the pages as they are in the folder, over the API of a running server. */
const server = process.env.CAMPANILE_URL ?? 'http://127.0.0.1:8080';
const proxied = ['/api', '/auth', '/a/', '/p/', '/plain', '/login', '/logout', '/openapi.json'];
const proxy = Object.fromEntries(proxied.map((path) => [path, { target: server }]));

/** Leaflet looks for SVG by writing a string of HTML, which the policy of contents refuses: it makes the element
 * instead. A version of Leaflet that does it otherwise ends the build. */
function leafletWithoutHtml(): Plugin {
	const written = "div.innerHTML = '<svg/>';";
	return {
		name: 'leaflet-without-html',
		transform(code, id) {
			if (!/leaflet[\\/]dist[\\/]leaflet-src/.test(id)) return;
			if (!code.includes(written)) this.error(`${id} has no ${written}`);
			return { code: code.replace(written, "div.appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'svg'));"), map: null };
		}
	};
}

/** What every page needs is in few files: each file costs a slow telephone milliseconds, cached or not. The words of
 * the first page are one file a language. */
const groups = [
	{ name: 'core', test: /node_modules[\\/](svelte|@sveltejs|esm-env|clsx|intl-messageformat|@formatjs)[\\/]/ },
	{ name: 'icons', test: /node_modules[\\/]@lucide[\\/]/ },
	{ name: 'frame', test: /src[\\/]lib[\\/]((frame|parts|api)[\\/](?!.*\.test\.)|[a-z-]+(\.svelte)?\.ts$)/ },
	{ name: (id: string) => /lib[\\/]words[\\/](en|sv)[\\/](shell|states|problems|signin|home)\.json$/.exec(id)?.[1] ?? null }
];

export default defineConfig({
	plugins: [leafletWithoutHtml(), sveltekit(), licensesFile()],
	server: { proxy },
	preview: { proxy },
	// An asset in a page's text would be refused by the policy of contents.
	build: { assetsInlineLimit: 0, target: 'es2022', rolldownOptions: { output: { codeSplitting: { groups } } } },
	worker: { format: 'es' },
	test: { include: ['src/**/*.test.ts'], environment: 'node' }
});
