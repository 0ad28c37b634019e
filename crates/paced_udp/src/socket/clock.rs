//! Clocks, and sleeping as exactly as the kernel can.

use super::calls;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Nanoseconds since 1970 by the system's clock, as packets and the kernel's stamps carry them.
pub fn now_ns() -> u64 {
    ns(calls::clock(libc::CLOCK_REALTIME))
}

/// Processor time this thread has used.
pub fn thread_cpu() -> Duration {
    calls::clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// How long a thread was ready to run and had no processor, as the scheduler counts it.
#[derive(Debug, Default)]
pub(crate) struct ReadyClock(Option<File>);

impl ReadyClock {
    /// Of the thread that calls. The file is kept open: it is read two hundred times a second.
    pub fn of_this_thread() -> ReadyClock {
        ReadyClock(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Since the thread began; nothing where the kernel does not count it.
    pub fn now(&self) -> Option<Duration> {
        let mut octets = [0; 64];
        let len = self.0.as_ref()?.read_at(&mut octets, 0).ok()?;
        ready(std::str::from_utf8(&octets[..len]).ok()?)
    }
}

/// `on a processor, waiting for one, times it ran`, in nanoseconds (the kernel's sched-stats.rst).
fn ready(text: &str) -> Option<Duration> {
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Sleeps until `until`. It wakes late by what the kernel and the host need; whoever must be exact ends the
/// wait itself.
pub(crate) fn sleep_until(until: Instant) {
    let left = until.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        calls::sleep_until(calls::clock(libc::CLOCK_MONOTONIC) + left);
    }
}

/// Asks for timers that end when they should: 50 us late are allowed by default, 1 ns from now on (this
/// thread).
pub(crate) fn tighten_timer() {
    calls::set_timer_slack(1);
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_scheduler_tells_of_a_wait_for_a_processor_is_read() {
        assert_eq!(ready("558888 2067316 2\n"), Some(Duration::from_nanos(2_067_316)));
        assert_eq!(ready("558888"), None);
        assert_eq!(ReadyClock::default().now(), None, "a kernel that does not count it");
        let clock = ReadyClock::of_this_thread();
        let before = clock.now();
        std::thread::yield_now();
        assert!(clock.now() >= before, "it is read anew each time");
    }
}
