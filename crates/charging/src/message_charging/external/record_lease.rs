//! Lease on an outcomes record, counted by the local monotonic clock from before it was acquired or renewed.
//! Whoever else is given it is given it later.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// See the module.
#[derive(Debug)]
pub(crate) struct RecordLease {
    /// Another, or we before, may have asked what this record makes us ask.
    pub(super) is_again: bool,
    /// Nothing: for ever.
    until: Mutex<Option<Instant>>,
}

impl RecordLease {
    /// Of what no other is given.
    pub(super) fn always(is_again: bool) -> RecordLease {
        RecordLease { is_again, until: Mutex::new(None) }
    }

    /// Of what is ours until then.
    pub(super) fn lasting(is_again: bool, until: Instant) -> RecordLease {
        RecordLease { is_again, until: Mutex::new(Some(until)) }
    }

    /// Whether it is ours.
    pub(super) fn holds(&self, now: Instant) -> bool {
        self.lock().is_none_or(|until| now < until)
    }

    /// It is ours for longer; not if that was over.
    pub(super) fn renew(&self, until: Instant, now: Instant) {
        if let Some(before) = self.lock().as_mut().filter(|before| now < **before) {
            *before = until.max(*before);
        }
    }

    /// It is ours no more.
    pub(super) fn end(&self, now: Instant) {
        *self.lock() = Some(now);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_ours_no_more_comes_back_by_no_renewal() {
        let at = |seconds| Duration::from_secs(seconds);
        let began = Instant::now();
        let tenure = RecordLease::lasting(false, began + at(60));
        tenure.renew(began + at(80), began + at(20));
        tenure.renew(began + at(70), began + at(21));
        assert!(tenure.holds(began + at(79)) && !tenure.holds(began + at(80)));
        tenure.renew(began + at(140), began + at(80));
        assert!(!tenure.holds(began + at(81)));
        let ended = RecordLease::always(true);
        assert!(ended.holds(began + at(1_000_000)));
        ended.end(began);
        assert!(!ended.holds(began));
    }
}
