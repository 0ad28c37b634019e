//! Flow counts one sending thread's packets at one receiving thread: lost, twice, late; how evenly. No clock,
//! no socket.

use super::stream::GapBin;
use crate::wire::Head;
use hdrhistogram::Histogram;

/// Numbers a flow looks back on: a packet that is older cannot be told from one that came twice, and counts
/// as [`Flow::ancient`].
pub const LOOKS_BACK: u64 = 65_536;
const WORDS: usize = (LOOKS_BACK / 64) as usize;

/// One flow.
pub struct Flow {
    seen: Box<[u64; WORDS]>,
    /// The highest number so far.
    highest: Option<u64>,
    /// Packets that came, each once.
    pub unique: u64,
    /// Packets that had come already.
    pub duplicates: u64,
    /// Packets that came behind a later one.
    pub reordered: u64,
    /// By how many numbers, at most.
    pub extent_max: u64,
    /// Packets older than [`LOOKS_BACK`].
    pub ancient: u64,
    /// Interarrival jitter in nanoseconds (RFC 3550 section 6.4.1).
    pub jitter_ns: f64,
    last_transit_ns: Option<i64>,
}

impl Default for Flow {
    fn default() -> Flow {
        Flow {
            seen: Box::new([0; WORDS]),
            highest: None,
            unique: 0,
            duplicates: 0,
            reordered: 0,
            extent_max: 0,
            ancient: 0,
            jitter_ns: 0.0,
            last_transit_ns: None,
        }
    }
}

impl Flow {
    /// How many numbers were given out so far, as far as this flow can know.
    pub fn reached(&self) -> u64 {
        self.highest.map_or(0, |highest| highest + 1)
    }

    /// A packet that the kernel stamped `stamp_ns`; whether it is new.
    pub fn take(&mut self, head: &Head, stamp_ns: u64) -> bool {
        let number = head.number;
        match self.highest {
            Some(highest) if number <= highest => {
                if highest - number >= LOOKS_BACK {
                    self.ancient += 1;
                    return false;
                }
                if self.is_seen(number) {
                    self.duplicates += 1;
                    return false;
                }
                self.reordered += 1;
                self.extent_max = self.extent_max.max(highest - number);
            }
            highest => {
                self.forget(highest, number);
                self.highest = Some(number);
            }
        }
        self.seen[word(number)] |= bit(number);
        self.unique += 1;
        self.judge(head.sent_ns, stamp_ns);
        true
    }

    fn is_seen(&self, number: u64) -> bool {
        self.seen[word(number)] & bit(number) != 0
    }

    /// The places of the numbers after `highest`, up to `number`, held numbers that are too old now.
    fn forget(&mut self, highest: Option<u64>, number: u64) {
        let from = highest.map_or(0, |highest| highest + 1);
        if number.saturating_sub(from) >= LOOKS_BACK {
            self.seen.fill(0);
            return;
        }
        for old in from..=number {
            self.seen[word(old)] &= !bit(old);
        }
    }

    fn judge(&mut self, sent_ns: u64, stamp_ns: u64) {
        let transit = stamp_ns.wrapping_sub(sent_ns) as i64;
        if let Some(last) = self.last_transit_ns {
            let apart = transit.wrapping_sub(last).unsigned_abs() as f64;
            self.jitter_ns += (apart - self.jitter_ns) / 16.0;
        }
        self.last_transit_ns = Some(transit);
    }
}

fn word(number: u64) -> usize {
    (number % LOOKS_BACK / 64) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

/// The longest gap and delay that are told apart, in nanoseconds: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

/// How evenly packets came at one socket.
#[derive(Clone)]
pub struct Evenness {
    /// Gaps between packets in nanoseconds.
    pub gaps: Histogram<u64>,
    /// Gaps within 20 % of what was ideal when the packet left.
    pub near: u64,
    /// Gaps that were judged.
    pub judged: u64,
    /// One-way delays in nanoseconds: the sender's clock against ours, so below zero is counted as zero.
    pub delays: Histogram<u64>,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
}

impl Default for Evenness {
    fn default() -> Evenness {
        // Bounds that are valid whatever happens: 1 <= 2 * 1 <= LONGEST.
        let histogram = || match Histogram::new_with_bounds(1, LONGEST_NS, 3) {
            Ok(histogram) => histogram,
            Err(error) => unreachable!("constant bounds: {error}"),
        };
        Evenness { gaps: histogram(), near: 0, judged: 0, delays: histogram(), first_ns: None, last_ns: None }
    }
}

impl Evenness {
    /// A packet came.
    pub fn take(&mut self, head: &Head, stamp_ns: u64) {
        self.delays.saturating_record(stamp_ns.saturating_sub(head.sent_ns));
        if let Some(last) = self.last_ns {
            let gap = stamp_ns.saturating_sub(last);
            self.gaps.saturating_record(gap);
            self.judged += 1;
            let ideal = u64::from(head.gap_ns);
            self.near += u64::from(gap.abs_diff(ideal) * 5 <= ideal);
        }
        self.first_ns.get_or_insert(stamp_ns);
        self.last_ns = Some(stamp_ns);
    }

    /// Seconds between the stamps of the first packet and of the last; 0 before there are two.
    pub fn span_s(&self) -> f64 {
        let span = self.first_ns.zip(self.last_ns).map_or(0, |(first, last)| last.saturating_sub(first));
        span as f64 / 1e9
    }

    /// Another socket's, as if they had come here.
    pub fn merge(&mut self, other: &Evenness) {
        // Both have the same bounds.
        let _ = self.gaps.add(&other.gaps);
        let _ = self.delays.add(&other.delays);
        self.near += other.near;
        self.judged += other.judged;
        self.first_ns = self.first_ns.into_iter().chain(other.first_ns).min();
        self.last_ns = self.last_ns.max(other.last_ns);
    }

    /// All gaps, as finely as they are told apart.
    pub fn gap_bins(&self) -> Vec<GapBin> {
        let bin = |at: u64, gaps: u64| {
            GapBin(self.gaps.lowest_equivalent(at), self.gaps.highest_equivalent(at), gaps)
        };
        self.gaps
            .iter_recorded()
            .map(|value| bin(value.value_iterated_to(), value.count_since_last_iteration()))
            .collect()
    }

    /// The share of gaps within 20 % of ideal; 1 where none was judged.
    pub fn near_share(&self) -> f64 {
        if self.judged == 0 { 1.0 } else { self.near as f64 / self.judged as f64 }
    }
}

/// Packets in each millisecond, against how many would be ideal.
#[derive(Debug, Clone, Default)]
pub struct Milliseconds {
    counts: std::collections::BTreeMap<u64, Count>,
    /// The one that packets come in now.
    current: (u64, Count),
}

/// Packets in a millisecond, and the ideal gap between two of them that the last one named, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// The ideal gap.
    pub gap_ns: u32,
}

impl Count {
    /// How many times the rate asked for came in this millisecond.
    pub fn times(&self) -> f64 {
        self.packets as f64 * f64::from(self.gap_ns) / 1e6
    }
}

impl Milliseconds {
    /// A packet came.
    pub fn take(&mut self, head: &Head, stamp_ns: u64) {
        let millisecond = stamp_ns / 1_000_000;
        if millisecond != self.current.0 {
            self.close();
            self.current.0 = millisecond;
        }
        self.current.1.packets += 1;
        self.current.1.gap_ns = head.gap_ns;
    }

    fn close(&mut self) {
        let (millisecond, count) = std::mem::take(&mut self.current);
        self.join(millisecond, count);
    }

    fn join(&mut self, millisecond: u64, count: Count) {
        if count.packets > 0 {
            let all = self.counts.entry(millisecond).or_default();
            all.packets += count.packets;
            all.gap_ns = count.gap_ns;
        }
    }

    /// All so far; it begins anew.
    pub fn drain(&mut self) -> Vec<(u64, Count)> {
        self.close();
        std::mem::take(&mut self.counts).into_iter().collect()
    }

    /// What another socket counted.
    pub fn add(&mut self, counts: &[(u64, Count)]) {
        counts.iter().for_each(|(millisecond, count)| self.join(*millisecond, *count));
    }

    /// How many times the rate asked for came in the worst millisecond, of those before `before` (in
    /// milliseconds since 1970), which are forgotten.
    pub fn worst_before(&mut self, before: u64) -> f64 {
        let later = self.counts.split_off(&before);
        std::mem::replace(&mut self.counts, later).values().map(Count::times).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn head(number: u64) -> Head {
        Head { thread: 0, stream: 1, number, sent_ns: 1_000 * number, offset: 0, gap_ns: 1_000, filled: 0 }
    }

    fn of(numbers: &[u64]) -> Flow {
        let mut flow = Flow::default();
        for number in numbers {
            flow.take(&head(*number), 1_000 * number + 50);
        }
        flow
    }

    #[test]
    fn each_packet_counts_once_and_late_ones_are_told() {
        let flow = of(&[0, 1, 5, 3, 3, 5, 6]);
        assert_eq!((flow.unique, flow.duplicates, flow.reordered, flow.extent_max), (5, 2, 1, 2));
        assert_eq!(flow.reached(), 7);
        assert_eq!(of(&[]).reached(), 0);
    }

    #[test]
    fn what_is_too_old_is_not_taken_for_new() {
        let mut flow = of(&[0, LOOKS_BACK]);
        assert!(!flow.take(&head(0), 0));
        assert_eq!((flow.ancient, flow.unique), (1, 2));
        assert!(flow.take(&head(1), 0));
        assert!(flow.take(&head(10 * LOOKS_BACK), 0), "a jump forgets all");
    }

    #[test]
    fn jitter_follows_rfc_3550() {
        let mut flow = Flow::default();
        // Transit times 0, 160, 160 ns: J = 160/16 = 10, then 10 - 10/16.
        for (number, stamp) in [(0, 0), (1, 1_160), (2, 2_160)] {
            flow.take(&head(number), stamp);
        }
        assert!((flow.jitter_ns - (10.0 - 10.0 / 16.0)).abs() < 1e-9, "{}", flow.jitter_ns);
    }

    #[test]
    fn gaps_within_a_fifth_of_the_ideal_are_near() {
        let mut even = Evenness::default();
        for stamp in [0, 1_000, 2_200, 3_000, 3_799, 5_000] {
            even.take(&head(0), stamp);
        }
        assert_eq!((even.near, even.judged), (3, 5), "1,000, 1,200 and 800 are; 799 and 1,201 are not");
        assert_eq!(Evenness::default().near_share(), 1.0);
    }

    #[test]
    fn every_gap_is_in_the_histogram_within_a_thousandth_of_its_length() {
        let mut even = Evenness::default();
        for stamp in [0, 0, 1_000, 2_000, 1_002_000, 5_001_002_000] {
            even.take(&head(0), stamp);
        }
        let bins = even.gap_bins();
        let counts: Vec<u64> = bins.iter().map(|GapBin(.., gaps)| *gaps).collect();
        assert_eq!(counts, [1, 2, 1, 1]);
        for (GapBin(from_ns, to_ns, _), gap) in bins.iter().zip([0_u64, 1_000, 1_000_000, 5_000_000_000]) {
            assert!((*from_ns..=*to_ns).contains(&gap) && to_ns - from_ns <= gap / 1_000 + 1, "{bins:?}");
        }
    }

    #[test]
    fn the_span_is_from_the_first_stamp_to_the_last_over_all_sockets() {
        let (mut all, mut one, mut other) = (Evenness::default(), Evenness::default(), Evenness::default());
        [5_000, 9_000].into_iter().for_each(|stamp| one.take(&head(0), stamp));
        assert_eq!((all.span_s(), one.span_s()), (0.0, 4e-6));
        [2_000, 7_000].into_iter().for_each(|stamp| other.take(&head(0), stamp));
        [&one, &other].into_iter().for_each(|socket| all.merge(socket));
        assert_eq!(all.span_s(), 7e-6);
    }

    #[test]
    fn the_worst_millisecond_is_found_over_all_sockets() {
        let (mut all, mut one) = (Milliseconds::default(), Milliseconds::default());
        (0..3).for_each(|at| one.take(&Head { gap_ns: 500_000, ..head(0) }, 5_000_000 + at));
        all.add(&one.drain());
        let count = |packets| Count { packets, gap_ns: 500_000 };
        all.add(&[(5, count(4)), (6, count(9))]);
        assert_eq!(all.worst_before(6), 3.5, "7 where 2 would be ideal");
        assert_eq!(all.worst_before(7), 4.5);
        assert_eq!(all.worst_before(8), 0.0);
        assert!(one.drain().is_empty());
    }

    proptest! {
        #[test]
        fn a_flow_counts_as_a_set_would(numbers in prop::collection::vec(0_u64..300, 0..400)) {
            let flow = of(&numbers);
            let unique: HashSet<_> = numbers.iter().collect();
            prop_assert_eq!(flow.unique, unique.len() as u64);
            prop_assert_eq!(flow.duplicates, (numbers.len() - unique.len()) as u64);
            prop_assert_eq!(flow.reached(), numbers.iter().max().map_or(0, |highest| highest + 1));
        }
    }
}
