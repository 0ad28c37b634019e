//! Receipts and replies on their way to the ESMEs: by their time first, then by account, where any receiving
//! session of the same `system_id` takes them.

use super::card::Card;
use super::receipts::OnBind;
use crate::agenda::Agenda;
use crate::clock::Clock;
use crate::tally::LastSecond;
use serde::Serialize;
use smpp::limits::HEADER_OCTETS;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Receipts and replies that wait for their time or for a session; what is over it is dropped, and counted.
pub const LETTERS_MAX: u64 = 4_000_000;
/// Accounts are told apart by their `system_id`; so many are known at most, all others share one.
const ACCOUNTS_MAX: usize = 10_000;
/// Messages whose receipts were withdrawn; of the oldest beyond, receipts may come after all.
const WITHDRAWN_MAX: usize = 100_000;

/// What became of receipts and replies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LetterStats {
    /// Receipts that were made.
    pub receipts: u64,
    /// Replies and other messages of phones that were made, each part for itself.
    pub replies: u64,
    /// `deliver_sm` written.
    pub sent: u64,
    /// Of those, written again after no answer, or a temporary one, or a lost session.
    pub again: u64,
    /// Answered with ESME_ROK.
    pub confirmed: u64,
    /// Answered with a status that is for good.
    pub refused: u64,
    /// Dropped because too many waited.
    pub dropped: u64,
    /// Receipts that never went because their message was cancelled, or receipted by hand.
    pub withdrawn: u64,
    /// Waiting for their time, for a session, or for their answer.
    pub waiting: u64,
}

/// One `deliver_sm`, whole but for its sequence number.
#[derive(Debug)]
pub(super) struct QueuedDeliverSm {
    pub(super) account: Arc<QueueAccount>,
    pub(super) pdu: Box<[u8]>,
    /// It was written before.
    pub(super) is_again: bool,
    /// The message whose receipt it is; 0: it is no receipt.
    pub(super) about: u64,
    /// Over which session, seen from the one that submitted.
    pub(super) bind: (OnBind, u64),
}

impl QueuedDeliverSm {
    /// Appends the PDU with its sequence number.
    pub(super) fn write(&self, sequence: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.pdu);
        out[start + 12..start + HEADER_OCTETS].copy_from_slice(&sequence.to_be_bytes());
    }
}

/// All sessions of one `system_id`.
#[derive(Debug)]
pub(super) struct QueueAccount {
    pub(super) system_id: String,
    /// In the order in which they came to be known.
    pub(super) place: u32,
    outbox: Mutex<VecDeque<QueuedDeliverSm>>,
    /// Wakes one receiving session.
    pub(super) news: Notify,
    receivers: Mutex<Vec<Arc<Card>>>,
    accepted: Mutex<LastSecond>,
    pub(super) sessions: AtomicU64,
}

impl QueueAccount {
    /// A letter to whichever session.
    pub(super) fn letter(self: &Arc<Self>, pdu: Box<[u8]>) -> QueuedDeliverSm {
        QueuedDeliverSm { account: Arc::clone(self), pdu, is_again: false, about: 0, bind: (OnBind::Any, 0) }
    }

    pub(super) fn join(&self, card: &Arc<Card>) {
        lock(&self.receivers).push(Arc::clone(card));
    }

    /// A session receives no more; what only it might have brought goes to the others.
    pub(super) fn leave(&self, card: &Card) {
        lock(&self.receivers).retain(|receiver| receiver.number != card.number);
        self.put_back_as_new(card.close());
    }

    fn put_back_as_new(&self, letters: VecDeque<QueuedDeliverSm>) {
        let mut outbox = lock(&self.outbox);
        outbox.extend(letters);
        if !outbox.is_empty() {
            self.news.notify_one();
        }
    }

    /// The session that a letter must go over, if it must and there is one.
    fn receiver(&self, bind: (OnBind, u64)) -> Option<Arc<Card>> {
        if bind.0 == OnBind::Any {
            return None;
        }
        let receivers = lock(&self.receivers);
        let found = match bind {
            (OnBind::Other, number) => receivers.iter().find(|card| card.number != number),
            (_, number) => receivers.iter().find(|card| card.number == number),
        };
        found.cloned()
    }

    /// Asks for room for one more in the last second, and takes it.
    pub(super) fn admit(&self, now_us: u64, limit: u64) -> bool {
        let mut accepted = lock(&self.accepted);
        let has_room = accepted.count(now_us) < limit;
        if has_room {
            accepted.add(now_us, 1);
        }
        has_room
    }

    pub(super) fn take(&self, count: usize, taken: &mut Vec<QueuedDeliverSm>) {
        let mut outbox = lock(&self.outbox);
        let count = count.min(outbox.len());
        taken.extend(outbox.drain(..count));
        if !outbox.is_empty() {
            self.news.notify_one();
        }
    }

    /// Letters that a session could not bring come first again.
    pub(super) fn put_back(&self, letters: impl DoubleEndedIterator<Item = QueuedDeliverSm>) {
        let mut outbox = lock(&self.outbox);
        for letter in letters.rev() {
            outbox.push_front(QueuedDeliverSm { is_again: true, ..letter });
        }
        if !outbox.is_empty() {
            self.news.notify_one();
        }
    }
}

#[derive(Debug, Default)]
struct DeliveryCounters {
    receipts: AtomicU64,
    replies: AtomicU64,
    sent: AtomicU64,
    again: AtomicU64,
    confirmed: AtomicU64,
    refused: AtomicU64,
    dropped: AtomicU64,
    withdrawn: AtomicU64,
}

pub(super) struct DeliveryQueue {
    agenda: Agenda<QueuedDeliverSm>,
    withdrawn: Mutex<BTreeSet<u64>>,
    accounts: Mutex<HashMap<Vec<u8>, Arc<QueueAccount>>>,
    counters: DeliveryCounters,
}

/// What happened to letters.
#[derive(Debug, Clone, Copy)]
pub(super) enum DeliverSmResult {
    Confirmed,
    Refused,
}

impl DeliveryQueue {
    pub(super) fn new(clock: Clock) -> Self {
        DeliveryQueue {
            agenda: Agenda::new(clock),
            withdrawn: Mutex::default(),
            accounts: Mutex::default(),
            counters: DeliveryCounters::default(),
        }
    }

    pub(super) fn account(&self, system_id: &[u8]) -> Arc<QueueAccount> {
        let mut accounts = lock(&self.accounts);
        let system_id =
            if accounts.len() >= ACCOUNTS_MAX && !accounts.contains_key(system_id) { b"" } else { system_id };
        let place = accounts.len() as u32;
        let account = accounts.entry(system_id.to_vec()).or_insert_with(|| {
            let system_id = String::from_utf8_lossy(system_id).into_owned();
            Arc::new(QueueAccount {
                system_id,
                place,
                outbox: Mutex::default(),
                news: Notify::new(),
                receivers: Mutex::default(),
                accepted: Mutex::default(),
                sessions: AtomicU64::new(0),
            })
        });
        Arc::clone(account)
    }

    /// The account of this place.
    pub(super) fn at(&self, place: u32) -> Option<Arc<QueueAccount>> {
        lock(&self.accounts).values().find(|account| account.place == place).map(Arc::clone)
    }

    /// One of the accounts that are bound to receive, each in its turn.
    pub(super) fn receiving(&self, turn: u64) -> Option<Arc<QueueAccount>> {
        let accounts = lock(&self.accounts);
        let mut bound: Vec<&Arc<QueueAccount>> =
            accounts.values().filter(|account| !lock(&account.receivers).is_empty()).collect();
        bound.sort_unstable_by(|a, b| a.system_id.cmp(&b.system_id));
        let place = turn.checked_rem(bound.len() as u64)?;
        bound.get(place as usize).map(|account| Arc::clone(account))
    }

    /// No receipt of this message that waits for its time goes out any more.
    pub(super) fn withdraw(&self, id: u64) {
        let mut withdrawn = lock(&self.withdrawn);
        withdrawn.insert(id);
        if withdrawn.len() > WITHDRAWN_MAX {
            withdrawn.pop_first();
        }
    }

    /// The letters that go out.
    fn sift(&self, mut letters: Vec<QueuedDeliverSm>) -> Vec<QueuedDeliverSm> {
        let withdrawn = lock(&self.withdrawn);
        if !withdrawn.is_empty() {
            let before = letters.len();
            letters.retain(|letter| letter.about == 0 || !withdrawn.contains(&letter.about));
            let count = (before - letters.len()) as u64;
            self.counters.withdrawn.fetch_add(count, Ordering::Relaxed);
        }
        letters
    }

    /// Takes letters with the moments at which they are due, and empties the list.
    pub(super) fn mail(&self, letters: &mut Vec<(u64, QueuedDeliverSm)>) {
        if letters.is_empty() {
            return;
        }
        let room = LETTERS_MAX.saturating_sub(self.waiting());
        let too_many = letters.len().saturating_sub(room as usize);
        if too_many > 0 {
            letters.truncate(letters.len() - too_many);
            self.counters.dropped.fetch_add(too_many as u64, Ordering::Relaxed);
        }
        self.agenda.put(letters.drain(..));
    }

    /// Brings letters to their accounts when their time has come, for ever.
    pub(super) async fn run(&self) {
        loop {
            for letter in self.sift(self.agenda.ripe().await) {
                let account = Arc::clone(&letter.account);
                let letter = match account.receiver(letter.bind) {
                    Some(card) => match card.push(letter) {
                        Ok(()) => continue,
                        Err(letter) => letter,
                    },
                    None => letter,
                };
                let mut outbox = lock(&account.outbox);
                outbox.push_back(letter);
                if outbox.len() == 1 {
                    account.news.notify_one();
                }
            }
        }
    }

    pub(super) fn count_made(&self, receipts: u64, replies: u64) {
        self.counters.receipts.fetch_add(receipts, Ordering::Relaxed);
        self.counters.replies.fetch_add(replies, Ordering::Relaxed);
    }

    pub(super) fn count_sent(&self, is_again: bool) {
        self.counters.sent.fetch_add(1, Ordering::Relaxed);
        self.counters.again.fetch_add(u64::from(is_again), Ordering::Relaxed);
    }

    pub(super) fn count_fate(&self, fate: DeliverSmResult) {
        let counter = match fate {
            DeliverSmResult::Confirmed => &self.counters.confirmed,
            DeliverSmResult::Refused => &self.counters.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn waiting(&self) -> u64 {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let c = &self.counters;
        let gone = of(&c.confirmed) + of(&c.refused) + of(&c.dropped) + of(&c.withdrawn);
        (of(&c.receipts) + of(&c.replies)).saturating_sub(gone)
    }

    pub(super) fn stats(&self) -> LetterStats {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let c = &self.counters;
        LetterStats {
            receipts: of(&c.receipts),
            replies: of(&c.replies),
            sent: of(&c.sent),
            again: of(&c.again),
            confirmed: of(&c.confirmed),
            refused: of(&c.refused),
            dropped: of(&c.dropped),
            withdrawn: of(&c.withdrawn),
            waiting: self.waiting(),
        }
    }
}

/// A queue stays right even if a task died while it held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
