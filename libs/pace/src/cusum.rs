//! Change detector for a value that fluctuates.

/// Of the threshold, what one sample can add: a single stall, however long, is no change.
const SAMPLE_PART: f64 = 0.25;

/// Which way a value has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It has become larger.
    Up,
    /// It has become smaller.
    Down,
}

/// Cumulative sums in both directions (Page, Continuous inspection schemes, 1954): what lies beyond `target`
/// by more than `drift` is added up, what lies within is taken off again, and a sum over `threshold` is a
/// change. So a value that fluctuates decides nothing however long it does, and one that has moved for good
/// is noticed within a few samples.
///
/// One sample adds at most a quarter of the threshold: it takes four at least, and one that stands out is
/// forgotten.
#[derive(Debug, Clone)]
pub struct Cusum {
    target: f64,
    drift: f64,
    threshold: f64,
    up: f64,
    down: f64,
}

impl Cusum {
    /// All in the unit of the samples. `drift`: what it may lie off the target for good; `threshold`: how
    /// much more than that, summed up, is a change. Both count without their sign.
    pub fn new(target: f64, drift: f64, threshold: f64) -> Self {
        Cusum { target, drift: drift.abs(), threshold: threshold.abs(), up: 0.0, down: 0.0 }
    }

    /// For a value of this mean and deviation: one deviation of drift, 16 of threshold. If it is normally
    /// distributed it takes over 10^12 samples to be called changed wrongly, and one that moves by 2.5
    /// deviations is called changed after eleven.
    ///
    /// The lag of a sender thread is such a value: around one loop, 3.5 us with a deviation of 1.4 us where
    /// it was published.
    pub fn around(mean: f64, sd: f64) -> Self {
        Cusum::new(mean, sd, sd * 16.0)
    }

    /// Adds a sample, and tells if that makes a change; both sums then begin again. What is not a number is
    /// left out.
    pub fn record(&mut self, value: f64) -> Option<Change> {
        if value.is_nan() {
            return None;
        }
        let most = self.threshold * SAMPLE_PART;
        let off = value - self.target;
        self.up = (self.up + (off - self.drift).min(most)).max(0.0);
        self.down = (self.down + (-off - self.drift).min(most)).max(0.0);
        let change = match () {
            () if self.up > self.threshold => Change::Up,
            () if self.down > self.threshold => Change::Down,
            () => return None,
        };
        (self.up, self.down) = (0.0, 0.0);
        Some(change)
    }

    /// What it is held against.
    pub fn target(&self) -> f64 {
        self.target
    }

    /// Another target, from the next sample on: the value it has after a change was found and dealt with.
    pub fn set_target(&mut self, target: f64) {
        self.target = target;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gaps;

    const MEAN_US: f64 = 3.5;
    const SD_US: f64 = 1.4;

    /// Normally distributed (Box and Muller).
    fn normal(random: &mut Gaps, mean: f64, sd: f64) -> f64 {
        let (radius, angle) = ((2.0 * random.gap()).sqrt(), std::f64::consts::TAU * random.unit());
        mean + sd * radius * angle.cos()
    }

    fn lag() -> Cusum {
        Cusum::around(MEAN_US, SD_US)
    }

    #[test]
    fn a_lag_that_fluctuates_by_one_loop_decides_nothing() {
        let (mut cusum, mut random) = (lag(), Gaps::new(1));
        for sample in 0..1_000_000 {
            let change = cusum.record(normal(&mut random, MEAN_US, SD_US));
            assert_eq!(change, None, "after {sample}");
        }
    }

    #[test]
    fn a_lag_that_moves_by_one_loop_is_noticed_in_its_direction_within_a_few_samples() {
        for seed in 0..200 {
            for (moved_us, direction) in [(3.5, Change::Up), (-3.5, Change::Down)] {
                let (mut cusum, mut random) = (lag(), Gaps::new(seed));
                (0..100).for_each(|_| assert_eq!(cusum.record(normal(&mut random, MEAN_US, SD_US)), None));
                let after = (1..).find_map(|n| {
                    cusum.record(normal(&mut random, MEAN_US + moved_us, SD_US)).map(|change| (n, change))
                });
                let (samples, change) = after.unwrap();
                assert!(change == direction && (5..=25).contains(&samples), "{samples} {change:?}");
            }
        }
    }

    #[test]
    fn stalls_that_pass_are_no_change() {
        let (mut cusum, mut random) = (lag(), Gaps::new(2));
        for sample in 0..100_000 {
            let stall = if sample % 50 == 0 { 20_000.0 } else { 0.0 };
            assert_eq!(cusum.record(normal(&mut random, MEAN_US + stall, SD_US)), None, "after {sample}");
        }
    }

    #[test]
    fn a_creeping_change_is_noticed_too() {
        let mut cusum = lag();
        let after = (1..10_000).find(|n| cusum.record(MEAN_US + 0.01 * f64::from(*n)).is_some());
        assert!((200..=240).contains(&after.unwrap()), "{after:?}");
    }

    #[test]
    fn a_new_target_is_the_new_usual() {
        let mut cusum = lag();
        assert!((0..20).any(|_| cusum.record(9.0) == Some(Change::Up)));
        cusum.set_target(9.0);
        assert!((0..1_000).all(|_| cusum.record(9.0).is_none() && cusum.record(f64::NAN).is_none()));
        assert_eq!(cusum.target(), 9.0);
        assert!((0..20).any(|_| cusum.record(MEAN_US) == Some(Change::Down)));
    }
}
