//! The stamps of what was written within the last window: an exact count, not an estimate.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Stamps this close are kept as one, under the latest of them. So a ring of a very high rate holds at most
/// 10,000 entries per second instead of one per message; counting a write up to 100 us late can only lower
/// the rate (by 0.01 %), never raise it.
const MERGED_SPAN: Duration = Duration::from_micros(100);

#[derive(Debug, Clone)]
struct StampRun {
    first: Instant,
    last: Instant,
    messages: u64,
}

/// Write stamps in order, oldest in front.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stamps {
    runs: VecDeque<StampRun>,
    messages: u64,
}

impl Stamps {
    /// Records that `messages` were written, the last of them not after `stamp`. Stamps of several sessions
    /// may come out of order: one that is older than its predecessor counts as late as that one.
    pub(crate) fn push(&mut self, stamp: Instant, messages: u64) {
        if messages == 0 {
            return;
        }
        self.messages += messages;
        if let Some(run) = self.runs.back_mut() {
            let stamp = stamp.max(run.last);
            if stamp - run.first < MERGED_SPAN {
                run.last = stamp;
                run.messages += messages;
                return;
            }
            self.runs.push_back(StampRun { first: stamp, last: stamp, messages });
            return;
        }
        self.runs.push_back(StampRun { first: stamp, last: stamp, messages });
    }

    /// Forgets what is at least `span` old at `now`. Each run is dropped once: constant cost per push.
    pub(crate) fn expire(&mut self, now: Instant, span: Duration) {
        while let Some(run) = self.runs.front() {
            if now.saturating_duration_since(run.last) < span {
                return;
            }
            self.messages -= run.messages;
            self.runs.pop_front();
        }
    }

    pub(crate) fn messages(&self) -> u64 {
        self.messages
    }

    /// The stamp whose leaving makes room for `messages`; `None` if there are not so many.
    /// Constant cost unless the rate was just lowered, when several runs have to leave.
    pub(crate) fn stamp_of(&self, messages: u64) -> Option<Instant> {
        let mut left = 0;
        for run in &self.runs {
            left += run.messages;
            if left >= messages {
                return Some(run.last);
            }
        }
        None
    }

    #[cfg(test)]
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_stamp_leaves_exactly_one_span_later() {
        let t = Instant::now();
        let mut stamps = Stamps::default();
        stamps.push(t, 3);
        stamps.expire(t + SECOND - Duration::from_nanos(1), SECOND);
        assert_eq!(stamps.messages(), 3);
        stamps.expire(t + SECOND, SECOND);
        assert_eq!(stamps.messages(), 0);
    }

    #[test]
    fn a_stamp_out_of_order_counts_as_late_as_its_predecessor() {
        let t = Instant::now();
        let mut stamps = Stamps::default();
        stamps.push(t + Duration::from_millis(5), 1);
        stamps.push(t, 1);
        stamps.expire(t + SECOND, SECOND);
        assert_eq!(stamps.messages(), 2);
    }

    #[test]
    fn close_stamps_share_an_entry_and_never_count_early() {
        let t = Instant::now();
        let mut stamps = Stamps::default();
        for us in 0..1_000_000_u64 {
            stamps.push(t + Duration::from_micros(us), 1);
        }
        assert!(stamps.runs() <= 10_000, "{} entries", stamps.runs());
        stamps.expire(t + SECOND + Duration::from_micros(50), SECOND);
        assert_eq!(stamps.messages(), 1_000_000, "the first entry ends 99 us after its start");
        stamps.expire(t + SECOND + Duration::from_micros(99), SECOND);
        assert_eq!(stamps.messages(), 999_900);
    }

    #[test]
    fn room_for_several_is_made_by_the_stamp_that_completes_them() {
        let t = Instant::now();
        let mut stamps = Stamps::default();
        stamps.push(t, 2);
        stamps.push(t + SECOND / 2, 2);
        assert_eq!(stamps.stamp_of(2), Some(t));
        assert_eq!(stamps.stamp_of(3), Some(t + SECOND / 2));
        assert_eq!(stamps.stamp_of(5), None);
    }
}
