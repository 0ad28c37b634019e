//! Pacer computes the due time of a sender's next burst.
//!
//! A [`Pacer`] is not the limiter's due time: that one hands out several messages at once, takes unused ones
//! back, needs whole nanoseconds only and never has to tell what it gave up, since a message waits. A burst
//! of a paced sender that is given up is never sent, and must be counted; one burst is due at a time; and at
//! millions in a second a nanosecond is a percent. What they have in common, the earlier of two instants, is
//! one line.

mod interval;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use interval::Point;
pub use interval::{BIT_RATE_MAX, BIT_RATE_MIN, BURST_MAX, Interval, MSS_MAX, THREADS_MAX};

/// How far the bounded rule falls behind before it gives bursts up: some wake-ups that were late, not a
/// stall.
pub const DEBT: Duration = Duration::from_millis(2);

/// What a late burst does to the ones after it. T is the interval; the first two are the published ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacingRule {
    /// Next due = previous due + T: whatever the delay, all of it is caught up, at once. Reaches the rate
    /// exactly; bursts after a delay.
    CatchUp,
    /// Next due = now + T: nothing is caught up. Never above the rate; below it by what each wake-up is late.
    Capped,
    /// Next due = the later of previous due + T and now - `debt`, and never closer than T/2 to the burst
    /// before: reaches the rate through small delays, never above twice of it, and gives up what a long one
    /// has cost.
    Bounded {
        /// How far behind it may be after a burst.
        debt: Duration,
    },
}

impl Default for PacingRule {
    /// Bounded, with [`DEBT`].
    fn default() -> Self {
        PacingRule::Bounded { debt: DEBT }
    }
}

/// The schedule of one sender thread: one burst each [`Interval`], by a [`PacingRule`].
///
/// The caller's part: wait until [`due`](Self::due), send one burst (of [`Interval::burst`] packets), report
/// with [`sent`](Self::sent) and an instant taken just before the send. A burst that the socket refused is
/// reported as well: its time is used up, and the caller counts it as refused.
///
/// At any instant: bursts reported + [`written_off`](Self::written_off) + [`lag`](Self::lag) / T = time since
/// the first was due / T, so what was asked for and not sent can be told exactly.
#[derive(Debug, Clone)]
pub struct Pacer {
    rule: PacingRule,
    interval: Interval,
    /// When the next burst should leave by the rate asked for.
    schedule: Point,
    /// Not before this, whatever is owed.
    earliest: Option<Point>,
    written_off: f64,
    packets_written_off: f64,
}

impl Pacer {
    /// The first burst is due at `first`.
    pub fn new(rule: PacingRule, first: Instant, interval: Interval) -> Pacer {
        Pacer {
            rule,
            interval,
            schedule: first.into(),
            earliest: None,
            written_off: 0.0,
            packets_written_off: 0.0,
        }
    }

    /// When the next burst may leave; it may be in the past. Changes only with [`sent`](Self::sent) and
    /// [`set_interval`](Self::set_interval). Rounded down to a nanosecond, which does not add up.
    pub fn due(&self) -> Instant {
        self.earliest.map_or(self.schedule, |earliest| earliest.max(self.schedule)).at
    }

    /// The interval in force.
    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// The rule it keeps.
    pub fn rule(&self) -> PacingRule {
        self.rule
    }

    /// A burst left at `now`: moves the due time. An instant before the due time counts as the due time.
    pub fn sent(&mut self, now: Instant) {
        self.moved(now, self.interval);
    }

    /// As [`sent`](Self::sent), with a gap of `factor` intervals to the next one (not negative; what is not a
    /// number counts as 1): see [`Gaps`](crate::Gaps). What is written off still counts in whole intervals.
    pub fn sent_with_gap(&mut self, now: Instant, factor: f64) {
        self.moved(now, self.interval.scaled(factor));
    }

    fn moved(&mut self, now: Instant, gap: Interval) {
        let left = self.schedule.max(now.into());
        let next = self.schedule + gap;
        let (schedule, earliest) = match self.rule {
            PacingRule::CatchUp => (next, None),
            PacingRule::Capped => (left + gap, None),
            PacingRule::Bounded { debt } => {
                let oldest = now.checked_sub(debt).map(Point::from);
                (oldest.map_or(next, |oldest| oldest.max(next)), Some(left + gap.half()))
            }
        };
        let lost = schedule.seconds_since(next) / self.interval.seconds();
        self.written_off += lost;
        self.packets_written_off += lost * f64::from(self.interval.burst());
        (self.schedule, self.earliest) = (schedule, earliest);
    }

    /// For `length` nothing was asked for: what was due then is due as much later, and what was owed stays
    /// owed.
    pub fn paused(&mut self, length: Duration) {
        self.schedule = self.schedule.later(length);
        self.earliest = self.earliest.map(|earliest| earliest.later(length));
    }

    /// Another interval, from `now` on (the instant of the change, which may lie before or after the last
    /// burst). What of the next burst's time has passed stays passed, in proportion: from 1 packet/s to
    /// 1,000/s the next one does not wait for the slow schedule, and what is owed is neither more nor less.
    /// Another size of bursts alone does not move the next one.
    pub fn set_interval(&mut self, now: Instant, interval: Interval) {
        let factor = self.interval.bits_per_s() / interval.bits_per_s();
        if factor != 1.0 {
            self.schedule = self.schedule.stretched(now, factor);
            self.earliest = self.earliest.map(|earliest| earliest.stretched(now, factor));
        }
        self.interval = interval;
    }

    /// Bursts given up so far, in fractions too: what the bounded rule has not repaid and the capped rule has
    /// been late. Each counts as one of the size that was in force when it was given up; see
    /// [`packets_written_off`](Self::packets_written_off).
    pub fn written_off(&self) -> f64 {
        self.written_off
    }

    /// Packets given up so far: right over changes of the burst's size as well.
    pub fn packets_written_off(&self) -> f64 {
        self.packets_written_off
    }

    /// How late `now` is for the next burst by the rate asked for, in seconds; negative where it is early. Of
    /// the bounded rule this is what is owed, also while the next burst has to keep its distance from the
    /// last one.
    pub fn lag(&self, now: Instant) -> f64 {
        Point::from(now).seconds_since(self.schedule)
    }

    /// Bursts asked for until `now` and neither sent nor given up, in fractions; 0 where it is early.
    pub fn owed(&self, now: Instant) -> f64 {
        (self.lag(now) / self.interval.seconds()).max(0.0)
    }
}
