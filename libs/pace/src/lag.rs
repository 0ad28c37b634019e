//! Statistics of lateness: mean, deviation, maximum.

use std::time::{Duration, Instant};

/// Running statistics of lateness (Welford's method): constant memory, no sum of squares that cancels out.
/// Early counts as negative.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Lag {
    count: u64,
    mean_s: f64,
    squares: f64,
    max_s: f64,
}

impl Lag {
    /// No samples yet.
    pub fn new() -> Self {
        Lag::default()
    }

    /// Adds one sample: what was due at `due` happened at `real`.
    pub fn record(&mut self, due: Instant, real: Instant) {
        let late = real.saturating_duration_since(due).as_secs_f64();
        let early = due.saturating_duration_since(real).as_secs_f64();
        self.record_seconds(late - early);
    }

    /// Adds one sample in seconds; what is not finite is left out.
    pub fn record_seconds(&mut self, seconds: f64) {
        if !seconds.is_finite() {
            return;
        }
        self.count += 1;
        self.max_s = if self.count == 1 { seconds } else { self.max_s.max(seconds) };
        let from_old = seconds - self.mean_s;
        self.mean_s += from_old / self.count as f64;
        self.squares += from_old * (seconds - self.mean_s);
    }

    /// Adds another thread's samples, as if they had been recorded here.
    pub fn merge(&mut self, other: &Lag) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (ours, theirs) = (self.count as f64, other.count as f64);
        let apart = other.mean_s - self.mean_s;
        self.squares += other.squares + apart * apart * ours * theirs / (ours + theirs);
        self.mean_s += apart * theirs / (ours + theirs);
        self.max_s = self.max_s.max(other.max_s);
        self.count += other.count;
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean in seconds, negative where early; 0 without samples.
    pub fn mean_s(&self) -> f64 {
        self.mean_s
    }

    /// Standard deviation of the samples in seconds (n - 1); 0 below two samples.
    pub fn sd_s(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }

    /// The latest sample; zero if all were early.
    pub fn max(&self) -> Duration {
        Duration::from_secs_f64(self.max_s.clamp(0.0, 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: &[f64]) -> Lag {
        let mut lag = Lag::new();
        samples.iter().for_each(|&s| lag.record_seconds(s));
        lag
    }

    #[test]
    fn mean_deviation_and_maximum_are_the_textbook_ones() {
        let lag = of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((lag.count(), lag.mean_s(), lag.max()), (8, 5.0, Duration::from_secs(9)));
        assert!((lag.sd_s() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((of(&[]).mean_s(), of(&[1.0]).sd_s(), of(&[]).max()), (0.0, 0.0, Duration::ZERO));
    }

    #[test]
    fn early_is_negative_and_never_the_maximum() {
        let t = Instant::now();
        let mut lag = Lag::new();
        lag.record(t + Duration::from_millis(4), t);
        assert!((lag.mean_s() + 0.004).abs() < 1e-9);
        assert_eq!(lag.max(), Duration::ZERO);
        lag.record(t, t + Duration::from_millis(4));
        assert!(lag.mean_s().abs() < 1e-9);
        assert_eq!(lag.max(), Duration::from_millis(4));
    }

    #[test]
    fn small_spread_on_a_large_mean_does_not_cancel_out() {
        let lag = of(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]);
        assert!((lag.sd_s() - 1.0).abs() < 1e-6, "{}", lag.sd_s());
        assert_eq!(of(&[f64::NAN, f64::INFINITY]).count(), 0);
    }

    proptest! {
        #[test]
        fn merged_is_the_same_as_recorded_together(a in prop::collection::vec(-1.0..1.0, 0..40),
                                                   b in prop::collection::vec(-1.0..1.0, 0..40)) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let together = of(&[a, b].concat());
            prop_assert_eq!(merged.count(), together.count());
            prop_assert!((merged.mean_s() - together.mean_s()).abs() < 1e-9);
            prop_assert!((merged.sd_s() - together.sd_s()).abs() < 1e-9);
            prop_assert_eq!(merged.max(), together.max());
        }
    }
}
