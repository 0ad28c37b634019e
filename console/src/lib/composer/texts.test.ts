import { expect, test } from 'vitest';
import { changed, type AlertContent } from './content';
import { languageFor, languagesOf, own, ownChannels, text, withHeadline, withoutLanguage, withOwn, withPlainLetters, withText } from './texts';

const content: AlertContent = {
	headline: 'Gas leak',
	text: 'Don’t stay',
	texts: { sms: 'Don’t', sv: 'Gå', fi: { text: 'Lähde', mail: { subject: 'Kaasu', html: '<b>Kaasu</b>' } } },
	choices: [{ key: '1', label: 'I’m safe' }]
};

test('languages are the members of texts that are no channels', () => {
	expect(languagesOf(content)).toEqual(['sv', 'fi']);
	expect([text(content, null), text(content, 'sv'), text(content, 'fi'), text(content, 'de')]).toEqual(['Don’t stay', 'Gå', 'Lähde', '']);
});

test('a short form of a language keeps its text when it gets a headline', () => {
	expect(withHeadline(content, 'sv', 'Gasläcka').texts?.sv).toEqual({ text: 'Gå', headline: 'Gasläcka' });
});

test('a part of a channel’s text leaves its other parts', () => {
	const patch = withOwn(content, 'fi', 'mail', 'Kaasuvuoto', 'subject');
	expect(patch.texts?.fi).toEqual({ text: 'Lähde', mail: { subject: 'Kaasuvuoto', html: '<b>Kaasu</b>' } });
	expect(own(changed(content, patch), 'fi', 'mail', 'html')).toBe('<b>Kaasu</b>');
});

test('what is emptied is taken away, with whatever held it', () => {
	const only = { texts: { sv: { sms: 'Gå' } } };
	expect(withOwn(only, 'sv', 'sms', '')).toEqual({ texts: null });
	expect(withText({ text: 'a' }, null, '')).toEqual({ text: null });
	expect(ownChannels(changed(content, withOwn(content, null, 'sms', '')), null)).toEqual([]);
	expect(languagesOf(changed(content, withoutLanguage(content, 'sv')))).toEqual(['fi']);
});

test('a text for all that stands in texts moves out of it', () => {
	expect(withText({ texts: { text: 'old', sv: 'Gå' } }, null, 'new')).toEqual({ text: 'new', texts: { sv: 'Gå' } });
});

test('plain letters go into what an SMS is made of, and into the answers', () => {
	const patch = withPlainLetters(content, null, [{ letter: '’', plain: "'" }]);
	expect(changed(content, patch)).toMatchObject({ text: 'Don’t stay', texts: { sms: "Don't" }, choices: [{ label: "I'm safe" }] });
});

test('readers of a region get the text of their language, others that for all', () => {
	expect([languageFor(content, 'sv-FI'), languageFor(content, 'FI'), languageFor(content, 'so')]).toEqual(['sv', 'fi', null]);
});
