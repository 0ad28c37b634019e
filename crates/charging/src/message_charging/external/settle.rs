//! Outcomes, as they come by the bus, turned into the ends of sessions.

use super::asr_rar::Abort;
use super::open_sessions::OpenSessionTopic;
use super::record_lease::RecordLease;
use super::settlement::{Change, Reading, Settlement, Word, attempt_of};
use super::{External, MessageId};
use crate::message_charging::pending_receipts::Clock;
use crate::message_charging::settle::{GROUP, Settling};
use bus::{Bus, BusError, Group, Leased};
use futures_util::future::join_all;
use records::{AttemptResult, OUTCOMES, Outcome, decode_outcomes};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Records whose sessions are being ended at once.
const RECORDS_MAX: usize = 1_024;
/// They are ours for so long, and longer if that is said meanwhile.
const LEASE: Duration = Duration::from_secs(60);
/// That is said so often in this time.
const RENEWALS: u32 = 3;
/// Acknowledgements are made durable this often.
const FLUSH: Duration = Duration::from_secs(1);
/// After an error of the bus it is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// Starts settling by the outcomes on this bus, from where an earlier process stopped; among several
/// processes, while `leads` says that this one does.
///
/// # Errors
/// The bus's.
pub fn start(external: External, bus: &dyn Bus, leads: watch::Receiver<bool>) -> Result<Settling, BusError> {
    let group = bus.group(OUTCOMES, GROUP)?;
    let (stop, stopping) = watch::channel(false);
    let settler = Settler {
        aborts: external.hear_aborts(leads.clone()),
        external,
        group,
        under_way: HashMap::new(),
        ends: JoinSet::new(),
        ended: Vec::new(),
        words: Settlement::default(),
        unsettled: OpenSessionTopic::open(bus)?,
        renewed: Instant::now(),
        flushed: Instant::now(),
        is_dirty: false,
        is_leading: false,
    };
    Ok(Settling::new(stop, tokio::spawn(settler.run(stopping, leads))))
}

struct Settler {
    external: External,
    /// Sessions that a server wants ended.
    aborts: mpsc::Receiver<Abort>,
    group: Arc<dyn Group>,
    /// Records that were taken and not acknowledged.
    under_way: HashMap<u64, Arc<RecordLease>>,
    /// Each ends the sessions of one record.
    ends: JoinSet<EndedSessions>,
    /// Those that are not acknowledged yet, in their order.
    ended: Vec<EndedSessions>,
    words: Settlement,
    unsettled: OpenSessionTopic,
    renewed: Instant,
    flushed: Instant,
    /// Something was acknowledged since.
    is_dirty: bool,
    is_leading: bool,
}

/// The sessions that one record ends, or one server's wish.
struct EndedSessions {
    /// The record.
    index: Option<u64>,
    /// What is to be noted, once that is done.
    changes: Vec<Change>,
    /// Nobody else is to end them.
    is_done: bool,
}

/// Whether settling goes on.
enum SettleNext {
    Goes,
    /// It was not possible now.
    Again,
    /// The bus is closed.
    Ends,
}

impl Settler {
    async fn run(mut self, mut stopping: watch::Receiver<bool>, mut leads: watch::Receiver<bool>) {
        loop {
            if !*leads.borrow_and_update() {
                self.leave_it_to_others().await;
                tokio::select! {
                    changed = leads.changed() => match changed {
                        Ok(()) => continue,
                        Err(_) => return,
                    },
                    _ = stopping.wait_for(|stopping| *stopping) => return,
                }
            }
            match self.work().await {
                SettleNext::Goes => {}
                SettleNext::Again => {
                    tokio::time::sleep(AGAIN).await;
                    continue;
                }
                SettleNext::Ends => return,
            }
            let Some(is_empty) = self.take().await else { return };
            let is_over = is_empty
                && self.under_way.is_empty()
                && self.ended.is_empty()
                && *stopping.borrow_and_update();
            self.renew();
            self.flush(is_over).await;
            if is_over {
                return;
            }
            let (has_room, due) = (self.room() > 0, self.due());
            tokio::select! {
                biased;
                Some(ended) = self.ends.join_next() => self.ended.extend(ended),
                Some(abort) = self.aborts.recv() => self.abort(abort),
                () = self.group.ready(), if has_room => {}
                () = tokio::time::sleep(due) => {}
                // Nobody can stop it any more once the handle is gone: then it goes on with the process.
                Ok(()) = stopping.changed() => {}
                Ok(()) = leads.changed() => {}
            }
        }
    }

    /// Begins to lead, if that is new, and acknowledges what is done.
    async fn work(&mut self) -> SettleNext {
        let done = match self.is_leading {
            true => self.acknowledge().await,
            false => self.take_over().await,
        };
        match done {
            Ok(()) => SettleNext::Goes,
            Err(BusError::Closed) => SettleNext::Ends,
            Err(BusError::Moved { .. }) => {
                tracing::warn!(
                    "another process settles too; what is under way is settled by who is given it"
                );
                self.leave_it_to_others().await;
                SettleNext::Again
            }
            Err(error) => {
                tracing::error!(%error, "what is known of unsettled messages is not on the bus: money waits to be settled");
                SettleNext::Again
            }
        }
    }

    fn room(&self) -> usize {
        RECORDS_MAX.saturating_sub(self.under_way.len())
    }

    /// Until something has to be said to the bus.
    fn due(&self) -> Duration {
        if !self.ended.is_empty() {
            return Duration::ZERO;
        }
        let flush = self.is_dirty.then(|| FLUSH.saturating_sub(self.flushed.elapsed()));
        let renew =
            (!self.under_way.is_empty()).then(|| (LEASE / RENEWALS).saturating_sub(self.renewed.elapsed()));
        flush.into_iter().chain(renew).min().unwrap_or(Duration::MAX)
    }

    /// Takes records, and says whether there was none. Nothing: the bus is closed.
    async fn take(&mut self) -> Option<bool> {
        let until = Instant::now() + LEASE;
        match self.group.take(self.room(), LEASE) {
            Ok(taken) => {
                taken.iter().for_each(|leased| self.begin(leased, until));
                Some(taken.is_empty())
            }
            Err(BusError::Closed) => None,
            Err(error) => {
                tracing::error!(%error, "outcomes cannot be taken: money waits to be settled");
                tokio::time::sleep(AGAIN).await;
                Some(true)
            }
        }
    }

    /// Ends the sessions of which a record tells.
    fn begin(&mut self, leased: &Leased, until: Instant) {
        let index = leased.record.index;
        if self.under_way.contains_key(&index) {
            return;
        }
        let is_again = leased.redelivered > 0 || self.external.is_old(index);
        let tenure = Arc::new(RecordLease::lasting(is_again, until));
        self.under_way.insert(index, Arc::clone(&tenure));
        let Reading { words, changes } = match decode_outcomes(&leased.record.octets) {
            Ok(outcomes) => self.read(&outcomes),
            Err(error) => {
                tracing::error!(index, %error, "outcomes cannot be read: what they say is not settled, and is free when its session ends");
                Reading::default()
            }
        };
        if words.is_empty() {
            // What is learned of it comes before what is learned of later ones.
            self.ended.push(EndedSessions { index: Some(index), changes, is_done: true });
            return;
        }
        let external = self.external.clone();
        self.ends.spawn(async move {
            let ends = words.into_iter().map(|word| external.end(word.id, word.used, &tenure));
            let is_done = join_all(ends).await.into_iter().all(|said| said);
            EndedSessions { index: Some(index), changes, is_done }
        });
    }

    fn read(&mut self, outcomes: &[Outcome]) -> Reading {
        let mut reading = self.words.read(outcomes, Clock::now());
        // Its server wanted it ended while it was under way.
        let is_unwanted = |id: &MessageId| self.external.sessions().is_aborted(id);
        for id in outcomes.iter().filter_map(unknown).filter(is_unwanted) {
            let Some(aborted) = self.words.abort(id) else { continue };
            reading.words.extend(aborted.words);
            reading.changes.extend(aborted.changes);
        }
        reading
    }

    /// A server wants a session ended. One that is under way is ended by its outcome, or when that says that
    /// nobody knows (`read`); of what is unknown none was used, as far as anybody knows.
    fn abort(&mut self, Abort { id, is_again }: Abort) {
        let Some(Reading { words, changes }) = self.words.abort(id) else { return };
        let external = self.external.clone();
        self.ends.spawn(async move {
            let tenure = RecordLease::always(is_again);
            let ends = words.into_iter().map(|Word { id, used }| external.end(id, used, &tenure));
            join_all(ends).await;
            EndedSessions { index: None, changes, is_done: true }
        });
    }

    /// This process leads from now on: it learns what is not settled yet, and ends what servers wanted ended
    /// meanwhile, and before.
    async fn take_over(&mut self) -> Result<(), BusError> {
        self.words = self.unsettled.read().await?;
        self.is_leading = true;
        let unwanted = {
            let mut sessions = self.external.sessions();
            sessions.keep(self.words.unknown());
            sessions.unwanted()
        };
        unwanted.into_iter().for_each(|id| self.abort(Abort { id, is_again: true }));
        Ok(())
    }

    /// Notes what is done, and acknowledges the records that told of it.
    async fn acknowledge(&mut self) -> Result<(), BusError> {
        // What panicked is given out again.
        while let Some(ended) = self.ends.try_join_next() {
            self.ended.extend(ended);
        }
        let done = || self.ended.iter().filter(|ended| ended.is_done);
        let changes: Vec<Change> = done().flat_map(|ended| ended.changes.iter().copied()).collect();
        self.unsettled.note(&changes).await?;
        for EndedSessions { index, is_done, .. } in std::mem::take(&mut self.ended) {
            let Some(index) = index else { continue };
            self.under_way.remove(&index);
            if !is_done {
                continue;
            }
            if let Err(error) = self.group.ack(index) {
                tracing::warn!(index, %error, "what was settled is told again");
            }
            self.is_dirty = true;
        }
        self.unsettled.tidy(&self.words).await
    }

    /// What takes long stays ours.
    fn renew(&mut self) {
        if self.renewed.elapsed() < LEASE / RENEWALS {
            return;
        }
        self.renewed = Instant::now();
        for (index, tenure) in &self.under_way {
            let now = Instant::now();
            if !tenure.holds(now) {
                continue;
            }
            match self.group.renew(*index, LEASE) {
                Ok(()) => tenure.renew(now + LEASE, now),
                Err(BusError::NotLeased { .. }) => tenure.end(now),
                Err(error) => tracing::warn!(index, %error, "a lease was not renewed"),
            }
        }
    }

    async fn flush(&mut self, is_over: bool) {
        if !self.is_dirty || !(is_over || self.flushed.elapsed() >= FLUSH) {
            return;
        }
        (self.flushed, self.is_dirty) = (Instant::now(), false);
        if let Err(error) = self.group.flush().await {
            tracing::warn!(%error, "what was settled is not noted; it is told again after a start");
        }
    }

    /// Another leads, or nobody: who does goes on with what is not acknowledged.
    async fn leave_it_to_others(&mut self) {
        self.is_leading = false;
        self.ends.shutdown().await;
        self.ended.clear();
        for (index, tenure) in self.under_way.drain() {
            tenure.end(Instant::now());
            if let Err(error) = self.group.release(index) {
                tracing::debug!(index, %error, "a record was not given back; its lease runs out");
            }
        }
        self.words = Settlement::default();
        self.flush(true).await;
    }
}

/// The attempt of which nobody knows.
fn unknown(outcome: &Outcome) -> Option<MessageId> {
    match outcome {
        Outcome::Attempt { of, result: AttemptResult::Unknown { .. }, .. } => Some(attempt_of(of)),
        _ => None,
    }
}
