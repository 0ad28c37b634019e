//! Whether the kernel is to join packets: tried where it might help, given up where nothing is joined.

use std::time::{Duration, Instant};

use super::Sum;

/// Packets of a message, in the mean, from which on joining brings something.
const JOINED: f64 = 1.05;
/// It is judged by at least so many packets, and over so long.
const PACKETS_MIN: u64 = 1_000;
const JUDGED_OVER: Duration = Duration::from_secs(1);
/// A thread that is busy for this part of the time is worth a trial.
const BUSY: f64 = 0.5;
/// Where nothing was joined it is tried again after so long.
const REMEMBERED: Duration = Duration::from_secs(30);

/// What is known of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Joining {
    /// Since when it is judged, and what came since.
    since: Option<Instant>,
    packets: u64,
    messages: u64,
    /// Not tried again before.
    barred_until: Option<Instant>,
}

impl Joining {
    /// Whether to join from now on; `joins`: whether the kernel did in this period.
    pub(super) fn decide(&mut self, now: Instant, sum: &Sum, joins: bool) -> bool {
        if !joins {
            self.since = None;
            let is_barred = self.barred_until.is_some_and(|until| now < until);
            return !is_barred && (sum.dropped > 0 || sum.busiest >= BUSY);
        }
        let since = *self.since.get_or_insert_with(|| {
            (self.packets, self.messages) = (0, 0);
            now
        });
        self.packets += sum.packets;
        self.messages += sum.messages;
        if self.packets < PACKETS_MIN || now.saturating_duration_since(since) < JUDGED_OVER {
            return true;
        }
        self.since = None;
        if self.packets as f64 >= self.messages as f64 * JOINED {
            return true;
        }
        self.barred_until = Some(now + REMEMBERED);
        false
    }
}
