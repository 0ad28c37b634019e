//! What one thread of the sender has done.

use crate::socket::Rung;
use pace::Lag;
use std::time::Duration;

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
    /// The rung in use, which may be lower than the one asked for.
    pub rung: Option<Rung>,
}
