//! Outbox keeps carriers' answers on this machine's disk while the servers behind the bus are unreachable, so
//! that a process that dies before they are back leaves no more unknown than it must. Who starts next on this
//! machine tells it.
//!
//! Intents, claims, and that something was not tried are left out: they bind who said them, and that one is
//! dead. Receipts and what people said need no place here: their carrier brings them again until somebody has
//! taken them durably.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bus::{Bus, BusError, Topic};
use records::{AttemptResult, Outcome, decode_outcomes, encode_outcomes};

/// More is never read back at a time: one record holds all there is.
const READ_OCTETS: usize = 64 * 1024 * 1024;

/// One route's.
pub(super) struct OutcomeOutbox {
    topic: Arc<dyn Topic>,
    holds: AtomicBool,
}

impl OutcomeOutbox {
    /// Opens it, on a bus of this machine alone.
    pub fn open(local: &dyn Bus, route: &str) -> Result<OutcomeOutbox, BusError> {
        Ok(OutcomeOutbox { topic: local.topic(&format!("outbox/{route}"))?, holds: AtomicBool::new(false) })
    }

    /// What an earlier process could not tell, as a record of outcomes.
    pub async fn left(&self) -> Result<Option<Vec<u8>>, BusError> {
        let last = self.topic.head().checked_sub(1).filter(|last| *last >= self.topic.low());
        let Some(last) = last else { return Ok(None) };
        let records = self.topic.fetch(last, 1, READ_OCTETS).await?;
        let octets = records.first().map(|record| record.octets.to_vec());
        Ok(octets.filter(|octets| decode_outcomes(octets).is_ok_and(|outcomes| !outcomes.is_empty())))
    }

    /// Something is kept that may not have been told.
    pub fn holds(&self) -> bool {
        self.holds.load(Ordering::Relaxed)
    }

    /// Keeps what these records say, in the place of all that was kept before.
    pub async fn keep(&self, records: &[&[u8]]) -> Result<(), BusError> {
        let outcomes = records.iter().flat_map(|record| decode_outcomes(record).unwrap_or_default());
        let facts: Vec<Outcome> = outcomes.filter(is_fact).collect();
        self.holds.store(true, Ordering::Relaxed);
        self.put(&facts).await
    }

    /// All of it was told.
    pub async fn clear(&self) -> Result<(), BusError> {
        self.put(&[]).await?;
        self.holds.store(false, Ordering::Relaxed);
        Ok(())
    }

    async fn put(&self, facts: &[Outcome]) -> Result<(), BusError> {
        let at = self.topic.append(&[&encode_outcomes(facts)]).await?;
        self.topic.trim(at)
    }
}

/// What happened, whoever has the segment now.
fn is_fact(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Attempt { result, .. } => !matches!(result, AttemptResult::NotTried { .. }),
        _ => false,
    }
}
