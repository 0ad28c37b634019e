//! Settlement decides on the charges of messages by their outcomes and receipts. Knows no bus and no backend.
//!
//! It is the one place where an outcome gets its meaning. Backends differ in one point, the key of a charge:
//! the ledger has one for each message ([`Settlement::of_messages`]), a charging server one for each attempt
//! ([`Settlement::of_attempts`]).

use super::ChargeId;
use super::message_parts::{MessageParts, PartTracker};
use super::pending_receipts::{self, Clock, PendingReceipts};
use records::{
    AlertNo, AttemptRef, AttemptResult, EndpointNo, Outcome, Receipt, ReceiptState, Unpaid, mail_key,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Messages with unknown attempts, and messages of several parts that are under way; beyond, the older half
/// is forgotten: their receipts are looked up in the ledger, or the charging server ends their sessions.
const KEPT_MAX: usize = 65_536;
/// Those are forgotten after so long: no relay tries for longer (RFC 5321, section 4.5.4.1), and no message
/// is under way for longer.
const KEPT_FOR: Duration = Duration::from_secs(7 * 86_400);

/// What a backend is to do with a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// So many parts were sent: they are charged, once.
    Charge(ChargeId, u32),
    /// Nothing was sent: the hold is free, unless an unknown attempt keeps it.
    Release(ChargeId),
    /// An attempt is unknown: from now on only a yes, a receipt, or the end of its validity frees the hold.
    Keep(ChargeId),
    /// An unknown attempt came to nothing: the hold is free.
    ReleaseUnknown(ChargeId),
}

/// Alert, endpoint and attempt.
pub(super) type Name = (u64, u32, u8);

/// What the next process that settles has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Change {
    /// Of a receipt that waits.
    Early(pending_receipts::Change),
    /// This attempt with so many parts is unknown, since then, in microseconds since 1970.
    Unknown(Name, u32, u64),
    /// It waits no more.
    Known(Name),
    /// These parts have an outcome, and the session ended by the yes of that one; since then.
    Parts(Name, [u64; 4], Option<u8>, u64),
    /// All its parts have an outcome.
    Whole(Name),
}

/// What a record comes to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reading {
    pub(super) decisions: Vec<Decision>,
    pub(super) changes: Vec<Change>,
}

impl Reading {
    pub(super) fn extend(&mut self, more: Reading) {
        self.decisions.extend(more.decisions);
        self.changes.extend(more.changes);
    }

    /// The charges that an unknown attempt keeps.
    pub(super) fn kept(&self) -> impl Iterator<Item = ChargeId> {
        self.decisions.iter().filter_map(|decision| match decision {
            Decision::Keep(id) => Some(*id),
            _ => None,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.decisions.is_empty() && self.changes.is_empty()
    }
}

#[derive(Debug, Clone, Copy)]
struct UnknownAttempt {
    id: ChargeId,
    parts: u32,
    since_us: u64,
}

/// See the module.
pub(super) struct Settlement {
    /// Unknown attempts at a message, in their order, by the key that a mail's receipt has.
    unknown: HashMap<u64, Vec<UnknownAttempt>>,
    pub(super) pending: PendingReceipts,
    /// Nothing: a charge is a message's, takes the outcome of each part, and is not over by a no.
    parts: Option<PartTracker>,
}

pub(super) fn name(id: ChargeId) -> Name {
    (id.alert.0, id.endpoint.0, id.attempt)
}

fn named((alert, endpoint, attempt): Name) -> ChargeId {
    ChargeId { alert: AlertNo(alert), endpoint: EndpointNo(endpoint), attempt }
}

fn key(id: ChargeId) -> u64 {
    mail_key(id.alert, id.endpoint)
}

impl Settlement {
    /// For a backend that has one charge for each message, and takes decisions on it again, and from several
    /// processes.
    pub(super) fn of_messages() -> Settlement {
        Settlement { unknown: HashMap::new(), pending: PendingReceipts::default(), parts: None }
    }

    /// For a backend that has one charge for each attempt, and ends it once: all outcomes come here.
    pub(super) fn of_attempts() -> Settlement {
        Settlement { parts: Some(PartTracker::default()), ..Settlement::of_messages() }
    }

    fn charge_of(&self, of: &AttemptRef) -> ChargeId {
        let attempt = if self.parts.is_some() { of.attempt } else { 0 };
        ChargeId { alert: of.alert, endpoint: of.endpoint, attempt }
    }

    /// What a record's outcomes decide, and what changes by them.
    pub(super) fn read(&mut self, outcomes: &[Outcome], clock: Clock) -> Reading {
        let mut reading = Reading::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Attempt { of, result, .. } => self.attempt(of, result, clock, &mut reading),
                Outcome::Receipt(receipt) => self.receipt(receipt, clock, &mut reading),
                _ => {}
            }
        }
        if let Some(parts) = &mut self.parts {
            parts.changes(&mut reading.changes);
        }
        self.note_pending(clock, &mut reading);
        reading
    }

    /// The end of a charge that its server wants ended, if its attempt is unknown: no receipt is waited for
    /// any more.
    pub(super) fn abort(&mut self, id: ChargeId) -> Option<Reading> {
        let mut reading = Reading::default();
        self.forget(id, &mut reading).then(|| {
            reading.decisions.push(Decision::ReleaseUnknown(id));
            reading
        })
    }

    /// All unknown attempts.
    pub(super) fn unknown(&self) -> impl Iterator<Item = ChargeId> {
        self.unknown.values().flatten().map(|unknown| unknown.id)
    }

    /// The keys of receipts whose message is not known here as unknown: another process may have read that.
    pub(super) fn unmatched<'a>(&self, outcomes: impl Iterator<Item = &'a Outcome>) -> Vec<u64> {
        let receipts = outcomes.filter_map(|outcome| match outcome {
            Outcome::Receipt(receipt) => Some(receipt).filter(|one| one.state != ReceiptState::Buffered),
            _ => None,
        });
        let keys = receipts.flat_map(|receipt| receipt.keys.iter().copied());
        keys.filter(|key| !self.unknown.contains_key(key)).collect()
    }

    /// The backend knows this message as unknown.
    pub(super) fn insert_unknown(&mut self, id: ChargeId, parts: u32, clock: Clock) {
        self.keep(UnknownAttempt { id, parts, since_us: clock.us_of(clock.now) });
    }

    /// The keys of receipts that wait, and whose messages are to be looked up now.
    pub(super) fn due_receipts(&mut self, now: Instant) -> Vec<u64> {
        self.pending.due(now)
    }

    /// Decides by those of these receipts whose messages are known as unknown by now.
    pub(super) fn match_receipts(&mut self, keys: &[u64], clock: Clock) -> Reading {
        let mut reading = Reading::default();
        for key in keys {
            self.match_receipt(*key, clock, &mut reading);
        }
        self.note_pending(clock, &mut reading);
        reading
    }

    /// What an earlier process noted.
    pub(super) fn restore(&mut self, change: Change, clock: Clock) {
        let is_good = |since_us: u64| {
            clock.us_of(clock.now).saturating_sub(since_us)
                < KEPT_FOR.as_micros().try_into().unwrap_or(u64::MAX)
        };
        match change {
            Change::Early(change) => self.pending.restore(change, clock, Duration::ZERO),
            Change::Unknown(of, parts, since_us) if is_good(since_us) => {
                self.keep(UnknownAttempt { id: named(of), parts, since_us });
            }
            Change::Known(of) => drop(self.forget(named(of), &mut Reading::default())),
            Change::Parts(of, known, paid_by, since_us) if is_good(since_us) => {
                let parts = MessageParts { known, paid_by, since_us };
                self.parts.iter_mut().for_each(|all| all.restore(named(of), parts));
            }
            Change::Whole(of) => self.parts.iter_mut().for_each(|all| all.forget(named(of))),
            Change::Unknown(..) | Change::Parts(..) => {}
        }
    }

    /// All that the next process has to know.
    pub(super) fn all(&self, clock: Clock) -> Vec<Change> {
        let unknown = self.unknown.values().flatten();
        let unknown =
            unknown.map(|unknown| Change::Unknown(name(unknown.id), unknown.parts, unknown.since_us));
        let parts = self.parts.iter().flat_map(PartTracker::all);
        unknown.chain(parts).chain(self.pending.all(clock).into_iter().map(Change::Early)).collect()
    }

    /// How much that is.
    pub(super) fn len(&self) -> usize {
        self.unknown.len() + self.parts.as_ref().map_or(0, PartTracker::len) + self.pending.len()
    }

    fn attempt(&mut self, of: &AttemptRef, result: &AttemptResult, clock: Clock, reading: &mut Reading) {
        let id = self.charge_of(of);
        match result {
            AttemptResult::Accepted { .. } => self.accepted(id, of, clock, reading),
            // Nothing was held, unless the answer was lost.
            AttemptResult::Refused { code, .. } if code == Unpaid::NoServer.code() => {
                reading.decisions.push(Decision::Release(id));
            }
            AttemptResult::Refused { code, .. } if code.starts_with(Unpaid::CODES) => {}
            AttemptResult::Refused { .. } | AttemptResult::NotTried { .. } => {
                if self.is_last_no(id, of, clock) {
                    reading.decisions.push(Decision::Release(id));
                }
            }
            AttemptResult::Unknown { .. } => self.became_unknown(id, of, clock, reading),
        }
    }

    fn accepted(&mut self, id: ChargeId, of: &AttemptRef, clock: Clock, reading: &mut Reading) {
        let place = (of.part, of.parts.max(1));
        if self.parts.as_mut().is_none_or(|all| all.is_first_yes(id, place, clock.now_us())) {
            reading.decisions.push(Decision::Charge(id, place.1.into()));
        }
        // It is paid for, whatever a receipt says of it.
        let key = key(id);
        self.pending.take(key, clock.now);
        if self.unknown.is_empty() {
            return;
        }
        // Earlier attempts that are unknown are not paid for beside it.
        for UnknownAttempt { id: other, .. } in self.unknown.remove(&key).unwrap_or_default() {
            reading.changes.push(Change::Known(name(other)));
            if other != id {
                reading.decisions.push(Decision::ReleaseUnknown(other));
            }
        }
    }

    /// Only when no part was accepted, and none may have been, nothing was used. A backend with one charge
    /// for each message sees to that by itself.
    fn is_last_no(&mut self, id: ChargeId, of: &AttemptRef, clock: Clock) -> bool {
        let Some(parts) = &mut self.parts else { return true };
        let is_unknown = || self.unknown.get(&key(id)).is_some_and(|all| all.iter().any(|one| one.id == id));
        parts.is_last_no(id, (of.part, of.parts.max(1)), clock.now_us()) && !is_unknown()
    }

    fn became_unknown(&mut self, id: ChargeId, of: &AttemptRef, clock: Clock, reading: &mut Reading) {
        let (parts, now_us) = (of.parts.max(1), clock.now_us());
        if self.parts.as_mut().is_some_and(|all| all.is_paid(id, (of.part, parts), now_us)) {
            return;
        }
        let unknown = UnknownAttempt { id, parts: parts.into(), since_us: now_us };
        if self.keep(unknown) {
            reading.changes.push(Change::Unknown(name(id), unknown.parts, unknown.since_us));
        }
        reading.decisions.push(Decision::Keep(id));
        self.match_receipt(key(id), clock, reading);
    }

    fn receipt(&mut self, receipt: &Receipt, clock: Clock, reading: &mut Reading) {
        if receipt.state == ReceiptState::Buffered {
            return;
        }
        match receipt.keys.iter().find(|key| self.unknown.contains_key(key)) {
            Some(key) => self.decide(*key, receipt.state, reading),
            None => self.pending.receive(receipt, clock.now),
        }
    }

    /// Decides by the receipt that waits for this message, if it is unknown.
    fn match_receipt(&mut self, key: u64, clock: Clock, reading: &mut Reading) {
        if self.unknown.contains_key(&key)
            && let Some(state) = self.pending.take(key, clock.now)
        {
            self.decide(key, state, reading);
        }
    }

    /// Decides by a receipt for the unknown attempts at the message of this key. One that arrived is paid
    /// once, by the last that may have brought it; one that did not is the first's, and the others wait on.
    fn decide(&mut self, key: u64, state: ReceiptState, reading: &mut Reading) {
        let Some(unknown) = self.unknown.get_mut(&key) else { return };
        let over = if state == ReceiptState::Delivered { unknown.len() } else { 1.min(unknown.len()) };
        for (left, UnknownAttempt { id, parts, .. }) in (0..over).rev().zip(unknown.drain(..over)) {
            reading.decisions.push(match state == ReceiptState::Delivered && left == 0 {
                true => Decision::Charge(id, parts),
                false => Decision::ReleaseUnknown(id),
            });
            reading.changes.push(Change::Known(name(id)));
        }
        if unknown.is_empty() {
            self.unknown.remove(&key);
        }
    }

    fn note_pending(&mut self, clock: Clock, reading: &mut Reading) {
        reading.changes.extend(self.pending.changes(clock).into_iter().map(Change::Early));
    }

    /// An attempt is unknown from now on. False: it was before.
    fn keep(&mut self, unknown: UnknownAttempt) -> bool {
        make_room(&mut self.unknown, |all| all.last().map_or(0, |last| last.since_us));
        let all = self.unknown.entry(key(unknown.id)).or_default();
        let is_new = all.iter().all(|known| known.id != unknown.id);
        if is_new {
            all.push(unknown);
        }
        is_new
    }

    /// An attempt is not unknown any more; whether it was.
    fn forget(&mut self, id: ChargeId, reading: &mut Reading) -> bool {
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
pub(super) fn make_room<K: Eq + std::hash::Hash, T>(all: &mut HashMap<K, T>, since_us: impl Fn(&T) -> u64) {
    if all.len() < KEPT_MAX {
        return;
    }
    let mut times: Vec<u64> = all.values().map(&since_us).collect();
    let (_, median, _) = times.select_nth_unstable(KEPT_MAX / 2);
    let median = *median;
    all.retain(|_, one| since_us(one) > median);
    tracing::warn!(
        left = all.len(),
        "more messages wait to be settled than are remembered: of older ones the ledger is asked, or the charging server ends the session"
    );
}
