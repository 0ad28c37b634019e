//! Counters and stored messages of the SMSC. Sessions bring a batch at a time, so that a lock is taken once
//! for all that one read brought.

use super::book::{Book, Slot};
use super::capture::CaptureRecord;
use super::{Counting, SmscOptions};
use crate::tally::{KeyCounts, LastSecond};
use serde::Serialize;
use smpp::status::Status;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was counted so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Submissions that came, parts of long messages and destinations of submit_multi each for itself.
    pub submits: u64,
    /// Of those, accepted.
    pub accepted: u64,
    /// Whole messages among the accepted: a long one is one once its last part is here.
    pub messages: u64,
    /// Refused, by status.
    pub refused: BTreeMap<String, u64>,
    /// Never answered.
    pub silent: u64,
    /// Submissions at which the connection was cut: neither accepted nor answered.
    pub cut: u64,
    /// Different numbers, or numbers and texts, of whole messages: what [`Counting`] says.
    pub distinct: u64,
    /// Whole messages above the first of their number, or number and text.
    pub repeats: u64,
    /// The most of one.
    pub most: u64,
    /// Most submissions in any one second, by their arrival.
    pub peak_submits: u64,
    /// Most accepted in any one second, by their arrival.
    pub peak_accepted: u64,
    /// When the first was accepted, microseconds since 1970; 0: none was.
    pub first_accepted_us: u64,
    /// When the last was accepted.
    pub last_accepted_us: u64,
    /// Binds that were let in.
    pub binds: u64,
    /// Binds that were refused.
    pub binds_refused: u64,
    /// Sessions bound now.
    pub sessions: u64,
    /// Receipts and replies.
    pub letters: super::delivery_queue::LetterStats,
}

/// A whole message, as kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct StoredMessage {
    /// When its last part was accepted, microseconds since 1970.
    pub at_us: u64,
    /// The id of its last part, as in the answer.
    pub id: String,
    /// Who bound the session.
    pub system_id: String,
    /// From.
    pub from: String,
    /// To, as submitted.
    pub to: String,
    /// In words.
    pub text: String,
    /// Of its (last) part.
    pub data_coding: u8,
    /// How many parts it had.
    pub parts: u8,
}

/// What one read brought.
#[derive(Debug, Default)]
pub(super) struct LedgerBatch {
    pub(super) now_us: u64,
    pub(super) submits: u64,
    pub(super) accepted: u64,
    pub(super) messages: u64,
    pub(super) silent: u64,
    pub(super) cut: u64,
    pub(super) refused: Vec<Status>,
    pub(super) keys: Vec<u64>,
    pub(super) kept: Vec<StoredMessage>,
    pub(super) slots: Vec<Slot>,
    pub(super) records: Vec<CaptureRecord>,
}

impl LedgerBatch {
    fn is_empty(&self) -> bool {
        self.submits == 0 && self.records.is_empty()
    }
}

pub(super) struct SmscLedger {
    inner: Mutex<SmscLedgerInner>,
}

struct SmscLedgerInner {
    stats: Stats,
    submits: LastSecond,
    accepted: LastSecond,
    tally: KeyCounts,
    kept: VecDeque<StoredMessage>,
    book: Book,
    records: VecDeque<CaptureRecord>,
    capture: Option<File>,
    line: Vec<u8>,
}

impl SmscLedger {
    /// # Errors
    /// The capture file cannot be opened.
    pub(super) fn open(options: &SmscOptions) -> io::Result<Self> {
        let capture = match &options.capture {
            Some(path) => Some(OpenOptions::new().create(true).append(true).open(path)?),
            None => None,
        };
        let inner = SmscLedgerInner {
            stats: Stats::default(),
            submits: LastSecond::default(),
            accepted: LastSecond::default(),
            tally: KeyCounts::default(),
            kept: VecDeque::new(),
            book: Book::default(),
            records: VecDeque::new(),
            capture,
            line: Vec::new(),
        };
        Ok(SmscLedger { inner: Mutex::new(inner) })
    }

    /// Asks for room for one more in the last second, and takes it.
    pub(super) fn admit(&self, now_us: u64, limit: u64) -> bool {
        let accepted = &mut self.lock().accepted;
        let has_room = accepted.count(now_us) < limit;
        if has_room {
            accepted.add(now_us, 1);
        }
        has_room
    }

    /// Enters a batch and empties it. What is captured is in the system's hands when this returns.
    /// `is_admitted`: its accepted ones went through [`SmscLedger::admit`].
    pub(super) fn enter(&self, batch: &mut LedgerBatch, options: &SmscOptions, is_admitted: bool) {
        if batch.is_empty() {
            return;
        }
        let inner = &mut *self.lock();
        if !batch.records.is_empty() {
            inner.record(&mut batch.records, options.capture_keep);
        }
        if batch.submits == 0 {
            return;
        }
        let (stats, now_us) = (&mut inner.stats, batch.now_us);
        inner.submits.add(now_us, batch.submits);
        stats.submits += std::mem::take(&mut batch.submits);
        stats.messages += std::mem::take(&mut batch.messages);
        stats.silent += std::mem::take(&mut batch.silent);
        stats.cut += std::mem::take(&mut batch.cut);
        for status in batch.refused.drain(..) {
            *stats.refused.entry(name(status)).or_default() += 1;
        }
        let accepted = std::mem::take(&mut batch.accepted);
        if accepted > 0 {
            stats.accepted += accepted;
            stats.last_accepted_us = stats.last_accepted_us.max(now_us);
            if stats.first_accepted_us == 0 {
                stats.first_accepted_us = now_us;
            }
            if !is_admitted {
                inner.accepted.add(now_us, accepted);
            }
        }
        batch.keys.drain(..).for_each(|key| inner.tally.add(key));
        inner.keep(&mut batch.kept, options.keep);
        inner.book.enter(&mut batch.slots, options.keep);
    }

    /// Captures what belongs to no batch.
    pub(super) fn record(&self, record: CaptureRecord, keep: usize) {
        self.lock().record(&mut vec![record], keep);
    }

    /// The last captured lines, the newest last.
    pub(super) fn records(&self, limit: usize) -> Vec<CaptureRecord> {
        let records = &self.lock().records;
        records.iter().skip(records.len().saturating_sub(limit)).cloned().collect()
    }

    pub(super) fn with_book<T>(&self, act: impl FnOnce(&mut Book) -> T) -> T {
        act(&mut self.lock().book)
    }

    /// Puts another text into a message that is kept.
    pub(super) fn replace(&self, id: &str, text: &str) {
        if let Some(message) = self.lock().kept.iter_mut().rev().find(|message| message.id == id) {
            text.clone_into(&mut message.text);
        }
    }

    pub(super) fn count_bind(&self, is_let_in: bool) {
        let stats = &mut self.lock().stats;
        *if is_let_in { &mut stats.binds } else { &mut stats.binds_refused } += 1;
    }

    pub(super) fn stats(&self) -> Stats {
        let inner = self.lock();
        Stats {
            distinct: inner.tally.distinct(),
            repeats: inner.tally.repeats,
            most: inner.tally.most,
            peak_submits: inner.submits.peak,
            peak_accepted: inner.accepted.peak,
            ..inner.stats.clone()
        }
    }

    pub(super) fn count_of(&self, key: u64) -> u32 {
        self.lock().tally.count(key)
    }

    /// The last messages, the newest last.
    pub(super) fn messages(&self, limit: usize) -> Vec<StoredMessage> {
        let kept = &self.lock().kept;
        kept.iter().skip(kept.len().saturating_sub(limit)).cloned().collect()
    }

    /// Counts stay right even if a task died while it held them.
    fn lock(&self) -> MutexGuard<'_, SmscLedgerInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SmscLedgerInner {
    fn record(&mut self, records: &mut Vec<CaptureRecord>, keep: usize) {
        if let Some(capture) = &mut self.capture {
            self.line.clear();
            for record in records.iter() {
                // A record has string keys, and a vector takes everything.
                let _ = serde_json::to_writer(&mut self.line, record);
                self.line.push(b'\n');
            }
            if let Err(error) = capture.write_all(&self.line) {
                tracing::error!(%error, "the capture file takes no more");
            }
        }
        for record in records.drain(..) {
            if self.records.len() >= keep {
                self.records.pop_front();
            }
            if keep > 0 {
                self.records.push_back(record);
            }
        }
    }

    fn keep(&mut self, messages: &mut Vec<StoredMessage>, keep: usize) {
        for message in messages.drain(..) {
            if self.kept.len() >= keep {
                self.kept.pop_front();
            }
            if keep > 0 {
                self.kept.push_back(message);
            }
        }
    }
}

fn name(status: Status) -> String {
    status.name().map_or_else(|| format!("0x{:X}", status.0), str::to_owned)
}

/// The key of a whole message in the counts; nothing is counted without one.
pub(super) fn key(counting: Counting, to: &str, text: &str) -> Option<u64> {
    let digits = to.strip_prefix('+').unwrap_or(to);
    match counting {
        Counting::Off => None,
        Counting::Numbers => Some(crate::chance::hash(0, digits.as_bytes())),
        Counting::Texts => {
            Some(crate::chance::hash(crate::chance::hash(0, digits.as_bytes()), text.as_bytes()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_in_every_second() {
        let ledger = SmscLedger::open(&SmscOptions::default()).unwrap();
        let admitted: Vec<u64> = (0..40).map(|i| i * 50_000).filter(|at| ledger.admit(*at, 5)).collect();
        assert_eq!(
            admitted,
            [0, 50_000, 100_000, 150_000, 200_000, 1_000_000, 1_050_000, 1_100_000, 1_150_000, 1_200_000]
        );
    }

    #[test]
    fn repeats_are_found_and_only_the_last_messages_are_kept() {
        let ledger = SmscLedger::open(&SmscOptions::default()).unwrap();
        for (to, text) in [("+46701", "a"), ("46701", "a"), ("46701", "b"), ("46702", "a")] {
            let message = StoredMessage {
                at_us: 1,
                id: "1".into(),
                system_id: "x".into(),
                from: String::new(),
                to: to.into(),
                text: text.into(),
                data_coding: 0,
                parts: 1,
            };
            let keys = key(Counting::Texts, to, text).into_iter().collect();
            let kept = vec![message];
            let mut batch =
                LedgerBatch { now_us: 1, submits: 1, accepted: 1, keys, kept, ..LedgerBatch::default() };
            ledger.enter(&mut batch, &SmscOptions { keep: 2, ..SmscOptions::default() }, false);
        }
        let stats = ledger.stats();
        assert_eq!((stats.accepted, stats.distinct, stats.repeats, stats.most), (4, 3, 1, 2));
        assert_eq!(ledger.count_of(key(Counting::Texts, "+46701", "a").unwrap()), 2);
        let kept: Vec<String> = ledger.messages(10).into_iter().map(|m| m.to + &m.text).collect();
        assert_eq!(kept, ["46701b", "46702a"]);
    }
}
