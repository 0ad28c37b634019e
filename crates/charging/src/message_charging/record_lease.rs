//! Lease on an outcomes record, counted by the local monotonic clock from before it was acquired or renewed:
//! another process is given the record later than that.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// See the module.
#[derive(Debug)]
pub(super) struct RecordLease {
    /// Nothing: for ever.
    until: Mutex<Option<Instant>>,
}

impl RecordLease {
    /// On what no other process is given.
    pub(super) fn always() -> RecordLease {
        RecordLease { until: Mutex::new(None) }
    }

    /// On a record that is leased until then.
    pub(super) fn lasting(until: Instant) -> RecordLease {
        RecordLease { until: Mutex::new(Some(until)) }
    }

    /// Whether it has not expired.
    pub(super) fn holds(&self, now: Instant) -> bool {
        self.lock().is_none_or(|until| now < until)
    }

    /// Lasts longer from now on; not if it has expired.
    pub(super) fn renew(&self, until: Instant, now: Instant) {
        if let Some(before) = self.lock().as_mut().filter(|before| now < **before) {
            *before = until.max(*before);
        }
    }

    /// Expires now.
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
    fn an_expired_lease_is_not_renewed() {
        let at = |seconds| Duration::from_secs(seconds);
        let began = Instant::now();
        let lease = RecordLease::lasting(began + at(60));
        lease.renew(began + at(80), began + at(20));
        lease.renew(began + at(70), began + at(21));
        assert!(lease.holds(began + at(79)) && !lease.holds(began + at(80)));
        lease.renew(began + at(140), began + at(80));
        assert!(!lease.holds(began + at(81)));
        let ended = RecordLease::always();
        assert!(ended.holds(began + at(1_000_000)));
        ended.end(began);
        assert!(!ended.holds(began));
    }
}
