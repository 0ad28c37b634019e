//! Local backend settles charges in the ledger: in the order of their records, one batch for each account.

use super::pending_receipt_topic::PendingReceiptTopic;
use super::{MessageCharging, Payer};
use crate::message_charging::ChargeId;
use crate::message_charging::backend::{ChargingBackend, DecidedRecord, SettledRecord};
use crate::message_charging::settlement::{Change, Decision, Settlement};
use crate::message_charging::settler::{self, Settling};
use bus::{Bus, BusError};
use ledger::request::{MessageKey, result};
use ledger::shard::Shard;
use ledger::{Batch, Kind};
use records::{AlertNo, EndpointNo, Redacted};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// Alerts whose account is remembered; beyond, all are looked up again.
const ALERTS_MAX: usize = 16_384;

impl MessageCharging {
    /// Starts settling by the outcomes on this bus, from where an earlier process stopped. Each of several
    /// processes may: the ledger that they share knows what each of them settled.
    ///
    /// # Errors
    /// The bus's.
    pub fn start_settling(&self, bus: &dyn Bus) -> Result<Settling, BusError> {
        let (own, topic) = (self.clone(), PendingReceiptTopic::open(bus)?);
        let backend = LedgerBackend { own, payers: HashMap::new(), topic };
        let always = watch::channel(true).1;
        settler::start(backend, Settlement::of_messages(), bus, always)
    }
}

struct LedgerBackend {
    own: MessageCharging,
    /// By alert.
    payers: HashMap<u64, Payer>,
    topic: PendingReceiptTopic,
}

/// A request to the ledger.
type Request = (MessageKey, Kind);

impl ChargingBackend for LedgerBackend {
    const RECORDS_MAX: usize = 256;

    async fn catch_up(&mut self, settlement: &mut Settlement) -> Result<(), BusError> {
        self.topic.follow(&mut settlement.pending).await;
        Ok(())
    }

    async fn find_unknown(&mut self, keys: Vec<u64>) -> Vec<(ChargeId, u32)> {
        let keys: Arc<[u64]> = keys.into();
        let found = self
            .ask_shards(move |state| keys.iter().filter_map(|key| state.unknown(*key)).collect::<Vec<_>>());
        let charge = |(message, parts): (MessageKey, u32)| {
            let (alert, endpoint) = (AlertNo(message.alert), EndpointNo(message.endpoint));
            (ChargeId { alert, endpoint, attempt: 0 }, parts)
        };
        found.await.into_iter().map(charge).collect()
    }

    async fn settle(&mut self, decided: Vec<DecidedRecord>, settled: &mut Vec<SettledRecord>) {
        let mut requests = Vec::new();
        for record in &decided {
            let at = record.index.unwrap_or(u64::MAX);
            requests.extend(record.reading.decisions.iter().map(|decision| request(*decision, at)));
        }
        self.submit(requests).await;
        settled.extend(decided.into_iter().map(SettledRecord::from));
    }

    async fn wait(&mut self, _: &mut Settlement, _: &mut Vec<SettledRecord>) {
        tokio::time::sleep_until(self.topic.due().into()).await;
    }

    async fn note(&mut self, changes: &[Change]) -> Result<(), BusError> {
        // All else is in the ledger.
        let pending = |change: &Change| match change {
            Change::Early(change) => Some(*change),
            _ => None,
        };
        self.topic.note(&changes.iter().filter_map(pending).collect::<Vec<_>>()).await
    }

    async fn leave(&mut self, _: &mut Settlement) {}
}

fn request(decision: Decision, at: u64) -> Request {
    let key = |id: ChargeId| MessageKey { alert: id.alert.0, endpoint: id.endpoint.0 };
    match decision {
        Decision::Charge(id, parts) => (key(id), Kind::Settle { message: key(id), parts }),
        Decision::Release(id) => (key(id), Kind::Release { message: key(id), at }),
        Decision::Keep(id) => (key(id), Kind::Keep { message: key(id) }),
        // Also what is kept.
        Decision::ReleaseUnknown(id) => (key(id), Kind::Release { message: key(id), at: u64::MAX }),
    }
}

impl LedgerBackend {
    async fn submit(&mut self, requests: Vec<Request>) {
        self.look_up(&requests).await;
        // In their order for each account; a message nobody knows costs nothing.
        let mut batches: Vec<(Payer, Vec<Kind>)> = Vec::new();
        for (message, kind) in requests {
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
                    account = %Redacted::Address(&String::from_utf8_lossy(&payer.octets)),
                    messages = lost,
                    "accepted messages are not charged: nothing is held for them any more"
                );
            }
        }
    }

    /// The answers of all shards to this question.
    async fn ask_shards<T: Send + 'static>(
        &self,
        question: impl Fn(&Shard) -> Vec<T> + Clone + Send + 'static,
    ) -> Vec<T> {
        let mut all = Vec::new();
        for shard in 0..self.own.ledger.shards() {
            let (to, answer) = oneshot::channel();
            let question = question.clone();
            // The settler may have gone.
            self.own.ledger.ask(shard, move |state| drop(to.send(question(state))));
            match answer.await {
                Ok(answers) => all.extend(answers),
                // The shard has stopped, and logs why. Nothing is acknowledged that it did not settle.
                Err(_) => std::future::pending().await,
            }
        }
        all
    }

    /// Finds the accounts of alerts: outcomes do not name them, the ledger knows whose a message is.
    async fn look_up(&mut self, requests: &[Request]) {
        if self.payers.len() > ALERTS_MAX {
            self.payers.clear();
        }
        let messages = requests.iter().map(|(message, _)| *message);
        let wanted: Arc<[MessageKey]> =
            messages.filter(|message| !self.payers.contains_key(&message.alert)).collect();
        if wanted.is_empty() {
            return;
        }
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
