//! Expiry queue of holds, bundles, and sessions that somebody ends; those after Tcc are watched where they
//! stand. One list for each second; nothing has a timer of its own, and nothing is moved when its time
//! changes: it is looked at when its old time comes, and put back.

use std::collections::BTreeMap;

use super::account::AccountNumber;
use super::hash::Hash128;
use super::request::MessageKey;

/// What may be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Session(Hash128),
    /// A session that is to end now, whatever its time.
    Ended(Hash128),
    Message(MessageKey),
    Bundles(AccountNumber),
}

/// The queue.
#[derive(Clone, Debug, Default)]
pub struct Expiry {
    seconds: BTreeMap<u64, Vec<Due>>,
}

impl Expiry {
    /// Looks at it again once this time has passed.
    pub fn push(&mut self, at_us: u64, due: Due) {
        self.seconds.entry(at_us.div_ceil(1_000_000)).or_default().push(due);
    }

    /// The next one whose second has come.
    pub fn pop(&mut self, now_us: u64) -> Option<Due> {
        let mut first = self.seconds.first_entry()?;
        if *first.key() > now_us / 1_000_000 {
            return None;
        }
        let due = first.get_mut().pop();
        if first.get().is_empty() {
            first.remove();
        }
        due
    }

    /// When there is something to look at.
    pub fn next_us(&self) -> Option<u64> {
        self.seconds.first_key_value().map(|(second, _)| second * 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_comes_in_the_order_of_seconds_and_not_before() {
        let mut expiry = Expiry::default();
        expiry.push(2_500_000, Due::Bundles(2));
        expiry.push(1_000_000, Due::Bundles(1));
        assert_eq!(expiry.next_us(), Some(1_000_000));
        assert_eq!(expiry.pop(999_999), None);
        assert_eq!(expiry.pop(2_999_999), Some(Due::Bundles(1)));
        assert_eq!(expiry.pop(2_999_999), None);
        assert_eq!(expiry.pop(3_000_000), Some(Due::Bundles(2)));
        assert_eq!((expiry.next_us(), expiry.pop(u64::MAX)), (None, None));
    }
}
