//! A client's rate: a second's worth at once, then as fast as it fills.

use std::time::{Duration, Instant};

/// A bucket that holds one second of a rate, at least one message.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: f64,
    tokens: f64,
    /// Nothing was taken yet: it is full.
    filled: Option<Instant>,
}

impl Bucket {
    /// Full, for `rate` messages a second, above 0.
    pub(super) fn new(rate: f64) -> Bucket {
        Bucket { rate, tokens: rate.max(1.0), filled: None }
    }

    /// Takes `count`, or none if there are fewer. More than it ever holds are taken from a full one, which
    /// owes them then.
    pub(super) fn take(&mut self, count: u32, now: Instant) -> bool {
        let full = self.rate.max(1.0);
        let since = self.filled.map_or(Duration::ZERO, |filled| now.saturating_duration_since(filled));
        self.tokens = (self.tokens + since.as_secs_f64() * self.rate).min(full);
        self.filled = Some(self.filled.map_or(now, |filled| filled.max(now)));
        let enough = self.tokens >= f64::from(count).min(full);
        if enough {
            self.tokens -= f64::from(count);
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_the_rate_is_taken_at_once_and_then_the_rate() {
        let start = Instant::now();
        let mut bucket = Bucket::new(10.0);
        let taken = |bucket: &mut Bucket, ms: u64| {
            (0..100).filter(|_| bucket.take(1, start + Duration::from_millis(ms))).count()
        };
        assert_eq!(taken(&mut bucket, 0), 10);
        assert_eq!(taken(&mut bucket, 50), 0);
        assert_eq!(taken(&mut bucket, 101), 1);
        assert_eq!(taken(&mut bucket, 601), 5);
        assert_eq!(taken(&mut bucket, 60_000), 10, "no more than a second is kept");
        assert_eq!(taken(&mut bucket, 0), 0, "a clock that goes back gives nothing");
    }

    #[test]
    fn a_rate_below_one_lets_one_through_in_its_time() {
        let start = Instant::now();
        let mut bucket = Bucket::new(0.5);
        assert!(bucket.take(1, start));
        assert!(!bucket.take(1, start + Duration::from_millis(1_900)));
        assert!(bucket.take(1, start + Duration::from_millis(2_001)));
    }

    #[test]
    fn more_than_it_holds_is_taken_from_a_full_one_and_owed() {
        let start = Instant::now();
        let mut bucket = Bucket::new(10.0);
        assert!(bucket.take(30, start));
        assert!(!bucket.take(1, start + Duration::from_millis(2_000)));
        assert!(bucket.take(1, start + Duration::from_millis(2_101)));
    }
}
