//! Queue of a client's events: its topic, and which of its sessions has which record.

use bus::{Bus, BusError, Group, Topic};
use futures_util::future::BoxFuture;
use records::{TOLD_TAIL, client_topic};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The consumer group of all sessions of a client.
pub(super) const GROUP: &str = "smpp";
/// After so many acknowledgements the topic is trimmed, except for a tail.
const TRIM_EVERY: u64 = 4_096;
/// Records taken from the bus at a time, for all sessions: reads from disk are large.
const READ_AHEAD: usize = 512;

/// The topic of a client's events.
pub(super) struct ClientQueue {
    topic: Arc<dyn Topic>,
    group: Arc<dyn Group>,
    ahead: Mutex<PrefetchedEvent>,
    /// Raised when a session leaves events for the others.
    left_over: watch::Sender<u64>,
    /// Records acknowledged.
    acked: AtomicU64,
}

/// Taken from the bus, and not yet by a session.
struct PrefetchedEvent {
    records: VecDeque<LeasedEvent>,
    /// Until then their lease is long enough for a session to deliver them.
    good_until: Instant,
    sessions: usize,
}

/// A record under a lease.
pub(super) struct LeasedEvent {
    pub(super) index: u64,
    /// Earlier deliveries of it.
    pub(super) redelivered: u32,
    /// A copy: records of one read from disk share one large buffer.
    pub(super) octets: Box<[u8]>,
}

impl ClientQueue {
    pub(super) fn open(bus: &dyn Bus, system_id: &str) -> Result<ClientQueue, BusError> {
        let name = client_topic(system_id);
        let (topic, group) = (bus.topic(&name)?, bus.group(&name, GROUP)?);
        let ahead = PrefetchedEvent { records: VecDeque::new(), good_until: Instant::now(), sessions: 0 };
        let (ahead, left_over) = (Mutex::new(ahead), watch::Sender::new(0));
        Ok(ClientQueue { topic, group, ahead, left_over, acked: AtomicU64::new(0) })
    }

    /// Counts a session that begins; the receiver changes when another one left events for it.
    pub(super) fn enter(&self) -> watch::Receiver<u64> {
        self.lock().sessions += 1;
        self.left_over.subscribe()
    }

    /// Counts a session that ends; after the last one the prefetched events are released.
    pub(super) fn leave(&self) {
        let mut ahead = self.lock();
        ahead.sessions = ahead.sessions.saturating_sub(1);
        if ahead.sessions == 0 {
            self.give_back(&mut ahead);
        }
    }

    /// Up to `max` records, each for at least half of `lease`.
    pub(super) fn take(
        &self,
        max: usize,
        lease: Duration,
        now: Instant,
    ) -> Result<Vec<LeasedEvent>, BusError> {
        let mut ahead = self.lock();
        if ahead.good_until <= now {
            self.give_back(&mut ahead);
        }
        if ahead.records.is_empty() {
            let leased = self.group.take(READ_AHEAD, lease)?;
            ahead.good_until = now + lease / 2;
            ahead.records.extend(leased.into_iter().map(|leased| LeasedEvent {
                index: leased.record.index,
                redelivered: leased.redelivered,
                octets: leased.record.octets[..].into(),
            }));
        }
        let count = max.min(ahead.records.len());
        let taken = ahead.records.drain(..count).collect();
        if !ahead.records.is_empty() && ahead.sessions > 1 {
            self.left_over.send_modify(|count| *count += 1);
        }
        Ok(taken)
    }

    /// Resolves when there may be something to take from the bus.
    pub(super) fn ready(&self) -> BoxFuture<'static, ()> {
        self.group.ready()
    }

    /// Records that no session has delivered, at most: some above the first of them may be.
    pub(super) fn waiting(&self) -> u64 {
        self.topic.head().saturating_sub(self.group.low_water().max(self.topic.low()))
    }

    /// The client has it, or it is given up.
    pub(super) fn ack(&self, index: u64) {
        if let Err(error) = self.group.ack(index) {
            tracing::warn!(%error, "an event of a client cannot be acknowledged: it will be delivered again");
            return;
        }
        if self.acked.fetch_add(1, Ordering::Relaxed) % TRIM_EVERY != TRIM_EVERY - 1 {
            return;
        }
        if let Err(error) = self.topic.trim(self.group.low_water().saturating_sub(TOLD_TAIL)) {
            tracing::warn!(%error, "delivered events of a client cannot be removed from disk");
        }
    }

    /// Another session may have it at once.
    pub(super) fn release(&self, index: u64) {
        // Not under a lease any more: then another session has it already.
        let _ = self.group.release(index);
    }

    /// It is tried again after `wait`, by any session.
    pub(super) fn retry_after(&self, index: u64, wait: Duration) {
        let _ = self.group.renew(index, wait);
    }

    fn give_back(&self, ahead: &mut PrefetchedEvent) {
        for taken in ahead.records.drain(..) {
            self.release(taken.index);
        }
    }

    fn lock(&self) -> MutexGuard<'_, PrefetchedEvent> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
