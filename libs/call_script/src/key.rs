//! Keys of a telephone.

use std::fmt;

/// A key of a telephone: 0 to 9, star or hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhoneKey(char);

impl PhoneKey {
    /// The star: plays again, and clears a PIN.
    pub const STAR: PhoneKey = PhoneKey('*');
    /// The hash: ends a PIN, and goes on to the next alert.
    pub const HASH: PhoneKey = PhoneKey('#');

    /// The key of a character; `None` for any other, also A to D, which telephones of people do not have.
    pub const fn new(character: char) -> Option<PhoneKey> {
        match character {
            '0'..='9' | '*' | '#' => Some(PhoneKey(character)),
            _ => None,
        }
    }

    /// Its character.
    pub const fn as_char(self) -> char {
        self.0
    }

    /// It is 0 to 9.
    pub const fn is_digit(self) -> bool {
        self.0.is_ascii_digit()
    }

    /// It can be the key of a choice: 1 to 9.
    pub const fn may_be_choice(self) -> bool {
        matches!(self.0, '1'..='9')
    }
}

impl fmt::Display for PhoneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_telephone_has_twelve_keys_and_nine_of_them_can_be_choices() {
        let keys: Vec<PhoneKey> = ('\0'..='\u{ff}').filter_map(PhoneKey::new).collect();
        assert_eq!(keys.iter().map(|key| key.as_char()).collect::<String>(), "#*0123456789");
        assert_eq!(keys.iter().filter(|key| key.may_be_choice()).count(), 9);
        assert_eq!(keys.iter().filter(|key| key.is_digit()).count(), 10);
    }
}
