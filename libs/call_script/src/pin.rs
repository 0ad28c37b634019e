//! Digits of a PIN as they are pressed.

use crate::PhoneKey;
use std::fmt;
use std::time::Duration;

/// Digits of a PIN, at least.
pub const PIN_DIGITS_MIN: usize = 4;
/// Digits of a PIN, at most.
pub const PIN_DIGITS_MAX: usize = 8;
/// Tries of a PIN in one call.
pub const PIN_TRIES_MAX: u8 = 3;
/// Wait for the next digit, from the end of the prompt or the last key.
pub const PIN_WAIT: Duration = Duration::from_secs(8);

/// Digits pressed so far. Never shown by `Debug`.
#[derive(Clone, Default)]
pub(crate) struct PinEntry {
    digits: String,
}

impl fmt::Debug for PinEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinEntry({} digits)", self.digits.len())
    }
}

impl PinEntry {
    /// Takes a key: star clears, hash ends what has digits. Returns the digits once they are complete.
    pub fn press(&mut self, key: PhoneKey, length: usize) -> Option<String> {
        match key {
            PhoneKey::STAR => self.digits.clear(),
            PhoneKey::HASH if self.digits.is_empty() => {}
            PhoneKey::HASH => return Some(std::mem::take(&mut self.digits)),
            key => self.digits.push(key.as_char()),
        }
        (self.digits.len() >= length).then(|| std::mem::take(&mut self.digits))
    }

    /// The digits pressed so far, which are forgotten.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.digits)
    }

    /// No digit was pressed.
    pub fn is_empty(&self) -> bool {
        self.digits.is_empty()
    }
}

/// A text can be a PIN.
pub(crate) fn is_pin(digits: &str) -> bool {
    (PIN_DIGITS_MIN..=PIN_DIGITS_MAX).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(keys: &str, length: usize) -> Vec<String> {
        let mut entry = PinEntry::default();
        keys.chars().filter_map(|key| entry.press(PhoneKey::new(key)?, length)).collect()
    }

    #[test]
    fn a_pin_is_complete_by_its_length_or_by_hash_and_star_clears_it() {
        for (keys, complete) in [
            ("1234", &["1234"][..]),
            ("12341234", &["1234", "1234"]),
            ("12#", &["12"]),
            ("#", &[]),
            ("12*3456", &["3456"]),
            ("123", &[]),
        ] {
            assert_eq!(pressed(keys, 4), complete, "{keys}");
        }
    }

    #[test]
    fn digits_are_not_shown() {
        let mut entry = PinEntry::default();
        entry.press(PhoneKey::new('7').unwrap(), 4);
        assert_eq!(format!("{entry:?}"), "PinEntry(1 digits)");
    }

    #[test]
    fn a_pin_has_four_to_eight_digits() {
        for (text, is) in
            [("123", false), ("1234", true), ("12345678", true), ("123456789", false), ("12a4", false)]
        {
            assert_eq!(is_pin(text), is, "{text}");
        }
    }
}
