//! CarrierMessage: a deliver_sm or data_sm of the carrier, and the receipt that it is or may be.

use records::{CarrierReceipt, CarrierReport, DlrState, Inbound, Timestamp};
use smpp::Tlvs;
use smpp::pdu::{Address, DataSm, DeliverSm};
use smpp::receipt::{MessageState, Receipt, plain_text};
use smpp::text::udh::{BadUdh, UserData};
use std::borrow::Cow;

use super::carrier::Carrier;
use super::outcome::receipt_outcome;

/// Octets of an error code or a second id that are kept: they are a few digits or letters.
const WORD_OCTETS_MAX: usize = 64;

/// What a deliver_sm and a data_sm have in common.
pub(super) struct CarrierMessage<'a> {
    pub(super) source: Address<'a>,
    pub(super) destination: Address<'a>,
    pub(super) data_coding: u8,
    esm_class: u8,
    has_udh: bool,
    octets: &'a [u8],
    tlvs: Tlvs<'a>,
}

impl<'a> From<&DeliverSm<'a>> for CarrierMessage<'a> {
    fn from(pdu: &DeliverSm<'a>) -> CarrierMessage<'a> {
        CarrierMessage {
            source: pdu.source,
            destination: pdu.destination,
            data_coding: pdu.data_coding,
            esm_class: pdu.esm_class,
            has_udh: pdu.has_udh(),
            octets: pdu.message(),
            tlvs: pdu.tlvs,
        }
    }
}

impl<'a> From<&DataSm<'a>> for CarrierMessage<'a> {
    fn from(pdu: &DataSm<'a>) -> CarrierMessage<'a> {
        CarrierMessage {
            source: pdu.source,
            destination: pdu.destination,
            data_coding: pdu.data_coding,
            esm_class: pdu.esm_class,
            has_udh: pdu.has_udh(),
            octets: pdu.message(),
            tlvs: pdu.tlvs,
        }
    }
}

impl<'a> CarrierMessage<'a> {
    /// Header and text; an error where the header runs over its message.
    pub(super) fn user_data(&self) -> Result<UserData<'a>, BadUdh> {
        UserData::new(self.octets, self.has_udh, self.tlvs)
    }

    fn plain(&self) -> Cow<'a, [u8]> {
        let text = self.user_data().map_or(self.octets, |data| data.text);
        plain_text(text, self.data_coding)
    }

    /// The receipt that it is by its `esm_class` or its parameters; or by its text, where `esm_class`
    /// announces a header that is not there, so that it cannot be a person's message.
    pub(super) fn receipt(&self, carrier: &Carrier, at: Timestamp) -> Option<CarrierReceipt> {
        let plain = self.plain();
        let marked = Receipt::marked(self.esm_class, &plain, self.tlvs);
        let receipt = match self.user_data() {
            Ok(_) => marked,
            Err(_) => marked.or_else(|| Receipt::unmarked(&plain)),
        }?;
        let keys = carrier.receipt_keys(&receipt);
        Some(CarrierReceipt {
            receipt: receipt_outcome(&receipt, keys, carrier.name(), at),
            report: report(&receipt),
            otherwise: None,
        })
    }

    /// The receipt that the message of a person may be by its text alone. Some carriers mark theirs in no
    /// way; whether it is one shows by its id.
    pub(super) fn unmarked_receipt(&self, carrier: &Carrier, inbound: &Inbound) -> Option<CarrierReceipt> {
        let plain = self.plain();
        let receipt = Receipt::unmarked(&plain)?;
        let keys = carrier.unmarked_receipt_keys(&receipt);
        Some(CarrierReceipt {
            receipt: receipt_outcome(&receipt, keys, carrier.name(), inbound.at),
            report: report(&receipt),
            otherwise: Some(Box::new(inbound.clone())),
        })
    }
}

/// The carrier's own words.
fn report(receipt: &Receipt<'_>) -> CarrierReport {
    let second = receipt.ids().nth(1).unwrap_or(b"");
    CarrierReport {
        state: receipt.state.and_then(state),
        error: word(receipt.error),
        network_error: receipt.network_error.map(|error| (error.network, error.code)),
        submitted: carrier_date(receipt.submit_date),
        done: carrier_date(receipt.done_date),
        other_id: word(second),
    }
}

fn word(octets: &[u8]) -> Box<str> {
    let octets = &octets[..octets.len().min(WORD_OCTETS_MAX)];
    octets.iter().filter(|octet| octet.is_ascii_graphic()).map(|octet| char::from(*octet)).collect()
}

/// SMPP 5.0's two further states have no word in 3.4.
fn state(state: MessageState) -> Option<DlrState> {
    Some(match state {
        MessageState::Scheduled | MessageState::Enroute => DlrState::Enroute,
        MessageState::Delivered => DlrState::Delivered,
        MessageState::Expired => DlrState::Expired,
        MessageState::Deleted => DlrState::Deleted,
        MessageState::Undeliverable | MessageState::Skipped => DlrState::Undeliverable,
        MessageState::Accepted => DlrState::Accepted,
        MessageState::Unknown => DlrState::Unknown,
        MessageState::Rejected => DlrState::Rejected,
    })
}

/// A date of a receipt (3.4 appendix B): `YYMMDDhhmm`, with seconds or a zone behind it, or with the century.
/// Nothing for zeros and other times that do not exist. Its zone is not known: it is taken as UTC.
fn carrier_date(written: &[u8]) -> Option<Timestamp> {
    let digits = written.iter().take_while(|octet| octet.is_ascii_digit()).count();
    let digits = std::str::from_utf8(&written[..digits]).ok()?;
    let digits = match digits.len() {
        10 | 12 | 13 | 15 => digits,
        // With the century; else tenths of seconds and quarters of a zone stand behind the seconds.
        14 => digits.strip_prefix("20")?,
        _ => return None,
    };
    let two = |at: usize| digits.get(at..at + 2).and_then(|two| two.parse::<i64>().ok());
    let second = if digits.len() >= 12 { two(10)? } else { 0 };
    let (year, month, day) = (2_000 + two(0)?, two(2)?, two(4)?);
    let (hour, minute) = (two(6)?, two(8)?);
    let exists = (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    exists.then_some(Timestamp(seconds * 1_000_000))
}

/// Days of a month of this century.
fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970 to a date of this century.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    /// Days from 1970 to 2000.
    const TO_2000: i64 = 10_957;
    let years = year - 2_000;
    let months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    TO_2000 + years * 365 + (years + 3) / 4 + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_receipts_are_read_in_every_form_that_carriers_write() {
        // 2024-02-29T23:59:00Z
        let at = Some(Timestamp(1_709_251_140_000_000));
        let later = at.map(|at| at.plus_s(30));
        let cases: [(&[u8], Option<Timestamp>); 16] = [
            (b"2402292359", at),
            (b"240229235930", later),
            (b"20240229235930", later),
            (b"240229235930012+", later),
            (b"240229235900004+", at),
            (b"0000000000", None),
            (b"2302292359", None),
            (b"2413292359", None),
            (b"2402292460", None),
            (b"2402290060", None),
            (b"24022923", None),
            (b"240229235960", None),
            (b"19990229235930", None),
            (b"tomorrow", None),
            (b"", None),
            (b"0001010000", Some(Timestamp(946_684_800_000_000))),
        ];
        for (written, expected) in cases {
            assert_eq!(carrier_date(written), expected, "{}", String::from_utf8_lossy(written));
        }
        assert_eq!(carrier_date(b"2611212349"), Some(Timestamp(1_795_304_940_000_000)));
    }

    #[test]
    fn a_report_has_the_carriers_own_state_error_and_times() {
        let text =
            b"id:7 sub:001 dlvrd:000 submit date:2611212348 done date:2611212349 stat:REJECTD err:0x1F text:";
        let mut tlvs = smpp::TlvBuf::new();
        tlvs.push_cstring(smpp::Tag::RECEIPTED_MESSAGE_ID, b"A7").unwrap();
        tlvs.push(smpp::Tag::NETWORK_ERROR_CODE, &[3, 1, 2]).unwrap();
        let said = report(&Receipt::parse(text, tlvs.as_tlvs()));
        let done = Timestamp(1_795_304_940_000_000);
        let expected = CarrierReport {
            state: Some(DlrState::Rejected),
            error: "0x1F".into(),
            network_error: Some((3, 258)),
            submitted: Some(done.plus_s(-60)),
            done: Some(done),
            other_id: "7".into(),
        };
        assert_eq!(said, expected);
        assert_eq!(report(&Receipt::parse(b"stat:ODD", Tlvs::NONE)), CarrierReport::default());
    }
}
