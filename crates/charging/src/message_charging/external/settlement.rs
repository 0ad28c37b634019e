//! Settlement of messages with several outcomes: which sessions end, and with how many parts used. Knows no
//! bus and no server.

use super::MessageId;
use crate::message_charging::pending_receipts::{self, Clock, PendingReceipts};
use records::{
    AlertNo, AttemptRef, AttemptResult, EndpointNo, Outcome, Receipt, ReceiptState, Unpaid, mail_key,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Duration;

/// Messages with unknown attempts, and messages of several parts that are under way; beyond, the older half
/// is forgotten, and the server ends their sessions.
const KEPT_MAX: usize = 65_536;
/// Those are forgotten after so long: no relay tries for longer (RFC 5321, section 4.5.4.1), and no message
/// is under way for longer.
const KEPT_FOR: Duration = Duration::from_secs(7 * 86_400);

/// A session that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) id: MessageId,
    pub(super) used: u32,
}

/// Alert, endpoint and attempt.
type Name = (u64, u32, u8);

/// What whoever settles next is to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Change {
    /// Of a receipt that waits.
    Early(pending_receipts::Change),
    /// Nobody knows what became of this attempt with so many parts, since then, in microseconds since 1970.
    Unknown(Name, u32, u64),
    /// It waits no more.
    Known(Name),
    /// Of these parts something was told, and the session ended by the yes of that one; since then.
    Parts(Name, [u64; 4], Option<u8>, u64),
    /// Of all its parts something was told.
    Whole(Name),
}

/// What a record comes to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) words: Vec<Word>,
    pub(super) changes: Vec<Change>,
}

#[derive(Debug, Clone, Copy)]
struct Unknown {
    id: MessageId,
    parts: u32,
    since_us: u64,
}

/// A message of several parts, while not all have been told of.
#[derive(Debug, Clone, Copy, Default)]
struct MessageParts {
    told: [u64; 4],
    /// The part whose yes ended the session. Told again, it ends it again: whoever was told first may not
    /// have come to it.
    paid_by: Option<u8>,
    since_us: u64,
}

impl MessageParts {
    fn note(&mut self, part: u8) {
        self.told[usize::from(part) / 64] |= 1 << (part % 64);
    }

    fn has_all(&self, parts: u8) -> bool {
        (1..=parts).all(|part| self.told[usize::from(part) / 64] & 1 << (part % 64) != 0)
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Settlement {
    /// Unknown attempts at a message, in their order, by the key that a mail's receipt has.
    unknown: HashMap<u64, Vec<Unknown>>,
    early: PendingReceipts,
    parts: HashMap<MessageId, MessageParts>,
    /// Messages of several parts that the record in hand tells of, and whether they were known before it.
    touched: HashMap<MessageId, bool>,
}

fn name(id: MessageId) -> Name {
    (id.alert.0, id.endpoint.0, id.attempt)
}

fn named((alert, endpoint, attempt): Name) -> MessageId {
    MessageId { alert: AlertNo(alert), endpoint: EndpointNo(endpoint), attempt }
}

fn key(id: MessageId) -> u64 {
    mail_key(id.alert, id.endpoint)
}

/// Of which attempt this tells.
pub(super) fn attempt_of(of: &AttemptRef) -> MessageId {
    MessageId { alert: of.alert, endpoint: of.endpoint, attempt: of.attempt }
}

impl Settlement {
    /// What a record's outcomes end, and what changes by them.
    pub(super) fn read(&mut self, outcomes: &[Outcome], clock: Clock) -> Reading {
        let mut reading = Reading::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Attempt { of, result, .. } => self.attempt(of, result, clock, &mut reading),
                Outcome::Receipt(receipt) => self.receipt(receipt, clock, &mut reading),
                _ => {}
            }
        }
        for (id, was_known) in self.touched.drain() {
            match self.parts.get(&id) {
                Some(parts) => {
                    reading.changes.push(Change::Parts(name(id), parts.told, parts.paid_by, parts.since_us));
                }
                None if was_known => reading.changes.push(Change::Whole(name(id))),
                None => {}
            }
        }
        reading.changes.extend(self.early.changes(clock).into_iter().map(Change::Early));
        reading
    }

    /// The end of a session that its server wants ended, if its attempt is unknown: no receipt is waited for
    /// any more.
    pub(super) fn abort(&mut self, id: MessageId) -> Option<Reading> {
        let mut reading = Reading::default();
        self.forget(id, &mut reading).then(|| {
            reading.words.push(Word { id, used: 0 });
            reading
        })
    }

    /// All attempts of which nobody knows.
    pub(super) fn unknown(&self) -> impl Iterator<Item = MessageId> {
        self.unknown.values().flatten().map(|unknown| unknown.id)
    }

    /// What an earlier process noted.
    pub(super) fn hear(&mut self, change: Change, clock: Clock) {
        let is_good = |since_us: u64| {
            clock.us_of(clock.now).saturating_sub(since_us)
                < KEPT_FOR.as_micros().try_into().unwrap_or(u64::MAX)
        };
        match change {
            Change::Early(change) => self.early.hear(change, clock, Duration::ZERO),
            Change::Unknown(of, parts, since_us) if is_good(since_us) => {
                self.keep(Unknown { id: named(of), parts, since_us });
            }
            Change::Known(of) => drop(self.forget(named(of), &mut Reading::default())),
            Change::Parts(of, told, paid_by, since_us) if is_good(since_us) => {
                let parts = MessageParts { told, paid_by, since_us };
                make_room(&mut self.parts, |parts| parts.since_us);
                self.parts.insert(named(of), parts);
            }
            Change::Whole(of) => drop(self.parts.remove(&named(of))),
            Change::Unknown(..) | Change::Parts(..) => {}
        }
    }

    /// All that whoever comes later is to know.
    pub(super) fn all(&self, clock: Clock) -> Vec<Change> {
        let unknown = self.unknown.values().flatten();
        let unknown =
            unknown.map(|unknown| Change::Unknown(name(unknown.id), unknown.parts, unknown.since_us));
        let parts = self.parts.iter();
        let parts =
            parts.map(|(id, parts)| Change::Parts(name(*id), parts.told, parts.paid_by, parts.since_us));
        unknown.chain(parts).chain(self.early.all(clock).into_iter().map(Change::Early)).collect()
    }

    /// How much that is.
    pub(super) fn len(&self) -> usize {
        self.unknown.len() + self.parts.len() + self.early.len()
    }

    fn attempt(&mut self, of: &AttemptRef, result: &AttemptResult, clock: Clock, reading: &mut Reading) {
        let (id, parts) = (attempt_of(of), of.parts.max(1));
        match result {
            AttemptResult::Accepted { .. } => {
                if self.is_first_yes(id, (of.part, parts), clock) {
                    reading.words.push(Word { id, used: parts.into() });
                }
                let key = key(id);
                self.early.take(key, clock.now);
                // Earlier attempts of which nobody knows are not paid for beside it.
                let others = self.unknown.remove(&key).unwrap_or_default();
                for Unknown { id: other, .. } in others {
                    reading.changes.push(Change::Known(name(other)));
                    if other != id {
                        reading.words.push(Word { id: other, used: 0 });
                    }
                }
            }
            // Nothing was reserved, unless the answer was lost.
            AttemptResult::Refused { code, .. } if code == Unpaid::NoServer.code() => {
                reading.words.push(Word { id, used: 0 });
            }
            AttemptResult::Refused { code, .. } if code.starts_with(Unpaid::CODES) => {}
            AttemptResult::Refused { .. } | AttemptResult::NotTried { .. } => {
                if self.is_last_no(id, (of.part, parts), clock) {
                    reading.words.push(Word { id, used: 0 });
                }
            }
            AttemptResult::Unknown { .. } => {
                let was_paid = self.note_part(id, (of.part, parts), clock).0.paid_by.is_some();
                if was_paid {
                    return;
                }
                let unknown = Unknown { id, parts: parts.into(), since_us: clock.us_of(clock.now) };
                if self.keep(unknown) {
                    reading.changes.push(Change::Unknown(name(id), unknown.parts, unknown.since_us));
                }
                if let Some(state) = self.early.take(key(id), clock.now) {
                    self.decide(key(id), state, reading);
                }
            }
        }
    }

    /// Any part that is taken settles all of them, once.
    fn is_first_yes(&mut self, id: MessageId, (part, parts): (u8, u8), clock: Clock) -> bool {
        if parts == 1 {
            return true;
        }
        let before = self.note_part(id, (part, parts), clock).0.paid_by;
        if before.is_none()
            && let Some(known) = self.parts.get_mut(&id)
        {
            known.paid_by = Some(part);
        }
        before.is_none_or(|paid_by| paid_by == part)
    }

    /// Only when no part was taken, and none may have been, nothing was used.
    fn is_last_no(&mut self, id: MessageId, place: (u8, u8), clock: Clock) -> bool {
        let (known, is_whole) = self.note_part(id, place, clock);
        let is_unknown = || self.unknown.get(&key(id)).is_some_and(|all| all.iter().any(|one| one.id == id));
        is_whole && known.paid_by.is_none() && !is_unknown()
    }

    /// Something was told of a part: what was known of the message, and whether something was told of all its
    /// parts by now.
    fn note_part(&mut self, id: MessageId, (part, parts): (u8, u8), clock: Clock) -> (MessageParts, bool) {
        if parts == 1 {
            return (MessageParts::default(), true);
        }
        make_room(&mut self.parts, |parts| parts.since_us);
        self.touched.entry(id).or_insert(self.parts.contains_key(&id));
        let new = || MessageParts { since_us: clock.us_of(clock.now), ..MessageParts::default() };
        let known = self.parts.entry(id).or_insert_with(new);
        known.note(part);
        let (known, is_whole) = (*known, known.has_all(parts));
        if is_whole {
            self.parts.remove(&id);
        }
        (known, is_whole)
    }

    fn receipt(&mut self, receipt: &Receipt, clock: Clock, reading: &mut Reading) {
        if receipt.state == ReceiptState::Buffered {
            return;
        }
        match receipt.keys.iter().find(|key| self.unknown.contains_key(key)) {
            Some(key) => self.decide(*key, receipt.state, reading),
            None => self.early.receive(receipt, clock.now),
        }
    }

    /// What a receipt means for the unknown attempts at the message of this key. One that arrived is paid
    /// once, by the last that may have brought it; one that did not is the first's, and the others wait on.
    fn decide(&mut self, key: u64, state: ReceiptState, reading: &mut Reading) {
        let Some(unknown) = self.unknown.get_mut(&key) else { return };
        let over = if state == ReceiptState::Delivered { unknown.len() } else { 1.min(unknown.len()) };
        for (left, Unknown { id, parts, .. }) in (0..over).rev().zip(unknown.drain(..over)) {
            let is_paid = state == ReceiptState::Delivered && left == 0;
            reading.words.push(Word { id, used: if is_paid { parts } else { 0 } });
            reading.changes.push(Change::Known(name(id)));
        }
        if unknown.is_empty() {
            self.unknown.remove(&key);
        }
    }

    /// An attempt is unknown from now on. False: it was before.
    fn keep(&mut self, unknown: Unknown) -> bool {
        make_room(&mut self.unknown, |all| all.last().map_or(0, |last| last.since_us));
        let all = self.unknown.entry(key(unknown.id)).or_default();
        let is_new = all.iter().all(|known| known.id != unknown.id);
        if is_new {
            all.push(unknown);
        }
        is_new
    }

    /// An attempt is not unknown any more; whether it was.
    fn forget(&mut self, id: MessageId, reading: &mut Reading) -> bool {
        let Some(all) = self.unknown.get_mut(&key(id)) else { return false };
        let before = all.len();
        all.retain(|unknown| unknown.id != id);
        let was_unknown = all.len() < before;
        if all.is_empty() {
            self.unknown.remove(&key(id));
        }
        if was_unknown {
            reading.changes.push(Change::Known(name(id)));
        }
        was_unknown
    }
}

/// Makes room for one more, if there is none: the older half goes.
fn make_room<K: Eq + std::hash::Hash, T>(all: &mut HashMap<K, T>, since_us: impl Fn(&T) -> u64) {
    if all.len() < KEPT_MAX {
        return;
    }
    let mut times: Vec<u64> = all.values().map(&since_us).collect();
    let (_, median, _) = times.select_nth_unstable(KEPT_MAX / 2);
    let median = *median;
    all.retain(|_, one| since_us(one) > median);
    tracing::warn!(
        left = all.len(),
        "more messages wait to be settled than are kept: of older ones the charging server ends the session"
    );
}
