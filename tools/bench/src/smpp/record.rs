//! Test messages: each has a number and a text of its own, by which a receiver knows it.

use serde::{Deserialize, Serialize};

/// Country code and first digit of every number.
const FRONT: &[u8; 3] = b"467";
/// Digits behind them, which are the message's own number.
const DIGITS: usize = 8;
/// Octets of an address.
pub(super) const ADDRESS_OCTETS: usize = FRONT.len() + DIGITS;
/// So many different messages can be told apart.
pub(super) const NUMBERS: u64 = 10u64.pow(DIGITS as u32);
/// Octets of the id a bare sink gives: the address, padded.
pub(super) const ID_OCTETS: usize = 16;
/// A text; its last digits are the message's number.
const TEXT: &[u8; 44] = b"Sirens test at noon. Nothing to do. 00000000";
/// Who sends.
pub(super) const SOURCE: &str = "Campanile";

/// One message's address and text.
pub(super) struct NumberedMessage {
    pub(super) address: [u8; ADDRESS_OCTETS],
    pub(super) text: [u8; TEXT.len()],
}

impl NumberedMessage {
    /// Those of message `number`, below [`NUMBERS`].
    pub(super) fn new(number: u64) -> NumberedMessage {
        let mut words = NumberedMessage { address: [0; ADDRESS_OCTETS], text: *TEXT };
        words.address[..FRONT.len()].copy_from_slice(FRONT);
        words.say(number);
        words
    }

    /// Turns them into those of another message.
    pub(super) fn say(&mut self, number: u64) {
        digits(number, &mut self.address[FRONT.len()..]);
        digits(number, &mut self.text[TEXT.len() - DIGITS..]);
    }

    /// The id that a bare sink gives this message.
    pub(super) fn id(&self) -> [u8; ID_OCTETS] {
        let mut id = [b'0'; ID_OCTETS];
        id[ID_OCTETS - ADDRESS_OCTETS..].copy_from_slice(&self.address);
        id
    }

    /// The address as people write it.
    pub(super) fn phone_number(&self) -> String {
        format!("+{}", String::from_utf8_lossy(&self.address))
    }

    /// The text as people write it.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.text).into_owned()
    }
}

/// Writes a number into all of `into`, with zeros in front.
pub(super) fn digits(mut number: u64, into: &mut [u8]) {
    for digit in into.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// The number of a message that came: its address and its text must say the same one.
pub(super) fn number_of(address: &[u8], text: &[u8]) -> Option<u64> {
    let own = address.get(address.len().checked_sub(DIGITS)?..)?;
    if text.get(text.len().checked_sub(DIGITS)?..)? != own {
        return None;
    }
    own.iter()
        .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
}

/// What tells one set of numbers from another: it is kept where they are sent and where they come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sums {
    pub(super) count: u64,
    sum: u64,
    squares: u64,
}

impl Sums {
    pub(super) fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(number);
        self.squares = self.squares.wrapping_add(number.wrapping_mul(number));
    }

    pub(super) fn merge(&mut self, other: Sums) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        self.squares = self.squares.wrapping_add(other.squares);
    }

    /// How many messages are missing, came twice or are others: 0 if both are of the same set.
    pub(super) fn differs(&self, other: &Sums) -> u64 {
        let others = u64::from(self != other);
        self.count.abs_diff(other.count).max(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_its_number_in_its_address_its_text_and_its_id() {
        let mut words = NumberedMessage::new(7);
        for number in [0, 7, 12_345_678, NUMBERS - 1] {
            words.say(number);
            assert_eq!(number_of(&words.address, &words.text), Some(number));
            assert!(words.id().ends_with(&words.address) && words.id().starts_with(b"00000467"));
        }
        assert_eq!(NumberedMessage::new(42).phone_number(), "+46700000042");
        assert_eq!(number_of(&words.address, &NumberedMessage::new(1).text), None);
        for (address, text) in [(&b"1234567"[..], &b"1234567"[..]), (b"4670000000x", b"0000000x"), (b"", b"")]
        {
            assert_eq!(number_of(address, text), None);
        }
    }

    #[test]
    fn sums_tell_a_lost_a_repeated_and_a_wrong_message() {
        let of = |numbers: &[u64]| {
            let mut sums = Sums::default();
            numbers.iter().for_each(|number| sums.add(*number));
            sums
        };
        let mut two = of(&[1, 2]);
        two.merge(of(&[3]));
        for (numbers, expected) in [
            (&[3, 1, 2][..], 0),
            (&[1, 2], 1),
            (&[1, 2, 3, 3], 1),
            (&[1, 2, 4], 1),
            (&[2, 2, 2], 1),
            (&[], 3),
        ] {
            assert_eq!(two.differs(&of(numbers)), expected, "{numbers:?}");
        }
    }
}
