//! Waiting for an instant, exactly and cheaply: an absolute sleep that ends a little early, then a spin.

use crate::socket::sleep_until;
use std::time::{Duration, Instant};

/// The least and the most that is spun before a due time. A sleep with 1 ns of timer slack wakes about 15 us
/// late on a quiet machine; where it wakes far later, spinning longer would burn a core and still be late.
const SPIN_MIN: Duration = Duration::from_micros(5);
const SPIN_MAX: Duration = Duration::from_micros(80);
/// No sleep is longer, so that a change of the rate or the end is heard.
const NAP: Duration = Duration::from_millis(10);

/// How early to wake, learned from how late earlier sleeps ended.
#[derive(Debug)]
pub struct Wait {
    spin: Duration,
}

impl Default for Wait {
    fn default() -> Wait {
        Wait { spin: Duration::from_micros(20) }
    }
}

impl Wait {
    /// Waits until `due`, or until `is_over` says so. What the clock shows then, and how long the wait was.
    pub fn until(&mut self, due: Instant, is_over: impl Fn() -> bool) -> (Instant, Duration) {
        let begun = Instant::now();
        let mut now = begun;
        while now < due {
            let left = due - now;
            if left > NAP + self.spin {
                sleep_until(now + NAP);
            } else if left > self.spin {
                let wake = due - self.spin;
                sleep_until(wake);
                self.learn(Instant::now().saturating_duration_since(wake));
            } else {
                std::hint::spin_loop();
            }
            now = Instant::now();
            if is_over() {
                break;
            }
        }
        (now, now - begun)
    }

    /// Follows the late wake-ups quickly and the early ones slowly, so that about one in fifty is later than
    /// the spin.
    fn learn(&mut self, late: Duration) {
        self.spin = if late > self.spin {
            self.spin + (late - self.spin) / 4
        } else {
            self.spin - (self.spin - late) / 200
        };
        self.spin = self.spin.clamp(SPIN_MIN, SPIN_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_return_before_the_time() {
        let mut wait = Wait::default();
        for us in [0, 1, 30, 500, 12_000] {
            let due = Instant::now() + Duration::from_micros(us);
            let (now, _) = wait.until(due, || false);
            assert!(now >= due);
        }
    }

    #[test]
    fn whoever_calls_it_off_is_heard() {
        let due = Instant::now() + Duration::from_secs(3600);
        let (now, _) = Wait::default().until(due, || true);
        assert!(now < due);
    }

    #[test]
    fn the_spin_follows_late_sleeps_and_stays_within_its_bounds() {
        let mut wait = Wait::default();
        (0..100).for_each(|_| wait.learn(Duration::from_millis(50)));
        assert_eq!(wait.spin, SPIN_MAX);
        (0..10_000).for_each(|_| wait.learn(Duration::ZERO));
        assert_eq!(wait.spin, SPIN_MIN);
    }
}
