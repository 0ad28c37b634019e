//! Our own messages, paid from the local ledger: a message is one hold, whatever its attempts, routes and
//! processes; the ledger knows it by (alert, endpoint) until a while ([`LATE_US`]) after its validity.

mod pending_receipt_topic;
mod settle;
#[cfg(test)]
mod tests;

use super::EMERGENCY_WAITS;
use ledger::request::{Destination, MessageKey, ServiceContext, result};
use ledger::shard_threads::once;
use ledger::{Batch, KeyKind, Kind, Ledger, NewRequest, PackedKey, Refused};
use records::{Bill, BillItem, Funding, Unpaid};
use std::time::Duration;

/// What is held stays held for so long after the message's validity, in microseconds: what a carrier took in
/// its last second is settled also when this process was down meanwhile. 6 h.
pub const LATE_US: u64 = 6 * 3_600 * 1_000_000;
/// A ledger with too much to do is asked again after so long.
const BUSY: Duration = Duration::from_millis(20);
/// One that cannot, after so long.
const STOPPED: Duration = Duration::from_secs(1);

/// The ledger, as our own messages see it.
#[derive(Clone)]
pub struct MessageCharging {
    ledger: Ledger,
}

/// An account and where the ledger has it.
#[derive(Debug, Clone)]
struct Payer {
    octets: Vec<u8>,
    packed: PackedKey,
    hash: u64,
    shard: usize,
}

impl MessageCharging {
    /// Of this ledger.
    pub fn new(ledger: Ledger) -> MessageCharging {
        MessageCharging { ledger }
    }

    /// Whether each of these messages may be written, in their order: what that costs is held, or owed, on
    /// disk. Asks until the ledger has answered, except for emergencies, which may be written in any case.
    /// Safe to drop, and to ask again.
    pub async fn pay(&self, bill: &Bill) -> Vec<Funding> {
        let payer = self.payer(bill.account.as_bytes().to_vec());
        if bill.is_emergency {
            let (own, owed) = (self.clone(), bill.clone());
            let posted = tokio::spawn(async move { own.owe(&payer, &owed).await });
            if tokio::time::timeout(EMERGENCY_WAITS, posted).await.is_err() {
                tracing::error!(alert = %bill.alert, "an emergency is sent before the ledger has what it costs");
            }
            return vec![Funding::Paid; bill.items.len()];
        }
        let requests = |batch: &mut Batch| {
            payer.push_bill(batch, bill, |(message, parts, until_us)| Kind::Hold {
                message,
                parts,
                until_us,
                since: bill.since,
            });
        };
        self.insist(&payer, requests).await.into_iter().map(funding).collect()
    }

    async fn owe(&self, payer: &Payer, bill: &Bill) {
        let requests = |batch: &mut Batch| {
            payer.push_bill(batch, bill, |(message, parts, until_us)| Kind::Debt {
                message,
                parts,
                until_us,
                since: bill.since,
            });
        };
        let mut results = self.insist(payer, requests).await;
        if results.contains(&result::USER_UNKNOWN) {
            // It owes before anybody opened it. Whoever opens it at the same time finds it open.
            self.insist(payer, |batch| payer.push(batch, Kind::Create { balance: 0, limit: 0 }, b"")).await;
            results = self.insist(payer, requests).await;
        }
        let known = [result::SUCCESS, result::CREDIT_CONTROL_NOT_APPLICABLE];
        if let Some(code) = results.iter().find(|code| !known.contains(code)) {
            tracing::warn!(account = bill.account, alert = %bill.alert, code, "an emergency is sent and not owed");
        }
    }

    fn payer(&self, octets: Vec<u8>) -> Payer {
        let (packed, hash) = self.ledger.account_hash(KeyKind::Name, &octets);
        Payer { octets, packed, hash, shard: self.ledger.shard_of(hash) }
    }

    /// Result-Codes of requests of one account, once the ledger could carry all of them out.
    async fn insist(&self, payer: &Payer, requests: impl Fn(&mut Batch)) -> Vec<u32> {
        loop {
            let mut batch = Batch::default();
            requests(&mut batch);
            let batch = self.submit(payer.shard, batch).await;
            let results: Vec<u32> = batch.answers().map(|(_, answer, _)| answer.result).collect();
            if !results.contains(&result::UNABLE_TO_COMPLY) {
                return results;
            }
            self.wait_out().await;
        }
    }

    /// The batch with its answers.
    async fn submit(&self, shard: usize, mut batch: Batch) -> Batch {
        loop {
            let (to, told) = once();
            match self.ledger.try_submit(shard, batch, &to) {
                Ok(()) => match told.await {
                    Ok(batch) => return batch,
                    // The owner is gone without a word.
                    Err(_) => return std::future::pending().await,
                },
                Err(Refused::Busy(back)) => {
                    batch = back;
                    tokio::time::sleep(BUSY).await;
                }
                Err(Refused::Stopped(back)) => {
                    batch = back;
                    self.wait_out().await;
                }
            }
        }
    }

    async fn wait_out(&self) {
        let why = self.ledger.failure().unwrap_or_else(|| "it has no room for more messages".to_owned());
        tracing::error!(why, "the ledger cannot: what has to be paid waits");
        tokio::time::sleep(STOPPED).await;
    }
}

impl Payer {
    /// A request for each message of a bill, made of its key, its parts and the end of its hold.
    fn push_bill(&self, batch: &mut Batch, bill: &Bill, kind: impl Fn((MessageKey, u32, u64)) -> Kind) {
        for item in &bill.items {
            let message = MessageKey { alert: bill.alert.0, endpoint: item.endpoint.0 };
            let request = kind((message, item.parts.into(), until_us(item)));
            self.push(batch, request, item.address.as_bytes());
        }
    }

    fn push(&self, batch: &mut Batch, kind: Kind, address: &[u8]) {
        let is_phone = address.iter().all(|octet| octet.is_ascii_digit() || *octet == b'+');
        let (context, destination) = match is_phone && !address.is_empty() {
            true => (ServiceContext::SMS, Destination::parse(address)),
            false => Default::default(),
        };
        let request = NewRequest {
            kind,
            account_kind: KeyKind::Name,
            account: &self.octets,
            session: [0, 0],
            number: 0,
            context,
            class: 0,
            destination,
            services: &[],
            opener: None,
            tag: 0,
        };
        batch.push(self.packed, self.hash, &request);
    }
}

fn until_us(item: &BillItem) -> u64 {
    u64::try_from(item.until.0).unwrap_or(0).saturating_add(LATE_US)
}

fn funding(result: u32) -> Funding {
    match result {
        // Not applicable: it was taken before, and whoever may send it again does so for nothing.
        result::SUCCESS | result::CREDIT_CONTROL_NOT_APPLICABLE => Funding::Paid,
        result::CREDIT_LIMIT_REACHED => Funding::Refused(Unpaid::NoMoney),
        result::END_USER_SERVICE_DENIED => Funding::Refused(Unpaid::Blocked),
        result::USER_UNKNOWN => Funding::Refused(Unpaid::NoAccount),
        _ => Funding::Refused(Unpaid::NoPrice),
    }
}
