//! Part tracker remembers which of a message's parts have an outcome, and which part's yes charged them.
//! Only a backend that can end a charge once needs it
//! ([`Settlement::of_attempts`](super::settlement::Settlement)).

use super::ChargeId;
use super::settlement::{Change, make_room, name};
use std::collections::HashMap;

/// A message of several parts, while not all have an outcome.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MessageParts {
    pub(super) known: [u64; 4],
    /// The part whose yes ended the session. If that outcome is read again, it ends it again: the process
    /// that read it first may not have come to it.
    pub(super) paid_by: Option<u8>,
    pub(super) since_us: u64,
}

impl MessageParts {
    fn note(&mut self, part: u8) {
        self.known[usize::from(part) / 64] |= 1 << (part % 64);
    }

    fn has_all(&self, parts: u8) -> bool {
        (1..=parts).all(|part| self.known[usize::from(part) / 64] & 1 << (part % 64) != 0)
    }

    pub(super) fn change(&self, id: ChargeId) -> Change {
        Change::Parts(name(id), self.known, self.paid_by, self.since_us)
    }
}

/// All messages of several parts that are under way.
#[derive(Debug, Default)]
pub(super) struct PartTracker {
    all: HashMap<ChargeId, MessageParts>,
    /// Those that the record in hand has outcomes of, and whether they were known before it.
    touched: HashMap<ChargeId, bool>,
}

impl PartTracker {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether this yes charges the message: any part that is accepted charges all of them, once.
    pub(super) fn is_first_yes(&mut self, id: ChargeId, (part, parts): (u8, u8), now_us: u64) -> bool {
        if parts == 1 {
            return true;
        }
        let before = self.note(id, (part, parts), now_us).0.paid_by;
        if before.is_none()
            && let Some(known) = self.all.get_mut(&id)
        {
            known.paid_by = Some(part);
        }
        before.is_none_or(|paid_by| paid_by == part)
    }

    /// Whether no part was accepted, and none is to come.
    pub(super) fn is_last_no(&mut self, id: ChargeId, place: (u8, u8), now_us: u64) -> bool {
        let (known, is_whole) = self.note(id, place, now_us);
        is_whole && known.paid_by.is_none()
    }

    /// Notes an unknown part; whether another was accepted before.
    pub(super) fn is_paid(&mut self, id: ChargeId, place: (u8, u8), now_us: u64) -> bool {
        self.note(id, place, now_us).0.paid_by.is_some()
    }

    /// A part has an outcome: what was known of the message, and whether all its parts have one by now.
    fn note(&mut self, id: ChargeId, (part, parts): (u8, u8), now_us: u64) -> (MessageParts, bool) {
        if parts == 1 {
            return (MessageParts::default(), true);
        }
        make_room(&mut self.all, |parts| parts.since_us);
        self.touched.entry(id).or_insert(self.all.contains_key(&id));
        let new = || MessageParts { since_us: now_us, ..MessageParts::default() };
        let known = self.all.entry(id).or_insert_with(new);
        known.note(part);
        let (known, is_whole) = (*known, known.has_all(parts));
        if is_whole {
            self.all.remove(&id);
        }
        (known, is_whole)
    }

    /// The changes by the record that was read.
    pub(super) fn changes(&mut self, changes: &mut Vec<Change>) {
        for (id, was_known) in self.touched.drain() {
            match self.all.get(&id) {
                Some(parts) => changes.push(parts.change(id)),
                None if was_known => changes.push(Change::Whole(name(id))),
                None => {}
            }
        }
    }

    /// All that a next process has to know.
    pub(super) fn all(&self) -> impl Iterator<Item = Change> {
        self.all.iter().map(|(id, parts)| parts.change(*id))
    }

    /// What an earlier process noted.
    pub(super) fn restore(&mut self, id: ChargeId, parts: MessageParts) {
        make_room(&mut self.all, |parts| parts.since_us);
        self.all.insert(id, parts);
    }

    pub(super) fn forget(&mut self, id: ChargeId) {
        self.all.remove(&id);
    }
}
