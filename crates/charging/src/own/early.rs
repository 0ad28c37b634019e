//! Receipts that came before it was told that their message is unknown. The one is read from a carrier or a mailbox, the other is found out when
//! a connection is given up, or a segment is taken over from a process that died: nothing puts the two in order.
//!
//! Where it is told here it is found at once; where another process is told, a ledger that both share has it, and is asked after a second, after
//! two, after four, and so on.
//!
//! They outlive their process in a file ([`Early::keep`]), written before their record is acknowledged for good.

use records::{Receipt, ReceiptState};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io};

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
    file: Option<PathBuf>,
    /// Whether others wait than those in the file.
    is_changed: bool,
}

/// What stands in the file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Key, state, and since when it waits, in microseconds since 1970.
    waiting: Vec<(u64, ReceiptState, u64)>,
}

impl Early {
    /// With those that an earlier process left in this file. One that cannot be read is put aside: what waited in it is waited for no more.
    pub(super) fn kept_in(file: PathBuf, now: Instant, time: SystemTime) -> Early {
        let written = match fs::read(&file) {
            Ok(octets) => serde_json::from_slice(&octets).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Written::default()),
            Err(error) => Err(error),
        };
        let Written { waiting } = written.unwrap_or_else(|error| {
            tracing::error!(file = %file.display(), %error, "receipts that came before their message is known as unknown are lost");
            // It is looked at by people, if at all.
            drop(fs::rename(&file, file.with_extension("bad")));
            Written::default()
        });
        let mut early = Early { file: Some(file), ..Early::default() };
        for (key, state, since_us) in waiting.into_iter().take(WAITING_MAX) {
            let began = SystemTime::UNIX_EPOCH + Duration::from_micros(since_us);
            // A clock that was set back has it wait anew.
            let waited = time.duration_since(began).unwrap_or_default();
            if let Some(since) = now.checked_sub(waited).filter(|_| waited < WAITS) {
                early.put(key, Waiting { state, since, due: now });
            }
        }
        early.is_changed = false;
        early
    }

    /// Whether there is something to keep.
    pub(super) fn is_changed(&self) -> bool {
        self.is_changed && self.file.is_some()
    }

    /// Writes those that wait, if others do than the last time. Who acknowledges their record does so afterwards.
    ///
    /// # Errors
    /// The disk's; then it is still to be written.
    pub(super) async fn keep(&mut self, now: Instant, time: SystemTime) -> io::Result<()> {
        let Some(file) = self.file.clone().filter(|_| self.is_changed) else { return Ok(()) };
        let since_us = |waiting: &Waiting| {
            let since = time.checked_sub(now.saturating_duration_since(waiting.since)).unwrap_or(time);
            let since = since.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
        };
        let waiting = self.waiting.iter().filter(|(_, waiting)| waiting.is_good(now));
        let waiting = waiting.map(|(key, waiting)| (*key, waiting.state, since_us(waiting))).collect();
        let written = tokio::task::spawn_blocking(move || write(&file, &Written { waiting })).await;
        written.map_err(io::Error::other)??;
        self.is_changed = false;
        Ok(())
    }

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
            self.is_changed = true;
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
        self.is_changed = true;
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

fn write(file: &Path, written: &Written) -> io::Result<()> {
    let new = file.with_extension("new");
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut output = fs::File::create(&new)?;
    io::Write::write_all(&mut output, &serde_json::to_vec(written)?)?;
    output.sync_all()?;
    fs::rename(&new, file)?;
    crate::ledger::log::sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_waits_outlives_its_process_and_waits_no_longer_for_that() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("below").join("early.json");
        let (began, time) = (Instant::now(), SystemTime::now());
        let mut early = Early::kept_in(file.clone(), began, time);
        early.wait(7, ReceiptState::Delivered, began);
        early.wait(u64::MAX, ReceiptState::Failed, began + FIRST_LOOK);
        early.wait(9, ReceiptState::Expired, began);
        assert_eq!(early.take(9, began), Some(ReceiptState::Expired));
        early.keep(began + FIRST_LOOK, time + FIRST_LOOK).await.unwrap();
        // The next process has another clock for itself, and comes half a second before the first is over.
        let (now, then) = (Instant::now() + 3 * WAITS, time + WAITS - FIRST_LOOK / 2);
        let again = || Early::kept_in(file.clone(), now, then);
        assert_eq!(again().take(7, now), Some(ReceiptState::Delivered));
        assert_eq!(again().take(7, now + FIRST_LOOK / 2), None);
        assert_eq!(again().take(u64::MAX, now + FIRST_LOOK), Some(ReceiptState::Failed));
        assert_eq!(again().take(9, now), None);
        assert_eq!(again().due(now).len(), 2, "the ledger may call them unknown by now");
        // One that comes later finds none, and a file that is not ours is put aside.
        assert!(Early::kept_in(file.clone(), now, time + 2 * WAITS).waiting.is_empty());
        fs::write(&file, "{\"waiting\":[[1,\"Lost\",2]]}").unwrap();
        assert!(again().waiting.is_empty() && file.with_extension("bad").exists());
    }

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
