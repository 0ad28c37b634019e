//! Message handling alone: a request of 11 AVPs is built, encoded, decoded, and what comes out is held
//! against what went in.

use diameter::avp::AvpName;
use diameter::dictionary::{application, avp, command};
use diameter::header::CommandFlags;
use diameter::message::Message;
use diameter::write::Writer;
use std::hint::black_box;

/// AVPs of the study's message.
const AVPS: usize = 11;
const SESSION: &str = "client-00001.client.test;1;";
const ORIGIN_HOST: &str = "client-00001.client.test";
const REALM: &str = "client.test";
const DESTINATION: &str = "bench.example";
const CONTEXT: &str = "32274@3gpp.org";
const DIGITS: usize = 12;
/// The header of a message, and of an AVP without a vendor (RFC 6733, sections 3 and 4.1).
const HEADER_OCTETS: usize = 20;
const AVP_HEADER_OCTETS: usize = 8;
const MANDATORY: u8 = 0x40;

/// As this program does it: written into one buffer that is used again, walked in place. Nothing is
/// allocated.
pub(super) fn in_place() -> impl FnMut(u64) -> bool {
    let mut session = format!("{SESSION}{:0DIGITS$}", 0).into_bytes();
    let mut octets = Vec::with_capacity(512);
    move |number| {
        digits(&mut session, number);
        octets.clear();
        let mut writer = request(&mut octets, number);
        writer.octet_string(avp::SESSION_ID, &session);
        writer.identity(avp::ORIGIN_HOST, ORIGIN_HOST);
        writer.identity(avp::ORIGIN_REALM, REALM);
        writer.identity(avp::DESTINATION_REALM, DESTINATION);
        writer.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        writer.utf8(avp::SERVICE_CONTEXT_ID, CONTEXT);
        writer.u32(avp::CC_REQUEST_TYPE, 4);
        writer.u32(avp::CC_REQUEST_NUMBER, number as u32);
        writer.time(avp::EVENT_TIMESTAMP, 1_790_000_000);
        writer.u32(avp::REQUESTED_ACTION, 0);
        writer.u32(avp::SERVICE_IDENTIFIER, 1);
        writer.finish();
        is_right(black_box(&octets), &session, number)
    }
}

/// With memory of its own for each AVP, for its data and for its encoding, when it is built and again when it
/// is decoded: about sixty allocations of a few octets a message, as in the study ("most are far smaller"
/// than 600 octets).
pub(super) fn per_avp() -> impl FnMut(u64) -> bool {
    let mut session = format!("{SESSION}{:0DIGITS$}", 0).into_bytes();
    move |number| {
        digits(&mut session, number);
        let octets = encode(&build(&session, number), number);
        is_decoded(black_box(&octets), &session, number)
    }
}

/// The octets of one message made that way: the record that a queue holds.
pub(super) fn handled(session: &mut Vec<u8>, number: u64) -> Option<Vec<u8>> {
    if session.is_empty() {
        session.extend_from_slice(format!("{SESSION}{:0DIGITS$}", 0).as_bytes());
    }
    digits(session, number);
    let octets = encode(&build(session, number), number);
    is_decoded(&octets, session, number).then_some(octets)
}

/// Boxed on purpose: each AVP is an object of its own, as in the study's server.
#[allow(clippy::vec_box, reason = "what each AVP's own memory costs is measured")]
type Avps = Vec<Box<OwnedAvp>>;

struct OwnedAvp {
    name: AvpName,
    data: Vec<u8>,
}

fn build(session: &[u8], number: u64) -> Avps {
    let avp = |name: AvpName, data: &[u8]| Box::new(OwnedAvp { name, data: data.to_vec() });
    // Seconds since 1900 (RFC 6733, section 4.3.1).
    let stamp = (1_790_000_000_u64 + 2_208_988_800) as u32;
    vec![
        avp(avp::SESSION_ID, session),
        avp(avp::ORIGIN_HOST, ORIGIN_HOST.as_bytes()),
        avp(avp::ORIGIN_REALM, REALM.as_bytes()),
        avp(avp::DESTINATION_REALM, DESTINATION.as_bytes()),
        avp(avp::AUTH_APPLICATION_ID, &application::CREDIT_CONTROL.to_be_bytes()),
        avp(avp::SERVICE_CONTEXT_ID, CONTEXT.as_bytes()),
        avp(avp::CC_REQUEST_TYPE, &4_u32.to_be_bytes()),
        avp(avp::CC_REQUEST_NUMBER, &(number as u32).to_be_bytes()),
        avp(avp::EVENT_TIMESTAMP, &stamp.to_be_bytes()),
        avp(avp::REQUESTED_ACTION, &0_u32.to_be_bytes()),
        avp(avp::SERVICE_IDENTIFIER, &1_u32.to_be_bytes()),
    ]
}

fn encode(avps: &[Box<OwnedAvp>], number: u64) -> Vec<u8> {
    let encoded: Vec<Vec<u8>> = avps.iter().map(|avp| encode_one(avp)).collect();
    let mut octets = Vec::with_capacity(HEADER_OCTETS + encoded.iter().map(Vec::len).sum::<usize>());
    let mut writer = request(&mut octets, number);
    encoded.iter().for_each(|avp| writer.written(avp));
    writer.finish();
    octets
}

fn encode_one(avp: &OwnedAvp) -> Vec<u8> {
    let length = AVP_HEADER_OCTETS + avp.data.len();
    let mut octets = Vec::with_capacity(length.next_multiple_of(4));
    octets.extend_from_slice(&avp.name.code.to_be_bytes());
    octets.extend_from_slice(&(u32::from(MANDATORY) << 24 | length as u32).to_be_bytes());
    octets.extend_from_slice(&avp.data);
    octets.resize(length.next_multiple_of(4), 0);
    octets
}

/// Decoded into memory of its own, as it was built.
fn is_decoded(octets: &[u8], session: &[u8], number: u64) -> bool {
    let Ok(message) = Message::read(octets) else { return false };
    let mut avps: Avps = Vec::with_capacity(AVPS);
    for avp in message.avps() {
        let Ok(avp) = avp else { return false };
        avps.push(Box::new(OwnedAvp { name: avp.name, data: avp.data.to_vec() }));
    }
    let data = |name: AvpName| black_box(&avps).iter().find(|avp| avp.name == name).map(|avp| &avp.data[..]);
    avps.len() == AVPS
        && data(avp::SESSION_ID) == Some(session)
        && data(avp::CC_REQUEST_NUMBER) == Some(&(number as u32).to_be_bytes()[..])
}

fn is_right(octets: &[u8], session: &[u8], number: u64) -> bool {
    let Ok(message) = Message::read(octets) else { return false };
    let (mut count, mut is_session, mut is_number) = (0, false, false);
    for avp in message.avps() {
        let Ok(avp) = avp else { return false };
        count += 1;
        match avp.name {
            avp::SESSION_ID => is_session = avp.data == session,
            avp::CC_REQUEST_NUMBER => is_number = avp.u32() == Ok(number as u32),
            _ => {}
        }
    }
    count == AVPS && is_session && is_number
}

fn request(octets: &mut Vec<u8>, number: u64) -> Writer<'_> {
    let flags = CommandFlags::PROXIABLE;
    let (hop_by_hop, end_to_end) = (number as u32, number as u32);
    Writer::request(
        octets,
        command::CREDIT_CONTROL,
        application::CREDIT_CONTROL,
        flags,
        hop_by_hop,
        end_to_end,
    )
}

/// Another session for each message.
fn digits(session: &mut [u8], number: u64) {
    let from = session.len() - DIGITS;
    super::super::request::digits(&mut session[from..], number);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_make_the_same_message() {
        let mut session = Vec::new();
        let made = handled(&mut session, 42).unwrap();
        assert!(is_right(&made, &session, 42));
        assert!(!is_right(&made, &session, 43), "another number");
        assert!(!is_decoded(&made, b"another", 42));
        assert!(!is_decoded(&made[..40], &session, 42));
        assert_eq!(Message::read(&made).unwrap().avps().count(), AVPS);
        assert!(in_place()(42) && per_avp()(42));
    }
}
