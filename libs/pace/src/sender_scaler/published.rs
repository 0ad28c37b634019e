//! The paper's own rule, to compare with.

use std::time::{Duration, Instant};

use super::{ChangeReason, Controller, Decision, Observation, Rung, Setting, Sum};

/// It looked this often.
pub const PUBLISHED_PERIOD: Duration = Duration::from_millis(500);

/// Every period (half a second there) one sender more, if the accumulated lag is over a limit. It never parks
/// one, knows nothing of bursts or rungs, and gives no reason for a rate that is not reached.
///
/// The accumulated lag of a thread is how far it is behind its due times, of which a period's mean is taken;
/// those of all threads are summed up.
#[derive(Debug, Clone)]
pub struct Published {
    limit_s: f64,
    period: Duration,
    threads_max: u32,
    threads: u32,
}

impl Published {
    /// `limit`: the accumulated lag from which a sender is started. `period`: how often it looks. `first`:
    /// how many there are at first. `threads_max`: never more; both at least one.
    pub fn new(limit: Duration, period: Duration, first: u32, threads_max: u32) -> Published {
        let threads_max = threads_max.max(1);
        Published { limit_s: limit.as_secs_f64(), period, threads_max, threads: first.clamp(1, threads_max) }
    }
}

impl Controller for Published {
    fn period(&self) -> Duration {
        self.period
    }

    fn decide(&mut self, seen: &Observation<'_>) -> Decision {
        let accumulated_s = Sum::of(seen.threads).lag_s * seen.threads.len() as f64;
        let starts = accumulated_s > self.limit_s && self.threads < self.threads_max;
        self.threads += u32::from(starts);
        Decision {
            setting: Setting { threads: self.threads, rung: Rung::Send, burst: 1 },
            reason: starts.then_some(ChangeReason::MoreThreads),
            ceiling: None,
        }
    }

    fn rate_changed(&mut self, _now: Instant, _rate_bits_per_s: f64) -> Option<Decision> {
        None
    }
}
