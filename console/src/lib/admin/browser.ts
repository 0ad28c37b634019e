/** Browsers and systems by a mark in what they call themselves; the first one found is it. */
const BROWSERS: [RegExp, string][] = [
	[/Edg(e|A|iOS)?\//, 'Edge'],
	[/OPR\//, 'Opera'],
	[/Firefox\/|FxiOS\//, 'Firefox'],
	[/Chrome\/|CriOS\/|Chromium\//, 'Chrome'],
	[/Safari\//, 'Safari'],
	[/curl\//, 'curl']
];
const SYSTEMS: [RegExp, string][] = [
	[/Android/, 'Android'],
	[/iPhone|iPad/, 'iOS'],
	[/Windows/, 'Windows'],
	[/Mac OS X/, 'macOS'],
	[/Linux|X11/, 'Linux']
];

/** What people call the browser and the system of a User-Agent; empty where it is none of the known ones. */
export function browserOf(agent: string): { browser: string; system: string } {
	const first = (known: [RegExp, string][]) => known.find(([mark]) => mark.test(agent))?.[1] ?? '';
	return { browser: first(BROWSERS), system: first(SYSTEMS) };
}
