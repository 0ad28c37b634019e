//! Receipts and replies on their way to the ESMEs: by their time first, then by account, where any receiving session of the
//! same `system_id` takes them.

use crate::agenda::Agenda;
use crate::clock::Clock;
use serde::Serialize;
use smpp::limits::HEADER_OCTETS;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Receipts and replies that wait for their time or for a session; what is over it is dropped, and counted.
pub const LETTERS_MAX: u64 = 4_000_000;
/// Accounts are told apart by their `system_id`; so many are known at most, all others share one.
const ACCOUNTS_MAX: usize = 10_000;

/// What became of receipts and replies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LetterStats {
    /// Receipts that were made.
    pub receipts: u64,
    /// Replies of people that were made.
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
    /// Waiting for their time, for a session, or for their answer.
    pub waiting: u64,
}

/// One `deliver_sm`, whole but for its sequence number.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) account: Arc<Account>,
    pub(super) pdu: Box<[u8]>,
    /// It was written before.
    pub(super) is_again: bool,
}

impl Letter {
    /// Appends the PDU with its sequence number.
    pub(super) fn write(&self, sequence: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.pdu);
        out[start + 12..start + HEADER_OCTETS].copy_from_slice(&sequence.to_be_bytes());
    }
}

/// All sessions of one `system_id`.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) system_id: String,
    outbox: Mutex<VecDeque<Letter>>,
    /// Wakes one receiving session.
    pub(super) news: Notify,
}

impl Account {
    pub(super) fn take(&self, count: usize, taken: &mut Vec<Letter>) {
        let mut outbox = lock(&self.outbox);
        let count = count.min(outbox.len());
        taken.extend(outbox.drain(..count));
        if !outbox.is_empty() {
            self.news.notify_one();
        }
    }

    /// Letters that a session could not bring come first again.
    pub(super) fn put_back(&self, letters: impl DoubleEndedIterator<Item = Letter>) {
        let mut outbox = lock(&self.outbox);
        for letter in letters.rev() {
            outbox.push_front(Letter { is_again: true, ..letter });
        }
        if !outbox.is_empty() {
            self.news.notify_one();
        }
    }
}

#[derive(Debug, Default)]
struct Counters {
    receipts: AtomicU64,
    replies: AtomicU64,
    sent: AtomicU64,
    again: AtomicU64,
    confirmed: AtomicU64,
    refused: AtomicU64,
    dropped: AtomicU64,
}

pub(super) struct Post {
    agenda: Agenda<Letter>,
    accounts: Mutex<HashMap<Vec<u8>, Arc<Account>>>,
    counters: Counters,
}

/// What happened to letters.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fate {
    Confirmed,
    Refused,
}

impl Post {
    pub(super) fn new(clock: Clock) -> Self {
        Post { agenda: Agenda::new(clock), accounts: Mutex::default(), counters: Counters::default() }
    }

    pub(super) fn account(&self, system_id: &[u8]) -> Arc<Account> {
        let mut accounts = lock(&self.accounts);
        let system_id =
            if accounts.len() >= ACCOUNTS_MAX && !accounts.contains_key(system_id) { b"" } else { system_id };
        let account = accounts.entry(system_id.to_vec()).or_insert_with(|| {
            let system_id = String::from_utf8_lossy(system_id).into_owned();
            Arc::new(Account { system_id, outbox: Mutex::default(), news: Notify::new() })
        });
        Arc::clone(account)
    }

    /// Takes letters with the moments at which they are due, and empties the list.
    pub(super) fn mail(&self, letters: &mut Vec<(u64, Letter)>) {
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
            for letter in self.agenda.ripe().await {
                let account = Arc::clone(&letter.account);
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

    pub(super) fn count_fate(&self, fate: Fate) {
        let counter = match fate {
            Fate::Confirmed => &self.counters.confirmed,
            Fate::Refused => &self.counters.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn waiting(&self) -> u64 {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let c = &self.counters;
        (of(&c.receipts) + of(&c.replies)).saturating_sub(of(&c.confirmed) + of(&c.refused) + of(&c.dropped))
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
            waiting: self.waiting(),
        }
    }
}

/// A queue stays right even if a task died while it held it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
