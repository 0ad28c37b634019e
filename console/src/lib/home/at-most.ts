/** Calls `act` at once, and again after `everyMs` if it was asked for meanwhile: at most once in that time. */
export function atMost(everyMs: number, act: () => void): { ask: () => void; stop: () => void } {
	let timer: ReturnType<typeof setTimeout> | null = null;
	let isWanted = false;
	const run = () => {
		isWanted = false;
		act();
		timer = setTimeout(() => {
			timer = null;
			if (isWanted) run();
		}, everyMs);
	};
	return {
		ask: () => {
			if (timer === null) run();
			else isWanted = true;
		},
		stop: () => {
			if (timer !== null) clearTimeout(timer);
			timer = null;
			isWanted = false;
		}
	};
}

/** Lists are fetched again at most so often. */
export const LIST_MS = 2_000;
