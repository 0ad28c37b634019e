use crate::StoreError;
use futures_util::future::BoxFuture;
use records::{AlertNo, Delivery, DeliveryState, EndpointNo};

/// Deliveries, folded: rows that are absent are planned.
pub trait Deliveries {
    /// Upserts in key order, in slices, and with the last slice notes how far the topic of outcomes is folded: a fold that was cut short is
    /// folded again. Folds are done in the order they were asked for. What belongs to an
    /// alert that was removed is left out.
    fn fold(&self, deliveries: Vec<Delivery>, folded_to: u64) -> BoxFuture<'_, Result<(), StoreError>>;
    /// How far the topic of outcomes is folded.
    fn folded_to(&self) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// Deliveries of an alert in key order from `from`, optionally of one state.
    fn deliveries_from(
        &self,
        alert: AlertNo,
        from: EndpointNo,
        state: Option<DeliveryState>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Delivery>, StoreError>>;
    /// All of an alert's, in key order, in slices, on the calling thread: for a start and for exports.
    fn scan_deliveries(
        &self,
        alert: AlertNo,
        each: &mut dyn FnMut(&[Delivery]) -> bool,
    ) -> Result<(), StoreError>;
}
