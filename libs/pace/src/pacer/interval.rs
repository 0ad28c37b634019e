//! The time between two bursts of one thread, kept in parts of a nanosecond.

use std::ops::Add;
use std::time::{Duration, Instant};

/// The lowest rate that is paced, bits per second of payload: 1 kbit/s.
pub const BIT_RATE_MIN: f64 = 1e3;
/// The highest rate that is paced, bits per second of payload: 400 Gbit/s.
pub const BIT_RATE_MAX: f64 = 400e9;
/// The largest payload of a packet in octets: what IPv4 leaves for UDP (65,535 less 20 less 8).
pub const MSS_MAX: u32 = 65_507;
/// The most packets that leave together: what one `sendmmsg` takes (`UIO_MAXIOV`).
pub const BURST_MAX: u32 = 1_024;
/// The most threads a rate is divided over.
pub const THREADS_MAX: u32 = 1_024;

/// 2^64: parts of a nanosecond.
const PARTS: f64 = 18_446_744_073_709_551_616.0;

/// The time T from one burst of a thread to its next: `MSS * 8 * burst * threads / rate`.
///
/// It is kept as a float would have it (a relative error below 3e-16) down to 2^-64 ns, and added without
/// rounding: at 3,000,000 packets/s a schedule is after ten hours less than a nanosecond from where it should
/// be. In whole nanoseconds it would be 0.1 % off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    whole: Duration,
    /// Of a nanosecond, in 2^-64.
    part: u64,
    mss: u32,
    burst: u32,
    /// Of this thread alone.
    bits_per_s: f64,
}

impl Interval {
    /// Of one of `threads` threads (1 to [`THREADS_MAX`]) that together send `rate_bits_per_s`
    /// ([`BIT_RATE_MIN`] to [`BIT_RATE_MAX`], payload only) in bursts of `burst` packets (1 to [`BURST_MAX`])
    /// of `mss_octets` (1 to [`MSS_MAX`]) payload each. `None` if one of them is out of its bounds, or the
    /// rate is not a number.
    pub fn of(mss_octets: u32, burst: u32, threads: u32, rate_bits_per_s: f64) -> Option<Interval> {
        let whole_numbers = (1..=MSS_MAX).contains(&mss_octets)
            && (1..=BURST_MAX).contains(&burst)
            && (1..=THREADS_MAX).contains(&threads);
        if !whole_numbers || !(BIT_RATE_MIN..=BIT_RATE_MAX).contains(&rate_bits_per_s) {
            return None;
        }
        let bits = u64::from(mss_octets) * 8 * u64::from(burst) * u64::from(threads);
        let bits_per_s = rate_bits_per_s / f64::from(threads);
        let none = Interval { whole: Duration::ZERO, part: 0, mss: mss_octets, burst, bits_per_s };
        Some(none.lasting(bits as f64 * 1e9 / rate_bits_per_s))
    }

    /// The same with another length; the casts saturate.
    fn lasting(self, nanos: f64) -> Interval {
        Interval { whole: Duration::from_nanos(nanos as u64), part: (nanos.fract() * PARTS) as u64, ..self }
    }

    /// `factor` times as long, at the same rate: a gap that was drawn.
    pub(super) fn scaled(self, factor: f64) -> Interval {
        if factor.is_nan() { self } else { self.lasting(self.seconds() * 1e9 * factor) }
    }

    /// In seconds.
    pub fn seconds(&self) -> f64 {
        self.whole.as_secs_f64() + self.part as f64 / PARTS * 1e-9
    }

    /// Rounded down to nanoseconds: zero above one burst a nanosecond.
    pub fn duration(&self) -> Duration {
        self.whole
    }

    /// Packets that leave together.
    pub fn burst(&self) -> u32 {
        self.burst
    }

    /// Payload of a packet, octets.
    pub fn mss_octets(&self) -> u32 {
        self.mss
    }

    /// What this thread alone is to send, bits of payload per second.
    pub fn bits_per_s(&self) -> f64 {
        self.bits_per_s
    }

    /// How much later thread number `thread` (from 0) of `threads` starts than the first one, so that their
    /// bursts take turns instead of leaving together. Zero for the first, below one interval for each.
    pub fn offset(&self, thread: u32, threads: u32) -> Duration {
        let threads = threads.max(1);
        Duration::from_secs_f64(self.seconds() * f64::from(thread % threads) / f64::from(threads))
    }

    /// Half of it, for the rule that never repays faster than twice the rate.
    pub(super) fn half(&self) -> Interval {
        let nanos = self.whole.as_nanos();
        let odd = if nanos % 2 == 1 { 1 << 63 } else { 0 };
        Interval { whole: self.whole / 2, part: self.part / 2 + odd, ..*self }
    }
}

/// An instant with its part of a nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    pub(super) at: Instant,
    /// In 2^-64 ns.
    part: u64,
}

impl From<Instant> for Point {
    fn from(at: Instant) -> Point {
        Point { at, part: 0 }
    }
}

impl Add<Interval> for Point {
    type Output = Point;

    /// Stays where it is if the sum leaves the range of the clock.
    fn add(self, interval: Interval) -> Point {
        let (part, carried) = self.part.overflowing_add(interval.part);
        let whole = interval.whole + Duration::from_nanos(u64::from(carried));
        self.at.checked_add(whole).map_or(self, |at| Point { at, part })
    }
}

impl Point {
    /// Seconds from `earlier` to here; negative if it is later.
    pub(super) fn seconds_since(&self, earlier: Point) -> f64 {
        let forth = self.at.saturating_duration_since(earlier.at).as_secs_f64();
        let back = earlier.at.saturating_duration_since(self.at).as_secs_f64();
        forth - back + (self.part as f64 - earlier.part as f64) / PARTS * 1e-9
    }

    /// Itself if that leaves the range of the clock.
    pub(super) fn later(self, by: Duration) -> Point {
        self.at.checked_add(by).map_or(self, |at| Point { at, ..self })
    }

    /// Its distance from `pivot` times `factor`; itself if that leaves the range of the clock.
    pub(super) fn stretched(&self, pivot: Instant, factor: f64) -> Point {
        let nanos = self.seconds_since(pivot.into()) * factor * 1e9;
        let whole = Duration::from_nanos(nanos.floor().abs() as u64);
        let at = if nanos < 0.0 { pivot.checked_sub(whole) } else { pivot.checked_add(whole) };
        at.map_or(*self, |at| Point { at, part: ((nanos - nanos.floor()) * PARTS) as u64 })
    }
}
