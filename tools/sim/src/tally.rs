//! Counting: how often each thing came, and how many came in the fullest second.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

const SECOND_US: u64 = 1_000_000;

/// How often each key came. Keys are hashes of 64 bits: a million of them take some 20 MB, whatever they
/// stand for.
#[derive(Debug, Default)]
pub(crate) struct KeyCounts {
    counts: HashMap<u64, u32, BuildHasherDefault<Hashed>>,
    /// All above the first of their key.
    pub(crate) repeats: u64,
    /// The most of one key.
    pub(crate) most: u64,
}

impl KeyCounts {
    pub(crate) fn add(&mut self, key: u64) {
        let count = self.counts.entry(key).or_default();
        *count = count.saturating_add(1);
        self.repeats += u64::from(*count > 1);
        self.most = self.most.max(u64::from(*count));
    }

    pub(crate) fn count(&self, key: u64) -> u32 {
        self.counts.get(&key).copied().unwrap_or(0)
    }

    /// Different keys.
    pub(crate) fn distinct(&self) -> u64 {
        self.counts.len() as u64
    }
}

/// How many came within the last second, and the most there ever were in one: exact to the microsecond of
/// each read.
#[derive(Debug, Default)]
pub(crate) struct LastSecond {
    /// Moment and number; as many entries as there were reads in a second.
    marks: VecDeque<(u64, u64)>,
    within: u64,
    pub(crate) peak: u64,
}

impl LastSecond {
    /// How many lie in the second that ends now.
    pub(crate) fn count(&mut self, now_us: u64) -> u64 {
        while let Some(&(at, count)) = self.marks.front()
            && at + SECOND_US <= now_us
        {
            self.within -= count;
            self.marks.pop_front();
        }
        self.within
    }

    pub(crate) fn add(&mut self, now_us: u64, count: u64) {
        // Two sessions may come to the lock in another order than they read the clock.
        let now_us = self.marks.back().map_or(now_us, |(at, _)| now_us.max(*at));
        self.count(now_us);
        match self.marks.back_mut() {
            Some((at, marked)) if *at == now_us => *marked += count,
            _ => self.marks.push_back((now_us, count)),
        }
        self.within += count;
        self.peak = self.peak.max(self.within);
    }
}

/// The keys are hashes already.
#[derive(Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, octets: &[u8]) {
        self.0 = crate::chance::hash(self.0, octets);
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_that_of_the_fullest_second_wherever_it_begins() {
        let mut last = LastSecond::default();
        for at in [0, 900_000, 900_000, 1_200_000, 1_899_999, 1_900_000] {
            last.add(at, 1);
        }
        assert_eq!(last.peak, 4);
        assert_eq!(last.count(1_900_000), 3);
        assert_eq!(last.count(5_000_000), 0);
        last.add(4_000_000, 10);
        assert_eq!(last.peak, 10);
    }

    #[test]
    fn repeats_are_all_above_the_first() {
        let mut tally = KeyCounts::default();
        for key in [1, 2, 1, 3, 1, 2] {
            tally.add(key);
        }
        assert_eq!((tally.distinct(), tally.repeats, tally.most), (3, 3, 3));
        assert_eq!((tally.count(2), tally.count(9)), (2, 0));
    }
}
