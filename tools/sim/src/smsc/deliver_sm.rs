//! The words of receipts and replies.

use super::alphabet;
use super::ids::{self, IdPlace};
use super::receipts::{IdForm, ReceiptForm, ReceiptPdu, ReceiptStage, Receipts};
use super::traffic::LongForm;
use crate::chance::Chance;
use crate::clock::civil;
use smpp::limits::SHORT_MESSAGE_OCTETS_MAX;
use smpp::pdu::{Address, Body, DataSm, DeliverSm, encode, esm_class};
use smpp::status::Status;
use smpp::tlv::{Tag, TlvBuf, Tlvs};

/// A message that phones take in one piece: 160 characters of GSM's alphabet, one an octet here, or 70 of
/// UCS-2.
const SINGLE_OCTETS: [usize; 2] = [160, 140];
/// So much of it is left beside a user data header with a reference of 8 and of 16 bits (3GPP TS 23.040
/// §9.2.3.24).
const PART_OCTETS: [[usize; 2]; 2] = [[153, 134], [152, 132]];
/// Parts of one message.
const PARTS_MAX: usize = 255;

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
    pub(super) state: ReceiptStage,
    pub(super) error: u8,
}

/// A receipt as 3.4's Appendix B has it, or as the scenario's template says.
pub(super) fn receipt(subject: &Subject<'_>, receipts: &Receipts) -> Option<Box<[u8]>> {
    let mut id = Vec::with_capacity(36);
    ids::write(subject.form, subject.id, IdPlace::Receipt, subject.is_v33, &mut id);
    let mut text = Vec::new();
    if receipts.form != ReceiptForm::Tlv || subject.is_v33 {
        match &receipts.template {
            Some(template) => text = filled(template, subject, &id),
            None => write_words(subject, &id, &mut text),
        }
        text.truncate(SHORT_MESSAGE_OCTETS_MAX);
    }
    let mut tlvs = TlvBuf::new();
    if receipts.form != ReceiptForm::Text && !subject.is_v33 {
        tlvs.push_cstring(Tag::RECEIPTED_MESSAGE_ID, &id).ok()?;
        tlvs.push_u8(Tag::MESSAGE_STATE, subject.state.number());
        // Network type 3: GSM.
        tlvs.push(Tag::NETWORK_ERROR_CODE, &[3, 0, subject.error]).ok()?;
    }
    let is_final = subject.state.is_final();
    let esm_class = if is_final { receipts.esm_class } else { esm_class::INTERMEDIATE };
    let (source, destination) = (subject.to, subject.from);
    if receipts.pdu == ReceiptPdu::DataSm && !subject.is_v33 {
        if !text.is_empty() {
            tlvs.push(Tag::MESSAGE_PAYLOAD, &text).ok()?;
        }
        let tlvs = tlvs.as_tlvs();
        return encoded(&DataSm { source, destination, esm_class, tlvs, ..DataSm::default() });
    }
    let (short_message, tlvs) = (&text[..], tlvs.as_tlvs());
    encoded(&DeliverSm { source, destination, esm_class, short_message, tlvs, ..DeliverSm::default() })
}

fn write_words(subject: &Subject<'_>, id: &[u8], text: &mut Vec<u8>) {
    let words = format!(
        " sub:001 dlvrd:{:03} submit date:{} done date:{} stat:{} err:{:03} text:{}",
        u8::from(subject.state == ReceiptStage::Delivered),
        date(subject.submitted_us),
        date(subject.done_us),
        subject.state.word(),
        subject.error,
        first_characters(subject.text)
    );
    text.extend_from_slice(b"id:");
    text.extend_from_slice(id);
    text.extend_from_slice(words.as_bytes());
}

fn filled(template: &str, subject: &Subject<'_>, id: &[u8]) -> Vec<u8> {
    let delivered = u8::from(subject.state == ReceiptStage::Delivered);
    let address = |address: Address<'_>| String::from_utf8_lossy(address.addr).into_owned();
    let pairs = [
        ("{id}", String::from_utf8_lossy(id).into_owned()),
        ("{sub}", "001".to_owned()),
        ("{dlvrd}", format!("{delivered:03}")),
        ("{submit}", date(subject.submitted_us)),
        ("{done}", date(subject.done_us)),
        ("{submit_s}", date_with_seconds(subject.submitted_us)),
        ("{done_s}", date_with_seconds(subject.done_us)),
        ("{stat}", subject.state.word().to_owned()),
        ("{err}", format!("{:03}", subject.error)),
        ("{from}", address(subject.from)),
        ("{to}", address(subject.to)),
        // The last one: what people wrote is not looked through for more of them.
        ("{text}", first_characters(subject.text)),
    ];
    let filled = pairs.iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value));
    filled.into_bytes()
}

/// A message that a phone writes.
pub(super) struct Inbound<'a> {
    pub(super) from: &'a str,
    pub(super) to: &'a str,
    pub(super) text: &'a str,
    pub(super) long: LongForm,
    /// Its parts come in another order.
    pub(super) is_shuffled: bool,
}

/// The PDUs of a phone's message: one, or its parts; none if it cannot be written.
pub(super) fn inbound(inbound: &Inbound<'_>, reference: u16) -> Vec<Box<[u8]>> {
    let digits = inbound.from.strip_prefix('+').unwrap_or(inbound.from);
    let person = Address::international(digits.as_bytes());
    let to = inbound.to.strip_prefix('+').unwrap_or(inbound.to);
    let to = if to.len() < inbound.to.len() {
        Address::international(to.as_bytes())
    } else {
        Address::new(0, 1, to.as_bytes())
    };
    let mut pdus = message(person, to, inbound.text, inbound.long, reference);
    if inbound.is_shuffled && pdus.len() > 1 {
        let first =
            Chance::new(u64::from(reference), pdus.len() as u64).below(pdus.len() as u64 - 1) as usize;
        pdus.rotate_left(first + 1);
    }
    pdus
}

/// A message from a person, whole or in parts.
pub(super) fn message(
    person: Address<'_>,
    to: Address<'_>,
    text: &str,
    long: LongForm,
    reference: u16,
) -> Vec<Box<[u8]>> {
    let (data_coding, octets) = alphabet::write(text);
    let is_ucs2 = usize::from(data_coding == alphabet::UCS2);
    let deliver = DeliverSm { source: person, destination: to, data_coding, ..DeliverSm::default() };
    if octets.len() <= SINGLE_OCTETS[is_ucs2] {
        return encoded(&DeliverSm { short_message: &octets, ..deliver }).into_iter().collect();
    }
    if long == LongForm::Payload {
        let mut tlvs = TlvBuf::new();
        return match tlvs.push(Tag::MESSAGE_PAYLOAD, &octets) {
            Ok(_) => encoded(&DeliverSm { tlvs: tlvs.as_tlvs(), ..deliver }).into_iter().collect(),
            Err(_) => Vec::new(),
        };
    }
    let is_wide = usize::from(long == LongForm::Udh16);
    let parts = alphabet::cut(data_coding, &octets, PART_OCTETS[is_wide][is_ucs2]);
    if parts.len() > PARTS_MAX {
        return Vec::new();
    }
    let total = parts.len() as u8;
    let parts = parts.iter().zip(1..=total).map(|(text, number)| {
        let (header, tlvs) = place(long, reference, total, number);
        let short_message = [&header[..], text].concat();
        let esm_class = if header.is_empty() { 0 } else { esm_class::UDHI };
        let tlvs: Tlvs<'_> = tlvs.as_tlvs();
        encoded(&DeliverSm { esm_class, short_message: &short_message, tlvs, ..deliver })
    });
    parts.collect::<Option<_>>().unwrap_or_default()
}

/// What says which part of what it is: a user data header, or parameters.
fn place(long: LongForm, reference: u16, total: u8, number: u8) -> (Vec<u8>, TlvBuf) {
    let [high, low] = reference.to_be_bytes();
    let mut tlvs = TlvBuf::new();
    let header = match long {
        LongForm::Udh8 => vec![5, 0, 3, low, total, number],
        LongForm::Udh16 => vec![6, 8, 4, high, low, total, number],
        LongForm::Payload | LongForm::Sar => {
            tlvs.push_u16(Tag::SAR_MSG_REF_NUM, reference)
                .push_u8(Tag::SAR_TOTAL_SEGMENTS, total)
                .push_u8(Tag::SAR_SEGMENT_SEQNUM, number);
            Vec::new()
        }
    };
    (header, tlvs)
}

fn encoded<'a>(body: &impl Body<'a>) -> Option<Box<[u8]>> {
    let mut pdu = Vec::with_capacity(256);
    encode(body, Status::ROK, 0, &mut pdu).ok()?;
    Some(pdu.into_boxed_slice())
}

/// `YYMMDDhhmm`, UTC.
fn date(at_us: u64) -> String {
    let [year, month, day, hour, minute, _] = civil(at_us);
    format!("{:02}{month:02}{day:02}{hour:02}{minute:02}", year % 100)
}

/// `YYMMDDhhmmss`, UTC.
fn date_with_seconds(at_us: u64) -> String {
    format!("{}{:02}", date(at_us), civil(at_us)[5])
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
            state: if is_delivered { ReceiptStage::Delivered } else { ReceiptStage::Undeliverable },
            error: u8::from(!is_delivered),
        }
    }

    fn formed(form: ReceiptForm) -> Receipts {
        Receipts { form, ..Receipts::default() }
    }

    fn delivered(pdu: &[u8]) -> DeliverSm<'_> {
        match decode(pdu) {
            Ok((_, Pdu::DeliverSm(deliver))) => deliver,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_receipt_says_in_text_and_parameters_what_became_of_the_message() {
        let pdu = receipt(&subject(true), &formed(ReceiptForm::Both)).unwrap();
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
        let pdu = receipt(&subject(false), &formed(ReceiptForm::Text)).unwrap();
        assert!(delivered(&pdu).tlvs.is_empty());
        assert!(String::from_utf8_lossy(delivered(&pdu).short_message).contains("dlvrd:000"));
        assert!(String::from_utf8_lossy(delivered(&pdu).short_message).contains("stat:UNDELIV err:001"));
        let pdu = receipt(&subject(false), &formed(ReceiptForm::Tlv)).unwrap();
        assert!(delivered(&pdu).short_message.is_empty());
        assert_eq!(delivered(&pdu).tlvs.find(Tag::NETWORK_ERROR_CODE), Some(&[3, 0, 1][..]));
        let pdu = receipt(&Subject { is_v33: true, ..subject(true) }, &formed(ReceiptForm::Tlv)).unwrap();
        assert!(delivered(&pdu).tlvs.is_empty());
        assert!(delivered(&pdu).short_message.starts_with(b"id:000000FF "));
    }

    #[test]
    fn a_reply_is_written_in_the_alphabet_it_needs() {
        let person = Address::international(b"46701740605");
        for (text, coding) in [("1", 0), ("Åh nej", 0), ("نحن بخير", 8)] {
            let pdu = &message(person, Address::new(3, 0, b"71700"), text, LongForm::Udh8, 1)[0];
            let deliver = delivered(pdu);
            assert!(!deliver.is_receipt());
            assert_eq!(
                (deliver.data_coding, alphabet::read(coding, deliver.message()).as_ref()),
                (coding, text)
            );
        }
        let long = "a very long story ".repeat(20);
        let pdus = message(person, Address::default(), &long, LongForm::Payload, 1);
        assert_eq!(delivered(&pdus[0]).message(), long.as_bytes());
        assert!(delivered(&pdus[0]).short_message.is_empty());
    }

    #[test]
    fn a_long_message_comes_in_parts_that_join_to_it_and_cut_no_character() {
        let person = Address::international(b"46701740605");
        for (text, long, count) in [
            ("a{b}".repeat(60), LongForm::Udh8, 3),
            ("a{b}".repeat(60), LongForm::Udh16, 3),
            ("a{b}".repeat(60), LongForm::Sar, 3),
            ("👍x".repeat(60), LongForm::Udh8, 3),
            ("👍x".repeat(60), LongForm::Sar, 3),
        ] {
            let pdus = message(person, Address::default(), &text, long, 0x1234);
            assert_eq!(pdus.len(), count, "{long:?}");
            let mut joined = String::new();
            for (pdu, number) in pdus.iter().zip(1..) {
                let deliver = delivered(pdu);
                let (octets, has_udh) = (deliver.message(), deliver.esm_class & esm_class::UDHI != 0);
                let (part, octets) = crate::smsc::joined::split(octets, has_udh, deliver.tlvs);
                let part = part.unwrap();
                let reference = if long == LongForm::Udh8 { 0x34 } else { 0x1234 };
                assert_eq!((part.reference, part.total, part.number), (reference, count as u8, number));
                joined += &alphabet::read(deliver.data_coding, octets);
            }
            assert_eq!(joined, text, "{long:?}");
        }
        let endless = "x".repeat(255 * 153 + 1);
        assert!(message(person, Address::default(), &endless, LongForm::Udh8, 1).is_empty());
    }

    #[test]
    fn a_template_is_filled_and_what_people_wrote_is_not_looked_through() {
        let template = "{id}|{sub}|{dlvrd}|{submit_s}|{done}|{stat}|{err}|{from}>{to}|{text}|{no}".to_owned();
        let receipts = Receipts { template: Some(template), ..formed(ReceiptForm::Text) };
        let pdu = receipt(&Subject { text: "{id}", ..subject(false) }, &receipts).unwrap();
        assert_eq!(
            std::str::from_utf8(delivered(&pdu).short_message).unwrap(),
            "255|001|000|261118110640|2611181108|UNDELIV|001|71700>46701740605|{id}|{no}"
        );
    }
}
