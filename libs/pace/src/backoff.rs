//! Waits between attempts at something that fails.

use std::time::Duration;

/// Waits that double from `first` to `max`, each between half of it and all of it by a random number handed
/// in, so that a thousand sessions cut off together do not come back together.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    failures: u32,
}

impl Backoff {
    /// `first`: the first wait before jitter. `max`: the longest; one below `first` counts as `first`.
    pub fn new(first: Duration, max: Duration) -> Self {
        Backoff { first, max: max.max(first), failures: 0 }
    }

    /// As if it had failed `failures` times since the last success.
    #[must_use]
    pub fn after(self, failures: u32) -> Self {
        Backoff { failures, ..self }
    }

    /// Counts a failure and says how long to wait. `random` is from 0 (half the wait) to 1 (all of it); what
    /// lies outside or is not a number counts as 1.
    pub fn wait(&mut self, random: f64) -> Duration {
        let whole = self.first.checked_mul(1_u32.checked_shl(self.failures.min(31)).unwrap_or(u32::MAX));
        let whole = whole.map_or(self.max, |wait| wait.min(self.max));
        self.failures = self.failures.saturating_add(1);
        let random = if (0.0..=1.0).contains(&random) { random } else { 1.0 };
        whole.mul_f64(0.5 + random / 2.0)
    }

    /// Failures since the last success.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// It worked: the next wait is the first again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_start_again_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
        for (failure, expected) in [1, 2, 4, 8, 16, 30, 30, 30].into_iter().enumerate() {
            assert_eq!(backoff.wait(1.0), Duration::from_secs(expected), "failure {failure}");
        }
        backoff.reset();
        assert_eq!((backoff.failures(), backoff.wait(1.0)), (0, Duration::from_secs(1)));
        assert_eq!(backoff.after(3).wait(1.0), Duration::from_secs(8));
    }

    #[test]
    fn jitter_takes_up_to_half_away() {
        for (random, expected_ms) in
            [(0.0, 500), (0.5, 750), (1.0, 1000), (-1.0, 1000), (9.0, 1000), (f64::NAN, 1000)]
        {
            let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
            assert_eq!(backoff.wait(random), Duration::from_millis(expected_ms), "random {random}");
        }
    }

    #[test]
    fn a_thousand_failures_do_not_overflow() {
        let mut backoff = Backoff::new(Duration::from_secs(3), Duration::from_secs(60));
        for _ in 0..1_000 {
            assert!(backoff.wait(0.7) <= Duration::from_secs(60));
        }
        let mut odd = Backoff::new(Duration::from_secs(3), Duration::ZERO);
        assert_eq!(odd.wait(1.0), Duration::from_secs(3));
    }
}
