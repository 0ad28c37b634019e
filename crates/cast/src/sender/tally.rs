//! What one thread of the sender has done.

use crate::socket::Rung;
use pace::Lag;
use pace::crew::Report;
use std::time::{Duration, Instant};

/// Counts since the thread began; [`Tally::lag`] since it was last taken.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Packets that left.
    pub packets: u64,
    /// Packets that fell due and were given up: the thread was too late for them.
    pub written_off: f64,
    /// Calls that sent.
    pub calls: u64,
    /// Calls refused for want of room in the device's queue.
    pub no_buffers: u64,
    /// Calls refused for want of room in the socket.
    pub again: u64,
    /// Calls that told that nobody listens.
    pub refused: u64,
    /// Times a file had nothing ready although a packet was due.
    pub starved: u64,
    /// Turns of the loop.
    pub turns: u64,
    /// Time in all turns, waits included.
    pub looped: Duration,
    /// Time in calls that send.
    pub sending: Duration,
    /// Time waited for due times.
    pub waited: Duration,
    /// Processor time.
    pub cpu: Duration,
    /// How late bursts left.
    pub lag: Lag,
    /// The rung in use, which may be lower than the one asked for; and the packets of a burst.
    pub rung: Option<Rung>,
    pub burst: u32,
    /// When it was told.
    pub at: Option<Instant>,
}

impl Tally {
    /// What was done since `before`, of which this is a later state, as the rule that decides on threads reads it.
    pub(super) fn since(&self, before: &Tally, asked: f64) -> Report {
        let turns = self.turns.saturating_sub(before.turns).max(1);
        let each = |whole: Duration| Duration::from_secs_f64(whole.as_secs_f64() / turns as f64);
        let waited = self.waited.saturating_sub(before.waited);
        let looped = self.looped.saturating_sub(before.looped);
        let wall = match (before.at, self.at) {
            (Some(before), Some(at)) => at.saturating_duration_since(before),
            _ => looped,
        };
        let errors = |tally: &Tally| tally.no_buffers + tally.again;
        Report {
            rung: self.rung.unwrap_or(Rung::Send).into(),
            burst: self.burst,
            wall,
            waited: waited.min(wall),
            cpu: self.cpu.saturating_sub(before.cpu),
            loop_time: each(looped.saturating_sub(waited)),
            send_time: each(self.sending.saturating_sub(before.sending)),
            lag: self.lag,
            asked,
            sent: self.packets - before.packets,
            written_off: self.written_off - before.written_off,
            errors: errors(self) - errors(before),
        }
    }
}
