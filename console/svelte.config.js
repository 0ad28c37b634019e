import adapter from '@sveltejs/adapter-static';

/** The pages are rendered in the browser alone: the server hands out `index.html` for every address. */
export default {
	kit: {
		adapter: adapter({ pages: 'build', assets: 'build', fallback: 'index.html', precompress: true }),
		paths: { relative: false },
		version: { pollInterval: 60_000 }
	}
};
