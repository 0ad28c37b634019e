//! Outcomes, as they come by the bus, turned into the ends of sessions.

use super::tenure::Tenure;
use super::{External, MessageId};
use crate::own::early::Early;
use crate::own::settle::{GROUP, Settling};
use bus::{Bus, BusError, Group, Leased};
use futures_util::StreamExt;
use records::{AttemptResult, OUTCOMES, Outcome, Receipt, ReceiptState, Unpaid, decode_outcomes, mail_key};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Sessions whose servers want them ended that are looked up at once, by who begins to lead.
const ENDS_MAX: usize = 64;
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
/// Unknown attempts whose receipt is waited for, and messages of several parts that are under way; beyond, the server ends their sessions.
const KEPT_MAX: usize = 65_536;

/// Starts settling by the outcomes on this bus, from where an earlier process stopped; among several processes, while `leads` says that
/// this one does.
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
        words: Words::default(),
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
    aborts: mpsc::Receiver<MessageId>,
    group: Arc<dyn Group>,
    /// Records that were taken and not acknowledged.
    under_way: HashMap<u64, Arc<Tenure>>,
    /// Each ends the sessions of one record, and says which, and whether that is done.
    ends: JoinSet<(u64, bool)>,
    words: Words,
    renewed: Instant,
    flushed: Instant,
    /// Something was acknowledged since.
    is_dirty: bool,
    is_leading: bool,
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
            if !std::mem::replace(&mut self.is_leading, true) {
                self.take_over();
            }
            let Some(is_empty) = self.take().await else { return };
            while let Some(ended) = self.ends.try_join_next() {
                self.acknowledge(ended.ok());
            }
            let is_over = is_empty && self.under_way.is_empty() && *stopping.borrow_and_update();
            self.renew();
            self.flush(is_over).await;
            if is_over {
                return;
            }
            let (has_room, due) = (self.room() > 0, self.due());
            tokio::select! {
                biased;
                Some(ended) = self.ends.join_next() => self.acknowledge(ended.ok()),
                Some(id) = self.aborts.recv() => self.abort(id),
                () = self.group.ready(), if has_room => {}
                () = tokio::time::sleep(due) => {}
                // Nobody can stop it any more once the handle is gone: then it goes on with the process.
                Ok(()) = stopping.changed() => {}
                Ok(()) = leads.changed() => {}
            }
        }
    }

    fn room(&self) -> usize {
        RECORDS_MAX.saturating_sub(self.under_way.len())
    }

    /// Until something has to be said to the bus.
    fn due(&self) -> Duration {
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
        let tenure = Arc::new(Tenure::lasting(is_again, until));
        self.under_way.insert(index, Arc::clone(&tenure));
        let mut words = Vec::new();
        match decode_outcomes(&leased.record.octets) {
            Ok(outcomes) => outcomes.iter().for_each(|outcome| {
                self.words.read(outcome, &mut words);
                // Its server wanted it ended while it was under way.
                if let Some(id) = unknown(outcome).filter(|id| self.external.sessions().is_aborted(id)) {
                    words.extend(self.words.abort(id));
                }
            }),
            Err(error) => {
                tracing::error!(index, %error, "outcomes cannot be read: what they say is not settled, and is free when its session ends");
            }
        }
        let external = self.external.clone();
        self.ends.spawn(async move {
            let ends = words.into_iter().map(|word| external.end(word.id, word.used, &tenure));
            let said = futures_util::future::join_all(ends).await;
            (index, said.into_iter().all(|said| said))
        });
    }

    /// A server wants a session ended. What is under way ends it by its outcome; of what is unknown none was used, as far as anybody knows.
    fn abort(&mut self, id: MessageId) {
        let external = self.external.clone();
        match self.words.abort(id) {
            Some(Word { id, used }) => {
                tokio::spawn(async move { external.end(id, used, &Tenure::always(false)).await });
            }
            // Another process may have led when it was told that nobody knows.
            None if external.0.is_shared => {
                tokio::spawn(async move { external.end_unknown(id).await });
            }
            None => {}
        }
    }

    /// This process leads from now on: what servers wanted ended meanwhile, and before. Of none of these it has heard yet that it is unknown.
    fn take_over(&self) {
        let (external, unwanted) = (self.external.clone(), self.external.sessions().unwanted());
        tokio::spawn(async move {
            let ends = futures_util::stream::iter(unwanted);
            ends.for_each_concurrent(ENDS_MAX, |id| external.end_unknown(id)).await;
        });
    }

    fn acknowledge(&mut self, ended: Option<(u64, bool)>) {
        // What panicked is given out again.
        let Some((index, is_done)) = ended else { return };
        self.under_way.remove(&index);
        if !is_done {
            return;
        }
        if let Err(error) = self.group.ack(index) {
            tracing::warn!(index, %error, "what was settled is told again");
        }
        self.is_dirty = true;
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
        for (index, tenure) in self.under_way.drain() {
            tenure.end(Instant::now());
            if let Err(error) = self.group.release(index) {
                tracing::debug!(index, %error, "a record was not given back; its lease runs out");
            }
        }
        self.words = Words::default();
        self.flush(true).await;
    }
}

/// A session that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) id: MessageId,
    pub(super) used: u32,
}

/// What becomes of messages of which more than one thing is told.
#[derive(Default)]
pub(super) struct Words {
    /// Unknown attempts by the key that a mail's receipt has, with their parts.
    unknown: HashMap<u64, (MessageId, u32)>,
    early: Early,
    /// Messages of several parts: of how many something was told; nothing more is to be done once one of them was accepted.
    parts: HashMap<MessageId, Option<u8>>,
}

/// The attempt of which nobody knows.
fn unknown(outcome: &Outcome) -> Option<MessageId> {
    match outcome {
        Outcome::Attempt { of, result: AttemptResult::Unknown { .. }, .. } => {
            Some(MessageId { alert: of.alert, endpoint: of.endpoint, attempt: of.attempt })
        }
        _ => None,
    }
}

impl Words {
    /// The end of a session that its server wants ended, if its attempt is unknown: no receipt is waited for any more.
    pub(super) fn abort(&mut self, id: MessageId) -> Option<Word> {
        let key = mail_key(id.alert, id.endpoint);
        self.unknown.get(&key).filter(|(unknown, _)| *unknown == id)?;
        self.unknown.remove(&key);
        Some(Word { id, used: 0 })
    }

    /// What an outcome ends.
    pub(super) fn read(&mut self, outcome: &Outcome, words: &mut Vec<Word>) {
        match outcome {
            Outcome::Attempt { of, result, .. } => {
                let id = MessageId { alert: of.alert, endpoint: of.endpoint, attempt: of.attempt };
                self.attempt(id, of.parts.max(1), result, words);
            }
            Outcome::Receipt(receipt) => self.receipt(receipt, words),
            _ => {}
        }
    }

    fn attempt(&mut self, id: MessageId, parts: u8, result: &AttemptResult, words: &mut Vec<Word>) {
        let end = |used| Word { id, used };
        match result {
            AttemptResult::Accepted { .. } => {
                if self.is_first_yes(id, parts) {
                    words.push(end(parts.into()));
                }
                // An earlier attempt of which nobody knows is not paid for beside it.
                let key = mail_key(id.alert, id.endpoint);
                self.early.take(key, Instant::now());
                if let Some((other, _)) = self.unknown.get(&key).copied().filter(|(other, _)| *other != id) {
                    self.unknown.remove(&key);
                    words.push(Word { id: other, used: 0 });
                }
            }
            // Nothing was reserved, unless the answer was lost.
            AttemptResult::Refused { code, .. } if code == Unpaid::NoServer.code() => {
                words.push(end(0));
            }
            AttemptResult::Refused { code, .. } if code.starts_with(Unpaid::CODES) => {}
            AttemptResult::Refused { .. } | AttemptResult::NotTried { .. } => {
                if self.is_last_no(id, parts) {
                    words.push(end(0));
                }
            }
            AttemptResult::Unknown { .. } => {
                if self.unknown.len() >= KEPT_MAX {
                    self.unknown.clear();
                }
                let key = mail_key(id.alert, id.endpoint);
                self.unknown.insert(key, (id, parts.into()));
                if let Some(state) = self.early.take(key, Instant::now()) {
                    self.decide(key, state, words);
                }
            }
        }
    }

    /// Any part that is taken settles all of them, once.
    fn is_first_yes(&mut self, id: MessageId, parts: u8) -> bool {
        parts == 1 || self.note_part(id, None) != Some(None)
    }

    /// Only when no part was taken nothing was used.
    fn is_last_no(&mut self, id: MessageId, parts: u8) -> bool {
        if parts == 1 {
            return true;
        }
        let told = match self.parts.get(&id) {
            Some(None) => return false,
            Some(Some(told)) => told.saturating_add(1),
            None => 1,
        };
        self.note_part(id, Some(told));
        if told >= parts {
            self.parts.remove(&id);
        }
        told >= parts
    }

    fn note_part(&mut self, id: MessageId, told: Option<u8>) -> Option<Option<u8>> {
        if self.parts.len() >= KEPT_MAX {
            self.parts.clear();
        }
        self.parts.insert(id, told)
    }

    fn receipt(&mut self, receipt: &Receipt, words: &mut Vec<Word>) {
        if receipt.state == ReceiptState::Buffered {
            return;
        }
        match receipt.keys.iter().find(|key| self.unknown.contains_key(key)) {
            Some(key) => self.decide(*key, receipt.state, words),
            None => self.early.receive(receipt, Instant::now()),
        }
    }

    /// What a receipt means for the unknown message of this key, which is unknown no more.
    fn decide(&mut self, key: u64, state: ReceiptState, words: &mut Vec<Word>) {
        let Some((id, parts)) = self.unknown.remove(&key) else { return };
        words.push(Word { id, used: if state == ReceiptState::Delivered { parts } else { 0 } });
    }
}
