//! Reader of STOP: a message that is a reserved word, or a sentence with one in it.

use super::courtesies::{COURTESIES, is_courtesy};
use super::fold::{fold, words};
use super::stop_words::{ALL_SENDERS, Reach, STOP_WORDS};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Words of a message that can be a STOP at most, courtesies and repetitions included; and of one in which a
/// STOP is looked for.
const WORDS_MAX: usize = 12;
const SENTENCE_WORDS_MAX: usize = 400;

/// The language of a word, as a BCP 47 tag.
pub type Language = &'static str;

/// What a text says about further messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReading {
    /// It is a reserved word of this language; `all`: it holds for all senders, whatever the config says.
    Stop {
        /// Of the word.
        language: Language,
        /// STOP ALL.
        all: bool,
    },
    /// It is a sentence with such a word in it: a person has to decide.
    Perhaps,
    /// Neither.
    Other,
}

/// Reserved words without blanks between them, in folded form.
static RESERVED: LazyLock<FxHashMap<String, (Language, Reach)>> = LazyLock::new(|| {
    let mut reserved = FxHashMap::default();
    for phrase in ALL_SENDERS {
        reserved.insert(joined(phrase), ("en", Reach::All));
    }
    for of in STOP_WORDS {
        for phrase in of.telling.iter().chain(of.common) {
            reserved.entry(joined(phrase)).or_insert((of.language, Reach::Sender));
        }
    }
    reserved
});

/// Phrases that are looked for in sentences, as words in folded form.
static TELLING: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let telling = STOP_WORDS.iter().flat_map(|of| of.telling).chain(ALL_SENDERS);
    telling.map(|phrase| words(&fold(phrase)).map(str::to_owned).collect()).collect()
});

/// Reads a whole message.
pub fn read_stop(text: &str) -> StopReading {
    let folded = fold(text);
    let all: Vec<&str> = words(&folded).take(SENTENCE_WORDS_MAX).collect();
    match stop_of(&all) {
        Some((language, reach)) => StopReading::Stop { language, all: reach == Reach::All },
        None if TELLING.iter().any(|phrase| has(&all, phrase)) => StopReading::Perhaps,
        None => StopReading::Other,
    }
}

/// Whether a text alone stops messages: it cannot be a choice.
pub fn is_stop_word(text: &str) -> bool {
    matches!(read_stop(text), StopReading::Stop { .. })
}

/// Whether a text is one of these phrases, courtesies aside.
pub fn is_phrase<'p>(text: &str, mut phrases: impl Iterator<Item = &'p str>) -> bool {
    let folded = fold(text);
    let all: Vec<&str> = words(&folded).take(WORDS_MAX + 1).collect();
    if all.len() > WORDS_MAX {
        return false;
    }
    let (whole, bare) = (all.concat(), without_courtesies(&all).concat());
    phrases.any(|phrase| {
        let phrase = joined(phrase);
        !phrase.is_empty() && (phrase == whole || phrase == bare)
    })
}

fn joined(phrase: &str) -> String {
    words(&fold(phrase)).collect()
}

/// The reserved word that a message is: said once or several times, with courtesies before and behind.
fn stop_of(all: &[&str]) -> Option<(Language, Reach)> {
    if all.is_empty() || all.len() > WORDS_MAX {
        return None;
    }
    let reserved = |words: &[&str]| RESERVED.get(&words.concat()).copied();
    // A courtesy may be a word of its own: first the message as it is.
    if let Some(found) = reserved(all) {
        return Some(found);
    }
    let said = without_courtesies(all);
    reserved(said).or_else(|| repeated(said))
}

fn repeated(said: &[&str]) -> Option<(Language, Reach)> {
    let once = (1..=said.len() / 2).find(|count| {
        let mut turns = said.chunks(*count);
        said.len().is_multiple_of(*count) && turns.all(|turn| turn == &said[..*count])
    })?;
    RESERVED.get(&said[..once].concat()).copied()
}

/// The words between the courtesies.
fn without_courtesies<'a, 't>(mut all: &'a [&'t str]) -> &'a [&'t str] {
    let longest = COURTESIES.longest();
    while let Some(length) = (1..=longest.min(all.len())).rev().find(|n| is_courtesy(&all[..*n])) {
        all = &all[length..];
    }
    while let Some(length) = (1..=longest.min(all.len())).rev().find(|n| is_courtesy(&all[all.len() - n..])) {
        all = &all[..all.len() - length];
    }
    all
}

/// Whether a sentence has a phrase. Scripts without blanks between words have it anywhere.
fn has(all: &[&str], phrase: &[String]) -> bool {
    let whole = || all.windows(phrase.len()).any(|found| found.iter().zip(phrase).all(|(a, b)| a == b));
    let is_solid = phrase.len() == 1 && phrase[0].chars().all(is_solid);
    whole() || is_solid && all.iter().any(|word| word.contains(&*phrase[0]))
}

/// Of a script that is written without blanks, or that puts prefixes before its words.
fn is_solid(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0EFF | 0x1100..=0x11FF | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xAC00..=0xD7FF)
}
