//! Request rate of each token, with a burst above it.

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::num::NonZeroU32;
use std::time::Duration;

/// Keys the rate limiter remembers before it drops those at rest.
const LIMITER_KEYS_MAX: usize = 10_000;

/// Rate of requests that each token may make.
pub(crate) struct RequestRate {
    /// Requests a second; 0 is unlimited.
    pub per_s: u32,
    inner: Option<DefaultKeyedRateLimiter<String>>,
    clock: DefaultClock,
}

impl RequestRate {
    /// No limit if `per_s` is 0.
    pub(crate) fn new(per_s: u32, burst: u32) -> RequestRate {
        let quota = NonZeroU32::new(per_s)
            .map(|per_s| Quota::per_second(per_s).allow_burst(NonZeroU32::new(burst).unwrap_or(per_s)));
        RequestRate { per_s, inner: quota.map(RateLimiter::keyed), clock: DefaultClock::default() }
    }

    /// Counts one request.
    ///
    /// # Errors
    /// The time to wait, if the token is above its rate.
    pub(crate) fn check(&self, key: &str) -> Result<(), Duration> {
        let Some(limiter) = &self.inner else { return Ok(()) };
        if limiter.len() > LIMITER_KEYS_MAX {
            limiter.retain_recent();
        }
        limiter.check_key(&key.to_owned()).map_err(|no| no.wait_time_from(self.clock.now()))
    }
}
