declare global {
	namespace App {
		interface Error {
			message: string;
			/** What the page says beside it. */
			next?: string;
		}
	}
}
export {};
