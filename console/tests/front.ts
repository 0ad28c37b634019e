import { readFile, stat } from 'node:fs/promises';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { extname, join, normalize } from 'node:path';

/** Serves the pages of a folder in front of a server that was built earlier, so that stories can be tried without
 * building it again: `CONSOLE_BUILD=build npm run test:stories`. */

const TYPES: Record<string, string> = {
	'.html': 'text/html; charset=utf-8',
	'.js': 'text/javascript',
	'.css': 'text/css',
	'.json': 'application/json',
	'.svg': 'image/svg+xml',
	'.woff2': 'font/woff2',
	'.txt': 'text/plain; charset=utf-8'
};
/** What the server answers itself. */
const SERVERS = /^\/(api|a\/|p\/|w\/|push|login|logout|cap|cgi-bin|plain|auth|metrics|healthz|readyz|openapi\.json)/;

export async function front(folder: string, behind: () => string): Promise<{ url: string; close: () => void }> {
	const server: Server = createServer((asked, answer) => {
		if (SERVERS.test(asked.url ?? '/')) return pass(asked, answer, behind());
		void file(folder, asked.url ?? '/', answer);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const address = server.address();
	const port = typeof address === 'object' && address ? address.port : 0;
	return { url: `http://127.0.0.1:${port}`, close: () => void (server.closeAllConnections(), server.close()) };
}

function pass(asked: IncomingMessage, answer: ServerResponse, behind: string): void {
	const onward = request(behind + asked.url, { method: asked.method, headers: asked.headers }, (given) => {
		answer.writeHead(given.statusCode ?? 502, given.headers);
		given.pipe(answer);
	});
	onward.on('error', () => answer.destroy());
	answer.on('close', () => onward.destroy());
	asked.pipe(onward);
}

async function file(folder: string, path: string, answer: ServerResponse): Promise<void> {
	const wanted = join(folder, normalize(decodeURIComponent(new URL(path, 'http://x').pathname)));
	const isThere = await stat(wanted).then((found) => found.isFile(), () => false);
	const name = isThere ? wanted : join(folder, 'index.html');
	answer.setHeader('Content-Type', TYPES[extname(name)] ?? 'application/octet-stream');
	answer.end(await readFile(name));
}
