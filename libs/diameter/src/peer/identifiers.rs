//! End-to-end identifiers (RFC 6733 section 3): unique for at least four minutes, after a restart too.

/// Gives end-to-end identifiers out: 12 bits of the time of the start, then 20 that count up from a random number.
#[derive(Clone, Copy, Debug)]
pub struct EndToEnd {
    high: u32,
    low: u32,
}

/// The bits that count.
const LOW: u32 = 0x000F_FFFF;

impl EndToEnd {
    /// `started` is the wall clock in seconds at the start of the process.
    #[must_use]
    pub fn new(started: u64, random: u32) -> Self {
        EndToEnd { high: (started as u32) << 20, low: random & LOW }
    }

    /// The next identifier. A carry goes on into the upper bits, as after 2^20 requests the lower ones are used up.
    pub fn take(&mut self) -> u32 {
        let identifier = self.high | self.low;
        self.low = (self.low + 1) & LOW;
        if self.low == 0 {
            self.high = self.high.wrapping_add(LOW + 1);
        }
        identifier
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_hold_the_time_above_and_count_below() {
        let mut identifiers = EndToEnd::new(0x1234_5678, 0xfff0_0005);
        assert_eq!([identifiers.take(), identifiers.take()], [0x6780_0005, 0x6780_0006]);
    }

    #[test]
    fn no_identifier_comes_twice_in_over_a_million() {
        let mut identifiers = EndToEnd::new(u64::from(u32::MAX), 0xfffff);
        let all: std::collections::HashSet<_> = (0..1_100_000).map(|_| identifiers.take()).collect();
        assert_eq!(all.len(), 1_100_000);
    }
}
