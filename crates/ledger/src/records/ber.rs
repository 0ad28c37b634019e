//! Records in ASN.1 BER: `SCSMORecord` of TS 32.298 (SMS-SC record of a submission), as `sCSMORecord [93]` of
//! `SMSRecordType`. What the standard has no field for (the price, units, our own ids) is a
//! `ManagementExtension`.

use super::Record;
use super::text::{civil, units};
use crate::KeyKind;
use crate::request::ServiceContext;

/// RecordType sCSMORecord.
const RECORD_TYPE: u8 = 93;
/// 1.3.6.1.4.1.32473.1: below the enterprise number for examples (RFC 5612), as there is none of our own.
const EXTENSION: [u8; 9] = [0x2b, 6, 1, 4, 1, 0x81, 0xfd, 0x59, 1];
/// AddressString (TS 29.002): international number, E.164, no extension.
const INTERNATIONAL: u8 = 0x91;

const CONTEXT: u8 = 0x80;
const CONTEXT_CONSTRUCTED: u8 = 0xa0;
const SEQUENCE: u8 = 0x30;
const OBJECT_IDENTIFIER: u8 = 0x06;
const INTEGER: u8 = 0x02;
const UTF8_STRING: u8 = 0x0c;

/// A tag, a length, and what `fill` writes.
fn element(into: &mut Vec<u8>, tag: &[u8], fill: impl FnOnce(&mut Vec<u8>)) {
    into.extend_from_slice(tag);
    let at = into.len();
    fill(into);
    let len = into.len() - at;
    let mut octets = Vec::with_capacity(5);
    if len < 0x80 {
        octets.push(len as u8);
    } else {
        let bytes = (len as u32).to_be_bytes();
        let skip = bytes.iter().take_while(|byte| **byte == 0).count();
        octets.push(0x80 | (4 - skip) as u8);
        octets.extend_from_slice(&bytes[skip..]);
    }
    into.splice(at..at, octets);
}

fn primitive(into: &mut Vec<u8>, tag: u8, content: &[u8]) {
    element(into, &[tag], |into| into.extend_from_slice(content));
}

/// A signed number in as few octets as it needs (X.690 8.3).
fn integer(into: &mut Vec<u8>, tag: u8, value: i64) {
    let bytes = value.to_be_bytes();
    let is_idle = |pair: &[u8]| (pair[0] == 0 && pair[1] < 0x80) || (pair[0] == 0xff && pair[1] >= 0x80);
    let skip = bytes.windows(2).take_while(|pair| is_idle(pair)).count();
    primitive(into, tag, &bytes[skip..]);
}

/// Digits in halves of octets, the first one low, filled with 0xf (TBCD-STRING, TS 29.002).
fn tbcd(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
    digits.chunks(2).map(|pair| pair[0] | pair.get(1).copied().unwrap_or(0xf) << 4).collect()
}

fn address(digits: &str) -> Vec<u8> {
    let mut address = vec![INTERNATIONAL];
    address.extend(tbcd(digits));
    address
}

/// TimeStamp (TS 32.298): BCD of YYMMDDhhmmss, the sign of the offset as a character, BCD of its hours and
/// minutes.
fn timestamp(time_us: u64) -> [u8; 9] {
    let [year, month, day, hour, minute, second] = civil(time_us);
    let bcd = |value: u64| (((value / 10) << 4) | (value % 10)) as u8;
    [bcd(year % 100), bcd(month), bcd(day), bcd(hour), bcd(minute), bcd(second), b'+', 0, 0]
}

/// Whether a record is one of a message.
pub fn is_message(record: &Record) -> bool {
    record.message.is_some() || record.context == ServiceContext::SMS
}

/// Appends a record.
pub fn encode(record: &Record, node: &str, into: &mut Vec<u8>) {
    // [93] is above 30, so the tag has a second octet (X.690 8.1.2.4).
    element(into, &[CONTEXT_CONSTRUCTED | 0x1f, RECORD_TYPE], |set| {
        integer(set, CONTEXT, RECORD_TYPE.into());
        primitive(set, CONTEXT | 1, &address(node));
        element(set, &[CONTEXT_CONSTRUCTED | 2], |info| originator(record, info));
        if !record.destination.is_empty() {
            element(set, &[CONTEXT_CONSTRUCTED | 3], |list| {
                element(list, &[SEQUENCE], |info| {
                    primitive(info, CONTEXT | 1, &address(&record.destination))
                });
            });
        }
        primitive(set, CONTEXT | 5, &timestamp(record.time_us));
        primitive(set, CONTEXT | 6, &reference(record));
        if record.parts > 0 {
            integer(set, CONTEXT | 7, record.parts.into());
        }
        integer(set, CONTEXT | 22, (record.position & 0xffff_ffff) as i64);
        element(set, &[CONTEXT_CONSTRUCTED | 23], |extensions| {
            element(extensions, &[SEQUENCE], |extension| {
                primitive(extension, OBJECT_IDENTIFIER, &EXTENSION);
                element(extension, &[CONTEXT_CONSTRUCTED | 2], |any| {
                    element(any, &[SEQUENCE], |own| our_own(record, own))
                });
            });
        });
    });
}

fn originator(record: &Record, info: &mut Vec<u8>) {
    match record.account_kind {
        Some(KeyKind::Imsi) => primitive(info, CONTEXT, &tbcd(&record.account_name)),
        Some(KeyKind::E164) => primitive(info, CONTEXT | 1, &address(&record.account_name)),
        kind => element(info, &[CONTEXT_CONSTRUCTED | 2], |other| {
            // SMAddressType: nAI (8), other (6).
            integer(other, CONTEXT, if kind == Some(KeyKind::Nai) { 8 } else { 6 });
            primitive(other, CONTEXT | 1, record.account_name.as_bytes());
        }),
    }
}

/// MessageReference: our own message's ids, or else the hash of the session.
fn reference(record: &Record) -> Vec<u8> {
    match record.message {
        Some(message) => [&message.alert.to_be_bytes()[..], &message.endpoint.to_be_bytes()].concat(),
        None => [record.session[0].to_be_bytes(), record.session[1].to_be_bytes()].concat(),
    }
}

/// SEQUENCE { event UTF8String, result, charged, owed, shortfall, units INTEGER }.
fn our_own(record: &Record, own: &mut Vec<u8>) {
    primitive(own, UTF8_STRING, format!("{:?}", record.deed).as_bytes());
    let units = i64::try_from(units(record).specific).unwrap_or(i64::MAX);
    for value in [record.result.into(), record.charged, record.owed, record.shortfall, units] {
        integer(own, INTEGER, value);
    }
}
