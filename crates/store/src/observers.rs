use crate::StoreError;
use futures_util::future::BoxFuture;
use records::{AlertNo, CallbackRequest};

/// Observers that registered later.
pub trait Observers {
    /// Adds one; resolves to its id.
    fn put_observer(&self, no: AlertNo, request: CallbackRequest) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// All of an alert.
    fn observers(&self, no: AlertNo) -> BoxFuture<'_, Result<Vec<(u64, CallbackRequest)>, StoreError>>;
    /// Removes one. False if there was none.
    fn delete_observer(&self, no: AlertNo, id: u64) -> BoxFuture<'_, Result<bool, StoreError>>;
}
