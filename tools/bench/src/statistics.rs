//! Mean, median, standard deviation, and how times are spread.

/// Buckets of the least values: one each.
const EXACT: u64 = 32;
/// Buckets of each doubling above them.
const STEPS: u64 = 16;
/// Bits of a bucket's place within its doubling.
const STEP_BITS: u32 = 4;
/// All buckets that values of 64 bits can fall into.
const BUCKETS: usize = (EXACT + (64 - 5) * STEPS) as usize;

/// What a column of numbers comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SampleStatistics {
    pub(crate) mean: f64,
    /// The middle one, or the mean of the two in the middle.
    pub(crate) median: f64,
    /// Of the sample: divided by one less than their number; 0 for a single one.
    pub(crate) deviation: f64,
}

impl SampleStatistics {
    /// Nothing of nothing.
    pub(crate) fn of(values: &[f64]) -> Option<SampleStatistics> {
        let count = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count;
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let deviation = if values.len() == 1 { 0.0 } else { (squares / (count - 1.0)).sqrt() };
        Some(SampleStatistics { mean, median, deviation })
    }
}

/// Times in nanoseconds, counted in buckets that are at most a sixteenth of their value wide.
#[derive(Debug, Clone)]
pub(crate) struct Spread {
    counts: Vec<u64>,
}

impl Spread {
    pub(crate) fn new() -> Spread {
        Spread { counts: vec![0; BUCKETS] }
    }

    pub(crate) fn add(&mut self, nanoseconds: u64) {
        self.counts[bucket(nanoseconds)] += 1;
    }

    pub(crate) fn merge(&mut self, other: &Spread) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// This share of them took at most so long, microseconds, by the upper end of its bucket.
    pub(crate) fn percentile_us(&self, share: f64) -> Option<u64> {
        let total: u64 = self.counts.iter().sum();
        let rank = ((total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let place = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(upper_end(place as u64).div_ceil(1_000))
    }
}

fn bucket(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let exponent = 63 - value.leading_zeros();
    let step = (value >> (exponent - STEP_BITS)) & (STEPS - 1);
    (EXACT + u64::from(exponent - 5) * STEPS + step) as usize
}

fn upper_end(place: u64) -> u64 {
    if place < EXACT {
        return place;
    }
    let exponent = (place - EXACT) / STEPS + 5;
    let step = (place - EXACT) % STEPS;
    let width = 1u64 << (exponent - u64::from(STEP_BITS));
    (1u64 << exponent) + step * width + (width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_comes_to_its_mean_median_and_deviation() {
        let of = |values: &[f64]| SampleStatistics::of(values).map(|s| (s.mean, s.median, s.deviation));
        for (values, expected) in [
            (&[][..], None),
            (&[3.0], Some((3.0, 3.0, 0.0))),
            (&[4.0, 2.0], Some((3.0, 3.0, 2f64.sqrt()))),
            (&[9.0, 1.0, 2.0], Some((4.0, 2.0, 19f64.sqrt()))),
            (&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], Some((5.0, 4.5, (32f64 / 7.0).sqrt()))),
        ] {
            assert_eq!(of(values), expected, "{values:?}");
        }
    }

    #[test]
    fn a_bucket_s_upper_end_is_at_most_a_sixteenth_above_its_values() {
        for value in (0..2_000).chain([999_999, 1 << 40, (1 << 40) + 12_345, u64::MAX / 3, u64::MAX]) {
            let end = upper_end(bucket(value) as u64);
            assert!(end >= value && end - value <= value / 16, "{value}: {end}");
        }
    }

    #[test]
    fn percentiles_of_spread_times_are_those_of_the_nearest_rank() {
        let mut spread = Spread::new();
        assert_eq!(spread.percentile_us(0.5), None);
        (1..=99).for_each(|_| spread.add(20_000));
        let mut slow = Spread::new();
        slow.add(5_000_000);
        spread.merge(&slow);
        let [half, most, all] = [0.5, 0.99, 1.0].map(|share| spread.percentile_us(share).unwrap());
        assert!((20..=22).contains(&half) && most == half && (5_000..=5_313).contains(&all), "{half} {all}");
    }
}
