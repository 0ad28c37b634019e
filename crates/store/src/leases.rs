use crate::StoreError;
use futures_util::future::BoxFuture;
use std::time::Duration;

/// Leases: who does what only one may do, among processes that share a store. By the database's clock.
pub trait Leases {
    /// Takes a lease that nobody holds, or that has run out, or renews one's own. Each time it changes hands
    /// its epoch rises.
    fn take_lease<'a>(
        &'a self,
        name: &'a str,
        holder: &'a Holder,
        lasts: Duration,
    ) -> BoxFuture<'a, Result<LeaseTaken, StoreError>>;
    /// Lets go of one's own, so that another need not wait. False if it was no longer one's own.
    fn release_lease<'a>(&'a self, name: &'a str, epoch: u64) -> BoxFuture<'a, Result<bool, StoreError>>;
    /// Who holds it now.
    fn lease_holder<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<HeldLease>, StoreError>>;
}

/// A process, as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its name, another at every start.
    pub name: String,
    /// Where others reach it: `host:port` of its HTTP door; empty: nowhere.
    pub address: String,
}

/// What [`Leases::take_lease`] came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseTaken {
    /// It is ours until `lasts` after the call *began*; writes are fenced by this epoch.
    Ours {
        /// Rises with each change of hands.
        epoch: u64,
    },
    /// Somebody else has it.
    Theirs(HeldLease),
}

/// A lease in somebody's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldLease {
    /// Who.
    pub holder: Holder,
    /// Its epoch.
    pub epoch: u64,
    /// For how much longer, unless it is renewed.
    pub remaining: Duration,
}

/// What a fenced store checks in each transaction that writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// Which lease.
    pub lease: String,
    /// The epoch at which it is ours.
    pub epoch: u64,
}
