//! Several processes that serve the same routes over one bus: who has which segment, and who may send how much.
//!
//! ```text
//! ledger      who claimed which segment, and how far it got
//! follower    reads the topic of outcomes into the ledger
//! tenure      whether a segment is still ours
//! asking      this process's shares of the rates
//! allotting   the process that hands them out
//! elsewhere   whether another process can send by a route
//! ```
//!
//! Invariants worth naming:
//! - A segment is claimed on the topic of outcomes before the first entry of it is intended, and nothing of it is handed to a session
//!   before the intent was read back with no other's claim between. So whatever a server or a lease says, an entry is written by one.
//! - Before each write the lease's remaining time is looked at, and the share's: a process that stood still writes nothing after it.
//! - A process that is alone pays nothing of this.

mod allotting;
mod asking;
mod elsewhere;
mod follower;
mod ledger;
mod tenure;
#[cfg(test)]
mod tests;

pub use allotting::Allocator;
pub(crate) use asking::{Metered, Outlook, Share, rate_here};
pub(crate) use follower::Follower;
pub(crate) use ledger::Claimed;
#[cfg(test)]
use ledger::Place;
pub(crate) use tenure::Tenure;

use std::sync::Arc;
use std::time::Duration;

use bus::{Bus, BusError};
use net::Cores;

use asking::Desk;
use elsewhere::Elsewhere;

/// A share of a rate lasts for so many leases: longer than nobody allots while the process that did is being replaced.
fn shares_last(lease: Duration) -> Duration {
    lease * 3 / 2
}

/// What gateways of several processes share. One for each process; see [`World::share`](crate::World::share).
pub struct Shared {
    /// This process's name, another at every start.
    pub node: String,
    /// How long a segment is ours without a word: what the bus was told.
    pub lease: Duration,
    pub(crate) follower: Follower,
    pub(crate) rates: Arc<Desk>,
    pub(crate) elsewhere: Elsewhere,
}

impl Shared {
    /// Opens what processes tell each other by, and begins to listen. May ask servers, and take its time.
    ///
    /// # Errors
    /// The bus's.
    pub fn open(
        bus: &Arc<dyn Bus>,
        cores: &Cores,
        node: &str,
        lease: Duration,
    ) -> Result<Arc<Shared>, BusError> {
        Ok(Arc::new(Shared {
            node: node.to_owned(),
            lease,
            follower: Follower::start(bus, cores, node)?,
            rates: Desk::start(&**bus, cores, node, shares_last(lease))?,
            elsewhere: Elsewhere::open(&**bus, node)?,
        }))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.follower.stop();
        self.rates.stop();
    }
}
