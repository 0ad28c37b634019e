//! Pending receipts: those that came before their message is known as unknown. The one is read from a carrier
//! or a mailbox, the other is found out when a connection is given up, or a segment is taken over from a
//! process that died: nothing puts the two in order.
//!
//! Where this process reads that a message is unknown it is matched at once; where another does, a ledger
//! that both share knows it, and is asked after a second, after two, after four, and so on.
//!
//! They outlive their process on the bus: what changes ([`PendingReceipts::changes`]) is noted there before
//! the record that changed it is acknowledged (`local::pending_receipt_topic`, `external::open_sessions`).

use records::{Receipt, ReceiptState};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant, SystemTime};

/// Receipts that wait; beyond, the end of the message's validity decides.
const WAITING_MAX: usize = 65_536;
/// They wait so long: a connection is given up, and a segment taken over, before.
pub(super) const WAITS: Duration = Duration::from_secs(600);
/// The ledger is asked first after so long.
const FIRST_LOOK: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct PendingReceipt {
    state: ReceiptState,
    since: Instant,
    /// When the ledger is asked next, or it waits no longer.
    due: Instant,
}

impl PendingReceipt {
    fn is_good(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < WAITS
    }
}

/// A receipt waits, or does no more, as other processes and the next have to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Change {
    /// Key, state, and since when it waits, in microseconds since 1970.
    Waits(u64, ReceiptState, u64),
    /// It was matched, or is not wanted.
    Over(u64),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct PendingReceipts {
    waiting: HashMap<u64, PendingReceipt>,
    due: BTreeSet<(Instant, u64)>,
    /// Keys, and what waits under them now, since the last [`PendingReceipts::changes`].
    changed: Vec<(u64, Option<PendingReceipt>)>,
}

impl PendingReceipts {
    /// What changed since the last call, in its order.
    pub(super) fn changes(&mut self, clock: Clock) -> Vec<Change> {
        let change = |(key, waiting): (u64, Option<PendingReceipt>)| match waiting {
            Some(waiting) => Change::Waits(key, waiting.state, clock.us_of(waiting.since)),
            None => Change::Over(key),
        };
        self.changed.drain(..).map(change).collect()
    }

    /// All that wait.
    pub(super) fn all(&self, clock: Clock) -> Vec<Change> {
        let waits = |(key, waiting): (&u64, &PendingReceipt)| {
            Change::Waits(*key, waiting.state, clock.us_of(waiting.since))
        };
        self.waiting.iter().map(waits).collect()
    }

    /// How many they are.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// What an earlier process noted, or another does. Its message is looked up after so long at first.
    pub(super) fn restore(&mut self, change: Change, clock: Clock, first_look: Duration) {
        match change {
            Change::Over(key) => drop(self.remove(key)),
            Change::Waits(key, state, since_us) => {
                let Some(since) = clock.instant_of(since_us) else { return };
                let waiting = PendingReceipt { state, since, due: clock.now + first_look };
                let is_news = match self.waiting.get(&key) {
                    Some(known) => known.state != state && known.since < since,
                    None => self.waiting.len() < WAITING_MAX,
                };
                if is_news && waiting.is_good(clock.now) {
                    self.put(key, waiting);
                }
            }
        }
    }

    /// A receipt of a message that is not known as unknown.
    pub(super) fn receive(&mut self, receipt: &Receipt, now: Instant) {
        // A mail's names no route. It alone is found by a key that is known before its submission is answered
        // (`mail_key`).
        if receipt.route.is_empty() && receipt.state != ReceiptState::Buffered {
            receipt.keys.iter().for_each(|key| self.insert(*key, receipt.state, now));
        }
    }

    pub(super) fn insert(&mut self, key: u64, state: ReceiptState, now: Instant) {
        if self.waiting.len() >= WAITING_MAX {
            // Old ones make room.
            self.due(now);
        }
        if self.waiting.len() < WAITING_MAX || self.waiting.contains_key(&key) {
            let waiting = PendingReceipt { state, since: now, due: now + FIRST_LOOK };
            self.changed.push((key, Some(waiting)));
            self.put(key, waiting);
        }
    }

    /// Takes the receipt of this key: its message is settled now, or there is nothing to settle.
    pub(super) fn take(&mut self, key: u64, now: Instant) -> Option<ReceiptState> {
        // Nearly always there is none.
        if self.waiting.is_empty() {
            return None;
        }
        let waiting = self.remove(key)?;
        self.changed.push((key, None));
        waiting.is_good(now).then_some(waiting.state)
    }

    fn remove(&mut self, key: u64) -> Option<PendingReceipt> {
        let waiting = self.waiting.remove(&key)?;
        self.due.remove(&(waiting.due, key));
        Some(waiting)
    }

    /// When messages of some are to be looked up.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Those whose messages are to be looked up now. They are due again when they have waited twice as long.
    pub(super) fn due(&mut self, now: Instant) -> Vec<u64> {
        let mut keys = Vec::new();
        while let Some((_, key)) = self.due.first().copied().filter(|(due, _)| *due <= now) {
            let Some(waiting) = self.waiting.get(&key).copied() else {
                self.due.pop_first();
                continue;
            };
            if !waiting.is_good(now) {
                // Everybody's is over by then.
                self.remove(key);
                continue;
            }
            keys.push(key);
            let twice = now.saturating_duration_since(waiting.since) * 2;
            let due = (waiting.since + twice.min(WAITS)).max(now + FIRST_LOOK);
            self.put(key, PendingReceipt { due, ..waiting });
        }
        keys
    }

    fn put(&mut self, key: u64, waiting: PendingReceipt) {
        if let Some(before) = self.waiting.insert(key, waiting) {
            self.due.remove(&(before.due, key));
        }
        self.due.insert((waiting.due, key));
    }
}

/// One moment by the process's clock and by the wall's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    pub(super) now: Instant,
    pub(super) time: SystemTime,
}

impl Clock {
    pub(super) fn now() -> Clock {
        Clock { now: Instant::now(), time: SystemTime::now() }
    }

    pub(super) fn now_us(self) -> u64 {
        self.us_of(self.now)
    }

    /// Microseconds since 1970.
    pub(super) fn us_of(self, then: Instant) -> u64 {
        let time = self.time.checked_sub(self.now.saturating_duration_since(then)).unwrap_or(self.time);
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    /// Nothing where that was before this machine began. What lies ahead, by a clock that was set back, is
    /// now.
    pub(super) fn instant_of(self, us: u64) -> Option<Instant> {
        let then = SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(us))?;
        self.now.checked_sub(self.time.duration_since(then).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_that_waits_is_restored_in_the_next_process_and_waits_no_longer_for_that() {
        let began = Clock::now();
        let mut pending = PendingReceipts::default();
        pending.insert(7, ReceiptState::Delivered, began.now);
        pending.insert(u64::MAX, ReceiptState::Failed, began.now + FIRST_LOOK);
        pending.insert(9, ReceiptState::Expired, began.now);
        assert_eq!(pending.take(9, began.now), Some(ReceiptState::Expired));
        let told = pending.changes(Clock { now: began.now + FIRST_LOOK, time: began.time + FIRST_LOOK });
        assert_eq!(told.len(), 4);
        assert!(pending.changes(began).is_empty(), "told once");
        // The next process has another clock for itself, and comes half a second before the first is over.
        let now = began.now + 3 * WAITS;
        let then = Clock { now, time: began.time + WAITS - FIRST_LOOK / 2 };
        let again = |clock| {
            let mut pending = PendingReceipts::default();
            told.iter().for_each(|change| pending.restore(*change, clock, Duration::ZERO));
            pending
        };
        assert_eq!(again(then).take(7, now), Some(ReceiptState::Delivered));
        assert_eq!(again(then).take(7, now + FIRST_LOOK / 2), None);
        assert_eq!(again(then).take(u64::MAX, now + FIRST_LOOK), Some(ReceiptState::Failed));
        assert_eq!(again(then).take(9, now), None);
        assert_eq!(again(then).due(now).len(), 2, "the ledger may call them unknown by now");
        let late = Clock { now, time: began.time + 2 * WAITS };
        assert!(again(late).waiting.is_empty(), "one that comes later finds none");
    }

    #[test]
    fn changes_of_ones_own_that_are_restored_change_nothing_and_the_last_of_another_counts() {
        let began = Clock::now();
        let later = |after| Clock { now: began.now + after, time: began.time + after };
        let mut pending = PendingReceipts::default();
        pending.insert(7, ReceiptState::Failed, began.now);
        let told = pending.changes(later(FIRST_LOOK));
        told.iter().for_each(|change| pending.restore(*change, later(FIRST_LOOK), WAITS));
        assert_eq!(pending.next_due(), Some(began.now + FIRST_LOOK), "it is looked for as before");
        let mut other = PendingReceipts::default();
        other.insert(7, ReceiptState::Delivered, began.now + FIRST_LOOK);
        let told = other.changes(later(FIRST_LOOK));
        told.iter().for_each(|change| pending.restore(*change, later(2 * FIRST_LOOK), WAITS));
        assert!(pending.changes(later(WAITS)).is_empty(), "what is heard is not told again");
        assert_eq!(pending.take(7, began.now + 2 * FIRST_LOOK), Some(ReceiptState::Delivered));
        let [over] = pending.changes(later(WAITS))[..] else { panic!("one change") };
        other.restore(over, later(WAITS), WAITS);
        assert_eq!(other.next_due(), None);
    }

    #[test]
    fn a_receipt_is_looked_for_at_longer_and_longer_intervals_and_then_no_more() {
        let (mut pending, began) = (PendingReceipts::default(), Instant::now());
        pending.insert(7, ReceiptState::Delivered, began);
        let mut looks = Vec::new();
        while let Some(due) = pending.next_due() {
            looks.extend(pending.due(due).into_iter().map(|_| due.duration_since(began).as_secs()));
        }
        assert_eq!(looks, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
        assert_eq!(pending.take(7, began), None);
        pending.insert(7, ReceiptState::Delivered, began);
        assert_eq!(pending.take(7, began + WAITS), None);
    }

    #[test]
    fn a_receipt_is_given_once_and_the_last_word_counts() {
        let (mut pending, now) = (PendingReceipts::default(), Instant::now());
        pending.insert(7, ReceiptState::Failed, now);
        pending.insert(7, ReceiptState::Delivered, now + FIRST_LOOK);
        let mut take = |key| pending.take(key, now + FIRST_LOOK);
        assert_eq!((take(8), take(7), take(7)), (None, Some(ReceiptState::Delivered), None));
        assert_eq!(pending.next_due(), None);
    }

    #[test]
    fn receipts_that_wait_are_bounded_in_number() {
        let (mut pending, now) = (PendingReceipts::default(), Instant::now());
        (0..=WAITING_MAX as u64).for_each(|key| pending.insert(key, ReceiptState::Failed, now));
        assert_eq!((pending.waiting.len(), pending.due.len()), (WAITING_MAX, WAITING_MAX));
        let last = WAITING_MAX as u64;
        assert_eq!(pending.take(last, now), None);
        pending.insert(last, ReceiptState::Failed, now + WAITS);
        assert_eq!(pending.waiting.len(), 1, "old ones make room");
    }
}
