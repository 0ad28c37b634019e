//! Schedule of requests, whatever the server does.
//!
//! `pace` gives up what is older than its horizon, so that an idle hour is not paid out as one burst. Here
//! nothing may be given up: a request that could not be sent in time is the very thing that is measured. So
//! each due time is counted from the first.

use super::Amount;
use std::time::{Duration, Instant};

/// The due times of one thread: every so many-th of all.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    begin: Instant,
    per_s: f64,
    /// The number of the next one, of all threads' together.
    next: u64,
    threads: u64,
    /// Nothing new begins from this number on.
    end: u64,
}

impl Schedule {
    /// Of thread `place.0` of `place.1`, for `amount` requests of all threads together at `per_s`.
    pub(super) fn new(begin: Instant, per_s: f64, place: (usize, usize), amount: Amount) -> Schedule {
        let end = match amount {
            Amount::Of(count) => count,
            // The cast saturates; a run is far shorter.
            Amount::For(time) => (per_s * time.as_secs_f64()) as u64,
        };
        Schedule { begin, per_s, next: place.0 as u64, threads: place.1 as u64, end }
    }

    /// When the next one is due; it may be in the past.
    pub(super) fn due(&self) -> Instant {
        self.begin + Duration::from_secs_f64(self.next as f64 / self.per_s)
    }

    /// The next one was begun.
    pub(super) fn advance(&mut self) {
        self.next += self.threads;
    }

    /// All was begun; what follows in sessions still has due times.
    pub(super) fn is_over(&self) -> bool {
        self.next >= self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_due_times_and_none_is_given_up() {
        let begin = Instant::now();
        let mut due: Vec<u128> = Vec::new();
        for thread in 0..3 {
            let mut schedule = Schedule::new(begin, 1_000.0, (thread, 3), Amount::Of(10));
            while !schedule.is_over() {
                due.push((schedule.due() - begin).as_millis());
                schedule.advance();
            }
        }
        due.sort_unstable();
        assert_eq!(due, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_time_asks_for_as_many_as_fall_due_in_it() {
        let count = |per_s: f64, time: f64| {
            let amount = Amount::For(Duration::from_secs_f64(time));
            let mut schedule = Schedule::new(Instant::now(), per_s, (0, 1), amount);
            let mut count = 0;
            while !schedule.is_over() {
                schedule.advance();
                count += 1;
            }
            count
        };
        assert_eq!((count(1_000.0, 2.0), count(0.5, 10.0), count(3.0, 0.1)), (2_000, 5, 0));
    }

    #[test]
    fn an_hour_of_due_times_does_not_drift() {
        let begin = Instant::now();
        let mut schedule = Schedule::new(begin, 300_000.0, (0, 1), Amount::Of(u64::MAX));
        schedule.next = 300_000 * 3_600;
        assert_eq!(schedule.due() - begin, Duration::from_secs(3_600));
    }
}
