//! One due time that moves on by an interval with each message, and may fall behind only so far.

use std::time::{Duration, Instant};

/// A virtual schedule: message after message is due one interval after the one before. Who is late may catch
/// up what fits in `horizon`; what is older is given up, so that an idle hour is not paid out as one burst.
///
/// A [`Pacer`](crate::Pacer) is another thing: it counts what it gives up, keeps parts of a nanosecond and a
/// least distance, and knows one burst at a time; this hands out several messages at once, and takes back
/// what was not used. They have one line in common.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    at: Instant,
    /// Seconds between two messages. A float, since at 3,000,000/s whole nanoseconds are 0.1 % wrong.
    interval_s: f64,
    horizon: Duration,
}

impl Due {
    pub(crate) fn new(first: Instant, interval_s: f64, horizon: Duration) -> Self {
        Due { at: first, interval_s, horizon }
    }

    /// When the next message is due; it may be in the past.
    pub(crate) fn at(&self) -> Instant {
        self.at
    }

    /// Seconds between two messages.
    pub(crate) fn interval_s(&self) -> f64 {
        self.interval_s
    }

    /// How many messages are due at `now`.
    pub(crate) fn count(&self, now: Instant) -> u64 {
        let from = self.start(now);
        if from > now {
            return 0;
        }
        // The cast saturates, and RATE_MAX x horizon is far below its end.
        ((now - from).as_secs_f64() / self.interval_s) as u64 + 1
    }

    /// Moves on by `messages`, those handed out at `now`.
    pub(crate) fn advance(&mut self, now: Instant, messages: u64) {
        self.at = self.start(now) + Duration::from_secs_f64(self.interval_s * messages as f64);
    }

    /// Takes `messages` back that were handed out and not used.
    pub(crate) fn retreat(&mut self, messages: u64) {
        let back = Duration::from_secs_f64(self.interval_s * messages as f64);
        self.at = self.at.checked_sub(back).unwrap_or(self.at);
    }

    /// Another pace from `now` on; what was due already stays due.
    pub(crate) fn set_interval(&mut self, now: Instant, interval_s: f64) {
        let latest = now + Duration::from_secs_f64(interval_s);
        self.interval_s = interval_s;
        self.at = self.at.min(latest);
    }

    fn start(&self, now: Instant) -> Instant {
        now.checked_sub(self.horizon).map_or(self.at, |earliest| earliest.max(self.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_fall_due_one_interval_apart() {
        let t = Instant::now();
        let mut due = Due::new(t, 0.010, Duration::from_millis(100));
        assert_eq!(due.count(t), 1);
        due.advance(t, 1);
        assert_eq!(due.count(t), 0);
        assert_eq!(due.count(t + Duration::from_millis(35)), 3);
    }

    #[test]
    fn an_idle_hour_pays_out_no_more_than_the_horizon() {
        let t = Instant::now();
        let mut due = Due::new(t, 0.010, Duration::from_millis(100));
        let later = t + Duration::from_secs(3600);
        assert_eq!(due.count(later), 11);
        due.advance(later, 11);
        assert_eq!(due.count(later), 0);
    }

    #[test]
    fn a_faster_pace_does_not_wait_for_the_slow_one() {
        let t = Instant::now();
        let mut due = Due::new(t, 100.0, Duration::from_millis(100));
        due.advance(t, 1);
        due.set_interval(t, 0.5);
        assert_eq!(due.at(), t + Duration::from_millis(500));
    }

    #[test]
    fn what_was_not_used_is_due_again() {
        let t = Instant::now();
        let mut due = Due::new(t, 0.010, Duration::from_millis(100));
        due.advance(t, 1);
        due.retreat(1);
        assert_eq!(due.count(t), 1);
    }
}
