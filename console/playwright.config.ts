import { defineConfig } from '@playwright/test';

/** Stories run against the built server (`CAMPANILE_BIN`) in Debian's Chromium. */
export default defineConfig({
	testDir: 'tests',
	outputDir: 'test-results',
	workers: Number(process.env.STORY_WORKERS ?? 2),
	timeout: 180_000,
	// Where other builds run beside them a page may open late: what fails once and passes then is told as flaky.
	retries: 1,
	expect: { timeout: 30_000 },
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
