//! Rates over time: what a paced sender is asked for, from its first moment on.

#[cfg(test)]
mod tests;
mod text;

use std::f64::consts::TAU;
use std::time::Duration;

pub use text::{ProfileError, parse_bit_rate};

/// The longest time a profile can name.
pub const PROFILE_TIME_MAX: Duration = Duration::from_secs(366 * 86_400);
/// The most steps, and rows of a trace.
pub const PROFILE_STEPS_MAX: usize = 1_000_000;
/// A ramp and a sine change all the time: this often a new rate is taken. A ramp from 0 to 10 Gbit/s in a
/// second moves by 0.1 % of its end meanwhile.
pub const GRAIN: Duration = Duration::from_millis(1);

/// A rate for each moment since the start, bits of payload per second. Each is 0 (a pause) or from
/// [`BIT_RATE_MIN`](crate::BIT_RATE_MIN) to [`BIT_RATE_MAX`](crate::BIT_RATE_MAX).
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Constant(f64),
    /// The first from 0 on, each later than the one before.
    Steps(Vec<RateStep>),
    Ramp {
        from: f64,
        to: f64,
        over: Duration,
    },
    Sine {
        mean: f64,
        swing: f64,
        period: Duration,
    },
    Poisson(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct RateStep {
    from: Duration,
    rate: f64,
    /// Bits asked for until it begins.
    before: f64,
}

impl Profile {
    /// The same rate all the time; `None` if it is out of bounds.
    pub fn constant(rate_bits_per_s: f64) -> Option<Profile> {
        let rate = text::in_bounds(rate_bits_per_s)?;
        Some(Profile { shape: Shape::Constant(rate) })
    }

    /// From the command line's form. `read` gives the text of a file by its name, or why it cannot be read.
    ///
    /// | text | rate |
    /// |---|---|
    /// | `100M` | the same all the time |
    /// | `steps:0s=10M,5s=10G,8s=0` | 10 Mbit/s, 10 Gbit/s after 5 s, nothing after 8 s |
    /// | `ramp:10M..10G/30s` | evenly from one to the other in 30 s, then the latter |
    /// | `sine:1G+-500M/10s` | around 1 Gbit/s, a wave in 10 s, beginning upward |
    /// | `poisson:1G` | 1 Gbit/s in packets that come by chance |
    /// | `trace:FILE` | rows of `seconds,bits_per_s`: see [`trace`](Self::trace) |
    ///
    /// Rates: bits per second with `k`, `M`, `G` for 10^3, 10^6, 10^9; see [`parse_bit_rate`]. Times: `us`,
    /// `ms`, `s`, `min`, `h`; seconds without one.
    ///
    /// # Errors
    /// What is wrong, in which part of the text or line and field of the file.
    pub fn parse(
        text: &str,
        read: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Profile, ProfileError> {
        text::profile(text, read)
    }

    /// From the rows of a recorded trace, `seconds,bits_per_s` each: from that time on that rate (`10M` will
    /// do as well as 10000000), the last one for good. The first is at 0; times rise. A first line with the
    /// names of the columns, empty lines and lines that begin with `#` are left out.
    ///
    /// # Errors
    /// What is wrong, with line and field.
    pub fn trace(text: &str) -> Result<Profile, ProfileError> {
        text::trace(text)
    }

    /// The rate at `elapsed` since the start, bits per second; 0 is a pause. Of packets by chance the mean:
    /// [`is_random`](Self::is_random).
    pub fn rate_at(&self, elapsed: Duration) -> f64 {
        let at = elapsed.as_secs_f64();
        match &self.shape {
            Shape::Constant(rate) | Shape::Poisson(rate) => *rate,
            Shape::Steps(steps) => step(steps, elapsed).rate,
            Shape::Ramp { from, to, over } if elapsed < *over => from + (to - from) * at / over.as_secs_f64(),
            Shape::Ramp { to, .. } => *to,
            Shape::Sine { mean, swing, period } => mean + swing * (TAU * at / period.as_secs_f64()).sin(),
        }
    }

    /// When, after `elapsed`, the rate is to be asked for again: the next step, or [`GRAIN`] later where it
    /// changes all the time. `None`: it stays as it is for good.
    pub fn next_change(&self, elapsed: Duration) -> Option<Duration> {
        match &self.shape {
            Shape::Constant(_) | Shape::Poisson(_) => None,
            Shape::Steps(steps) => {
                steps.get(steps.partition_point(|step| step.from <= elapsed)).map(|step| step.from)
            }
            Shape::Ramp { over, .. } => (elapsed < *over).then(|| (elapsed + GRAIN).min(*over)),
            Shape::Sine { .. } => Some(elapsed + GRAIN),
        }
    }

    /// Bits asked for from the start until `elapsed`, exactly: what was sent is to be held against.
    pub fn bits_until(&self, elapsed: Duration) -> f64 {
        let at = elapsed.as_secs_f64();
        match &self.shape {
            Shape::Constant(rate) | Shape::Poisson(rate) => rate * at,
            Shape::Steps(steps) => {
                let step = step(steps, elapsed);
                step.before + step.rate * (elapsed - step.from).as_secs_f64()
            }
            Shape::Ramp { from, to, over } => {
                let over = over.as_secs_f64();
                let ramped = at.min(over);
                from * ramped + (to - from) * ramped * ramped / (2.0 * over) + to * (at - ramped)
            }
            Shape::Sine { mean, swing, period } => {
                let turn = period.as_secs_f64() / TAU;
                mean * at + swing * turn * (1.0 - (at / turn).cos())
            }
        }
    }

    /// The highest rate it ever asks for, bits per second.
    pub fn peak(&self) -> f64 {
        match &self.shape {
            Shape::Constant(rate) | Shape::Poisson(rate) => *rate,
            Shape::Steps(steps) => steps.iter().map(|step| step.rate).fold(0.0, f64::max),
            Shape::Ramp { from, to, .. } => from.max(*to),
            Shape::Sine { mean, swing, .. } => mean + swing,
        }
    }

    /// Whether its gaps are to be drawn by chance ([`Gaps`](crate::Gaps)), of which it tells the mean.
    pub fn is_random(&self) -> bool {
        matches!(self.shape, Shape::Poisson(_))
    }
}

/// The one in force at `elapsed`; there is one from 0 on.
fn step(steps: &[RateStep], elapsed: Duration) -> RateStep {
    steps[steps.partition_point(|step| step.from <= elapsed).max(1) - 1]
}
