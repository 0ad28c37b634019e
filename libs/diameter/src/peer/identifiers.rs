//! End-to-end identifiers (RFC 6733 section 3): unique for at least four minutes, after a restart too.

/// Gives end-to-end identifiers out: 12 bits of the time of the start, then 20 that count up from a random
/// number; or, where several processes have one Origin-Host, 6 bits of the process in front, 9 of the time in
/// steps of 4 s, 17 of chance.
#[derive(Clone, Copy, Debug)]
pub struct EndToEnd {
    /// Of the process: they stay.
    fixed: u32,
    next: u32,
    /// The bits that count. A carry goes on from what was random into what was the time.
    counting: u32,
}

/// Random bits of a process that is alone.
const RANDOM_BITS: u32 = 20;
/// The bits that tell processes of one Origin-Host apart, and their random ones.
const SLOT_BITS: u32 = 6;
const RANDOM_BITS_AMONG: u32 = 17;
/// Seconds of a step of the time, among several.
const STEP_S: u64 = 4;

impl EndToEnd {
    /// So many processes of one Origin-Host never give out the same.
    pub const SLOTS: u32 = 1 << SLOT_BITS;

    /// `started` is the wall clock in seconds at the start of the process.
    #[must_use]
    pub fn new(started: u64, random: u32) -> Self {
        let next = (started as u32) << RANDOM_BITS | random & mask(RANDOM_BITS);
        EndToEnd { fixed: 0, next, counting: u32::MAX }
    }

    /// The same for one of several processes with one Origin-Host, each with another `slot`, below
    /// [`SLOTS`](Self::SLOTS). Unique after a restart too, as long as it asks less than 2^17 times in 4 s.
    #[must_use]
    pub fn among(slot: u32, started: u64, random: u32) -> Self {
        let counting = mask(u32::BITS - SLOT_BITS);
        let steps = (started / STEP_S) as u32;
        let next = (steps << RANDOM_BITS_AMONG | random & mask(RANDOM_BITS_AMONG)) & counting;
        EndToEnd { fixed: (slot % Self::SLOTS) << (u32::BITS - SLOT_BITS), next, counting }
    }

    /// The next identifier.
    pub fn take(&mut self) -> u32 {
        let identifier = self.fixed | self.next;
        self.next = self.next.wrapping_add(1) & self.counting;
        identifier
    }
}

fn mask(bits: u32) -> u32 {
    (1 << bits) - 1
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

    #[test]
    fn processes_of_one_origin_host_never_give_out_the_same_nor_does_one_that_starts_again() {
        let mut all = std::collections::HashSet::new();
        let mut count = 0;
        // The last two share a start with others; slot 2 starts again 4 s later.
        for (slot, started) in [(0, 1_000), (1, 1_000), (2, 1_000), (2, 1_004), (63, u64::from(u32::MAX))] {
            let mut identifiers = EndToEnd::among(slot, started, 7);
            all.extend((0..100_000).map(|_| identifiers.take()));
            count += 100_000;
            assert_eq!(all.len(), count, "slot {slot} at {started}");
        }
        assert_eq!(EndToEnd::among(5, 8, 3).take(), 5 << 26 | 2 << 17 | 3);
    }
}
