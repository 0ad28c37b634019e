//! Random gaps between packets, from a seed.

/// Exponential gaps with a mean of 1: packets that come by chance (a Poisson process), to be given to
/// [`Pacer::sent_with_gap`](crate::Pacer::sent_with_gap). The same seed gives the same gaps; threads with a
/// seed and a part of the rate each send together what one process of the whole rate would.
#[derive(Debug, Clone)]
pub struct Gaps {
    state: u64,
}

impl Gaps {
    /// Any seed will do, neighbouring ones too.
    pub fn new(seed: u64) -> Self {
        Gaps { state: seed }
    }

    /// The next gap, as a factor of the mean one: 0 to 37.
    pub fn gap(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// 0 to 1, the latter excluded.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generator's published first numbers of seed 1234567.
    #[test]
    fn the_generator_is_splitmix64() {
        let mut gaps = Gaps::new(1_234_567);
        let numbers = [(); 3].map(|()| gaps.number());
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn gaps_are_exponential_with_a_mean_of_one() {
        for seed in 0..8 {
            let mut gaps = Gaps::new(seed);
            let drawn: Vec<f64> = (0..100_000).map(|_| gaps.gap()).collect();
            let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let square = drawn.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
            // Mean and deviation of an exponential distribution are one; so many are longer than 1, and than
            // 3.
            assert!((mean - 1.0).abs() < 0.015 && (square - 1.0).abs() < 0.05, "{seed}: {mean} {square}");
            for (longer, part) in [(1.0, 0.3679), (3.0, 0.0498)] {
                let counted = drawn.iter().filter(|gap| **gap > longer).count() as f64 / drawn.len() as f64;
                assert!((counted - part).abs() < 0.006, "{seed}: {counted} over {longer}");
            }
            assert!(drawn.iter().all(|gap| (0.0..=37.0).contains(gap)));
        }
    }

    #[test]
    fn a_seed_gives_the_same_gaps_again() {
        let (mut one, mut two, mut other) = (Gaps::new(7), Gaps::new(7), Gaps::new(8));
        for _ in 0..100 {
            let gap = one.gap();
            assert!(gap == two.gap() && gap != other.gap());
        }
    }
}
