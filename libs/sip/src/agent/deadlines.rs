//! Deadlines by owner: the next one in logarithmic time, each owner with one at most.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::time::Instant;

#[derive(Debug)]
pub(super) struct Deadlines<K> {
    by_time: BTreeSet<(Instant, K)>,
    by_owner: HashMap<K, Instant>,
}

impl<K: Copy + Ord + Hash> Deadlines<K> {
    pub(super) fn new() -> Deadlines<K> {
        Deadlines { by_time: BTreeSet::new(), by_owner: HashMap::new() }
    }

    /// Sets or clears an owner's deadline.
    pub(super) fn set(&mut self, owner: K, at: Option<Instant>) {
        let before = match at {
            Some(at) => self.by_owner.insert(owner, at),
            None => self.by_owner.remove(&owner),
        };
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.by_time.remove(&(before, owner));
        }
        if let Some(at) = at {
            self.by_time.insert((at, owner));
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes the earliest owner that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<K> {
        let (_, owner) = self.by_time.first().copied().filter(|(at, _)| *at <= now)?;
        self.set(owner, None);
        Some(owner)
    }
}
