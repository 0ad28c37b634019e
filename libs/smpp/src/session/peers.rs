//! The peer's requests that our caller has not answered yet: bounded, and a repeated number is noticed.

use super::config::WINDOW_MAX;
use crate::pdu::Command;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

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
        // Fibonacci hashing; the rotation brings the well mixed high bits to where the map looks for the bucket.
        let mixed = (self.0 ^ u64::from(value)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed.rotate_left(26);
    }
}

/// The number is that of a request still unanswered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeated;

pub(super) struct PeerRequests {
    limit: usize,
    unanswered: HashMap<u32, Command, BuildHasherDefault<SequenceHasher>>,
}

impl PeerRequests {
    pub(super) fn new(limit: usize) -> Self {
        PeerRequests { limit: limit.clamp(1, WINDOW_MAX), unanswered: HashMap::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.unanswered.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.unanswered.len() >= self.limit
    }

    /// Takes a request in. The caller has asked [`PeerRequests::is_full`].
    pub(super) fn insert(&mut self, sequence: u32, command: Command) -> Result<(), Repeated> {
        debug_assert!(!self.is_full());
        match self.unanswered.entry(sequence) {
            Entry::Occupied(_) => Err(Repeated),
            Entry::Vacant(free) => {
                free.insert(command);
                Ok(())
            }
        }
    }

    pub(super) fn command(&self, sequence: u32) -> Option<Command> {
        self.unanswered.get(&sequence).copied()
    }

    pub(super) fn remove(&mut self, sequence: u32) {
        self.unanswered.remove(&sequence);
    }

    pub(super) fn clear(&mut self) {
        self.unanswered.clear();
    }
}
