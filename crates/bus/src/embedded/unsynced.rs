//! Logs that hold files open until they are synced: at most so many, however many topics are written to.

use super::lock::lock;
use super::log::Log;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

/// From so many on, those that wait longest are synced in the background,
const SYNCED_FROM: usize = 256;
/// and from so many on, by whoever would add another.
const LISTED_MAX: usize = 512;

/// The list, in the order of their first write since their last sync.
#[derive(Default)]
pub(super) struct Unsynced {
    inner: Mutex<UnsyncedInner>,
}

#[derive(Default)]
struct UnsyncedInner {
    logs: BTreeMap<u64, Weak<Log>>,
    next: u64,
    /// All before were asked for their sync.
    asked: u64,
}

impl Unsynced {
    /// Puts a log on the list; its number there.
    pub fn list(&self, log: &Weak<Log>) -> u64 {
        let mut inner = lock(&self.inner);
        let number = inner.next;
        inner.next += 1;
        inner.logs.insert(number, log.clone());
        number
    }

    /// Takes a log off the list.
    pub fn leave(&self, number: u64) {
        lock(&self.inner).logs.remove(&number);
    }

    /// Has those synced that are too many. The caller holds no lock of any log.
    pub fn relieve(&self) {
        let (asked, oldest) = {
            let mut inner = lock(&self.inner);
            if inner.logs.len() <= SYNCED_FROM {
                return;
            }
            let first = |(number, log): (&u64, &Weak<Log>)| (*number, log.clone());
            let asked = inner.logs.range(inner.asked..).next().map(first);
            if let Some((number, _)) = &asked {
                inner.asked = number + 1;
            }
            let is_over = inner.logs.len() > LISTED_MAX;
            (asked, if is_over { inner.logs.iter().next().map(first) } else { None })
        };
        let upgrade = |entry: Option<(u64, Weak<Log>)>| -> Option<Arc<Log>> {
            let (number, log) = entry?;
            let log = log.upgrade();
            if log.is_none() {
                self.leave(number);
            }
            log
        };
        if let Some(log) = upgrade(asked) {
            log.request_sync();
        }
        if let Some((number, log)) = oldest {
            // An error stops that log, and is told to whoever uses it; it holds nothing open then.
            let synced = log.upgrade().map(|log| log.sync());
            if !matches!(synced, Some(Ok(()))) {
                self.leave(number);
            }
        }
    }

    /// How many logs hold files open.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        lock(&self.inner).logs.len()
    }
}
