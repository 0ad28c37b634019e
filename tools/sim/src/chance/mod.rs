//! Seeded chance: the same seed gives the same town, the same refusals and the same delays, in any process.
//!
//! Nothing here keeps state between calls: a draw is a hash of a seed and of what is drawn for, so that the
//! SMSC, the mailbox and whoever checks their work agree without sharing memory.

mod delay;

pub use delay::Delay;

/// Spreads the bits of `x` over the whole word (the finaliser of SplitMix64).
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A hash of octets that never changes between versions of this program: behaviours and counts hang on it.
///
/// Each step folds a product of 128 bits: with one of 64 bits alone, numbers that differ in few digits
/// collide.
pub fn hash(seed: u64, octets: &[u8]) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = fold(seed ^ ODD, octets.len() as u64 ^ 0xD6E8_FEB8_6659_FD93);
    let (words, rest) = octets.as_chunks::<8>();
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), ODD);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(fold(state ^ u64::from_le_bytes(last), ODD))
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// A stream of draws.
#[derive(Debug, Clone)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// The stream of `seed` for the thing numbered `index`.
    pub fn new(seed: u64, index: u64) -> Self {
        Chance { state: mix(mix(seed).wrapping_add(index)) }
    }

    /// Any word.
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }

    /// From 0 up to, not including, 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From 0 up to, not including, `limit`; 0 if the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(limit)) >> 64) as u64
    }

    /// True in `share` of all cases.
    pub fn hits(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// One of `things`, of which there is at least one.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same() {
        let draws = |seed, index| {
            let mut chance = Chance::new(seed, index);
            [chance.word(), chance.below(100), chance.word()]
        };
        assert_eq!(draws(1, 2), draws(1, 2));
        assert_ne!(draws(1, 2), draws(1, 3));
        assert_ne!(draws(1, 2), draws(2, 2));
    }

    #[test]
    fn the_hash_never_changes() {
        let all = [
            hash(0, b"46701740605"),
            hash(1, b"46701740605"),
            hash(0, b"46701740606"),
            hash(0, b"4670174060"),
        ];
        assert_eq!(
            all,
            [3940491180593347324, 10641338594333360402, 6313676375896602766, 2968019772391956390]
        );
    }

    #[test]
    fn numbers_that_differ_in_few_digits_do_not_collide() {
        let mut seen = std::collections::HashSet::new();
        for number in 46_740_000_000u64..46_740_300_000 {
            let key = hash(hash(0, number.to_string().as_bytes()), b"Fire at the harbour.");
            assert!(seen.insert(key), "{number}");
        }
    }

    #[test]
    fn shares_come_out_as_asked() {
        let mut chance = Chance::new(7, 0);
        for share in [0.0, 0.01, 0.5, 0.99, 1.0] {
            let hits = (0..100_000).filter(|_| chance.hits(share)).count() as f64 / 100_000.0;
            assert!((hits - share).abs() < 0.006, "{share}: {hits}");
        }
    }

    #[test]
    fn below_reaches_every_value_and_no_other() {
        let mut chance = Chance::new(7, 0);
        let mut seen = [0u32; 7];
        for _ in 0..7_000 {
            seen[chance.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 800), "{seen:?}");
        assert_eq!(chance.below(0), 0);
    }
}
