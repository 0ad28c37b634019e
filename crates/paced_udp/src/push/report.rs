//! Report of a receiver lists what it lacks, again and again. Each report is whole by itself, so that it may
//! be lost.

/// Octets of a report at most: it travels as one QUIC datagram.
pub const REPORT_LEN_MAX: usize = 1100;

const HEAD_LEN: usize = 12;
const RUN_LEN: usize = 10;

/// Blocks in a row that lack the same number of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LackRun {
    /// The first block.
    pub first: u32,
    /// How many blocks.
    pub count: u32,
    /// Symbols that each of them lacks, at least 1.
    pub lacks: u16,
}

/// What a receiver lacks, as it knew when the datagram `seq` was the last one in.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LackReport {
    /// The greatest number of a datagram, plus one; 0 before the first.
    pub seen: u32,
    /// Datagrams that came in.
    pub came: u32,
    /// Blocks from here on are not told of.
    pub upto: u32,
    /// What lacks below `upto`, in order; every other block below is finished.
    pub runs: Vec<LackRun>,
}

impl LackReport {
    /// Runs that a report can hold.
    pub const RUNS_MAX: usize = (REPORT_LEN_MAX - HEAD_LEN) / RUN_LEN;

    /// The octets of a report.
    pub fn write(&self) -> Vec<u8> {
        let mut octets = Vec::with_capacity(HEAD_LEN + self.runs.len() * RUN_LEN);
        for word in [self.seen, self.came, self.upto] {
            octets.extend_from_slice(&word.to_be_bytes());
        }
        for run in &self.runs {
            octets.extend_from_slice(&run.first.to_be_bytes());
            octets.extend_from_slice(&run.count.to_be_bytes());
            octets.extend_from_slice(&run.lacks.to_be_bytes());
        }
        octets
    }

    /// Reads a report on a file of `blocks` blocks. None when it is not one: runs that overlap, or stand
    /// outside.
    pub fn read(octets: &[u8], blocks: u32) -> Option<Self> {
        if octets.len() < HEAD_LEN
            || octets.len() > REPORT_LEN_MAX
            || !(octets.len() - HEAD_LEN).is_multiple_of(RUN_LEN)
        {
            return None;
        }
        let word =
            |at: usize| u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]]);
        let (seen, came, upto) = (word(0), word(4), word(8));
        let mut runs = Vec::with_capacity((octets.len() - HEAD_LEN) / RUN_LEN);
        let mut next = 0;
        for at in (HEAD_LEN..octets.len()).step_by(RUN_LEN) {
            let lacks = u16::from_be_bytes([octets[at + 8], octets[at + 9]]);
            let run = LackRun { first: word(at), count: word(at + 4), lacks };
            let end = run.first.checked_add(run.count)?;
            if run.first < next || run.count == 0 || run.lacks == 0 || end > upto {
                return None;
            }
            next = end;
            runs.push(run);
        }
        (upto <= blocks).then_some(Self { seen, came, upto, runs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn report() -> LackReport {
        let runs = vec![LackRun { first: 1, count: 1, lacks: 3 }, LackRun { first: 5, count: 4, lacks: 187 }];
        LackReport { seen: 70, came: 66, upto: 9, runs }
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        assert_eq!(LackReport::read(&report().write(), 9), Some(report()));
    }

    #[test]
    fn a_report_that_contradicts_itself_is_none() {
        let edits: [fn(&mut LackReport); 5] = [
            |report| report.upto = 10,
            |report| report.runs[1].first = 1,
            |report| report.runs[1].count = 5,
            |report| report.runs[0].lacks = 0,
            |report| report.runs[0].count = 0,
        ];
        for edit in edits {
            let mut wrong = report();
            edit(&mut wrong);
            assert_eq!(LackReport::read(&wrong.write(), 9), None, "{wrong:?}");
        }
        assert_eq!(LackReport::read(&report().write()[..20], 9), None);
    }

    proptest! {
        #[test]
        fn no_octets_make_reading_fail_otherwise_than_by_none(octets in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(report) = LackReport::read(&octets, 1000) {
                prop_assert_eq!(report.write(), octets);
            }
        }
    }
}
