//! Legible forms of texts that people typed, copied or let a spreadsheet keep: without the marks that nobody
//! sees, in one form of Unicode, and for addresses in ASCII where a character is only another shape of it.

use std::borrow::Cow;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// The zeros of scripts whose digits stand in one row (Unicode, Nd).
const ZEROS: [char; 18] = [
    '\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}', '\u{be6}', '\u{c66}',
    '\u{ce6}', '\u{d66}', '\u{e50}', '\u{ed0}', '\u{f20}', '\u{1040}', '\u{17e0}', '\u{1810}', '\u{ff10}',
];
/// From a character of the block *Halfwidth and Fullwidth Forms* to the same in ASCII.
const WIDE_TO_ASCII: u32 = 0xfee0;

/// A mark that has no shape and no meaning at the end of a text: directions of writing, byte order marks,
/// soft hyphens, blanks of no width.
fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{feff}')
}

/// Whether a reader sees anything of a character.
fn is_visible(c: char) -> bool {
    let is_empty = matches!(c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200c}' | '\u{200d}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}');
    !(is_empty || is_mark(c) || c.is_whitespace() || c.is_control())
}

/// Whether a reader sees anything of a text.
pub fn has_visible(text: &str) -> bool {
    text.chars().any(is_visible)
}

/// The text without blanks and invisible marks at both ends.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || is_mark(c))
}

/// A name by which something is found, such as a group's: without invisible marks, composed (Unicode NFC),
/// with one blank for each run of blanks. Two names that look the same are the same.
pub fn name(text: &str) -> Cow<'_, str> {
    let text = trimmed(text);
    let is_plain = text.is_ascii() && !text.contains("  ") && !text.contains(|c: char| c.is_ascii_control());
    let is_so = |text: &str| {
        let strange = |c: char| is_mark(c) || c.is_whitespace() && c != ' ';
        is_nfc(text) && !text.contains(strange) && !text.contains("  ")
    };
    if is_plain || is_so(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !is_mark(*c)).nfc() {
        match c {
            // A line end or a tab is no blank of a name: it is told, not mended.
            c if c.is_whitespace() && !c.is_control() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The name as it was kept before names were composed: how an earlier version may have stored it, if that is
/// another text.
pub fn decomposed(name: &str) -> Option<String> {
    if name.is_ascii() {
        return None;
    }
    let decomposed: String = name.nfd().collect();
    (decomposed != name).then_some(decomposed)
}

/// An address as ASCII writes it, where it has characters that are only other shapes of ASCII's: wide letters
/// and signs, digits of other scripts, hyphens and blanks of typesetters. Invisible marks are left out.
pub fn address(text: &str) -> Cow<'_, str> {
    let text = trimmed(text);
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let zero = only_zero(text);
    Cow::Owned(text.chars().filter(|c| !is_mark(*c)).map(|c| in_ascii(c, zero)).collect())
}

fn in_ascii(c: char, zero: Option<char>) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => '-',
        '\u{fe62}' => '+',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - WIDE_TO_ASCII).unwrap_or(c),
        c if c.is_whitespace() && !c.is_control() => ' ',
        c => zero.and_then(|zero| digit(c, zero)).unwrap_or(c),
    }
}

/// The zero of the script whose digits a text has, if it has those of one script alone. Wide digits are
/// ASCII's.
fn only_zero(text: &str) -> Option<char> {
    let mut zeros = text.chars().filter_map(|c| match c {
        '0'..='9' => Some('0'),
        _ => ZEROS.into_iter().find(|zero| digit(c, *zero).is_some()),
    });
    let first = zeros.next()?;
    zeros.all(|zero| zero == first).then_some(first)
}

fn digit(c: char, zero: char) -> Option<char> {
    let value = u32::from(c).checked_sub(u32::from(zero)).filter(|value| *value < 10)?;
    char::from_digit(value, 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_of_marks_and_blanks_alone_shows_nothing() {
        for text in [
            "",
            "   ",
            "\n\t",
            "\u{200b}",
            "\u{a0}\u{2003}",
            "\u{2800}",
            "\u{3164}",
            "\u{feff}\u{200d}",
            "\0",
        ] {
            assert!(!has_visible(text), "{text:?}");
        }
        for text in ["x", "\u{200b}.\u{200b}", "火", "❤\u{fe0f}", "\u{202e}x"] {
            assert!(has_visible(text), "{text:?}");
        }
    }

    #[test]
    fn names_that_look_the_same_are_the_same() {
        for (written, expected) in [
            ("Ström", "Ström"),
            ("Stro\u{308}m", "Ström"),
            ("  Ward  7\u{a0}B ", "Ward 7 B"),
            ("\u{feff}Fire\u{200b}", "Fire"),
            ("Fi\u{200b}re", "Fire"),
            ("한국", "한국"),
            ("\u{1112}\u{1161}\u{11ab}", "한"),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("two\nlines", "two\nlines"),
            ("", ""),
        ] {
            assert_eq!(name(written), expected, "{written:?}");
        }
        assert_eq!(decomposed("Ström").as_deref(), Some("Stro\u{308}m"));
        assert_eq!((decomposed("Strom"), decomposed("北")), (None, None));
    }

    #[test]
    fn addresses_are_ascii_where_they_only_look_otherwise() {
        for (written, expected) in [
            ("\u{202a}+46\u{a0}70\u{2011}174\u{a0}06\u{a0}01\u{202c}", "+46 70-174 06 01"),
            ("\u{2068}+46701740602\u{2069}", "+46701740602"),
            ("\u{feff}+46701740603", "+46701740603"),
            ("＋４６７０１７４０６０４", "+46701740604"),
            ("+٤٦٧٠١٧٤٠٦٠٥", "+46701740605"),
            ("ａｎｎ＠ｘ．ｓｅ", "ann@x.se"),
            ("+46٣01234567", "+46٣01234567"),
            ("å@x.se", "å@x.se"),
        ] {
            assert_eq!(address(written), expected, "{written:?}");
        }
    }

    proptest! {
        #[test]
        fn marks_around_a_name_or_an_address_change_nothing(
            text in "[a-zåö0-9+@.]{1,12}",
            before in "[\u{200b}\u{feff}\u{202a}\u{2068}\u{a0} ]{0,4}",
            behind in "[\u{200e}\u{202c}\u{2069}\u{ad}\u{2003} ]{0,4}",
        ) {
            let around = format!("{before}{text}{behind}");
            prop_assert_eq!(name(&around), name(&text));
            prop_assert_eq!(address(&around), address(&text));
            let once = name(&around);
            prop_assert_eq!(name(&once), once.clone());
        }
    }
}
