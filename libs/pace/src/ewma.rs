//! A mean that forgets.

use std::time::{Duration, Instant};

/// Mean and deviation of what was heard of late: a sample counts 1/e after the time constant, however often
/// they come (an exponentially weighted moving average for samples at uneven times).
#[derive(Debug, Clone)]
pub struct Ewma {
    time_constant_s: f64,
    last: Option<Instant>,
    mean: f64,
    variance: f64,
}

impl Ewma {
    /// `time_constant`: zero means that the last sample alone counts.
    pub fn new(time_constant: Duration) -> Self {
        Ewma { time_constant_s: time_constant.as_secs_f64(), last: None, mean: 0.0, variance: 0.0 }
    }

    /// Adds a sample taken at `now`, that stands for the time since the one before; what is not finite is
    /// left out. Of two of the same instant the second has no weight.
    pub fn record(&mut self, now: Instant, value: f64) {
        if !value.is_finite() {
            return;
        }
        let Some(last) = self.last else {
            (self.last, self.mean) = (Some(now), value);
            return;
        };
        let passed_s = now.saturating_duration_since(last).as_secs_f64();
        let weight =
            if self.time_constant_s > 0.0 { -(-passed_s / self.time_constant_s).exp_m1() } else { 1.0 };
        let apart = value - self.mean;
        self.mean += apart * weight;
        self.variance = (1.0 - weight) * (self.variance + weight * apart * apart);
        self.last = Some(last.max(now));
    }

    /// The mean of late; `None` before the first sample.
    pub fn mean(&self) -> Option<f64> {
        self.last.map(|_| self.mean)
    }

    /// The deviation of late; 0 before the second sample.
    pub fn sd(&self) -> f64 {
        self.variance.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn after_one_time_constant_a_step_is_taken_over_by_63_percent() {
        let t = Instant::now();
        for steps in [1_u32, 10, 1_000] {
            let mut ewma = Ewma::new(SECOND);
            assert_eq!(ewma.mean(), None);
            ewma.record(t, 0.0);
            (1..=steps).for_each(|step| ewma.record(t + SECOND * step / steps, 1.0));
            let mean = ewma.mean().unwrap();
            assert!((mean - 0.632_120_558).abs() < 1e-6, "{steps} samples: {mean}");
        }
    }

    #[test]
    fn the_deviation_is_that_of_the_samples() {
        let t = Instant::now();
        let mut ewma = Ewma::new(SECOND * 10);
        for ms in 0..100_000_u32 {
            ewma.record(t + SECOND / 1_000 * ms, if ms % 2 == 0 { 3.0 } else { 5.0 });
        }
        assert!((ewma.mean().unwrap() - 4.0).abs() < 0.01 && (ewma.sd() - 1.0).abs() < 0.01, "{ewma:?}");
    }

    #[test]
    fn what_is_no_number_or_has_no_time_counts_nothing() {
        let t = Instant::now();
        let mut ewma = Ewma::new(SECOND);
        ewma.record(t, f64::NAN);
        assert_eq!(ewma.mean(), None);
        ewma.record(t, 2.0);
        for (at, value) in [(t, 9.0), (t - SECOND, 9.0), (t + SECOND, f64::INFINITY)] {
            ewma.record(at, value);
        }
        assert_eq!((ewma.mean(), ewma.sd()), (Some(2.0), 0.0));
        let mut last = Ewma::new(Duration::ZERO);
        last.record(t, 2.0);
        last.record(t + SECOND, 7.0);
        assert_eq!(last.mean(), Some(7.0));
    }

    proptest! {
        #[test]
        fn the_mean_lies_within_the_samples(samples in prop::collection::vec((0_u64..3_000, -5.0..9.0), 1..60)) {
            let mut now = Instant::now();
            let mut ewma = Ewma::new(SECOND);
            for (ms, value) in &samples {
                now += Duration::from_millis(*ms);
                ewma.record(now, *value);
            }
            let (low, high) = samples.iter().fold((9.0_f64, -5.0_f64), |(low, high), (_, v)| (low.min(*v), high.max(*v)));
            let mean = ewma.mean().unwrap();
            prop_assert!((low - 1e-9..=high + 1e-9).contains(&mean), "{} of {:?}", mean, samples);
            prop_assert!(ewma.sd() <= high - low + 1e-9);
        }
    }
}
