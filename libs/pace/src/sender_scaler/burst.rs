//! Burst size: packets that leave together.

use std::time::Duration;

use crate::{BURST_MAX, MSS_MAX};

/// A burst is worth so much time of the whole rate: one packet below 100 Mbit/s, eight at 1 Gbit/s, 44 at 5
/// Gbit/s and more (MSS 1472). So a queue on the way sees no more than this of it at once, and a thread is
/// woken 10,000 times a second at most.
pub const BURST_WORTH: Duration = Duration::from_micros(100);
/// The most segments that the kernel cuts one buffer into (`UDP_MAX_SEGMENTS`).
pub const GSO_SEGMENTS_MAX: u32 = 64;

/// The most packets of a burst at `rate_bits_per_s`: [`BURST_WORTH`] of it, at least one, at most `user_max`,
/// [`GSO_SEGMENTS_MAX`] and [`MSS_MAX`](crate::MSS_MAX) octets.
pub fn burst_for(rate_bits_per_s: f64, mss_octets: u32, user_max: u32) -> u32 {
    let mss = mss_octets.clamp(1, MSS_MAX);
    let worth = rate_bits_per_s * BURST_WORTH.as_secs_f64() / (f64::from(mss) * 8.0);
    // The cast saturates, and takes what is not a number for 0.
    (worth as u32).min(GSO_SEGMENTS_MAX).min(MSS_MAX / mss).min(user_max.min(BURST_MAX)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_worth_a_hundred_microseconds_of_the_rate() {
        for (rate, mss, user_max, expected) in [
            (10e6, 1_472, 64, 1),
            (99e6, 1_472, 64, 1),
            (1e9, 1_472, 64, 8),
            (5e9, 1_472, 64, 42),
            (5.2e9, 1_472, 64, 44),
            (10e9, 1_472, 64, 44),
            (400e9, 1_472, 1_024, 44),
            (10e9, 1_472, 16, 16),
            (10e9, 1_472, 0, 1),
            (10e9, 100, 1_024, 64),
            (10e9, 8_972, 64, 7),
            (10e9, MSS_MAX, 64, 1),
            (10e9, 0, 64, 64),
            (f64::NAN, 1_472, 64, 1),
            (0.0, 1_472, 64, 1),
        ] {
            assert_eq!(burst_for(rate, mss, user_max), expected, "{rate} {mss} {user_max}");
        }
    }
}
