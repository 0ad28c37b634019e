//! Settler consumes the topic of outcomes, decides on charges ([`Settlement`]), and has a backend carry
//! that out ([`ChargingBackend`]). A record is acknowledged when its charges are settled, and its changes
//! are noted.

use super::ChargeId;
use super::backend::{ChargingBackend, DecidedRecord, SettledRecord};
use super::pending_receipts::Clock;
use super::record_lease::RecordLease;
use super::settlement::{Change, Settlement};
use bus::{Bus, BusError, Group, Leased};
use records::{OUTCOMES, Outcome, decode_outcomes};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The consumer group of the topic of outcomes.
pub const GROUP: &str = "charging";
/// Records are leased for so long, and renewed while they are being settled.
const LEASE: Duration = Duration::from_secs(60);
/// Renewals in this time.
const RENEWALS: u32 = 3;
/// Acknowledgements are made durable this often.
const FLUSH: Duration = Duration::from_secs(1);
/// After an error of the bus it is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// [`Settling::stop`] waits at most so long for the records at hand; the rest is settled by the next start.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// The settler at work.
#[derive(Debug)]
pub struct Settling {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Settling {
    /// Ends as if its process were killed.
    #[cfg(test)]
    pub(super) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.is_err_and(|error| error.is_cancelled()));
    }

    /// Settles what is on record so far, and ends. Nothing is lost if that takes too long: it is settled
    /// after the next start.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        let abort = self.task.abort_handle();
        match tokio::time::timeout(DRAIN_MAX, self.task).await {
            Ok(Err(error)) => tracing::error!(%error, "settling ended in a panic"),
            Ok(Ok(())) => {}
            Err(_) => abort.abort(),
        }
    }
}

/// Starts settling by the outcomes on this bus, from where an earlier process stopped; among several
/// processes, while `leads` says that this one does.
///
/// # Errors
/// The bus's.
pub(super) fn start(
    backend: impl ChargingBackend,
    settlement: Settlement,
    bus: &dyn Bus,
    leads: watch::Receiver<bool>,
) -> Result<Settling, BusError> {
    let (stop, stopping) = watch::channel(false);
    let settler = Settler {
        backend,
        settlement,
        group: bus.group(OUTCOMES, GROUP)?,
        leases: HashMap::new(),
        settled: Vec::new(),
        renewed: Instant::now(),
        flushed: Instant::now(),
        is_dirty: false,
    };
    Ok(Settling { stop, task: tokio::spawn(settler.run(stopping, leads)) })
}

struct Settler<B> {
    backend: B,
    settlement: Settlement,
    group: Arc<dyn Group>,
    /// Of records that were taken and not acknowledged.
    leases: HashMap<u64, Arc<RecordLease>>,
    /// Those that are not acknowledged yet, in their order.
    settled: Vec<SettledRecord>,
    renewed: Instant,
    flushed: Instant,
    /// Something was acknowledged since.
    is_dirty: bool,
}

impl<B: ChargingBackend> Settler<B> {
    async fn run(mut self, mut stopping: watch::Receiver<bool>, mut leads: watch::Receiver<bool>) {
        loop {
            if !*leads.borrow_and_update() {
                self.leave().await;
                tokio::select! {
                    changed = leads.changed() => match changed {
                        Ok(()) => continue,
                        Err(_) => return,
                    },
                    _ = stopping.wait_for(|stopping| *stopping) => return,
                }
            }
            let is_empty = match self.round().await {
                Ok(is_empty) => is_empty,
                Err(BusError::Closed) => return,
                Err(error) => {
                    self.fail(&error).await;
                    continue;
                }
            };
            let is_rest = is_empty && self.leases.is_empty() && self.settled.is_empty();
            let is_over = is_rest && *stopping.borrow_and_update();
            self.flush(is_over).await;
            if is_over {
                return;
            }
            let (has_room, is_due, due) = (self.room() > 0, !self.settled.is_empty(), self.due());
            tokio::select! {
                biased;
                () = self.backend.wait(&mut self.settlement, &mut self.settled) => {}
                () = std::future::ready(()), if is_due => {}
                () = self.group.ready(), if has_room => {}
                () = tokio::time::sleep(due) => {}
                // Nobody can stop it any more once the handle is gone: then it goes on with the process.
                Ok(()) = stopping.changed() => {}
                Ok(()) = leads.changed() => {}
            }
        }
    }

    /// Acknowledges what is settled, and begins to settle what is there to be taken; whether nothing was.
    async fn round(&mut self) -> Result<bool, BusError> {
        // In this order: what a topic brings back of receipts that were matched is followed by their end.
        self.acknowledge().await?;
        self.backend.catch_up(&mut self.settlement).await?;
        self.renew();
        let is_empty = self.take().await?;
        self.match_due_receipts().await;
        Ok(is_empty)
    }

    async fn fail(&mut self, error: &BusError) {
        if let BusError::Moved { .. } = error {
            tracing::warn!("another process settles too; it is leased what is under way");
            self.leave().await;
        } else {
            tracing::error!(%error, "what is known of unsettled messages is not on the bus: money waits to be settled");
        }
        tokio::time::sleep(AGAIN).await;
    }

    fn room(&self) -> usize {
        B::RECORDS_MAX.saturating_sub(self.leases.len())
    }

    /// Until a flush, a renewal or a look-up of a receipt's message.
    fn due(&self) -> Duration {
        let flush = self.is_dirty.then(|| FLUSH.saturating_sub(self.flushed.elapsed()));
        let renew =
            (!self.leases.is_empty()).then(|| (LEASE / RENEWALS).saturating_sub(self.renewed.elapsed()));
        let receipts = self.settlement.pending.next_due();
        let receipts = receipts.map(|due| due.saturating_duration_since(Instant::now()));
        flush.into_iter().chain(renew).chain(receipts).min().unwrap_or(Duration::MAX)
    }

    /// Takes records and has them settled; whether there was none.
    async fn take(&mut self) -> Result<bool, BusError> {
        // Counted from before they are leased.
        let until = Instant::now() + LEASE;
        match self.group.take(self.room(), LEASE) {
            Ok(taken) if taken.is_empty() => Ok(true),
            Ok(taken) => {
                self.settle(&taken, until).await;
                Ok(false)
            }
            Err(BusError::Closed) => Err(BusError::Closed),
            Err(error) => {
                tracing::error!(%error, "outcomes cannot be taken: money waits to be settled");
                tokio::time::sleep(AGAIN).await;
                Ok(true)
            }
        }
    }

    async fn settle(&mut self, taken: &[Leased], until: Instant) {
        let is_new = |leased: &&Leased| !self.leases.contains_key(&leased.record.index);
        let records: Vec<_> = taken.iter().filter(is_new).map(|leased| (leased, outcomes(leased))).collect();
        let unmatched = self.settlement.unmatched(records.iter().flat_map(|(_, outcomes)| outcomes));
        self.find_unknown(unmatched).await;
        let clock = Clock::now();
        let mut decided = Vec::with_capacity(records.len());
        for (leased, outcomes) in records {
            let mut reading = self.settlement.read(&outcomes, clock);
            let kept: Vec<ChargeId> = reading.kept().filter(|id| self.backend.is_aborted(*id)).collect();
            kept.into_iter().filter_map(|id| self.settlement.abort(id)).for_each(|end| reading.extend(end));
            let (index, lease) = (leased.record.index, Arc::new(RecordLease::lasting(until)));
            self.leases.insert(index, Arc::clone(&lease));
            let is_again = leased.redelivered > 0;
            decided.push(DecidedRecord { index: Some(index), lease, is_again, reading });
        }
        self.backend.settle(decided, &mut self.settled).await;
    }

    /// Settles by receipts that came early, and whose messages are known as unknown by now.
    async fn match_due_receipts(&mut self) {
        let due = self.settlement.due_receipts(Instant::now());
        if due.is_empty() {
            return;
        }
        self.find_unknown(due.clone()).await;
        let reading = self.settlement.match_receipts(&due, Clock::now());
        if !reading.is_empty() {
            let decided = vec![DecidedRecord::alone(reading, false)];
            self.backend.settle(decided, &mut self.settled).await;
        }
    }

    async fn find_unknown(&mut self, keys: Vec<u64>) {
        if keys.is_empty() {
            return;
        }
        let clock = Clock::now();
        for (id, parts) in self.backend.find_unknown(keys).await {
            self.settlement.insert_unknown(id, parts, clock);
        }
    }

    /// Notes what is settled, and acknowledges the records of it.
    async fn acknowledge(&mut self) -> Result<(), BusError> {
        if self.settled.is_empty() {
            return Ok(());
        }
        let done = self.settled.iter().filter(|settled| settled.is_done);
        let changes: Vec<Change> = done.flat_map(|settled| settled.changes.iter().copied()).collect();
        self.backend.note(&changes).await?;
        for SettledRecord { index, is_done, .. } in self.settled.drain(..) {
            let Some(index) = index else { continue };
            self.leases.remove(&index);
            if !is_done {
                continue;
            }
            if let Err(error) = self.group.ack(index) {
                tracing::warn!(index, %error, "a settled record is not acknowledged; it is given out again");
            }
            self.is_dirty = true;
        }
        Ok(())
    }

    /// Keeps the leases of what takes long.
    fn renew(&mut self) {
        if self.renewed.elapsed() < LEASE / RENEWALS {
            return;
        }
        self.renewed = Instant::now();
        for (index, lease) in &self.leases {
            let now = Instant::now();
            if !lease.holds(now) {
                continue;
            }
            match self.group.renew(*index, LEASE) {
                Ok(()) => lease.renew(now + LEASE, now),
                Err(BusError::NotLeased { .. }) => lease.end(now),
                Err(error) => tracing::warn!(index, %error, "a lease was not renewed"),
            }
        }
    }

    /// What was acknowledged is not given out again, also not after a crash.
    async fn flush(&mut self, is_over: bool) {
        if !self.is_dirty || !(is_over || self.flushed.elapsed() >= FLUSH) {
            return;
        }
        (self.flushed, self.is_dirty) = (Instant::now(), false);
        if let Err(error) = self.group.flush().await {
            tracing::warn!(%error, "acknowledgements are not durable; what was settled is given out again after a start");
        }
    }

    /// Another process leads, or none: the next one to lead goes on with what is not acknowledged.
    async fn leave(&mut self) {
        self.backend.leave(&mut self.settlement).await;
        self.settled.clear();
        for (index, lease) in self.leases.drain() {
            lease.end(Instant::now());
            if let Err(error) = self.group.release(index) {
                tracing::debug!(index, %error, "a record was not given back; its lease runs out");
            }
        }
        self.flush(true).await;
    }
}

fn outcomes(leased: &Leased) -> Vec<Outcome> {
    decode_outcomes(&leased.record.octets).unwrap_or_else(|error| {
        let index = leased.record.index;
        tracing::error!(index, %error, "outcomes cannot be read: they are not settled, and what is held is free when its validity ends");
        Vec::new()
    })
}
