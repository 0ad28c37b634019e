//! Receipts that came before it was told that their message is unknown. The one is read from a carrier or a mailbox, the other is found out when
//! a connection is given up, or a segment is taken over from a process that died: nothing puts the two in order.
//!
//! Where it is told here it is found at once; where another process is told, a ledger that both share has it, and is asked after a second, after
//! two, after four, and so on.

use records::{Receipt, ReceiptState};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// Receipts that wait; beyond, the end of the message's validity decides.
const WAITING_MAX: usize = 65_536;
/// They wait so long: a connection is given up, and a segment taken over, before.
const WAITS: Duration = Duration::from_secs(600);
/// The ledger is asked first after so long.
const FIRST_LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct Waiting {
    state: ReceiptState,
    since: Instant,
    /// When the ledger is asked next, or it waits no longer.
    due: Instant,
}

impl Waiting {
    fn is_good(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < WAITS
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Early {
    waiting: HashMap<u64, Waiting>,
    due: BTreeSet<(Instant, u64)>,
}

impl Early {
    /// A receipt of a message that nobody calls unknown.
    pub(super) fn receive(&mut self, receipt: &Receipt, now: Instant) {
        // A mail's names no route. It alone is found by a key that is known before its submission is answered (`mail_key`).
        if receipt.route.is_empty() && receipt.state != ReceiptState::Buffered {
            receipt.keys.iter().for_each(|key| self.wait(*key, receipt.state, now));
        }
    }

    fn wait(&mut self, key: u64, state: ReceiptState, now: Instant) {
        if self.waiting.len() >= WAITING_MAX {
            // Old ones make room.
            self.due(now);
        }
        if self.waiting.len() < WAITING_MAX || self.waiting.contains_key(&key) {
            self.put(key, Waiting { state, since: now, due: now + FIRST_LOOK });
        }
    }

    /// What the receipt of this key says: it is settled now, or it is known that there is nothing to settle.
    pub(super) fn take(&mut self, key: u64, now: Instant) -> Option<ReceiptState> {
        // Nearly always there is none.
        if self.waiting.is_empty() {
            return None;
        }
        let waiting = self.waiting.remove(&key)?;
        self.due.remove(&(waiting.due, key));
        waiting.is_good(now).then_some(waiting.state)
    }

    /// When some are to be looked for.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Those that are to be looked for now. They are looked for again when they have waited twice as long.
    pub(super) fn due(&mut self, now: Instant) -> Vec<u64> {
        let mut keys = Vec::new();
        while let Some((_, key)) = self.due.first().copied().filter(|(due, _)| *due <= now) {
            let Some(waiting) = self.waiting.get(&key).copied() else {
                self.due.pop_first();
                continue;
            };
            if !waiting.is_good(now) {
                self.take(key, now);
                continue;
            }
            keys.push(key);
            let twice = now.saturating_duration_since(waiting.since) * 2;
            let due = (waiting.since + twice.min(WAITS)).max(now + FIRST_LOOK);
            self.put(key, Waiting { due, ..waiting });
        }
        keys
    }

    fn put(&mut self, key: u64, waiting: Waiting) {
        if let Some(before) = self.waiting.insert(key, waiting) {
            self.due.remove(&(before.due, key));
        }
        self.due.insert((waiting.due, key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_looked_for_at_longer_and_longer_intervals_and_then_no_more() {
        let (mut early, began) = (Early::default(), Instant::now());
        early.wait(7, ReceiptState::Delivered, began);
        let mut looks = Vec::new();
        while let Some(due) = early.next_due() {
            looks.extend(early.due(due).into_iter().map(|_| due.duration_since(began).as_secs()));
        }
        assert_eq!(looks, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
        assert_eq!(early.take(7, began), None);
        early.wait(7, ReceiptState::Delivered, began);
        assert_eq!(early.take(7, began + WAITS), None);
    }

    #[test]
    fn a_receipt_is_given_once_and_the_last_word_counts() {
        let (mut early, now) = (Early::default(), Instant::now());
        early.wait(7, ReceiptState::Failed, now);
        early.wait(7, ReceiptState::Delivered, now + FIRST_LOOK);
        let mut take = |key| early.take(key, now + FIRST_LOOK);
        assert_eq!((take(8), take(7), take(7)), (None, Some(ReceiptState::Delivered), None));
        assert_eq!(early.next_due(), None);
    }

    #[test]
    fn receipts_that_wait_are_bounded_in_number() {
        let (mut early, now) = (Early::default(), Instant::now());
        (0..=WAITING_MAX as u64).for_each(|key| early.wait(key, ReceiptState::Failed, now));
        assert_eq!((early.waiting.len(), early.due.len()), (WAITING_MAX, WAITING_MAX));
        let last = WAITING_MAX as u64;
        assert_eq!(early.take(last, now), None);
        early.wait(last, ReceiptState::Failed, now + WAITS);
        assert_eq!(early.waiting.len(), 1, "old ones make room");
    }
}
