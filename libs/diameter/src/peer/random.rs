//! Random numbers for jitter, from a seed that the caller injects (RFC 3539 section 3.4.1, item 1).

use std::time::Duration;

/// A generator of 64 bits of state: the same seed gives the same numbers. Not for secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// A generator that begins at `seed`: take it from the system's source, a different one per peer.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        // SplitMix64: a Weyl sequence, its steps scattered by two multiplications.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// The next number's upper half.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A time between `middle - spread` and `middle + spread`, in steps of a microsecond; never below zero.
    pub fn around(&mut self, middle: Duration, spread: Duration) -> Duration {
        let spread_us = u64::try_from(spread.as_micros()).unwrap_or(u64::MAX / 4).min(u64::MAX / 4);
        let draw_us = self.next_u64() % (2 * spread_us + 1);
        (middle + Duration::from_micros(draw_us)).saturating_sub(Duration::from_micros(spread_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_around_a_middle_stays_within_its_spread_and_uses_all_of_it() {
        let mut random = Random::new(7);
        let (middle, spread) = (Duration::from_secs(30), Duration::from_secs(2));
        let draws: Vec<_> = (0..1_000).map(|_| random.around(middle, spread)).collect();
        assert!(draws.iter().all(|draw| *draw >= middle - spread && *draw <= middle + spread));
        assert!(draws.iter().any(|draw| *draw < middle - spread / 2));
        assert!(draws.iter().any(|draw| *draw > middle + spread / 2));
    }

    #[test]
    fn no_spread_is_the_middle_and_a_spread_over_the_middle_is_cut_at_zero() {
        let mut random = Random::new(1);
        assert_eq!(random.around(Duration::from_secs(5), Duration::ZERO), Duration::from_secs(5));
        for _ in 0..100 {
            assert!(random.around(Duration::from_secs(1), Duration::from_secs(9)) <= Duration::from_secs(10));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_seed_others() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [random.next_u64(), random.next_u64()]
        };
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
