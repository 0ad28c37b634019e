//! Funds: reserves the price of messages before anything of them is written.

use futures_util::future::BoxFuture;
use records::{Bill, Funding};

/// Asked before anything of a segment is written, where messages are paid for.
pub trait Funds: Send + Sync {
    /// Whether each message of the bill may be written, in its order. What it costs is on record then, once
    /// for each delivery however often it is asked for. Takes as long as it must; for an emergency, not
    /// longer than that can wait. May be dropped, and asked again.
    fn pay(&self, bill: Bill) -> BoxFuture<'_, Vec<Funding>>;
}
