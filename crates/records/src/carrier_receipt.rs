use crate::{DlrState, Inbound, Receipt, Timestamp};
use serde::{Deserialize, Serialize};

const MINUTE_US: i64 = 60_000_000;
/// Zones are apart by quarters of an hour …
const QUARTER_US: i64 = 15 * MINUTE_US;
/// … and at most so far from UTC.
const ZONE_MAX_US: i64 = 14 * 60 * MINUTE_US;
/// A carrier's clock and its minutes may be off by so much.
const CLOCK_ERROR_US: i64 = 3 * MINUTE_US;

/// A receipt of a short message with what the carrier itself says in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarrierReceipt {
    /// The receipt as every channel has it.
    pub receipt: Receipt,
    /// In the carrier's words.
    pub report: CarrierReport,
    /// Where nothing but its text makes it a receipt: the message of a person that it is if no message has
    /// one of its keys.
    pub otherwise: Option<Box<Inbound>>,
}

/// A carrier's own words in a receipt, for the client whose message it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CarrierReport {
    /// Its state; nothing: none that SMPP knows.
    pub state: Option<DlrState>,
    /// Its error code, digits or letters; empty: none.
    pub error: Box<str>,
    /// Type of network and its error code (SMPP 3.4, 5.3.2.31).
    pub network_error: Option<(u8, u16)>,
    /// When the message was submitted, by the carrier's clock in a zone that is not known: as if it were UTC.
    pub submitted: Option<Timestamp>,
    /// When it came to this state, by the same clock.
    pub done: Option<Timestamp>,
    /// A second id of the message, where the receipt has two.
    pub other_id: Box<str>,
}

impl CarrierReport {
    /// When the message came to its state. The carrier's zone follows from what it says of the time of
    /// submission, which was at `submitted`; where that makes no zone, its time is taken as it is.
    pub fn done_at(&self, submitted: Option<Timestamp>) -> Option<Timestamp> {
        let done = self.done?;
        let ahead = self.submitted.zip(submitted).map(|(theirs, ours)| theirs.us_since(ours));
        let zone = ahead.and_then(|ahead| {
            let zone = (ahead + QUARTER_US / 2).div_euclid(QUARTER_US) * QUARTER_US;
            let is_one = zone.abs() <= ZONE_MAX_US && (ahead - zone).abs() <= CLOCK_ERROR_US;
            is_one.then_some(zone)
        });
        Some(done.plus_us(-zone.unwrap_or(0)))
    }
}

impl From<Receipt> for CarrierReceipt {
    fn from(receipt: Receipt) -> CarrierReceipt {
        CarrierReceipt { receipt, report: CarrierReport::default(), otherwise: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carriers_zone_follows_from_its_time_of_submission() {
        // 2026-11-24T01:03:40Z
        let ours = Timestamp(1_795_482_220_000_000);
        let minute = |minutes: i64| ours.plus_us(minutes * MINUTE_US - 40_000_000);
        let cases = [
            // Theirs of submission and of the state, in minutes after ours; then ours of the state.
            (Some(60), 62, 2),
            (Some(0), 2, 2),
            (Some(330), 335, 5),
            (Some(-300), -298, 2),
            (Some(61), 63, 3),
            // No zone is so far away, or a clock is wrong.
            (Some(15 * 60), 903, 903),
            (Some(7), 9, 9),
            (Some(-1_000_000), -999_998, -999_998),
            (None, 2, 2),
        ];
        for (submitted, done, expected) in cases {
            let report = CarrierReport {
                submitted: submitted.map(minute),
                done: Some(minute(done)),
                ..CarrierReport::default()
            };
            assert_eq!(report.done_at(Some(ours)), Some(minute(expected)), "{submitted:?} {done}");
        }
        let report = CarrierReport { done: Some(ours), ..CarrierReport::default() };
        assert_eq!((report.done_at(None), CarrierReport::default().done_at(Some(ours))), (Some(ours), None));
    }
}
