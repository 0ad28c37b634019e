import { defineConfig } from '@playwright/test';

/** Stories run against the built server (`CAMPANILE_BIN`) in Debian's Chromium. */
export default defineConfig({
	testDir: 'tests',
	outputDir: 'test-results',
	workers: Number(process.env.STORY_WORKERS ?? 2),
	timeout: 90_000,
	expect: { timeout: 15_000 },
	forbidOnly: true,
	reporter: [['list']],
	use: {
		browserName: 'chromium',
		launchOptions: { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] },
		locale: 'en-GB',
		timezoneId: 'Europe/Stockholm',
		viewport: { width: 1280, height: 900 },
		video: 'off',
		trace: 'off',
		screenshot: 'only-on-failure'
	}
});
