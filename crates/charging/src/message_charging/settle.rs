//! Outcomes, as they come by the bus, turned into what becomes of the money.

use super::pending_receipts::PendingReceipts;
use super::pending_receipts::noted::PendingReceiptTopic;
use super::{MessageCharging, Payer, key};
use bus::{Bus, BusError, Group, Leased};
use ledger::Batch;
use ledger::Kind;
use ledger::request::{MessageKey, result};
use ledger::shard::Shard;
use records::{AttemptResult, OUTCOMES, Outcome, Receipt, ReceiptState, Unpaid, decode_outcomes, mail_key};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// The consumer group of the topic of outcomes.
pub const GROUP: &str = "charging";
/// So many records are taken at a time.
const TAKE_MAX: usize = 256;
/// They are ours for so long.
const LEASE: Duration = Duration::from_secs(60);
/// Acknowledgements are made durable this often.
const FLUSH: Duration = Duration::from_secs(1);
/// After an error of the bus it is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// Alerts whose account is remembered; beyond, all are looked up again.
const ALERTS_MAX: usize = 16_384;
/// Unknown attempts whose receipt is waited for; beyond, the end of their validity decides.
const UNKNOWN_MAX: usize = 65_536;
/// Who ends waits at most so long for what is there to be settled; the rest is settled by the next start.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// The settler at work.
#[derive(Debug)]
pub struct Settling {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Settling {
    pub(super) fn new(stop: watch::Sender<bool>, task: JoinHandle<()>) -> Settling {
        Settling { stop, task }
    }

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

/// Starts settling by the outcomes on this bus, from where an earlier process stopped.
///
/// # Errors
/// The bus's.
pub fn start(own: MessageCharging, bus: &dyn Bus) -> Result<Settling, BusError> {
    let group = bus.group(OUTCOMES, GROUP)?;
    let noted = PendingReceiptTopic::open(bus)?;
    let (stop, stopping) = watch::channel(false);
    let (payers, unknown, early) = (HashMap::new(), HashMap::new(), PendingReceipts::default());
    let settler = Settler { own, group, payers, unknown, early, noted };
    Ok(Settling::new(stop, tokio::spawn(settler.run(stopping))))
}

struct Settler {
    own: MessageCharging,
    group: Arc<dyn Group>,
    /// By alert.
    payers: HashMap<u64, Payer>,
    /// Unknown attempts by the key that a mail's receipt has, with their parts.
    unknown: HashMap<u64, (MessageKey, u32)>,
    early: PendingReceipts,
    noted: PendingReceiptTopic,
}

/// What the ledger is told of a message.
type Word = (MessageKey, Kind);

impl Settler {
    async fn run(mut self, mut stopping: watch::Receiver<bool>) {
        let mut flushed = Instant::now();
        let mut dirty = false;
        loop {
            self.noted.follow(&mut self.early).await;
            let taken = match self.group.take(TAKE_MAX, LEASE) {
                Ok(taken) => taken,
                Err(BusError::Closed) => return,
                Err(error) => {
                    tracing::error!(%error, "outcomes cannot be taken: money waits to be settled");
                    tokio::time::sleep(AGAIN).await;
                    Vec::new()
                }
            };
            if !taken.is_empty() {
                self.settle(&taken).await;
            }
            self.look_for_early().await;
            // Before the records that tell of them are acknowledged.
            if !self.noted.note(&mut self.early).await {
                return;
            }
            self.acknowledge(&taken);
            dirty |= !taken.is_empty();
            let is_over = taken.is_empty() && *stopping.borrow_and_update();
            if dirty && (is_over || flushed.elapsed() >= FLUSH) {
                (flushed, dirty) = (Instant::now(), false);
                self.flush().await;
            }
            if is_over {
                return;
            }
            if taken.is_empty() {
                let flush = dirty.then(|| FLUSH.saturating_sub(flushed.elapsed()));
                let look = self.early.next_due().into_iter().chain([self.noted.due()]).min();
                let look = look.map(|look| look.saturating_duration_since(Instant::now()));
                let due = flush.into_iter().chain(look).min().unwrap_or(Duration::MAX);
                tokio::select! {
                    () = self.group.ready() => {}
                    () = tokio::time::sleep(due) => {}
                    // Nobody can stop it any more once the handle is gone: then it goes on with the process.
                    Ok(()) = stopping.changed() => {}
                }
            }
        }
    }

    /// What was acknowledged is not given out again, also not after a crash.
    async fn flush(&self) {
        if let Err(error) = self.group.flush().await {
            tracing::warn!(%error, "what was settled is not noted; it is told again after a start");
        }
    }

    fn acknowledge(&self, taken: &[Leased]) {
        for leased in taken {
            if let Err(error) = self.group.ack(leased.record.index) {
                tracing::warn!(index = leased.record.index, %error, "what was settled is told again");
            }
        }
    }

    async fn settle(&mut self, taken: &[Leased]) {
        let mut told = Vec::new();
        for leased in taken {
            let index = leased.record.index;
            match decode_outcomes(&leased.record.octets) {
                Ok(outcomes) => told.extend(outcomes.into_iter().map(|outcome| (index, outcome))),
                Err(error) => {
                    tracing::error!(index, %error, "outcomes cannot be read: what they say is not settled, and is free when its validity ends");
                }
            }
        }
        self.look_up_unknown(&told).await;
        let mut words = Vec::new();
        told.iter().for_each(|(index, outcome)| self.read(*index, outcome, &mut words));
        self.tell(words).await;
    }

    /// Settles receipts that came early, and whose message the ledger calls unknown by now.
    async fn look_for_early(&mut self) {
        let due = self.early.due(Instant::now());
        if due.is_empty() {
            return;
        }
        self.find_unknown(due.iter().copied().collect()).await;
        let words = due.into_iter().filter_map(|key| self.settle_early(key)).collect();
        self.tell(words).await;
    }

    /// Tells the ledger what became of messages.
    async fn tell(&mut self, words: Vec<Word>) {
        self.look_up(&words).await;
        // In their order for each account; a message nobody knows costs nothing.
        let mut batches: Vec<(Payer, Vec<Kind>)> = Vec::new();
        for (message, kind) in words {
            let Some(payer) = self.payers.get(&message.alert) else { continue };
            match batches.iter_mut().find(|(known, _)| known.octets == payer.octets) {
                Some((_, kinds)) => kinds.push(kind),
                None => batches.push((payer.clone(), vec![kind])),
            }
        }
        for (payer, kinds) in batches {
            let requests = |batch: &mut Batch| kinds.iter().for_each(|kind| payer.push(batch, *kind, b""));
            let results = self.own.insist(&payer, requests).await;
            let lost = kinds.iter().zip(results).filter(|(kind, code)| {
                matches!(kind, Kind::Settle { .. }) && *code == result::UNKNOWN_SESSION_ID
            });
            let lost = lost.count();
            if lost > 0 {
                tracing::warn!(
                    account = %String::from_utf8_lossy(&payer.octets),
                    messages = lost,
                    "accepted messages are not charged: nothing is held for them any more"
                );
            }
        }
    }

    /// What an outcome means for the money, by its place on the topic.
    fn read(&mut self, at: u64, outcome: &Outcome, words: &mut Vec<Word>) {
        let Outcome::Attempt { of, result, .. } = outcome else {
            if let Outcome::Receipt(receipt) = outcome {
                words.extend(self.receipt(receipt));
            }
            return;
        };
        let (message, receipt_key) = (key(of.alert, of.endpoint), mail_key(of.alert, of.endpoint));
        match result {
            AttemptResult::Accepted { .. } => {
                // It is paid for, whatever a receipt says of it.
                self.early.take(receipt_key, Instant::now());
                words.push((message, Kind::Settle { message, parts: of.parts.max(1).into() }));
            }
            AttemptResult::Refused { code, .. } if code.starts_with(Unpaid::CODES) => {}
            AttemptResult::Refused { .. } | AttemptResult::NotTried { .. } => {
                words.push((message, Kind::Release { message, at }));
            }
            AttemptResult::Unknown { .. } => {
                if self.unknown.len() >= UNKNOWN_MAX {
                    self.unknown.clear();
                }
                self.unknown.insert(receipt_key, (message, of.parts.max(1).into()));
                words.push((message, Kind::Keep { message }));
                words.extend(self.settle_early(receipt_key));
            }
        }
    }

    fn receipt(&mut self, receipt: &Receipt) -> Option<Word> {
        if receipt.state == ReceiptState::Buffered {
            return None;
        }
        let Some(key) = receipt.keys.iter().find(|key| self.unknown.contains_key(key)) else {
            self.early.receive(receipt, Instant::now());
            return None;
        };
        self.decide(*key, receipt.state)
    }

    /// What a receipt that came early means for the message of this key, if that is known as unknown now.
    fn settle_early(&mut self, key: u64) -> Option<Word> {
        if !self.unknown.contains_key(&key) {
            return None;
        }
        let state = self.early.take(key, Instant::now())?;
        self.decide(key, state)
    }

    /// What a receipt means for the unknown message of this key, which is unknown no more.
    fn decide(&mut self, key: u64, state: ReceiptState) -> Option<Word> {
        let (message, parts) = self.unknown.remove(&key)?;
        let kind = match state {
            ReceiptState::Buffered => return None,
            ReceiptState::Delivered => Kind::Settle { message, parts },
            // Also what is kept.
            ReceiptState::Failed | ReceiptState::Expired => Kind::Release { message, at: u64::MAX },
        };
        Some((message, kind))
    }

    /// Finds the messages of receipts that this process does not know as unknown: another heard of them, or
    /// this one before it was started. The ledger knows them.
    async fn look_up_unknown(&mut self, told: &[(u64, Outcome)]) {
        let is_final = |receipt: &&Receipt| receipt.state != ReceiptState::Buffered;
        let receipts = told.iter().filter_map(|(_, outcome)| match outcome {
            Outcome::Receipt(receipt) => Some(receipt).filter(is_final),
            _ => None,
        });
        let wanted = receipts.flat_map(|receipt| receipt.keys.iter().copied());
        let wanted: Arc<[u64]> = wanted.filter(|key| !self.unknown.contains_key(key)).collect();
        if !wanted.is_empty() {
            self.find_unknown(wanted).await;
        }
    }

    async fn find_unknown(&mut self, wanted: Arc<[u64]>) {
        let found = self.ask_shards(move |state| {
            let find = |key: &u64| Some((*key, state.unknown(*key)?));
            wanted.iter().filter_map(find).collect::<Vec<_>>()
        });
        for (key, message) in found.await {
            self.unknown.insert(key, message);
        }
    }

    /// What each shard says to this, together.
    async fn ask_shards<T: Send + 'static>(
        &self,
        question: impl Fn(&Shard) -> Vec<T> + Clone + Send + 'static,
    ) -> Vec<T> {
        let mut all = Vec::new();
        for shard in 0..self.own.ledger.shards() {
            let (tell, told) = oneshot::channel();
            let question = question.clone();
            // Who asked may have gone.
            self.own.ledger.ask(shard, move |state| drop(tell.send(question(state))));
            match told.await {
                Ok(said) => all.extend(said),
                // The shard has stopped, and says why. Nothing is acknowledged that it did not hear.
                Err(_) => std::future::pending().await,
            }
        }
        all
    }

    /// Finds the accounts of alerts: outcomes do not name them, the ledger knows whose a message is.
    async fn look_up(&mut self, words: &[Word]) {
        if self.payers.len() > ALERTS_MAX {
            self.payers.clear();
        }
        let wanted: Vec<MessageKey> = words
            .iter()
            .map(|(message, _)| *message)
            .filter(|message| !self.payers.contains_key(&message.alert))
            .collect();
        if wanted.is_empty() {
            return;
        }
        let wanted: Arc<[MessageKey]> = wanted.into();
        let found = self.ask_shards(move |state| {
            let mut found: HashMap<u64, Vec<u8>> = HashMap::new();
            for message in wanted.iter() {
                if let Some(number) = state.payer(message) {
                    found.entry(message.alert).or_insert_with(|| state.accounts().octets(number));
                }
            }
            found.into_iter().collect()
        });
        for (alert, octets) in found.await {
            self.payers.insert(alert, self.own.payer(octets));
        }
    }
}
