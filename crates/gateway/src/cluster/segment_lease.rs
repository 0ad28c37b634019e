//! Lease on a segment, checked before every write.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const WAITS: u8 = 0;
const OURS: u8 = 1;
const LOST: u8 = 2;

/// A segment that this process has claimed: by whom it is held, and for how long without another word.
#[derive(Debug)]
pub(crate) struct SegmentLease {
    state: AtomicU8,
    since: Instant,
    /// Microseconds after `since`.
    until: AtomicU64,
}

impl SegmentLease {
    /// The claim is on its way. `before` is an instant before the segment was taken.
    pub(crate) fn new(before: Instant, lease: Duration) -> SegmentLease {
        let until = AtomicU64::new(lease.as_micros() as u64);
        SegmentLease { state: AtomicU8::new(WAITS), since: before, until }
    }

    /// The lease was renewed; `before` is an instant before that was asked.
    pub(crate) fn renewed(&self, before: Instant, lease: Duration) {
        let until = before.saturating_duration_since(self.since) + lease;
        self.until.fetch_max(until.as_micros() as u64, Ordering::Relaxed);
    }

    /// Our claim is on record.
    pub(crate) fn begin(&self) {
        let _ = self.state.compare_exchange(WAITS, OURS, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Another's claim is on record. One before ours does not count.
    pub(crate) fn claimed_by_another(&self) {
        let _ = self.state.compare_exchange(OURS, LOST, Ordering::AcqRel, Ordering::Acquire);
    }

    /// It is given up.
    pub(crate) fn end(&self) {
        self.state.store(LOST, Ordering::Release);
    }

    /// Something of it may be written now.
    #[cfg(test)]
    pub(crate) fn holds(&self, now: Instant) -> bool {
        self.state.load(Ordering::Acquire) == OURS && !self.is_over(now)
    }

    /// It is not ours, and will not be: another has claimed it, or our lease has run out.
    pub(crate) fn is_lost(&self, now: Instant) -> bool {
        self.state.load(Ordering::Acquire) == LOST || self.is_over(now)
    }

    fn is_over(&self, now: Instant) -> bool {
        let until = Duration::from_micros(self.until.load(Ordering::Relaxed));
        now.saturating_duration_since(self.since) >= until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);

    #[test]
    fn it_holds_from_our_claim_to_anothers_or_to_the_end_of_the_lease() {
        let t = Instant::now();
        let segment_lease = SegmentLease::new(t, LEASE);
        segment_lease.claimed_by_another();
        assert!(!segment_lease.holds(t) && !segment_lease.is_lost(t), "a claim before ours");
        segment_lease.begin();
        assert!(
            segment_lease.holds(t) && !segment_lease.holds(t + LEASE) && segment_lease.is_lost(t + LEASE)
        );
        segment_lease.renewed(t + LEASE / 3, LEASE);
        assert!(segment_lease.holds(t + LEASE) && !segment_lease.holds(t + LEASE / 3 + LEASE));
        segment_lease.renewed(t, LEASE);
        assert!(segment_lease.holds(t + LEASE), "never shortened");
        segment_lease.claimed_by_another();
        segment_lease.begin();
        assert!(!segment_lease.holds(t) && segment_lease.is_lost(t));
    }
}
