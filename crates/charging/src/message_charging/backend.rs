//! Backend carries out the settler's decisions: the local ledger, or a charging server of others.

use super::ChargeId;
use super::record_lease::RecordLease;
use super::settlement::{Change, Reading, Settlement};
use bus::BusError;
use std::sync::Arc;

/// See the module. `local::settle` and `external::settle` are the two there are.
pub(super) trait ChargingBackend: Send + 'static {
    /// Records that are settled at once.
    const RECORDS_MAX: usize;

    /// Brings the settlement up to what other processes noted, or the one before this. Called before records
    /// are taken.
    ///
    /// # Errors
    /// The bus's. [`BusError::Moved`]: another process settles.
    fn catch_up(&mut self, settlement: &mut Settlement) -> impl Future<Output = Result<(), BusError>> + Send;

    /// The unknown messages that receipts of these keys are of, as far as the backend itself knows them, and
    /// their parts.
    fn find_unknown(&mut self, keys: Vec<u64>) -> impl Future<Output = Vec<(ChargeId, u32)>> + Send {
        drop(keys);
        std::future::ready(Vec::new())
    }

    /// Whether the server wants this charge ended: an attempt that is found unknown then has used nothing.
    fn is_aborted(&self, id: ChargeId) -> bool {
        let _ = id;
        false
    }

    /// Carries out what records decide, which are pushed to `settled` when that is done: before this returns,
    /// or by [`ChargingBackend::wait`].
    fn settle(
        &mut self,
        decided: Vec<DecidedRecord>,
        settled: &mut Vec<SettledRecord>,
    ) -> impl Future<Output = ()> + Send;

    /// Waits for a record to be settled, or for anything else after which the settler is to go on. May be
    /// dropped, and called again.
    fn wait(
        &mut self,
        settlement: &mut Settlement,
        settled: &mut Vec<SettledRecord>,
    ) -> impl Future<Output = ()> + Send;

    /// Notes changes for other processes and the next.
    ///
    /// # Errors
    /// The bus's. [`BusError::Moved`]: another process settles.
    fn note(&mut self, changes: &[Change]) -> impl Future<Output = Result<(), BusError>> + Send;

    /// This process settles no more: what is under way is dropped.
    fn leave(&mut self, settlement: &mut Settlement) -> impl Future<Output = ()> + Send;
}

/// An outcomes record, and what it decides.
pub(super) struct DecidedRecord {
    /// Nothing: it is of no record, but of a receipt that waited, or a server's request.
    pub(super) index: Option<u64>,
    pub(super) lease: Arc<RecordLease>,
    /// A process may have had it before.
    pub(super) is_again: bool,
    pub(super) reading: Reading,
}

impl DecidedRecord {
    /// Of no record.
    pub(super) fn alone(reading: Reading, is_again: bool) -> DecidedRecord {
        DecidedRecord { index: None, lease: Arc::new(RecordLease::always()), is_again, reading }
    }
}

/// A record whose charges are settled.
pub(super) struct SettledRecord {
    pub(super) index: Option<u64>,
    /// To be noted before it is acknowledged.
    pub(super) changes: Vec<Change>,
    /// False: it is leased to another process now, which settles it.
    pub(super) is_done: bool,
}

impl From<DecidedRecord> for SettledRecord {
    fn from(decided: DecidedRecord) -> SettledRecord {
        SettledRecord { index: decided.index, changes: decided.reading.changes, is_done: true }
    }
}
