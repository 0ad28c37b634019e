//! Words of capital letters: spelled if nobody could pronounce them, else read as words.

use super::Speaker;
use super::words::{LineWord, WordPlace, WordReading};

/// Letters of a word that may be spelled; longer ones are words.
const SPELLED_LETTERS_MAX: usize = 5;
/// So many consonants in a row at its start nobody pronounces.
const CONSONANTS_MAX: usize = 3;

/// "MSB" is "M S B" and "SMHI" is "S M H I"; "EVACUATE" is "Evacuate".
pub(super) fn word(place: WordPlace<'_>, speaker: &Speaker) -> Option<WordReading> {
    let whole = place.word().core;
    let at = whole.find([':', '\'']).unwrap_or(whole.len());
    let (core, suffix) = whole.split_at(at);
    if !is_capitals(core) || suffix.chars().any(char::is_uppercase) {
        return None;
    }
    // Other abbreviations do not make a shout.
    let table = speaker.vocabulary.spelled;
    let is_shout = |word: &LineWord<'_>| is_capitals(word.core) && !is_spelled(word.core, false, table);
    let is_among = |word: Option<&LineWord<'_>>| word.is_some_and(is_shout);
    let before = place.at.checked_sub(1).and_then(|at| place.words.get(at));
    let is_shouted = is_among(before) || is_among(place.words.get(place.at + 1));
    if is_spelled(core, is_shouted, table) {
        let letters: Vec<String> = core.chars().map(String::from).collect();
        return Some(place.reading(&format!("{}{suffix}", letters.join(" "))));
    }
    if speaker.vocabulary.has_own_case {
        return None;
    }
    let mut letters = core.chars();
    let first: String = letters.by_ref().take(1).collect();
    Some(place.reading(&format!("{first}{}{suffix}", letters.as_str().to_lowercase())))
}

/// Two letters or more, all of them capital ones that have one small one each.
fn is_capitals(core: &str) -> bool {
    let has_small = |c: char| {
        let mut small = c.to_lowercase();
        let first = small.next();
        c.is_uppercase()
            && small.next().is_none()
            && first.is_some_and(|small| small != c && small.to_uppercase().eq([c]))
    };
    core.chars().nth(1).is_some() && core.chars().all(has_small)
}

/// Without a vowel always; among other words of capitals nothing else. Alone also what the table has, what
/// has no consonant, and what begins with too many.
fn is_spelled(core: &str, is_shouted: bool, table: &[&str]) -> bool {
    let letters = core.chars().count();
    let vowels = core.chars().filter(|c| is_vowel(*c)).count();
    if letters > SPELLED_LETTERS_MAX || !core.chars().all(has_known_vowels) {
        return false;
    }
    if vowels == 0 {
        return true;
    }
    let start = core.chars().take_while(|c| !is_vowel(*c)).count();
    !is_shouted && (table.contains(&core) || vowels == letters || start >= CONSONANTS_MAX)
}

/// Latin, Greek and Cyrillic letters: the table of vowels is complete for these.
fn has_known_vowels(c: char) -> bool {
    c.is_ascii() || matches!(c, '\u{c0}'..='\u{17f}' | '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{4ff}')
}

fn is_vowel(c: char) -> bool {
    const VOWELS: &str = "AEIOUYÀÁÂÃÄÅÆÈÉÊËÌÍÎÏÒÓÔÕÖØÙÚÛÜÝĀĂĄĒĔĖĘĚĨĪĬĮİŌŎŐŒŨŪŬŮŰŲŶŸ\
                          ΑΕΗΙΟΥΩΆΈΉΊΌΎΏΪΫАЕЁИОУЫЭЮЯІЇЄЍЎӐӒӖӘӢӤӨӮӰӲ";
    VOWELS.contains(c)
}
