//! Any octets as a datagram, as a stream cut anywhere, and as a session description: what is read stays
//! within its limits, and what is written of it is read alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sip::Uri;
use sip::limits::{BODY_OCTETS_MAX, HEAD_OCTETS_MAX, HEADER_FIELDS_MAX};
use sip::message::{HeaderName, NameAddr, SipBody, SipMessage, StreamFramer, Via};
use sip::sdp::SessionDescription;

fn read(octets: &[u8]) {
    let Ok(message) = SipMessage::parse(octets) else { return };
    assert!(message.header_fields().count() <= HEADER_FIELDS_MAX && message.body().len() <= BODY_OCTETS_MAX);
    let _ = message.essentials();
    for value in message.list(HeaderName::Via) {
        let _ = Via::parse(value);
    }
    for value in message.list(HeaderName::Contact) {
        if let Ok(party) = NameAddr::parse("Contact", value).and_then(|contact| contact.to_party()) {
            let written = party.to_string();
            let again = NameAddr::parse("Contact", &written).and_then(|contact| contact.to_party());
            assert_eq!(again.as_ref(), Ok(&party));
        }
    }
    let _ = message.reasons().count() + usize::from(message.session_expires().is_some());
    if let Some(body) = SipBody::of(&message) {
        let _ = body.sdp();
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&cut, rest)) = bytes.split_first() else { return };
    read(rest);
    let mut framer = StreamFramer::default();
    for piece in rest.chunks(1 + usize::from(cut)) {
        framer.push(piece);
        loop {
            match framer.next_frame(cut & 1 != 0) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(framer.waiting() <= HEAD_OCTETS_MAX + BODY_OCTETS_MAX + piece.len());
    }
    if let Ok(description) = SessionDescription::parse(rest) {
        let text = description.to_string();
        let again = SessionDescription::parse(text.as_bytes()).expect("it was written");
        assert_eq!(again.to_string(), text);
    }
    if let Ok(text) = std::str::from_utf8(rest)
        && let Ok(uri) = Uri::parse(text)
    {
        assert_eq!(Uri::parse(&uri.to_string()).as_ref(), Ok(&uri));
    }
});
