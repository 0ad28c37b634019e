//! Pacer of a push: due time of the next burst. Not `pace::Pacer`: bursts of a push differ in their octets,
//! and one that is late is made up for at once, since whatever it does not send has to be sent later all the
//! same.

use std::time::{Duration, Instant};

/// What a pacer makes up for at most after it was late.
const DEBT_MAX: Duration = Duration::from_millis(30);

/// A bounded rule: a burst is due one interval after the one before, and lateness is made up for up to a
/// bound.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    due: Instant,
    interval: Duration,
}

impl Pacer {
    /// A pacer whose first burst is due at once.
    pub fn new(now: Instant) -> Self {
        Self { due: now, interval: Duration::ZERO }
    }

    /// When the next burst is due.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// How long the burst that is sent next lasts at the rate asked.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// A burst was sent.
    pub fn sent(&mut self, now: Instant) {
        let floor = now.checked_sub(DEBT_MAX).unwrap_or(now);
        self.due = (self.due + self.interval).max(floor);
    }
}

/// How long `octets` last at `bits_per_second`.
pub fn lasting(octets: u64, bits_per_second: u64) -> Duration {
    Duration::from_nanos((octets * 8).saturating_mul(1_000_000_000) / bits_per_second.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_lateness_is_made_up_for_within_a_bound() {
        let start = Instant::now();
        let mut pacer = Pacer::new(start);
        pacer.set_interval(Duration::from_millis(1));
        for index in 0..5 {
            assert_eq!(pacer.due(), start + Duration::from_millis(index));
            pacer.sent(pacer.due());
        }
        pacer.sent(start + Duration::from_millis(8));
        assert_eq!(pacer.due(), start + Duration::from_millis(6));
        pacer.sent(start + Duration::from_secs(1));
        assert_eq!(pacer.due(), start + Duration::from_millis(970));
    }

    #[test]
    fn octets_last_as_long_as_their_rate_says() {
        assert_eq!(lasting(25_000_000, 200_000_000), Duration::from_secs(1));
        assert_eq!(lasting(1428, 0), Duration::from_secs(11424));
    }
}
