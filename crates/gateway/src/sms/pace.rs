//! One limit for all sessions of a route, and what waits because the carrier wants less speed.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pace::{Aimd, Limiter};

use super::submit::Sending;

/// A throttled part is tried again after so long, times how often that happened …
const THROTTLE_PAUSE: Duration = Duration::from_secs(1);
/// … up to this factor.
const THROTTLE_FACTOR_MAX: u32 = 10;
/// After so many throttled tries the part counts as refused for now.
pub(super) const THROTTLE_TRIES_MAX: u8 = 30;
/// While slowed down, the rate is looked at this often.
const RATE_LOOK: Duration = Duration::from_millis(100);
/// The real rate is measured over this time.
const METER: Duration = Duration::from_secs(1);

/// Limit, slow-down and retries of a route.
pub(super) struct Pace {
    limiter: Limiter,
    aimd: Aimd,
    retries: VecDeque<(Instant, Sending)>,
    meter: Meter,
    looked: Instant,
}

/// How many parts were written of late.
struct Meter {
    from: Instant,
    count: usize,
    last: f64,
}

impl Pace {
    /// The process before us may have written until a moment ago: a second passes without credit.
    pub(super) fn new(rate: f64, now: Instant) -> Pace {
        let mut limiter = Limiter::new(rate, now);
        limiter.start(now);
        let meter = Meter { from: now, count: 0, last: 0.0 };
        Pace { limiter, aimd: Aimd::new(rate), retries: VecDeque::new(), meter, looked: now }
    }

    /// How many parts may be written now; each is then told by `wrote` or `unused`.
    pub(super) fn grant(&mut self, now: Instant, want: usize) -> usize {
        self.limiter.grant(now, want)
    }

    pub(super) fn unused(&mut self, parts: usize) {
        self.limiter.unused(parts);
    }

    pub(super) fn wrote(&mut self, now: Instant, parts: usize) {
        self.limiter.wrote(now, parts);
        let meter = &mut self.meter;
        meter.count += parts;
        let elapsed = now.saturating_duration_since(meter.from);
        if elapsed >= METER {
            *meter = Meter { from: now, count: 0, last: meter.count as f64 / elapsed.as_secs_f64() };
        }
    }

    /// When something may be granted again.
    pub(super) fn next_grant(&self, now: Instant) -> Option<Instant> {
        self.limiter.next(now)
    }

    /// The carrier wants less speed: the part waits, and the route slows down. Gives the part back if it has waited too
    /// often; says the new rate.
    pub(super) fn throttled(&mut self, mut sending: Sending, now: Instant) -> (Option<Sending>, f64) {
        let measured = self.meter.last.max(self.meter.count as f64);
        let rate = self.aimd.throttled(now, measured);
        self.limiter.set_rate(rate, now);
        sending.tries = sending.tries.saturating_add(1);
        if sending.tries >= THROTTLE_TRIES_MAX {
            return (Some(sending), rate);
        }
        let due = now + THROTTLE_PAUSE * u32::from(sending.tries).min(THROTTLE_FACTOR_MAX);
        let at = self.retries.partition_point(|(other, _)| *other <= due);
        self.retries.insert(at, (due, sending));
        (None, rate)
    }

    /// A part that was not written after all goes first, by whatever session.
    pub(super) fn put_aside(&mut self, sending: Sending, now: Instant) {
        self.retries.push_front((now, sending));
    }

    pub(super) fn take_due(&mut self, now: Instant) -> Option<Sending> {
        if self.retries.front()?.0 > now {
            return None;
        }
        self.retries.pop_front().map(|(_, sending)| sending)
    }

    pub(super) fn take_all(&mut self) -> Vec<Sending> {
        self.retries.drain(..).map(|(_, sending)| sending).collect()
    }

    pub(super) fn next_retry(&self) -> Option<Instant> {
        self.retries.front().map(|(due, _)| *due)
    }

    /// The new rate if it changed on the way back to the configured one.
    pub(super) fn recover(&mut self, now: Instant) -> Option<f64> {
        if now.saturating_duration_since(self.looked) < RATE_LOOK {
            return None;
        }
        self.looked = now;
        let rate = self.aimd.rate(now);
        if rate == self.limiter.rate() {
            return None;
        }
        self.limiter.set_rate(rate, now);
        Some(rate)
    }
}
