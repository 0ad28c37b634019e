//! One limit for all sessions of a route, and what waits because the carrier wants less speed.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pace::{Aimd, Limiter, Strain};

use super::submit::Sending;

/// A throttled part is tried again after so long, times how often that happened …
const THROTTLE_PAUSE: Duration = Duration::from_secs(1);
/// … up to this factor.
const THROTTLE_FACTOR_MAX: u32 = 10;
/// After so many throttled tries the part counts as refused for now.
pub(super) const THROTTLE_TRIES_MAX: u8 = 30;
/// While slowed down, the rate is looked at this often.
const RATE_LOOK: Duration = Duration::from_millis(100);
/// From this rate on, a route that was quiet for a minute has nothing in its window.
const QUIET_RATE_MIN: f64 = 0.1;
/// The real rate is measured over this time.
const METER: Duration = Duration::from_secs(1);

/// Limit, slow-down and retries of a route.
pub(super) struct Pace {
    limiter: Limiter,
    aimd: Aimd,
    strain: Strain,
    retries: VecDeque<(Instant, Sending)>,
    meter: Meter,
    looked: Instant,
}

/// A 5.0 carrier at this congestion is near its limit, in percent (5.0 §4.8.4.18).
const CONGESTION_NEAR: u8 = 90;
/// And here it is over it.
const CONGESTION_FULL: u8 = 100;

/// What a session heard of late.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heard {
    /// Responses in time, and time-outs.
    pub(super) count: u32,
    /// What they took together.
    waited: Duration,
    quickest: Duration,
    congestion: u8,
}

impl Heard {
    /// One more response.
    pub(super) fn add(&mut self, waited: Duration, congestion: Option<u8>) {
        self.quickest = if self.count == 0 { waited } else { self.quickest.min(waited) };
        self.count += 1;
        self.waited += waited;
        self.congestion = self.congestion.max(congestion.unwrap_or(0));
    }
}

/// How many parts were written of late.
struct Meter {
    from: Instant,
    count: usize,
    last: f64,
}

impl Pace {
    /// Unless it was quiet, the process before us may have written until a moment ago: a second passes without credit.
    pub(super) fn new(rate: f64, quiet: bool, now: Instant) -> Pace {
        let mut limiter = Limiter::new(rate, now);
        // A slow route's window is longer than what a quiet minute says.
        if !quiet || rate < QUIET_RATE_MIN {
            limiter.start(now);
        }
        let meter = Meter { from: now, count: 0, last: 0.0 };
        let (aimd, strain) = (Aimd::new(rate), Strain::new());
        Pace { limiter, aimd, strain, retries: VecDeque::new(), meter, looked: now }
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
        let rate = self.aimd.throttled(now, self.measured());
        self.limiter.learn(rate, now);
        sending.tries = sending.tries.saturating_add(1);
        if sending.tries >= THROTTLE_TRIES_MAX {
            return (Some(sending), rate);
        }
        let due = now + THROTTLE_PAUSE * u32::from(sending.tries).min(THROTTLE_FACTOR_MAX);
        let at = self.retries.partition_point(|(other, _)| *other <= due);
        self.retries.insert(at, (due, sending));
        (None, rate)
    }

    /// What a session heard; the new rate if that is a reason to slow down.
    pub(super) fn heard(&mut self, heard: Heard, now: Instant) -> Option<f64> {
        let strained = self.strain.heard(now, heard.count, heard.waited, heard.quickest);
        let rate = match heard.congestion {
            CONGESTION_FULL.. => self.aimd.throttled(now, self.measured()),
            CONGESTION_NEAR.. => self.aimd.strained(now, self.measured()),
            _ if strained => self.aimd.strained(now, self.measured()),
            _ => return None,
        };
        if rate == self.limiter.rate() {
            return None;
        }
        self.limiter.learn(rate, now);
        Some(rate)
    }

    /// Another rate was agreed with the carrier; the one in force now.
    pub(super) fn set_configured(&mut self, rate: f64, now: Instant) -> f64 {
        self.aimd.set_configured(rate, now);
        let rate = self.aimd.rate(now);
        self.limiter.set_rate(rate, now);
        rate
    }

    /// Parts per second of late.
    fn measured(&self) -> f64 {
        self.meter.last.max(self.meter.count as f64)
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
        self.limiter.learn(rate, now);
        Some(rate)
    }
}
