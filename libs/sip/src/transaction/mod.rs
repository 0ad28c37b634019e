//! The four transaction machines (RFC 3261 section 17, with the Accepted states of RFC 6026).
//!
//! They hold states and timers, no octets: whoever drives one keeps the request or the last response, and
//! does as each step says. Time is passed in. The rows of the RFCs' figures stand above the code that does
//! them.

mod client;
mod invite_client;
mod invite_server;
mod server;
#[cfg(test)]
mod tests;

pub use client::{ClientState, ClientTransaction};
pub use invite_client::{InviteClientState, InviteClientTransaction};
pub use invite_server::{InviteServerState, InviteServerTransaction};
pub use server::{ServerState, ServerTransaction};

use std::time::{Duration, Instant};

/// The times of RFC 3261 table 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionTimers {
    /// Estimate of the round trip: 500 ms.
    pub t1: Duration,
    /// Longest pause between repetitions: 4 s.
    pub t2: Duration,
    /// Longest life of a message in the network: 5 s.
    pub t4: Duration,
    /// Time in which a response to INVITE is acknowledged again: at least 32 s.
    pub d: Duration,
}

impl Default for TransactionTimers {
    fn default() -> TransactionTimers {
        TransactionTimers {
            t1: Duration::from_millis(500),
            t2: Duration::from_secs(4),
            t4: Duration::from_secs(5),
            d: Duration::from_secs(32),
        }
    }
}

impl TransactionTimers {
    /// 64 * T1: the time after which the other side counts as silent (timers B, F, H, J, L, M).
    #[must_use]
    pub fn give_up(&self) -> Duration {
        self.t1 * 64
    }
}

/// The actions that a client transaction wants after an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClientStep {
    /// Send the request again.
    pub transmits: bool,
    /// Give the response to the transaction's user.
    pub delivers: bool,
    /// Send ACK for the response: the transaction's own, of a final response other than 2xx.
    pub acknowledges: bool,
    /// Tell the user that nobody answered (timer B or F).
    pub timed_out: bool,
}

/// The actions that a server transaction wants after an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerStep {
    /// Send the last response again.
    pub transmits: bool,
    /// Give the ACK to the transaction's user: it is for a 2xx.
    pub delivers: bool,
    /// Tell the user that no ACK came (timer H).
    pub timed_out: bool,
}

/// Repetitions with doubling pauses.
#[derive(Debug, Clone, Copy)]
struct Repetition {
    at: Instant,
    pause: Duration,
    pause_max: Duration,
}

impl Repetition {
    fn begin(now: Instant, pause: Duration, pause_max: Duration) -> Repetition {
        Repetition { at: now + pause, pause, pause_max }
    }

    /// Whether it was due; if so the next one is planned, counted from now.
    fn take_due(&mut self, now: Instant) -> bool {
        let is_due = self.at <= now;
        if is_due {
            self.pause = (self.pause * 2).min(self.pause_max);
            self.at = now + self.pause;
        }
        is_due
    }
}

fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
