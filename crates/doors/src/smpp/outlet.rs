//! What waits for a client: its topic, and who of its sessions has which record.

use bus::{Bus, BusError, Group, Leased, Topic};
use records::told_topic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The consumer group of all sessions of a client.
const GROUP: &str = "smpp";
/// Acknowledged records let go of at a time.
const TRIM_EVERY: u64 = 4_096;

/// A client's topic of what it is told.
pub(super) struct Outlet {
    topic: Arc<dyn Topic>,
    group: Arc<dyn Group>,
    trimmed: AtomicU64,
}

impl Outlet {
    pub(super) fn open(bus: &dyn Bus, system_id: &str) -> Result<Outlet, BusError> {
        let name = told_topic(system_id);
        let (topic, group) = (bus.topic(&name)?, bus.group(&name, GROUP)?);
        let trimmed = AtomicU64::new(topic.low());
        Ok(Outlet { topic, group, trimmed })
    }

    /// Up to `max` records, for `lease`.
    pub(super) fn take(&self, max: usize, lease: Duration) -> Result<Vec<Leased>, BusError> {
        self.group.take(max, lease)
    }

    /// Resolves when there may be something to take.
    pub(super) fn ready(&self) -> futures_util::future::BoxFuture<'static, ()> {
        self.group.ready()
    }

    /// The client has it, or it is given up.
    pub(super) fn ack(&self, index: u64) {
        if let Err(error) = self.group.ack(index) {
            tracing::warn!(%error, "what a client was told cannot be ticked off: it will be told again");
            return;
        }
        let (low, trimmed) = (self.group.low_water(), self.trimmed.load(Ordering::Relaxed));
        if low >= trimmed + TRIM_EVERY {
            self.trimmed.store(low, Ordering::Relaxed);
            if let Err(error) = self.topic.trim(low) {
                tracing::warn!(%error, "what a client was told stays on disk");
            }
        }
    }

    /// Another session may have it at once.
    pub(super) fn release(&self, index: u64) {
        // Not under a lease any more: then another session has it already.
        let _ = self.group.release(index);
    }

    /// It is tried again after `wait`, by whoever comes first then.
    pub(super) fn retry_after(&self, index: u64, wait: Duration) {
        let _ = self.group.renew(index, wait);
    }
}
