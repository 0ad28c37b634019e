//! Cluster: claims of segments and shares of rates among processes that serve the same routes over one bus.
//!
//! ```text
//! claims          claims of segments, and how far each got
//! follower        reads the topic of outcomes into the claims
//! segment_lease   lease on a claimed segment
//! rate_client     this process's shares of the rates
//! rate_allocator  hands out the shares; the leader runs it
//! remote_health   routes that another process can send by
//! ```
//!
//! Invariants worth naming:
//! - A segment is claimed on the topic of outcomes before the first entry of it is intended, and nothing of
//!   it is handed to a session before the intent was read back with no other's claim between. So whatever a
//!   server or a lease says, an entry is written by one.
//! - Before each write the lease's remaining time is looked at, and the share's: a process that stood still
//!   writes nothing after it.
//! - A process that is alone pays nothing of this.

mod claims;
mod follower;
mod rate_allocator;
mod rate_client;
mod remote_health;
mod segment_lease;
#[cfg(test)]
mod tests;

pub(crate) use claims::Claimed;
#[cfg(test)]
use claims::SegmentKey;
pub(crate) use follower::Follower;
pub use rate_allocator::RateAllocator;
pub(crate) use rate_client::{RateShareView, Share, SharedLimiter, rate_here};
pub(crate) use segment_lease::SegmentLease;

use std::sync::Arc;
use std::time::Duration;

use bus::{Bus, BusError};
use net::Cores;

use rate_client::RateClient;
use remote_health::RemoteHealth;

/// A share of a rate lasts for so many leases: longer than nobody allots while the process that did is being
/// replaced.
fn shares_last(lease: Duration) -> Duration {
    lease * 3 / 2
}

/// What gateways of several processes share. One for each process; see
/// [`GatewayContext::share`](crate::World::share).
pub struct Cluster {
    /// This process's name, another at every start.
    pub node: String,
    /// How long a segment is ours without a word: what the bus was told.
    pub lease: Duration,
    pub(crate) follower: Follower,
    pub(crate) rates: Arc<RateClient>,
    pub(crate) remote_health: RemoteHealth,
}

impl Cluster {
    /// Opens what processes tell each other by, and begins to listen. May ask servers, and take its time.
    ///
    /// # Errors
    /// The bus's.
    pub fn open(
        bus: &Arc<dyn Bus>,
        cores: &Cores,
        node: &str,
        lease: Duration,
    ) -> Result<Arc<Cluster>, BusError> {
        Ok(Arc::new(Cluster {
            node: node.to_owned(),
            lease,
            follower: Follower::start(bus, cores, node)?,
            rates: RateClient::start(&**bus, cores, node, shares_last(lease))?,
            remote_health: RemoteHealth::open(&**bus, node)?,
        }))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.follower.stop();
        self.rates.stop();
    }
}
