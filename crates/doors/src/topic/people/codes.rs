//! Login codes on record, by id: six digits, used once, for ten minutes, and void after three wrong ones.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A code holds for so long.
pub(super) const CODE_HOLDS: Duration = Duration::from_secs(600);
/// Wrong codes after which the right one is void.
const WRONG_MAX: u8 = 3;
/// Codes of one id in an hour at most.
const CODES_AN_HOUR: u8 = 5;
const HOUR: Duration = Duration::from_secs(3_600);
/// While a code is so young no other is made.
const AGAIN_AFTER: Duration = Duration::from_secs(60);
/// Ids on record at most.
const IDS_MAX: usize = 10_000;
/// Digits of a code.
const DIGITS: usize = 6;

/// Whether a text has the form of a code.
pub(super) fn is_code(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|octet| octet.is_ascii_digit())
}

/// Codes by id.
#[derive(Default)]
pub(super) struct LoginCodes {
    by_id: Mutex<HashMap<String, IdCodes>>,
}

struct IdCodes {
    code: Option<LiveCode>,
    /// Codes since the beginning of their hour.
    since: Instant,
    count: u8,
}

struct LiveCode {
    digits: String,
    made: Instant,
    wrong: u8,
}

impl LoginCodes {
    /// Whether a code is to be made for an id: `digits` is on record then. Not if one was made a moment ago,
    /// or too many were. An id that nobody has is treated alike.
    pub(super) fn begin(&self, id: &str, digits: &str, now: Instant) -> bool {
        let mut by_id = self.lock();
        if by_id.len() >= IDS_MAX && !by_id.contains_key(id) {
            by_id.retain(|_, codes| now.saturating_duration_since(codes.since) < HOUR);
            if by_id.len() >= IDS_MAX {
                return false;
            }
        }
        let codes = by_id.entry(id.to_owned()).or_insert(IdCodes { code: None, since: now, count: 0 });
        if now.saturating_duration_since(codes.since) >= HOUR {
            (codes.since, codes.count) = (now, 0);
        }
        let is_young =
            codes.code.as_ref().is_some_and(|code| now.saturating_duration_since(code.made) < AGAIN_AFTER);
        if is_young || codes.count >= CODES_AN_HOUR {
            return false;
        }
        codes.count += 1;
        codes.code = Some(LiveCode { digits: digits.to_owned(), made: now, wrong: 0 });
        true
    }

    /// Whether this is the code of an id. A right one is used up with this.
    pub(super) fn take(&self, id: &str, digits: &str, now: Instant) -> bool {
        let mut by_id = self.lock();
        let Some(codes) = by_id.get_mut(id) else { return false };
        let Some(code) = &mut codes.code else { return false };
        let holds = now.saturating_duration_since(code.made) < CODE_HOLDS && code.wrong < WRONG_MAX;
        if !holds {
            return false;
        }
        let is_right = is_same(&code.digits, digits);
        if is_right {
            codes.code = None;
        } else {
            code.wrong += 1;
        }
        is_right
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, IdCodes>> {
        // Every change is made whole.
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Compares in a time that does not depend on where they differ.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(begin: Instant, seconds: u64) -> Instant {
        begin + Duration::from_secs(seconds)
    }

    #[test]
    fn a_code_is_good_once_for_ten_minutes_and_for_its_id_alone() {
        let (codes, begin) = (LoginCodes::default(), Instant::now());
        assert!(codes.begin("ann", "123456", begin));
        assert!(!codes.take("bo", "123456", begin));
        assert!(codes.take("ann", "123456", after(begin, 599)));
        assert!(!codes.take("ann", "123456", after(begin, 599)), "it is used up");
        assert!(codes.begin("ann", "222222", after(begin, 600)));
        assert!(!codes.take("ann", "222222", after(begin, 1_200)), "it is over");
    }

    #[test]
    fn three_wrong_codes_void_the_right_one() {
        let (codes, begin) = (LoginCodes::default(), Instant::now());
        assert!(codes.begin("ann", "123456", begin));
        for wrong in ["000000", "123457", "1234567"] {
            assert!(!codes.take("ann", wrong, begin), "{wrong}");
        }
        assert!(!codes.take("ann", "123456", begin));
    }

    #[test]
    fn codes_of_an_id_are_few_whoever_asks_for_them() {
        let (codes, begin) = (LoginCodes::default(), Instant::now());
        assert!(codes.begin("ann", "1", begin));
        assert!(!codes.begin("ann", "2", after(begin, 59)), "one is on its way");
        let made = (1..20).filter(|n| codes.begin("ann", "3", after(begin, 60 * n))).count();
        assert_eq!(made, 4);
        assert!(codes.begin("ann", "4", after(begin, 3_600)));
    }

    #[test]
    fn memory_is_bounded_and_an_hour_later_there_is_room_again() {
        let (codes, begin) = (LoginCodes::default(), Instant::now());
        for id in 0..IDS_MAX {
            assert!(codes.begin(&id.to_string(), "1", begin));
        }
        assert!(!codes.begin("ann", "1", begin));
        assert!(codes.begin("ann", "1", after(begin, 3_600)));
    }

    #[test]
    fn six_digits_are_a_code_and_anything_else_a_token() {
        assert!(is_code("012345"));
        for token in ["", "12345", "1234567", "12345a", "cmp_12", "12345\u{661}"] {
            assert!(!is_code(token), "{token}");
        }
    }
}
