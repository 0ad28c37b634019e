//! Turn of a thread among those that share a rate: their bursts are due one after the other, evenly.

use pace::Interval;
use std::time::{Duration, Instant};

/// A thread this near to its place, in parts of the gap between two threads, is there.
const NEAR_PART: f64 = 0.05;

/// A thread's place in a round of all of them. A round lasts one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderTurn {
    /// When a round began.
    pub origin: Instant,
    /// Which thread, from 0.
    pub at: u32,
    /// Threads of the round.
    pub of: u32,
}

impl SenderTurn {
    /// How long after `due` this thread's next place comes; zero where `due` is one, or it is alone.
    pub fn wait(&self, due: Instant, interval: &Interval) -> Duration {
        let round = interval.seconds();
        if self.of < 2 || round <= 0.0 {
            return Duration::ZERO;
        }
        let off = since(self.origin + interval.offset(self.at, self.of), due).rem_euclid(round);
        let near = round / f64::from(self.of) * NEAR_PART;
        if off <= near || round - off <= near { Duration::ZERO } else { Duration::from_secs_f64(round - off) }
    }

    /// The origin of the rounds as they go on with another interval from `now` on: the schedules of all
    /// threads stretch about that moment, and keep their places.
    pub fn origin_after(origin: Instant, now: Instant, from: &Interval, to: &Interval) -> Instant {
        let passed = since(origin, now).rem_euclid(from.seconds());
        let stretched = Duration::from_secs_f64(passed * to.seconds() / from.seconds());
        now.checked_sub(stretched).unwrap_or(now)
    }
}

/// Seconds from one moment to another, below zero where that came before.
fn since(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64() - from.saturating_duration_since(to).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_keep_their_turns_are_due_evenly_wherever_they_were() {
        let origin = Instant::now();
        // Two threads, a burst each millisecond of each.
        let interval = Interval::of(1_250, 1, 2, 20e6).unwrap();
        let us = Duration::from_micros;
        for (at, due, wait) in [
            (0, us(0), us(0)),
            (0, us(7_000), us(0)),
            (0, us(7_300), us(700)),
            (1, us(7_300), us(200)),
            (1, us(7_500), us(0)),
            (1, us(7_520), us(0)),
            (1, us(7_600), us(900)),
            (1, us(100), us(400)),
        ] {
            let turn = SenderTurn { origin, at, of: 2 };
            let found = turn.wait(origin + due, &interval);
            assert!(found.abs_diff(wait) < Duration::from_nanos(10), "{at} {due:?}: {found:?}");
        }
        let alone = SenderTurn { origin, at: 0, of: 1 };
        assert_eq!(alone.wait(origin + us(300), &interval), Duration::ZERO);
    }

    #[test]
    fn another_rate_leaves_each_thread_at_its_place() {
        let (origin, us) = (Instant::now(), Duration::from_micros);
        let (slow, fast) =
            (Interval::of(1_250, 1, 2, 20e6).unwrap(), Interval::of(1_250, 1, 2, 40e6).unwrap());
        let now = origin + us(5_400);
        let moved = SenderTurn::origin_after(origin, now, &slow, &fast);
        // What was due in 600 us is due in 300.
        let turn = SenderTurn { origin: moved, at: 0, of: 2 };
        assert_eq!(turn.wait(now + us(300), &fast), Duration::ZERO);
        assert!(turn.wait(now + us(400), &fast) > us(390));
    }
}
