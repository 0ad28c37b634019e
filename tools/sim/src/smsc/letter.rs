//! The words of receipts and replies.

use super::ids::{self, Place};
use super::{IdForm, ReceiptForm, alphabet};
use crate::clock::civil;
use smpp::pdu::{Address, DeliverSm, encode, esm_class};
use smpp::status::Status;
use smpp::tlv::{Tag, TlvBuf};

/// `message_state` (3.4 §5.2.28).
const DELIVERED: u8 = 2;
const UNDELIVERABLE: u8 = 5;
/// Longest text in `short_message` that goes over the air in one piece.
const SHORT_MESSAGE_OCTETS: usize = 140;

/// What a receipt speaks of.
pub(super) struct Subject<'a> {
    pub(super) id: u64,
    pub(super) form: IdForm,
    /// The peer is of version 3.3: short ids, no optional parameters.
    pub(super) is_v33: bool,
    /// The sender of the message, to whom the receipt goes.
    pub(super) from: Address<'a>,
    pub(super) to: Address<'a>,
    /// The first words of the message.
    pub(super) text: &'a str,
    pub(super) submitted_us: u64,
    pub(super) done_us: u64,
    pub(super) is_delivered: bool,
}

/// A receipt as 3.4's Appendix B has it.
pub(super) fn receipt(subject: &Subject<'_>, form: ReceiptForm) -> Option<Box<[u8]>> {
    let (state, stat, error) =
        if subject.is_delivered { (DELIVERED, "DELIVRD", 0) } else { (UNDELIVERABLE, "UNDELIV", 1) };
    let mut id = Vec::with_capacity(36);
    ids::write(subject.form, subject.id, Place::Receipt, subject.is_v33, &mut id);
    let mut text = Vec::new();
    if form != ReceiptForm::Tlv || subject.is_v33 {
        let delivered = u8::from(subject.is_delivered);
        let words = format!(
            " sub:001 dlvrd:{delivered:03} submit date:{} done date:{} stat:{stat} err:{error:03} text:{}",
            date(subject.submitted_us),
            date(subject.done_us),
            first_characters(subject.text)
        );
        text.extend_from_slice(b"id:");
        text.extend_from_slice(&id);
        text.extend_from_slice(words.as_bytes());
    }
    let mut tlvs = TlvBuf::new();
    if form != ReceiptForm::Text && !subject.is_v33 {
        tlvs.push_cstring(Tag::RECEIPTED_MESSAGE_ID, &id).ok()?;
        tlvs.push_u8(Tag::MESSAGE_STATE, state);
        // Network type 3: GSM.
        tlvs.push(Tag::NETWORK_ERROR_CODE, &[3, 0, error]).ok()?;
    }
    encoded(&DeliverSm {
        source: subject.to,
        destination: subject.from,
        esm_class: esm_class::RECEIPT,
        short_message: &text,
        tlvs: tlvs.as_tlvs(),
        ..DeliverSm::default()
    })
}

/// What a person writes back.
pub(super) fn reply(person: Address<'_>, to: Address<'_>, text: &str) -> Option<Box<[u8]>> {
    let (data_coding, octets) = alphabet::write(text);
    let mut tlvs = TlvBuf::new();
    let mut short_message = &octets[..];
    if octets.len() > SHORT_MESSAGE_OCTETS {
        tlvs.push(Tag::MESSAGE_PAYLOAD, &octets).ok()?;
        short_message = b"";
    }
    encoded(&DeliverSm {
        source: person,
        destination: to,
        data_coding,
        short_message,
        tlvs: tlvs.as_tlvs(),
        ..DeliverSm::default()
    })
}

fn encoded(deliver: &DeliverSm<'_>) -> Option<Box<[u8]>> {
    let mut pdu = Vec::with_capacity(256);
    encode(deliver, Status::ROK, 0, &mut pdu).ok()?;
    Some(pdu.into_boxed_slice())
}

/// `YYMMDDhhmm`, UTC.
fn date(at_us: u64) -> String {
    let [year, month, day, hour, minute, _] = civil(at_us);
    format!("{:02}{month:02}{day:02}{hour:02}{minute:02}", year % 100)
}

/// The first 20 characters, as far as they are ASCII: a receipt's text has no alphabet of its own.
fn first_characters(text: &str) -> String {
    text.chars().take(20).map(|c| if c.is_ascii() && !c.is_ascii_control() { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use smpp::pdu::{Pdu, decode};

    fn subject(is_delivered: bool) -> Subject<'static> {
        Subject {
            id: 255,
            form: IdForm::HexThenDecimal,
            is_v33: false,
            from: Address::new(3, 0, b"71700"),
            to: Address::international(b"46701740605"),
            text: "Åska närmar sig från väster",
            submitted_us: 1_795_000_000_000_000,
            done_us: 1_795_000_090_000_000,
            is_delivered,
        }
    }

    fn delivered(pdu: &[u8]) -> DeliverSm<'_> {
        match decode(pdu) {
            Ok((_, Pdu::DeliverSm(deliver))) => deliver,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_receipt_says_in_text_and_parameters_what_became_of_the_message() {
        let pdu = receipt(&subject(true), ReceiptForm::Both).unwrap();
        let deliver = delivered(&pdu);
        assert!(deliver.is_receipt());
        assert_eq!((deliver.source.addr, deliver.destination.addr), (&b"46701740605"[..], &b"71700"[..]));
        assert_eq!(
            std::str::from_utf8(deliver.short_message).unwrap(),
            "id:255 sub:001 dlvrd:001 submit date:2611181106 done date:2611181108 stat:DELIVRD err:000 \
             text:?ska n?rmar sig fr?n"
        );
        assert_eq!(deliver.tlvs.find_cstring(Tag::RECEIPTED_MESSAGE_ID), Some(&b"255"[..]));
        assert_eq!(deliver.tlvs.find_u8(Tag::MESSAGE_STATE), Some(2));
    }

    #[test]
    fn each_form_has_what_it_names_and_a_failure_its_code() {
        let pdu = receipt(&subject(false), ReceiptForm::Text).unwrap();
        assert!(delivered(&pdu).tlvs.is_empty());
        assert!(String::from_utf8_lossy(delivered(&pdu).short_message).contains("dlvrd:000"));
        assert!(String::from_utf8_lossy(delivered(&pdu).short_message).contains("stat:UNDELIV err:001"));
        let pdu = receipt(&subject(false), ReceiptForm::Tlv).unwrap();
        assert!(delivered(&pdu).short_message.is_empty());
        assert_eq!(delivered(&pdu).tlvs.find(Tag::NETWORK_ERROR_CODE), Some(&[3, 0, 1][..]));
        let pdu = receipt(&Subject { is_v33: true, ..subject(true) }, ReceiptForm::Tlv).unwrap();
        assert!(delivered(&pdu).tlvs.is_empty());
        assert!(delivered(&pdu).short_message.starts_with(b"id:000000FF "));
    }

    #[test]
    fn a_reply_is_written_in_the_alphabet_it_needs() {
        let person = Address::international(b"46701740605");
        for (text, coding) in [("1", 0), ("Åh nej", 0), ("نحن بخير", 8)] {
            let pdu = reply(person, Address::new(3, 0, b"71700"), text).unwrap();
            let deliver = delivered(&pdu);
            assert!(!deliver.is_receipt());
            assert_eq!(
                (deliver.data_coding, alphabet::read(coding, deliver.message()).as_ref()),
                (coding, text)
            );
        }
        let long = "a very long story ".repeat(20);
        let pdu = reply(person, Address::default(), &long).unwrap();
        assert_eq!(delivered(&pdu).message(), long.as_bytes());
        assert!(delivered(&pdu).short_message.is_empty());
    }
}
