//! Book of the simulated networks: messages that arrived, counts, and whom the networks refuse.

use super::ImOptions;
use crate::clock::Clock;
use crate::tally::{KeyCounts, LastSecond};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, VecDeque};

/// A message that arrived.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArrivedMessage {
    /// Where to, with its scheme.
    pub address: String,
    /// What a person reads.
    pub text: String,
    /// The network's id of it.
    pub id: String,
    /// When, microseconds since 1970.
    pub at_us: u64,
    /// The whole message as it was sent.
    pub content: Value,
}

/// What was counted. The names of the first four are those of the other simulators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ImStats {
    /// Messages taken.
    pub accepted: u64,
    /// The same.
    pub messages: u64,
    /// Above the first of each address and alert.
    pub repeats: u64,
    /// When the last was taken, microseconds since 1970.
    pub last_accepted_us: u64,
    /// Messages that were refused.
    pub refused: u64,
    /// Messages that were answered by 429.
    pub throttled: u64,
    /// Messages that were read and never answered.
    pub unanswered: u64,
    /// Sent again, and known for the same.
    pub known: u64,
    /// The most that were taken within a second.
    pub peak_per_s: u64,
}

/// Why a message is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImRefusal {
    /// Wait so many milliseconds.
    Throttled(u64),
    /// The person does not want it.
    Blocked,
}

/// The book.
pub(super) struct Book {
    clock: Clock,
    stats: ImStats,
    kept: VecDeque<ArrivedMessage>,
    counts: KeyCounts,
    second: LastSecond,
    /// Addresses whose people want nothing.
    blocked: BTreeSet<String>,
    /// So many messages are still told to wait so many milliseconds.
    throttles: (u32, u64),
}

impl Book {
    pub(super) fn new(clock: Clock) -> Book {
        Book {
            clock,
            stats: ImStats::default(),
            kept: VecDeque::new(),
            counts: KeyCounts::default(),
            second: LastSecond::default(),
            blocked: BTreeSet::new(),
            throttles: (0, 0),
        }
    }

    pub(super) fn stats(&self) -> ImStats {
        ImStats { repeats: self.counts.repeats, peak_per_s: self.second.peak, ..self.stats }
    }

    /// The last that were kept, the newest last.
    pub(super) fn messages(&self, limit: usize) -> Vec<ArrivedMessage> {
        self.kept.iter().skip(self.kept.len().saturating_sub(limit)).cloned().collect()
    }

    /// Whether a message is taken.
    pub(super) fn judge(&mut self, options: &ImOptions, address: &str) -> Result<(), ImRefusal> {
        let now_us = self.clock.now_us();
        let (left, wait_ms) = self.throttles;
        if left > 0 {
            self.throttles.0 -= 1;
            self.stats.throttled += 1;
            return Err(ImRefusal::Throttled(wait_ms));
        }
        if options.rate > 0.0 && self.second.count(now_us) as f64 >= options.rate {
            self.stats.throttled += 1;
            return Err(ImRefusal::Throttled(500));
        }
        if self.blocked.contains(address) {
            self.stats.refused += 1;
            return Err(ImRefusal::Blocked);
        }
        Ok(())
    }

    /// A message was taken. `subject` is what it is about: a second one to an address is a repeat.
    pub(super) fn take(&mut self, keep: usize, message: ArrivedMessage, subject: &str) {
        let key = crate::chance::hash(crate::chance::hash(0, message.address.as_bytes()), subject.as_bytes());
        self.counts.add(key);
        self.stats.accepted += 1;
        self.stats.messages += 1;
        self.stats.last_accepted_us = message.at_us;
        self.second.add(message.at_us, 1);
        self.kept.push_back(message);
        while self.kept.len() > keep {
            self.kept.pop_front();
        }
    }

    /// A message came again.
    pub(super) fn note_known(&mut self) {
        self.stats.known += 1;
    }

    /// A message was read and is never answered.
    pub(super) fn note_unanswered(&mut self) {
        self.stats.unanswered += 1;
    }

    /// A message was refused by how the networks are.
    pub(super) fn note_refused(&mut self) {
        self.stats.refused += 1;
    }

    pub(super) fn block(&mut self, address: &str) {
        self.blocked.insert(address.to_owned());
    }

    pub(super) fn throttle(&mut self, count: u32, wait_ms: u64) {
        self.throttles = (count, wait_ms);
    }

    pub(super) fn now_us(&self) -> u64 {
        self.clock.now_us()
    }
}

/// An object without the members that are null.
pub(super) fn object(members: Value) -> Value {
    let Value::Object(members) = members else { return json!({}) };
    Value::Object(members.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
}
