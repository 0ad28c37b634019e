//! The peer's requests that our caller has not answered yet: bounded, and a repeated number is noticed.
//!
//! A peer that counts, as all do, finds each of its numbers in the slot of the number's low bits. One that
//! picks numbers of its own may crowd a slot; those wait in a map beside.

use super::config::WINDOW_MAX;
use crate::pdu::Command;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Fewest slots; there are twice as many as requests wait.
const SLOTS_MIN: usize = 16;

/// Spreads sequence numbers. A peer that picks colliding ones only fills its own window of at most 10,000.
#[derive(Default)]
struct SequenceHasher(u64);

impl Hasher for SequenceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        // Fibonacci hashing; the rotation brings the well mixed high bits to where the map looks for the
        // bucket.
        let mixed = (self.0 ^ u64::from(value)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed.rotate_left(26);
    }
}

/// The number is that of a request of another kind that is still unanswered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeated;

#[derive(Clone, Copy)]
struct PeerRequest {
    sequence: u32,
    /// 0, which is no request: the slot is free.
    command: Command,
}

const FREE: PeerRequest = PeerRequest { sequence: 0, command: Command(0) };

impl PeerRequest {
    fn is_free(self) -> bool {
        self.command == FREE.command
    }

    fn is_of(self, sequence: u32) -> bool {
        self.sequence == sequence && !self.is_free()
    }
}

pub(super) struct PeerRequests {
    limit: usize,
    len: usize,
    /// A power of two of slots; allocated with the first request.
    slots: Vec<PeerRequest>,
    /// Requests that found another one in their slot.
    crowded: HashMap<u32, Command, BuildHasherDefault<SequenceHasher>>,
    /// Requests beyond the first with one number, all of its kind: some clients give one to all parts of a
    /// message. The order of the answers tells them apart.
    repeats: HashMap<u32, usize, BuildHasherDefault<SequenceHasher>>,
}

impl PeerRequests {
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, WINDOW_MAX);
        PeerRequests {
            limit,
            len: 0,
            slots: Vec::new(),
            crowded: HashMap::default(),
            repeats: HashMap::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.len >= self.limit
    }

    /// Takes a request in. The caller has asked [`PeerRequests::is_full`].
    #[inline]
    pub(super) fn insert(&mut self, sequence: u32, command: Command) -> Result<(), Repeated> {
        debug_assert!(!self.is_full() && !PeerRequest { sequence, command }.is_free());
        if let Some(first) = self.command(sequence) {
            return self.repeat(first, sequence, command);
        }
        if self.slots.len() <= self.len * 2 {
            self.grow();
        }
        let index = self.index(sequence);
        match self.slots.get_mut(index) {
            Some(slot) if slot.is_free() => *slot = PeerRequest { sequence, command },
            _ => {
                self.crowded.insert(sequence, command);
            }
        }
        self.len += 1;
        Ok(())
    }

    fn repeat(&mut self, first: Command, sequence: u32, command: Command) -> Result<(), Repeated> {
        if first != command {
            return Err(Repeated);
        }
        *self.repeats.entry(sequence).or_default() += 1;
        self.len += 1;
        Ok(())
    }

    /// One of several requests with a number is answered; false if there is no second one.
    fn remove_repeat(&mut self, sequence: u32) -> bool {
        if self.repeats.is_empty() {
            return false;
        }
        let Some(count) = self.repeats.get_mut(&sequence) else { return false };
        *count -= 1;
        if *count == 0 {
            self.repeats.remove(&sequence);
        }
        self.len -= 1;
        true
    }

    #[inline]
    pub(super) fn command(&self, sequence: u32) -> Option<Command> {
        let slot = self.slots.get(self.index(sequence))?;
        if slot.is_of(sequence) {
            return Some(slot.command);
        }
        if self.crowded.is_empty() { None } else { self.crowded.get(&sequence).copied() }
    }

    #[inline]
    pub(super) fn remove(&mut self, sequence: u32) {
        if self.remove_repeat(sequence) {
            return;
        }
        let index = self.index(sequence);
        match self.slots.get_mut(index) {
            Some(slot) if slot.is_of(sequence) => *slot = FREE,
            _ if self.crowded.remove(&sequence).is_some() => {}
            _ => return,
        }
        self.len -= 1;
    }

    pub(super) fn clear(&mut self) {
        (self.slots, self.crowded, self.repeats) = (Vec::new(), HashMap::default(), HashMap::default());
        self.len = 0;
    }

    fn index(&self, sequence: u32) -> usize {
        sequence as usize & self.slots.len().wrapping_sub(1)
    }

    /// Twice the slots: what shared one may each have its own now.
    fn grow(&mut self) {
        let count = (self.slots.len() * 2).max(SLOTS_MIN);
        let old = std::mem::replace(&mut self.slots, vec![FREE; count]);
        let crowded = std::mem::take(&mut self.crowded);
        let crowded = crowded.into_iter().map(|(sequence, command)| PeerRequest { sequence, command });
        for request in old.into_iter().filter(|slot| !slot.is_free()).chain(crowded) {
            let index = self.index(request.sequence);
            match self.slots.get_mut(index) {
                Some(slot) if slot.is_free() => *slot = request,
                _ => {
                    self.crowded.insert(request.sequence, request.command);
                }
            }
        }
    }
}
