//! Pace: the messages that wait because the carrier wants less speed, over the limit of the account.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pace::Strain;

use super::submit::Sending;
use crate::dispatcher::{AccountLimit, FirstSecond, SlowDown};

/// A throttled part is tried again after so long, times how often that happened …
const THROTTLE_PAUSE: Duration = Duration::from_secs(1);
/// … up to this factor.
const THROTTLE_FACTOR_MAX: u32 = 10;
/// After so many throttled tries the part counts as refused for now.
pub(super) const THROTTLE_TRIES_MAX: u8 = 30;
/// While slowed down, the rate is looked at this often.
pub(super) const RATE_LOOK: Duration = Duration::from_millis(100);
/// From this rate on, a route that was quiet for a minute has nothing in its window.
const QUIET_RATE_MIN: f64 = 0.1;

/// Slow-down and retries of a route, over the limit of its account.
pub(super) struct Pace {
    account: Arc<AccountLimit>,
    strain: Strain,
    retries: VecDeque<(Instant, Sending)>,
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

impl Pace {
    /// Unless it was quiet, the process before us may have written until a moment ago: a second passes
    /// without credit.
    pub(super) fn new(account: Arc<AccountLimit>, quiet: bool, now: Instant) -> Pace {
        // A slow route's window is longer than what a quiet minute says.
        let rate = account.rate();
        if !quiet || rate < QUIET_RATE_MIN {
            account.start(now);
        }
        Pace { account, strain: Strain::new(), retries: VecDeque::new() }
    }

    /// The carrier wants less speed: the part waits, and the route slows down. Gives the part back if it has
    /// waited too often; says the new rate.
    pub(super) fn throttled(&mut self, mut sending: Sending, now: Instant) -> (Option<Sending>, f64) {
        self.account.slow_down(SlowDown::Throttled, FirstSecond::Counted, now);
        let rate = self.account.rate();
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
        let step = match heard.congestion {
            CONGESTION_FULL.. => SlowDown::Throttled,
            CONGESTION_NEAR.. => SlowDown::Strained,
            _ if strained => SlowDown::Strained,
            _ => return None,
        };
        self.account.slow_down(step, FirstSecond::Counted, now)
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
        let account = Arc::new(AccountLimit::new("carrier", configured, start));
        let mut pace = Pace::new(Arc::clone(&account), true, start);
        let mut seconds = vec![0; 60];
        for tick in 0..6_000_u32 {
            let now = start + Duration::from_millis(10) * tick;
            let second = tick as usize / 100;
            let granted = account.grant("carrier", 1_000, now);
            account.wrote(granted, now);
            seconds[second] += granted;
            let mut heard = RecentThrottling::default();
            for _ in 0..granted {
                match carrier(second, account.rate()) {
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
            account.recover(RATE_LOOK, now);
            assert!(configured == 0.0 || account.rate() <= configured, "never above what was agreed");
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
