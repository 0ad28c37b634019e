//! Clocks, and sleeping as exactly as the kernel can.

use super::calls;
use std::time::{Duration, Instant};

/// Nanoseconds since 1970 by the system's clock, as packets and the kernel's stamps carry them.
pub fn now_ns() -> u64 {
    ns(calls::clock(libc::CLOCK_REALTIME))
}

/// Processor time this thread has used.
pub fn thread_cpu() -> Duration {
    calls::clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Sleeps until `until`. It wakes late by what the kernel and the host need; whoever must be exact ends the wait itself.
pub(crate) fn sleep_until(until: Instant) {
    let left = until.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        calls::sleep_until(calls::clock(libc::CLOCK_MONOTONIC) + left);
    }
}

/// Asks for timers that end when they should: 50 us late are allowed by default, 1 ns from now on (this thread).
pub(crate) fn tighten_timer() {
    calls::set_timer_slack(1);
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
