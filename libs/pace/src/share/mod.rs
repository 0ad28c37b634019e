//! A route's rate over several processes: shares that end by themselves.
//!
//! One process allots ([`Allotment`]), each process that has the route holds a share ([`Holder`]) and asks
//! for it again well before it ends. They hear each other late, twice or never, may stand still at any
//! moment, and their clocks have nothing in common. What holds whatever happens:
//!
//! - A holder counts a grant's end from before it sent the ask that the grant answers; the allotting process
//!   counts the same grant as out from when it received that ask, and a margin longer. So the holder has
//!   always stopped before another is given its share.
//! - The greatest that each process may hold, summed up, never exceeds the rate. A lower grant counts as the
//!   higher one before it until the holder says that it has taken it up.
//! - Who is given more waits one window before using it ([`Limiter::set_share`](crate::Limiter::set_share)),
//!   while what was written by whoever had it leaves every second that is still open.
//! - Shares are whole numbers of messages a second, since each process counts for itself; one that has the
//!   rate alone has all of it. A rate with fewer messages than processes is held by some of them, a rate
//!   below one by one.

mod allotment;
mod divide;
mod holder;
#[cfg(test)]
mod tests;

pub use allotment::{Allotment, GrantedShare, NODES_MAX};
pub use holder::Holder;

use std::time::Duration;

/// How much a process wants of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// It could not send now: it has no session.
    Unable,
    /// It could, and has nothing to send.
    Idle,
    /// It has something to send.
    Busy,
}

/// What a holder asks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareRequest {
    /// Rises with each.
    pub number: u64,
    /// The whole route's rate as it knows it, messages per second; 0 is unlimited, and needs no share.
    pub rate: f64,
    /// What for.
    pub need: Need,
    /// The newest grant it has taken up; 0: none. Whatever it was granted before is no longer used.
    pub holds: u64,
    /// It holds nothing any more, and wants nothing.
    pub leaves: bool,
}

/// What is allotted to one process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grant {
    /// The ask it answers: from when its end is counted.
    pub answers: u64,
    /// Rises with each grant of a route, whoever allots: the greatest counts.
    pub number: u64,
    /// Messages per second.
    pub rate: f64,
}

/// How much longer than its holder the allotting process counts a grant as out: what two clocks drift apart,
/// and what a write takes that was granted at the last moment.
fn margin(lasts: Duration) -> Duration {
    const LEAST: Duration = Duration::from_millis(500);
    LEAST + lasts / 100
}
