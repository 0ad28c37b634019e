//! UnmatchedLog writes what was looked for when a receipt matches no message. A carrier that answers to
//! another's submissions does not fill the log.

use records::{CarrierReceipt, Timestamp};

/// Lines in a second at most; how many receipts had none stands in the next one.
const LINES_MAX: u32 = 10;
const SECOND_US: i64 = 1_000_000;

/// See the module.
#[derive(Default)]
pub struct UnmatchedLog {
    second: i64,
    lines: u32,
    without: u64,
}

impl UnmatchedLog {
    /// A receipt matches no message, perhaps not yet.
    pub fn note(&mut self, of: &CarrierReceipt, now: Timestamp) {
        if !self.may_write(now) {
            return;
        }
        let CarrierReceipt { receipt, report, .. } = of;
        let without = std::mem::take(&mut self.without);
        tracing::info!(
            route = receipt.route,
            id = receipt.id,
            other_id = (!report.other_id.is_empty()).then_some(&*report.other_id),
            forms = receipt.keys.len(),
            state = receipt.text,
            without_a_line = (without > 0).then_some(without),
            "a receipt matches no message: none of this route has this id, in any of the forms that it may be written in (SMS: see the \
             route's `receipt_ids`). It waits 60 s for the answer to its submission, then it is dropped"
        );
    }

    fn may_write(&mut self, now: Timestamp) -> bool {
        let second = now.0.div_euclid(SECOND_US);
        if second != self.second {
            (self.second, self.lines) = (second, 0);
        }
        let may = self.lines < LINES_MAX;
        match may {
            true => self.lines += 1,
            false => self.without += 1,
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_receipts_writes_some_lines_a_second_and_counts_the_rest() {
        let mut log = UnmatchedLog::default();
        let lines = |log: &mut UnmatchedLog, at| (0..25).filter(|_| log.may_write(Timestamp(at))).count();
        assert_eq!((lines(&mut log, 0), log.without), (10, 15));
        assert_eq!((lines(&mut log, SECOND_US), log.without), (10, 30));
    }
}
