/** Rules of new passwords, as the server has them; it decides. */
export const CHARACTERS_MIN = 12;
export const CHARACTERS_MAX = 1_024;

/** Characters as people count them. */
export const characters = (password: string): number => [...password].length;

/** What the server's reasons are about, by words of theirs. */
const REASONS: [RegExp, string][] = [
	[/or more; a few words/, 'short'],
	[/more than 1024|more than 1,024/, 'long'],
	[/control character/, 'control'],
	[/repeats the same/, 'repeated'],
	[/follows the alphabet/, 'sequence'],
	[/guessed first/, 'common'],
	[/name of this site/, 'site'],
	[/your own name/, 'name']
];

/** The word of a reason for which a password was refused; null for one that is not known here. */
export function wordOf(reason: string): string | null {
	return REASONS.find(([pattern]) => pattern.test(reason))?.[1] ?? null;
}

/** What can be said of a password before it is sent. */
export function wrongBefore(password: string): 'short' | 'long' | null {
	const count = characters(password);
	return count < CHARACTERS_MIN ? 'short' : count > CHARACTERS_MAX ? 'long' : null;
}
