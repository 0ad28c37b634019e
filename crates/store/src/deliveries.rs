use crate::StoreError;
use futures_util::future::BoxFuture;
use records::{AlertNo, Delivery, DeliveryState, EndpointNo};

/// What is folded in one go.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fold {
    /// Rows to be written, each over the one that is there.
    pub deliveries: Vec<Delivery>,
    /// Blocks of rosters of standing alerts.
    pub blocks: Vec<FoldedBlock>,
    /// How far the topic of outcomes is in `deliveries`.
    pub folded_to: u64,
    /// How far the topic of intake is in the rosters; nothing: not told.
    pub intake_to: Option<u64>,
}

/// A block of a roster that grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedBlock {
    /// Whose.
    pub alert: AlertNo,
    /// The first entry's endpoint.
    pub first: EndpointNo,
    /// How many entries it has now.
    pub entries: u32,
    /// [`records::RosterBlock`], encoded.
    pub octets: Vec<u8>,
}

/// Deliveries, folded: rows that are absent are planned.
pub trait Deliveries {
    /// Upserts in key order, in slices, and with the last slice notes how far the topic of outcomes is
    /// folded: a fold that was cut short is folded again. Folds are done in the order they were asked for.
    /// What belongs to an alert that was removed is left out.
    fn fold(&self, deliveries: Vec<Delivery>, folded_to: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.fold_all(Fold { deliveries, folded_to, ..Fold::default() })
    }
    /// The same, with what grew of the rosters of standing alerts and with how far the topic of intake is in
    /// them. Blocks that are there are overwritten. Blocks may be stored without the position when a fold is
    /// cut short: entries of messages at or after [`Deliveries::intake_to`] do not count.
    fn fold_all(&self, fold: Fold) -> BoxFuture<'_, Result<(), StoreError>>;
    /// How far the topic of outcomes is folded.
    fn folded_to(&self) -> BoxFuture<'_, Result<u64, StoreError>>;
    /// How far the topic of intake is in the rosters of standing alerts.
    fn intake_to(&self) -> BoxFuture<'_, Result<u64, StoreError>>;
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
