/** Values of the configuration as the server shows them: TOML of one line. */
export type TomlValue = string | number | boolean | TomlValue[];

/** What a value says. What is none of texts, numbers, truths and lists of those stays the text that it is. */
export function tomlValue(text: string | null | undefined): TomlValue {
	const bare = (text ?? '').trim();
	if (/^'[^']*'$/.test(bare)) return bare.slice(1, -1);
	try {
		const value: unknown = JSON.parse(bare.replace(/,\s*\]$/, ']'));
		return isValue(value) ? value : bare;
	} catch {
		return bare;
	}
}

function isValue(value: unknown): value is TomlValue {
	return Array.isArray(value) ? value.every(isValue) : ['string', 'number', 'boolean'].includes(typeof value);
}

/** A list of texts: of one text a list of it, of nothing an empty one. */
export function tomlTexts(text: string | null | undefined): string[] {
	const value = tomlValue(text);
	if (Array.isArray(value)) return value.map(String);
	return value === '' ? [] : [String(value)];
}
