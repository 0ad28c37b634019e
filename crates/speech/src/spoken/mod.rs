//! Spoken text: a written text made fit for reading out, by the rules of its language.
//!
//! Links are left out, telephone numbers read digit by digit, times, dates, numbers with units, road names
//! and abbreviations written in words, abbreviations of letters spelled, pictures and markup left out, and
//! the ends of lines made pauses. English and Swedish have all rules; other languages have those that need no
//! words, and the words of their [`Catalogue`](crate::Catalogue).
//!
//! A text is data: no rule writes markup, and characters that a speech engine could take for some are
//! removed. [`spoken()`] is linear in its input but for a bounded number of passes, is idempotent, and leaves
//! words wherever there were some ([`has_words`]).

mod capitals;
mod characters;
mod english;
mod links;
mod numbers;
mod phone;
mod swedish;
mod units;
mod vocabulary;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use phone::digits;

use crate::phrases::Catalogue;
use vocabulary::Vocabulary;

/// Octets of a written text that are read; the rest is cut off at a character.
pub const TEXT_OCTETS_READ_MAX: usize = 32 * 1024;
/// Characters of a spoken text: about seven minutes of speech. The rest is cut off at a word.
pub const SPOKEN_CHARS_MAX: usize = 6_000;
/// The rules are applied until nothing changes; so often at most.
const PASSES_MAX: usize = 12;

/// Links of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkRule {
    /// Left out.
    #[default]
    LeftOut,
    /// Left out, and "see the message on your other devices" is added once, in languages with a catalogue.
    Announced,
}

/// Mail addresses of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressRule {
    /// Written in words: "info at example dot org", in languages with a catalogue.
    #[default]
    Spelled,
    /// Left out.
    LeftOut,
}

/// Rules for one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules<'a> {
    /// The text's language (BCP 47); without one, the rules of all languages apply.
    pub language: Option<&'a str>,
    /// Links.
    pub links: LinkRule,
    /// Mail addresses.
    pub addresses: AddressRule,
}

impl<'a> Rules<'a> {
    /// The usual rules for a text in a language.
    pub fn of(language: &'a str) -> Rules<'a> {
        Rules { language: Some(language), ..Rules::default() }
    }
}

/// A text to be read out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spoken {
    /// One line without markup, at most [`SPOKEN_CHARS_MAX`] characters.
    pub text: String,
    /// Links that were left out.
    pub links: usize,
    /// The text was longer than what is read.
    pub is_cut: bool,
}

/// Whether a text has something to be read: a letter or a digit that is seen.
pub fn has_words(text: &str) -> bool {
    text.chars().any(characters::is_word)
}

/// Makes a written text fit for reading out.
pub fn spoken(text: &str, rules: &Rules<'_>) -> Spoken {
    let read = &text[..text.floor_char_boundary(TEXT_OCTETS_READ_MAX)];
    let speaker = Speaker::of(rules);
    let mut first = speaker.read(read, false);
    if !has_words(&first.text) && has_words(read) {
        // Nothing but links: their names are better than silence.
        first = speaker.read(read, true);
    }
    first.is_cut |= read.len() < text.len();
    if first.links > 0 && rules.links == LinkRule::Announced {
        speaker.announce(&mut first);
    }
    first
}

/// The rules of one language at work.
pub(crate) struct Speaker {
    vocabulary: &'static Vocabulary,
    catalogue: Option<Catalogue>,
    addresses: AddressRule,
}

impl Speaker {
    fn of(rules: &Rules<'_>) -> Speaker {
        let language = rules.language.unwrap_or_default();
        Speaker {
            vocabulary: Vocabulary::of(language),
            catalogue: Catalogue::of(language).ok(),
            addresses: rules.addresses,
        }
    }

    fn read(&self, text: &str, names_links: bool) -> Spoken {
        let (mut links, mut is_cut) = (0, false);
        let mut current = text.to_owned();
        for _ in 0..PASSES_MAX {
            let (next, found) = self.pass(&current, names_links);
            let cut = cut(&next);
            is_cut |= cut.len() < next.len();
            links += found;
            if cut == current {
                break;
            }
            current = cut.to_owned();
        }
        Spoken { text: current, links, is_cut }
    }

    /// Each rule once: the text in one line, and the number of links left out.
    fn pass(&self, text: &str, names_links: bool) -> (String, usize) {
        let mut links = 0;
        let visible = characters::visible(text);
        let mut lines = Vec::new();
        for line in visible.lines() {
            let (line, found) = links::replaced(line, self, names_links);
            links += found;
            let line = characters::plain(&line);
            let line = characters::punctuated(&words::read(&line, self));
            if has_words(&line) {
                lines.push(line);
            }
        }
        (joined(&lines), links)
    }

    fn announce(&self, spoken: &mut Spoken) {
        let Some(catalogue) = self.catalogue else { return };
        let sentence = catalogue.other_devices();
        if spoken.text.ends_with(sentence) {
            return;
        }
        let mut text = joined(&[std::mem::take(&mut spoken.text), sentence.to_owned()]);
        if text.chars().count() > SPOKEN_CHARS_MAX {
            // The sentence has to be heard: the text makes room for it.
            let room = SPOKEN_CHARS_MAX - sentence.chars().count() - 1;
            let kept = cut_to(&text, room).to_owned();
            text = joined(&[kept, sentence.to_owned()]);
            spoken.is_cut = true;
        }
        // The sentence behind the text may change how its last word is read.
        spoken.text = self.read(&text, false).text;
    }
}

/// Lines in one, each of them a sentence.
fn joined(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        if !text.is_empty() {
            characters::end_sentence(&mut text);
            text.push(' ');
        }
        text.push_str(line);
    }
    text
}

fn cut(text: &str) -> &str {
    cut_to(text, SPOKEN_CHARS_MAX)
}

/// At most so many characters, cut at a blank where there is one.
fn cut_to(text: &str, chars: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(chars) else { return text };
    let at = if text[end..].starts_with(' ') { end } else { text[..end].rfind(' ').unwrap_or(end) };
    text[..at].trim_end()
}
