//! One limit for all sessions of a route, and what waits because the carrier wants less speed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pace::{Aimd, Limiter, Strain};

use super::submit::Sending;
use crate::cluster::{RateShareView, Share, SharedLimiter, rate_here};

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
    /// What was agreed with the carrier.
    agreed: f64,
    /// This process's part of it, where there are others.
    metered: SharedLimiter,
    aimd: Aimd,
    strain: Strain,
    retries: VecDeque<(Instant, Sending)>,
    meter: WriteMeter,
    looked: Instant,
}

/// A 5.0 carrier at this congestion is near its limit, in percent (5.0 §4.8.4.18).
const CONGESTION_NEAR: u8 = 90;
/// And here it is over it.
const CONGESTION_FULL: u8 = 100;

/// What a session heard of late.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RecentThrottling {
    /// Responses in time, and time-outs.
    pub(super) count: u32,
    /// What they took together.
    waited: Duration,
    quickest: Duration,
    congestion: u8,
}

impl RecentThrottling {
    /// One more response.
    pub(super) fn add(&mut self, waited: Duration, congestion: Option<u8>) {
        self.quickest = if self.count == 0 { waited } else { self.quickest.min(waited) };
        self.count += 1;
        self.waited += waited;
        self.congestion = self.congestion.max(congestion.unwrap_or(0));
    }
}

/// How many parts were written of late.
struct WriteMeter {
    from: Instant,
    count: usize,
    last: f64,
}

impl Pace {
    /// Unless it was quiet, the process before us may have written until a moment ago: a second passes
    /// without credit.
    pub(super) fn new(rate: f64, quiet: bool, now: Instant) -> Pace {
        let mut limiter = Limiter::new(rate, now);
        // A slow route's window is longer than what a quiet minute says.
        if !quiet || rate < QUIET_RATE_MIN {
            limiter.start(now);
        }
        let meter = WriteMeter { from: now, count: 0, last: 0.0 };
        let (aimd, strain) = (Aimd::new(rate), Strain::new());
        let metered = SharedLimiter::default();
        Pace { limiter, agreed: rate, metered, aimd, strain, retries: VecDeque::new(), meter, looked: now }
    }

    /// Other processes have the same route: nothing is granted but what the share says.
    pub(super) fn share(&mut self, share: Arc<Share>, now: Instant) {
        self.metered.begin(share, &mut self.limiter, now);
    }

    /// What this process may use of the rate now, or will after a moment, parts per second; and when
    /// something may be granted, if it may use any.
    pub(super) fn outlook(&mut self, now: Instant) -> RateShareView {
        self.metered.outlook(&mut self.limiter, self.agreed, now)
    }

    /// How many parts may be written now; each is then told by `wrote` or `unused`.
    pub(super) fn grant(&mut self, now: Instant, want: usize) -> usize {
        self.metered.keep(&mut self.limiter, self.agreed, now);
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
            *meter = WriteMeter { from: now, count: 0, last: meter.count as f64 / elapsed.as_secs_f64() };
        }
    }

    /// When something may be granted again.
    pub(super) fn next_grant(&self, now: Instant) -> Option<Instant> {
        self.limiter.next(now)
    }

    /// The carrier wants less speed: the part waits, and the route slows down. Gives the part back if it has
    /// waited too often; says the new rate.
    pub(super) fn throttled(&mut self, mut sending: Sending, now: Instant) -> (Option<Sending>, f64) {
        let rate = self.aimd.throttled(now, self.measured());
        self.limiter.learn(rate, now);
        let rate = rate_here(&self.limiter);
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
    pub(super) fn heard(&mut self, heard: RecentThrottling, now: Instant) -> Option<f64> {
        let strained = self.strain.heard(now, heard.count, heard.waited, heard.quickest);
        let rate = match heard.congestion {
            CONGESTION_FULL.. => self.aimd.throttled(now, self.measured()),
            CONGESTION_NEAR.. => self.aimd.strained(now, self.measured()),
            _ if strained => self.aimd.strained(now, self.measured()),
            _ => return None,
        };
        if rate == self.limiter.whole_rate() {
            return None;
        }
        self.limiter.learn(rate, now);
        Some(rate_here(&self.limiter))
    }

    /// Another rate was agreed with the carrier; the one in force now.
    pub(super) fn set_configured(&mut self, rate: f64, now: Instant) -> f64 {
        self.agreed = rate;
        self.metered.set_rate(rate);
        self.aimd.set_configured(rate, now);
        let rate = self.aimd.rate(now);
        self.limiter.set_rate(rate, now);
        rate_here(&self.limiter)
    }

    /// Parts per second of late, as if all of the route were here.
    fn measured(&self) -> f64 {
        let measured = self.meter.last.max(self.meter.count as f64);
        let share = self.limiter.share();
        if share > 0.0 { measured / share } else { measured }
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
        if rate == self.limiter.whole_rate() {
            return None;
        }
        self.limiter.learn(rate, now);
        Some(rate_here(&self.limiter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a carrier answers to what was written in a tick of 10 ms.
    type Carrier = fn(second: usize, rate: f64) -> Answer;

    #[derive(Clone, Copy)]
    enum Answer {
        /// After so many milliseconds.
        Yes(u64),
        /// At this congestion, in percent.
        Congested(u8),
        /// It wants less speed.
        Throttled,
    }

    fn sending() -> Sending {
        Sending::for_tests()
    }

    /// Parts written in each second of a simulated minute, always with work.
    fn minute(configured: f64, carrier: Carrier) -> Vec<usize> {
        let start = Instant::now();
        let mut pace = Pace::new(configured, true, start);
        let mut seconds = vec![0; 60];
        for tick in 0..6_000_u32 {
            let now = start + Duration::from_millis(10) * tick;
            let second = tick as usize / 100;
            let granted = pace.grant(now, 1_000);
            pace.wrote(now, granted);
            seconds[second] += granted;
            let mut heard = RecentThrottling::default();
            for _ in 0..granted {
                match carrier(second, pace.limiter.rate()) {
                    Answer::Yes(ms) => heard.add(Duration::from_millis(ms), None),
                    Answer::Congested(percent) => heard.add(Duration::from_millis(5), Some(percent)),
                    Answer::Throttled => {
                        pace.throttled(sending(), now);
                        pace.take_all();
                    }
                }
            }
            if heard.count > 0 {
                pace.heard(heard, now);
            }
            pace.recover(now);
            assert!(configured == 0.0 || pace.limiter.rate() <= configured, "never above what was agreed");
        }
        seconds
    }

    fn mean(seconds: &[usize]) -> f64 {
        seconds.iter().sum::<usize>() as f64 / seconds.len() as f64
    }

    #[test]
    fn a_route_finds_the_speed_of_its_carrier_and_comes_back_when_it_may() {
        let well = minute(100.0, |_, _| Answer::Yes(5));
        assert!(mean(&well) >= 99.0 && well.iter().all(|parts| *parts <= 100), "{well:?}");
        // It takes 40 a second, whatever was agreed.
        let throttled = minute(100.0, |_, rate| if rate > 40.0 { Answer::Throttled } else { Answer::Yes(5) });
        assert!((25.0..=45.0).contains(&mean(&throttled[10..])), "{throttled:?}");
        // It had a bad quarter of a minute.
        let bad = minute(
            100.0,
            |second, _| if (5..20).contains(&second) { Answer::Throttled } else { Answer::Yes(5) },
        );
        assert!(mean(&bad[10..20]) <= 15.0 && mean(&bad[41..]) >= 98.0, "{bad:?}");
        // It says that it is nearly full above 60, and that it is over 80.
        let congested = minute(100.0, |_, rate| match rate {
            80.0.. => Answer::Congested(100),
            60.0.. => Answer::Congested(92),
            _ => Answer::Congested(70),
        });
        assert!((45.0..=62.0).contains(&mean(&congested[10..])), "{congested:?}");
        // From some time on it answers in time up to 50 only, and seconds later above.
        let late =
            minute(100.0, |second, rate| Answer::Yes(if second > 5 && rate > 50.0 { 2_000 } else { 20 }));
        assert!((35.0..=60.0).contains(&mean(&late[15..])), "{late:?}");
    }

    #[test]
    fn a_route_without_a_limit_learns_one_and_forgets_it() {
        // Ten thousand in a tick are more than anybody is sent here: a thousand is.
        let seconds = minute(0.0, |second, _| if second == 10 { Answer::Throttled } else { Answer::Yes(5) });
        assert_eq!(seconds[5], 100_000);
        assert!(seconds[11] < 80_000 && seconds[11] > 30_000, "{seconds:?}");
        assert_eq!(seconds[40], 100_000);
    }
}
