//! Limits of test messages: so many an account and an address may send in ten minutes.

use records::Timestamp;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The span that the limits are for, in microseconds.
const SPAN_US: i64 = 600_000_000;
/// Tests of one account in a span.
const PER_ACCOUNT_MAX: usize = 60;
/// Tests to one address in a span.
const PER_ADDRESS_MAX: usize = 5;
/// Accounts and addresses remembered; those whose span is over make room.
const KEYS_MAX: usize = 10_000;

/// When tests were sent lately, by account and by address.
#[derive(Default)]
pub(crate) struct TestLimits(Mutex<HashMap<String, VecDeque<Timestamp>>>);

/// Which limit was reached, and when to come again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TestRefused {
    pub(super) why: String,
    pub(super) again_in_s: u64,
}

impl TestLimits {
    /// Counts one more test, unless a limit is reached.
    pub(super) fn take(&self, account: &str, to: &str, now: Timestamp) -> Result<(), TestRefused> {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = [
            (format!("account {account}"), PER_ACCOUNT_MAX, "of this account"),
            (format!("address {account} {to}"), PER_ADDRESS_MAX, "to this address"),
        ];
        if sent.len() + keys.len() > KEYS_MAX {
            sent.retain(|_, times| times.back().is_some_and(|last| is_recent(*last, now)));
        }
        if sent.len() + keys.len() > KEYS_MAX {
            let why = "too many addresses were tested in the last ten minutes".to_owned();
            return Err(TestRefused { why, again_in_s: (SPAN_US / 1_000_000) as u64 });
        }
        for (key, max, whose) in &keys {
            let times = sent.entry(key.clone()).or_default();
            times.retain(|at| is_recent(*at, now));
            if let Some(first) = times.front().filter(|_| times.len() >= *max) {
                let left_us = SPAN_US - now.us_since(*first);
                return Err(TestRefused {
                    why: format!("{max} tests {whose} were sent in the last ten minutes, which is the limit"),
                    again_in_s: u64::try_from(left_us).unwrap_or(0).div_ceil(1_000_000),
                });
            }
        }
        for (key, ..) in &keys {
            sent.entry(key.clone()).or_default().push_back(now);
        }
        Ok(())
    }
}

/// Also false when the clock was set back: nobody waits for longer than a span.
fn is_recent(at: Timestamp, now: Timestamp) -> bool {
    (0..SPAN_US).contains(&now.us_since(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_s(seconds: i64) -> Timestamp {
        Timestamp(0).plus_s(seconds)
    }

    #[test]
    fn an_address_gets_so_many_tests_in_ten_minutes_and_an_account_sends_so_many() {
        let limits = TestLimits::default();
        for n in 0..PER_ADDRESS_MAX {
            assert_eq!(limits.take("a", "sms:+1", at_s(n as i64)), Ok(()));
        }
        let refused = limits.take("a", "sms:+1", at_s(10)).unwrap_err();
        assert_eq!(refused.again_in_s, 590);
        assert!(refused.why.contains("to this address"), "{}", refused.why);
        assert_eq!(limits.take("b", "sms:+1", at_s(10)), Ok(()), "of another account");
        assert_eq!(limits.take("a", "sms:+1", at_s(600)), Ok(()), "the first is ten minutes ago");
        for n in 0..PER_ACCOUNT_MAX - PER_ADDRESS_MAX {
            assert_eq!(limits.take("a", &format!("sms:+2{n}"), at_s(600)), Ok(()));
        }
        let refused = limits.take("a", "sms:+3", at_s(600)).unwrap_err();
        assert!(refused.why.contains("of this account"), "{}", refused.why);
        assert_eq!(limits.take("a", "sms:+3", at_s(2_000)), Ok(()));
    }

    #[test]
    fn the_number_of_addresses_in_memory_is_bounded() {
        let limits = TestLimits::default();
        let sent = (0..KEYS_MAX).filter(|n| limits.take(&n.to_string(), "sms:+1", at_s(0)).is_ok());
        assert_eq!(sent.count(), KEYS_MAX / 2);
        assert_eq!(limits.take("new", "sms:+1", at_s(600)), Ok(()));
    }
}
