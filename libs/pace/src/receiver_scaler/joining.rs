//! Decision on receive offload (joined packets): tried where it might help, given up where nothing is joined.

use std::time::{Duration, Instant};

use super::Sum;

/// Packets of a message, in the mean, from which on joining brings something.
const JOINED: f64 = 1.05;
/// It is judged by at least so many packets, and over so long.
const PACKETS_MIN: u64 = 1_000;
const JUDGED_OVER: Duration = Duration::from_secs(1);
/// A thread that is busy for this part of the time is worth a trial.
const BUSY: f64 = 0.5;
/// One that is busy for less than this loses nothing by joining, though nothing is joined: there each packet
/// has a stamp of its own anyway, and a sender that goes over to bursts finds it ready.
const IDLE: f64 = 0.25;
/// Where nothing was joined it is tried again after so long …
const REMEMBERED: Duration = Duration::from_secs(30);
/// … or once so many times as many packets come: a sender that hurries sends in bursts, which it did not
/// before.
const OTHER_RATE: f64 = 2.0;

/// What is known of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Joining {
    /// Since when it is judged, and what came since.
    since: Option<Instant>,
    packets: u64,
    messages: u64,
    /// Not tried again before, or below so many packets a second.
    barred: Option<(Instant, f64)>,
}

impl Joining {
    /// Whether to join from now on; `joins`: whether the kernel did in this period.
    pub(super) fn decide(&mut self, now: Instant, sum: &Sum, joins: bool) -> bool {
        if !joins {
            self.since = None;
            let is_barred =
                self.barred.is_some_and(|(until, below)| now < until && arriving_per_s(sum) < below);
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
        if self.packets as f64 >= self.messages as f64 * JOINED || sum.busiest < IDLE {
            return true;
        }
        self.barred = Some((now + REMEMBERED, arriving_per_s(sum) * OTHER_RATE));
        false
    }
}

/// Packets of a second that came, or found no room.
fn arriving_per_s(sum: &Sum) -> f64 {
    sum.packets_per_s * (sum.packets + sum.dropped) as f64 / sum.packets.max(1) as f64
}
