//! A term: the lease on leading as its holder counts it, by its own monotonic clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A holder's clock may run slower than the database's by this part of a lease.
const DRIFT_PART: u32 = 32;
/// It was let go of, or ran out and that was seen: it holds no more.
const ENDED: u64 = 0;

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct Term {
    inner: Arc<TermInner>,
}

struct TermInner {
    epoch: u64,
    base: Instant,
    /// Microseconds after `base`; [`ENDED`] for good.
    until_us: AtomicU64,
}

impl Term {
    /// The lease was ours for `lasts` from some moment after `asked` on: it counts from `asked`.
    pub fn new(epoch: u64, asked: Instant, lasts: Duration) -> Term {
        let until_us = AtomicU64::new(counted_us(asked, asked, lasts));
        Term { inner: Arc::new(TermInner { epoch, base: asked, until_us }) }
    }

    /// Rises with each change of hands.
    pub fn epoch(&self) -> u64 {
        self.inner.epoch
    }

    /// What only the holder may do may be done now.
    pub fn holds(&self) -> bool {
        let until_us = self.inner.until_us.load(Ordering::Acquire);
        self.now_us() < until_us
    }

    /// It was renewed by a request that began at `asked`. False, and it is over for good, if it had run out
    /// before this came.
    pub fn renew(&self, asked: Instant, lasts: Duration) -> bool {
        let until_us = counted_us(self.inner.base, asked, lasts);
        let renewed = self.inner.until_us.fetch_update(Ordering::AcqRel, Ordering::Acquire, |known| {
            // Who saw it run out has stopped, and is not to be revived.
            (self.now_us() < known).then_some(known.max(until_us))
        });
        if renewed.is_err() {
            self.end();
        }
        renewed.is_ok()
    }

    /// It is over, whatever is heard later.
    pub fn end(&self) {
        self.inner.until_us.store(ENDED, Ordering::Release);
    }

    fn now_us(&self) -> u64 {
        self.inner.base.elapsed().as_micros() as u64
    }
}

fn counted_us(base: Instant, asked: Instant, lasts: Duration) -> u64 {
    let until = asked.saturating_duration_since(base) + (lasts - lasts / DRIFT_PART);
    // At least one: nothing is a sign of its own.
    (until.as_micros() as u64).max(ENDED + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_term_counts_from_before_it_was_asked_for_and_less_than_was_given() {
        let asked = Instant::now().checked_sub(HOUR).unwrap();
        assert!(!Term::new(1, asked, HOUR).holds(), "the answer came an hour late");
        assert!(!Term::new(1, asked, HOUR + HOUR / 64).holds(), "clocks differ");
        assert!(Term::new(1, asked, 2 * HOUR).holds());
    }

    #[test]
    fn a_term_that_ran_out_is_not_revived_by_a_late_renewal() {
        let asked = Instant::now().checked_sub(HOUR).unwrap();
        let term = Term::new(1, asked, HOUR / 2);
        assert!(!term.renew(Instant::now(), HOUR));
        assert!(!term.holds());
        let term = Term::new(1, Instant::now(), HOUR);
        assert!(term.renew(Instant::now(), HOUR) && term.holds());
        term.clone().end();
        assert!(!term.renew(Instant::now(), HOUR) && !term.holds());
    }

    #[test]
    fn a_renewal_never_shortens_a_term() {
        let term = Term::new(1, Instant::now(), HOUR);
        assert!(term.renew(Instant::now(), Duration::from_micros(1)));
        assert!(term.holds());
    }
}
