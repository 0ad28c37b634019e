//! Receivers in the parameter `to`: several numbers with blanks between them, or one that is written with
//! blanks.

use channels::{Defaults, SMS};

/// Digits of an address on an SMPP session (SMPP 3.4, 5.2.9: 21 octets with the NUL).
const DIGITS_MAX: usize = 20;
/// Digits of a number that is whole: fewer are a short code, or a piece of a number.
const WHOLE_DIGITS_MIN: usize = 7;
/// Digits of an international number at most (E.164, 6.2.1).
const INTERNATIONAL_DIGITS_MAX: usize = 15;
/// Nobody has a number of so few digits: they are a piece of one.
const PIECE_DIGITS_MAX: usize = 2;

/// A number is written with blanks, and it cannot be known where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Misformed;

/// The receivers that a text names. Words that are no numbers are passed over, as Kannel does.
///
/// # Errors
/// Pieces that together are no number anybody has: to send to each would reach others.
pub(super) fn receivers_in(text: &str) -> Result<Vec<String>, Misformed> {
    let is_blank = |c: char| c.is_whitespace() || c == '\u{b}' || channels::is_invisible(c);
    let words = text.split(is_blank).filter(|word| !word.is_empty()).filter_map(Word::read);
    let mut found = Vec::new();
    let mut open: Option<NumberPieces> = None;
    for word in words {
        let joins = open.as_ref().is_some_and(|group| group.takes(&word));
        if joins && let Some(group) = &mut open {
            group.add(&word);
            continue;
        }
        if let Some(group) = open.take() {
            if group.is_cut_off() || group.might_take(&word) {
                return Err(Misformed);
            }
            found.push(group.number()?);
        }
        open = Some(NumberPieces::of(word));
    }
    if let Some(group) = open {
        found.push(group.number()?);
    }
    Ok(found)
}

/// A word that is a number or a piece of one.
struct Word {
    plus: bool,
    digits: String,
    /// As it stands.
    text: String,
}

impl Word {
    fn read(text: &str) -> Option<Word> {
        let mut word = Word { plus: false, digits: String::new(), text: text.to_owned() };
        for c in text.chars() {
            match channels::decimal_digit(c) {
                Some(digit) => word.digits.push(char::from(b'0' + digit)),
                None if matches!(c, '+' | '＋') && word.digits.is_empty() && !word.plus => word.plus = true,
                None if matches!(c, '-' | '.' | '(' | ')' | '/' | '\u{2010}' | '\u{2011}' | '\u{2013}') => {}
                None => return None,
            }
        }
        // A plus or a dash alone is neither.
        let is_begun = word.plus && word.digits.is_empty();
        (is_begun || (1..=DIGITS_MAX).contains(&word.digits.len())).then_some(word)
    }

    /// A plus or two zeros begin a number from abroad, one zero one of this country.
    fn begins(&self) -> bool {
        self.plus || self.digits.starts_with("00")
    }
}

/// Words that are one number.
struct NumberPieces {
    plus: bool,
    digits: String,
    text: String,
    words: usize,
    /// The number may go on with the next word.
    is_open: bool,
}

impl NumberPieces {
    fn of(word: Word) -> NumberPieces {
        let count = word.digits.len();
        let is_begun = word.begins() || word.digits.starts_with('0') || count <= PIECE_DIGITS_MAX;
        NumberPieces {
            is_open: is_begun && count < WHOLE_DIGITS_MIN,
            plus: word.plus,
            digits: word.digits,
            text: word.text,
            words: 1,
        }
    }

    fn takes(&self, word: &Word) -> bool {
        let fits = !word.begins() && self.digits.len() + word.digits.len() <= INTERNATIONAL_DIGITS_MAX;
        let begins = self.plus || self.digits.starts_with("00");
        fits && (self.is_open || begins && !is_somebodys(self.plus, &self.digits))
    }

    /// The beginning of a number from abroad that the word behind it does not go on with.
    fn is_cut_off(&self) -> bool {
        let begins = self.plus || self.digits.starts_with("00");
        begins && self.words == 1 && self.digits.len() < WHOLE_DIGITS_MIN
    }

    /// A number from abroad that is whole, before a piece with which it would be whole too, or that begins
    /// with a zero, as no short code does: nobody knows where the number ends.
    fn might_take(&self, word: &Word) -> bool {
        let begins = self.plus || self.digits.starts_with("00");
        let is_piece = !word.plus && word.digits.len() < WHOLE_DIGITS_MIN;
        let joined = format!("{}{}", self.digits, word.digits);
        let fits = joined.len() <= INTERNATIONAL_DIGITS_MAX;
        begins && is_piece && fits && (word.digits.starts_with('0') || is_somebodys(self.plus, &joined))
    }

    fn add(&mut self, word: &Word) {
        self.digits.push_str(&word.digits);
        self.is_open = word.digits.len() < WHOLE_DIGITS_MIN;
        self.text.push(' ');
        self.text.push_str(&word.text);
        self.words += 1;
    }

    fn number(self) -> Result<String, Misformed> {
        // Zeros alone are nobody's number: they are a piece of the one before.
        if self.digits.bytes().all(|digit| digit == b'0') {
            return Err(Misformed);
        }
        let is_bracketed = self.text.contains('(');
        if self.words == 1 && !is_bracketed {
            let plus = if self.plus { "+" } else { "" };
            return Ok(format!("{plus}{}", self.digits));
        }
        if !self.plus && self.digits.starts_with('0') && !self.digits.starts_with("00") {
            let is_whole = (WHOLE_DIGITS_MIN..=INTERNATIONAL_DIGITS_MAX).contains(&self.digits.len());
            return if is_whole { Ok(self.digits) } else { Err(Misformed) };
        }
        let written =
            if self.plus || self.digits.starts_with("00") { self.text } else { format!("+{}", self.text) };
        let number = channels::address(SMS, &written, &Defaults::default()).map_err(|_| Misformed)?;
        if channels::is_assignable_number(&number) { Ok(number) } else { Err(Misformed) }
    }
}

/// Whether digits that begin with a country's code, behind a plus or two zeros, can be somebody's number.
fn is_somebodys(plus: bool, digits: &str) -> bool {
    let digits = if plus { digits } else { digits.strip_prefix("00").unwrap_or(digits) };
    digits.len() >= WHOLE_DIGITS_MIN && channels::is_assignable_number(&format!("+{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blanks_separate_numbers_and_stand_in_numbers() {
        for (text, expected) in [
            ("+46701740605", Ok(vec!["+46701740605"])),
            ("+46 70-174 06 05", Ok(vec!["+46701740605"])),
            ("+46 (0)70 174 06 05", Ok(vec!["+46701740605"])),
            ("+ 46 70 174 06 05", Ok(vec!["+46701740605"])),
            ("0046 70 174 06 05", Ok(vec!["+46701740605"])),
            ("46 70 174 06 05", Ok(vec!["+46701740605"])),
            ("070-174 06 05", Ok(vec!["0701740605"])),
            ("+1 415 555 2671", Ok(vec!["+14155552671"])),
            ("+46 70 174 06 05 +46 70 174 06 06", Ok(vec!["+46701740605", "+46701740606"])),
            ("+46701740605 46701740606", Ok(vec!["+46701740605", "46701740606"])),
            ("+46 701740605 112", Ok(vec!["+46701740605", "112"])),
            ("+46\u{a0}70\u{a0}1740605", Ok(vec!["+46701740605"])),
            ("111 222", Ok(vec!["111", "222"])),
            ("9991 222", Ok(vec!["9991", "222"])),
            ("111 abc 222", Ok(vec!["111", "222"])),
            ("0701-23-45-67", Ok(vec!["0701234567"])),
            ("0046701234567", Ok(vec!["0046701234567"])),
            ("111,222", Ok(vec![])),
            ("abc", Ok(vec![])),
            ("  ", Ok(vec![])),
            ("07012three", Ok(vec![])),
            ("123456789012345678901", Ok(vec![])),
            ("+46 70 174", Err(Misformed)),
            ("+46 70 174 06 05 112", Err(Misformed)),
            ("+4-67 00000000", Err(Misformed)),
            ("+467-200-0-0-0 0-0", Err(Misformed)),
            ("+4-6-760-0-0 0-0-01", Err(Misformed)),
            ("00", Err(Misformed)),
            ("0046 +46701740605", Err(Misformed)),
            ("11 22", Err(Misformed)),
            ("701 74 06 05", Err(Misformed)),
            ("+", Err(Misformed)),
        ] {
            let expected = expected.map(|list| list.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(receivers_in(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_number_with_a_plus_is_one_receiver_or_refused_wherever_blanks_stand(
            digits in "467[0236][0-9]{7}",
            blanks in proptest::collection::vec(prop_oneof![3 => Just(""), 1 => Just(" "), 1 => Just("-")], 10),
        ) {
            let mut text = String::from("+");
            for (place, digit) in digits.chars().enumerate() {
                text.push(digit);
                text.push_str(blanks.get(place).copied().unwrap_or_default());
            }
            if let Ok(found) = receivers_in(&text) {
                prop_assert_eq!(&found[0], &format!("+{digits}"), "{}", text);
                prop_assert_eq!(found.len(), 1);
            }
        }
    }
}
