//! The rate to use while a peer throttles or falls behind: less at once, come back step by step.

use std::time::{Duration, Instant};

/// On throttling the rate is multiplied by this.
const DECREASE: f64 = 0.5;
/// On a strain that the peer has not named, it is multiplied by this.
const EASE: f64 = 0.8;
/// Throttled responses within this time of a decrease belong to the same overload: a window's worth of them
/// arrives at once, and must halve the rate once.
const DECREASE_GAP: Duration = Duration::from_secs(1);
/// Per second the rate grows by this part of the ceiling: from half to whole in ten seconds.
const INCREASE_PART_PER_S: f64 = 0.05;
/// The rate never falls below this part of the ceiling, so that the end of the throttling is noticed.
const FLOOR_PART: f64 = 1.0 / 64.0;
/// A strain alone never takes it below this part: what looks like one may be the peer's way.
const EASE_FLOOR_PART: f64 = 1.0 / 8.0;

/// Additive increase, multiplicative decrease: the rate to give to [`Limiter::learn`](crate::Limiter::learn)
/// while a carrier answers "throttled" or "queue full", says that it is congested, or answers later and
/// later. Never above the configured rate.
#[derive(Debug, Clone)]
pub struct Aimd {
    configured: f64,
    slowed: Option<Slowed>,
}

#[derive(Debug, Clone, Copy)]
struct Slowed {
    at: Instant,
    rate: f64,
    /// Where growth ends: the configured rate, or what was measured before the throttling of an unlimited
    /// route.
    ceiling: f64,
}

impl Aimd {
    /// `configured`: messages per second, 0 = unlimited.
    pub fn new(configured: f64) -> Self {
        Aimd { configured, slowed: None }
    }

    /// The rate to use at `now`, messages per second; 0 = unlimited.
    pub fn rate(&self, now: Instant) -> f64 {
        match &self.slowed {
            Some(slowed) if slowed.at(now) < slowed.ceiling => slowed.at(now),
            _ => self.configured,
        }
    }

    /// Whether the rate is below the configured one at `now`.
    pub fn is_slowed(&self, now: Instant) -> bool {
        self.slowed.is_some_and(|slowed| slowed.at(now) < slowed.ceiling)
    }

    /// The peer throttled. `measured`: messages per second really sent of late, from which an unlimited route
    /// starts; a limited one is also taken down to it if that is lower. Returns the new rate.
    pub fn throttled(&mut self, now: Instant, measured: f64) -> f64 {
        self.decrease(now, measured, DECREASE, FLOOR_PART)
    }

    /// The peer is under a strain that it has not called throttling ([`Strain`](crate::Strain), a congestion
    /// of 90 percent): a smaller step. Returns the new rate.
    pub fn strained(&mut self, now: Instant, measured: f64) -> f64 {
        self.decrease(now, measured, EASE, EASE_FLOOR_PART)
    }

    fn decrease(&mut self, now: Instant, measured: f64, factor: f64, floor_part: f64) -> f64 {
        if let Some(slowed) = &self.slowed
            && now.saturating_duration_since(slowed.at) < DECREASE_GAP
        {
            return self.rate(now);
        }
        let measured = if measured.is_finite() && measured > 0.0 { measured } else { f64::INFINITY };
        let before = self.rate(now);
        let current = match before {
            0.0 => measured,
            rate => rate.min(measured),
        };
        // An unlimited route of which nothing was measured: one per second, and come back from there.
        let current = if current.is_finite() { current } else { 1.0 };
        let ceiling = match (self.configured, &self.slowed) {
            (0.0, Some(slowed)) if self.is_slowed(now) => slowed.ceiling,
            (0.0, _) => current,
            (configured, _) => configured,
        };
        let rate = (current * factor).max(ceiling * floor_part);
        // A floor is no reason to go faster.
        let rate = if before > 0.0 { rate.min(before) } else { rate };
        self.slowed = Some(Slowed { at: now, rate, ceiling });
        rate
    }

    /// Another configured rate; a slowed route stays slowed, below the new one.
    pub fn set_configured(&mut self, configured: f64, now: Instant) {
        let rate = self.rate(now);
        if let Some(slowed) = &mut self.slowed
            && configured > 0.0
        {
            *slowed = Slowed { at: slowed.at.max(now), rate: rate.min(configured), ceiling: configured };
        }
        self.configured = configured;
    }
}

impl Slowed {
    fn at(&self, now: Instant) -> f64 {
        let grown = now.saturating_duration_since(self.at).as_secs_f64() * INCREASE_PART_PER_S * self.ceiling;
        (self.rate + grown).min(self.ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn throttling_halves_once_per_overload_and_comes_back_in_ten_seconds() {
        let t = Instant::now();
        let mut aimd = Aimd::new(100.0);
        for _ in 0..500 {
            aimd.throttled(t, 100.0);
        }
        assert_eq!(aimd.rate(t), 50.0);
        assert!((aimd.rate(t + SECOND * 5) - 75.0).abs() < 1e-9);
        assert!(aimd.is_slowed(t + SECOND * 9));
        for seconds in [10, 11, 3_600] {
            assert_eq!(aimd.rate(t + SECOND * seconds), 100.0, "after {seconds} s");
            assert!(!aimd.is_slowed(t + SECOND * seconds));
        }
    }

    #[test]
    fn throttling_that_goes_on_ends_at_the_floor_not_at_zero() {
        let t = Instant::now();
        let mut aimd = Aimd::new(64.0);
        for second in 0..60 {
            aimd.throttled(t + SECOND * second, 64.0);
        }
        let rate = aimd.rate(t + SECOND * 59);
        assert!((1.0..=6.5).contains(&rate), "{rate}");
    }

    #[test]
    fn an_unlimited_route_slows_from_what_was_measured_and_becomes_unlimited_again() {
        let t = Instant::now();
        let mut aimd = Aimd::new(0.0);
        assert_eq!(aimd.throttled(t, 3_000.0), 1_500.0);
        assert!((aimd.rate(t + SECOND) - 1_650.0).abs() < 1e-6);
        assert_eq!(aimd.rate(t + SECOND * 11), 0.0);
        let mut unmeasured = Aimd::new(0.0);
        assert_eq!(unmeasured.throttled(t, f64::NAN), 0.5);
    }

    #[test]
    fn a_strain_takes_smaller_steps_and_never_starves_a_route() {
        let t = Instant::now();
        let mut aimd = Aimd::new(100.0);
        assert_eq!(aimd.strained(t, 100.0), 80.0);
        assert_eq!(aimd.strained(t + SECOND / 2, 100.0), 82.5, "the same strain is one");
        for second in 1..60 {
            aimd.strained(t + SECOND * second, 100.0);
        }
        let rate = aimd.rate(t + SECOND * 59);
        assert!((12.5..=25.0).contains(&rate), "{rate}");
        // Below its floor by throttling: a strain does not lift it.
        for second in 60..70 {
            aimd.throttled(t + SECOND * second, 100.0);
        }
        let throttled = aimd.rate(t + SECOND * 70);
        assert!(throttled < 12.5 && aimd.strained(t + SECOND * 70, 100.0) <= throttled);
    }

    #[test]
    fn the_rate_is_never_above_the_configured_one() {
        let t = Instant::now();
        let mut aimd = Aimd::new(10.0);
        aimd.throttled(t, 5_000.0);
        assert_eq!(aimd.rate(t), 5.0);
        aimd.set_configured(4.0, t);
        assert_eq!(aimd.rate(t), 4.0);
        aimd.set_configured(40.0, t);
        assert!(aimd.rate(t) <= 40.0);
        aimd.set_configured(2.0, t + SECOND * 100);
        assert_eq!(aimd.rate(t + SECOND * 100), 2.0);
    }
}
