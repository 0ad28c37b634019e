//! Strain of a peer, estimated from how late its answers come.

use std::time::{Duration, Instant};

/// Response times are judged over this time.
const INTERVAL: Duration = Duration::from_secs(1);
/// The floor is the quickest response of the last one to two times this: a peer that has become slower for
/// good is not called strained for ever.
const FLOOR_KEEP: Duration = Duration::from_secs(60);
/// A mean over so many times the floor is a strain …
const FACTOR: u32 = 4;
/// … if it is also this much over it: below that nobody waits, and the jitter of a network is larger than a
/// quick floor.
const SLACK: Duration = Duration::from_millis(500);

/// Watches a peer's response times over their own floor. Constant memory and cost.
#[derive(Debug, Clone, Default)]
pub struct Strain {
    /// Since when `count` and `sum` are counted.
    from: Option<Instant>,
    count: u32,
    sum: Duration,
    /// The quickest of this keep and of the one before.
    floors: [Option<Duration>; 2],
    floor_from: Option<Instant>,
}

impl Strain {
    /// Nothing heard yet.
    pub fn new() -> Self {
        Strain::default()
    }

    /// `count` responses came, of which `sum` was waited together and `quickest` for the quickest one; one
    /// that did not come in time counts as its time-out. True, at most once a second: the peer is strained,
    /// slow down.
    pub fn heard(&mut self, now: Instant, count: u32, sum: Duration, quickest: Duration) -> bool {
        if count == 0 {
            return false;
        }
        self.lower(now, quickest);
        let from = *self.from.get_or_insert(now);
        self.count = self.count.saturating_add(count);
        self.sum = self.sum.saturating_add(sum);
        if now.saturating_duration_since(from) < INTERVAL {
            return false;
        }
        let mean = self.sum / self.count;
        (self.from, self.count, self.sum) = (Some(now), 0, Duration::ZERO);
        self.floor().is_some_and(|floor| mean > floor * FACTOR && mean > floor + SLACK)
    }

    /// The quickest response of late.
    pub fn floor(&self) -> Option<Duration> {
        self.floors.iter().flatten().min().copied()
    }

    fn lower(&mut self, now: Instant, quickest: Duration) {
        let from = *self.floor_from.get_or_insert(now);
        if now.saturating_duration_since(from) >= FLOOR_KEEP {
            self.floors = [None, self.floors[0]];
            self.floor_from = Some(now);
        }
        self.floors[0] = Some(self.floors[0].map_or(quickest, |floor| floor.min(quickest)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Aimd;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// One response each 100 ms for `seconds`; in which seconds a strain was called.
    fn calls(
        strain: &mut Strain,
        start: Instant,
        seconds: u64,
        waited: impl Fn(u64) -> Duration,
    ) -> Vec<u64> {
        (0..seconds * 10)
            .filter(|tick| {
                let waited = waited(*tick);
                strain.heard(start + ms(100) * *tick as u32, 1, waited, waited)
            })
            .map(|tick| tick / 10)
            .collect()
    }

    #[test]
    fn a_rising_response_time_is_a_strain_and_a_jittering_or_a_long_one_is_not() {
        let start = Instant::now();
        type Waited = fn(u64) -> Duration;
        let cases: [(&str, Waited, bool); 6] = [
            ("quick", |_| ms(2), false),
            ("quick with jitter of a network", |tick| ms(2 + tick % 7 * 60), false),
            ("slow from the start", |_| ms(3_000), false),
            ("one stall of 300 ms", |tick| ms(if (50..53).contains(&tick) { 300 } else { 2 }), false),
            ("rising", |tick| ms(20 + tick * 10), true),
            ("slow and rising", |tick| ms(800 + tick * 50), true),
        ];
        for (what, waited, strained) in cases {
            let called = calls(&mut Strain::new(), start, 20, waited);
            assert_eq!(!called.is_empty(), strained, "{what}: {called:?}");
        }
    }

    #[test]
    fn it_is_called_once_a_second_at_most_and_ends_when_the_peer_is_slow_for_good() {
        let start = Instant::now();
        let mut strain = Strain::new();
        assert!(calls(&mut strain, start, 10, |_| ms(5)).is_empty());
        let called = calls(&mut strain, start + ms(10_000), 200, |_| ms(900));
        assert!(called.windows(2).all(|pair| pair[0] < pair[1]), "{called:?}");
        assert!((40..=130).contains(&called.len()) && called.last() < Some(&130), "{called:?}");
    }

    /// A peer that works through a queue at 50/s, sent to at up to 100/s: the rate settles near what it can
    /// do, and its queue stays short.
    #[test]
    fn the_rate_settles_at_what_the_peer_can_do() {
        const CAPACITY: f64 = 50.0;
        let start = Instant::now();
        let (mut aimd, mut strain) = (Aimd::new(100.0), Strain::new());
        let (mut queue, mut sent, mut longest) = (0.0_f64, 0.0, 0.0_f64);
        for tick in 0..6_000_u32 {
            let now = start + ms(20) * tick;
            let rate = aimd.rate(now);
            assert!(rate > 0.0 && rate <= 100.0);
            queue = (queue + rate * 0.02 - CAPACITY * 0.02).max(0.0);
            let waited = ms(20) + Duration::from_secs_f64(queue / CAPACITY);
            if strain.heard(now, 1, waited, waited) {
                aimd.strained(now, CAPACITY);
            }
            if tick >= 3_000 {
                sent += rate * 0.02;
                longest = longest.max(queue / CAPACITY);
            }
        }
        let mean = sent / 60.0;
        assert!((45.0..=55.0).contains(&mean), "{mean:.1}/s");
        assert!(longest < 3.0, "{longest:.1} s of queue");
    }
}
