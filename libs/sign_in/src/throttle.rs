//! Waits between wrong second factors of one user: 1, 2, 4 … seconds, at most 15 minutes.
//!
//! A guard over networks and names that lets an attempt through every few seconds suffices for passwords of
//! twelve characters. It does not for a code of six digits of which three count at a time: at one attempt in
//! three seconds it is found within days by who has the password. With this wait it takes centuries of one
//! such user (RFC 4226 §7.3). The count is kept with the user, so that it survives a restart and holds on all
//! nodes; right codes reset it.

/// The first wait.
pub const WAIT_FIRST_S: u64 = 1;
/// The longest wait.
pub const WAIT_MAX_S: u64 = 15 * 60;

/// Wrong second factors of a user since the last right one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WrongCodes {
    /// So many; none after a right one.
    pub count: u32,
    /// The time of the last of them.
    pub last_s: u64,
}

impl WrongCodes {
    /// The wait after the last wrong one.
    pub fn wait_s(self) -> u64 {
        match self.count.checked_sub(1) {
            None => 0,
            Some(doubled) => WAIT_FIRST_S.checked_shl(doubled.min(63)).unwrap_or(WAIT_MAX_S).min(WAIT_MAX_S),
        }
    }

    /// Seconds until the next attempt may be looked at; 0: now. A clock that was set back does not lengthen
    /// the wait.
    pub fn left_s(self, now_s: u64) -> u64 {
        let passed = now_s.saturating_sub(self.last_s);
        self.wait_s().saturating_sub(passed)
    }

    /// One more was wrong.
    #[must_use]
    pub fn failed(self, now_s: u64) -> WrongCodes {
        WrongCodes { count: self.count.saturating_add(1), last_s: now_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn waits_double_from_a_second_to_a_quarter_of_an_hour() {
        let mut wrong = WrongCodes::default();
        assert_eq!(wrong.left_s(0), 0);
        for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900] {
            wrong = wrong.failed(1_000);
            assert_eq!(wrong.left_s(1_000), wait);
            assert_eq!(wrong.left_s(1_000 + wait - 1), 1);
            assert_eq!(wrong.left_s(1_000 + wait), 0);
        }
    }

    proptest! {
        #[test]
        fn no_count_and_no_clock_makes_a_longer_wait(count: u32, last_s: u64, now_s: u64) {
            let wrong = WrongCodes { count, last_s };
            prop_assert!(wrong.left_s(now_s) <= WAIT_MAX_S);
            prop_assert!(wrong.failed(now_s).wait_s() >= wrong.wait_s());
        }
    }
}
