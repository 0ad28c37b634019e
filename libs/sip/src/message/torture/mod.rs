//! The messages of RFC 4475, by their names there, with what becomes of each: whether it can be read, and the
//! status of a user agent's first response.
//!
//! Long runs of equal letters are shortened, and binary bodies replaced by a few octets. RFC 4475 lets a
//! receiver be liberal with some of section 3.1.2; those that are read here have the reason beside them.

mod others;
mod valid;

use super::{HeaderName, NameAddr, SipMessage};
use crate::agent::{SipAddresses, SipFlow, SipTransport, UserAgent, UserAgentConfig};
use crate::message::Method;
use crate::uri::{HostPort, Uri};
use others::OTHERS;
use std::time::Instant;
use valid::VALID;

struct Torture {
    name: &'static str,
    section: &'static str,
    text: &'static str,
    /// `Err` with the status of the error.
    reads: Result<(), u16>,
    /// Of a request: the first response; 0: none, as the request is handed over or dropped.
    response: u16,
}

const fn case(
    name: &'static str,
    section: &'static str,
    reads: Result<(), u16>,
    response: u16,
    text: &'static str,
) -> Torture {
    Torture { name, section, text, reads, response }
}

const SDP: &str = "v=0\no=mhandley 29739 7272939 IN IP4 192.0.2.3\ns=-\nc=IN IP4 192.0.2.4\nt=0 0\n\
                   m=audio 49217 RTP/AVP 0 12\nm=video 3227 RTP/AVP 31\na=rtpmap:31 LPC\n";

/// The octets as they are on the wire.
fn wire(text: &str) -> Vec<u8> {
    let (head, body) = text.split_once("\n\n").unwrap();
    let sdp = SDP.replace('\n', "\r\n");
    let body = body.replace('\n', "\r\n").replace("SDP", &sdp);
    let head = head.replace(": SDP", &format!(": {}", sdp.len())).replace('\n', "\r\n");
    format!("{head}\r\n\r\n{body}").into_bytes()
}

fn reads(octets: &[u8]) -> Result<(), u16> {
    let check = || {
        let message = SipMessage::parse(octets)?;
        message.essentials()?;
        message.request_uri().map(Uri::parse).transpose()?;
        for contact in message.list(HeaderName::Contact) {
            NameAddr::parse("Contact", contact)?;
        }
        Ok(())
    };
    check().map_err(|error: crate::SipParseError| error.status())
}

fn response(octets: &[u8]) -> u16 {
    let now = Instant::now();
    let udp = Some(HostPort::new("192.0.2.9", None).unwrap());
    let mut config = UserAgentConfig::new([7; 32], SipAddresses { udp, ..SipAddresses::default() });
    config.hands_over = vec![Method::Register, Method::Message];
    let mut agent = UserAgent::new(config, now);
    let remote = "192.0.2.1:5060".parse().unwrap();
    agent.receive(SipFlow { transport: SipTransport::Udp, remote }, octets, now);
    let Some(transmit) = agent.poll_transmit() else { return 0 };
    let response = SipMessage::parse(&transmit.octets).unwrap();
    response.status().unwrap()
}

#[test]
fn every_message_of_rfc_4475_is_read_or_refused_as_it_should_be() {
    for Torture { name, section, text, reads: expected, .. } in VALID.iter().chain(OTHERS) {
        assert_eq!(reads(&wire(text)), *expected, "{name}, section {section}");
    }
    assert_eq!(VALID.len() + OTHERS.len(), 49);
}

#[test]
fn a_user_agent_responds_to_every_message_of_rfc_4475_with_the_right_status() {
    for Torture { name, section, text, response: expected, .. } in VALID.iter().chain(OTHERS) {
        assert_eq!(response(&wire(text)), *expected, "{name}, section {section}");
    }
}

#[test]
fn the_short_tortuous_invite_is_read_in_its_parts() {
    let octets = wire(VALID[0].text);
    let message = SipMessage::parse(&octets).unwrap();
    let essentials = message.essentials().unwrap();
    assert_eq!(essentials.from.display_name, "J Rosenberg \\\"");
    assert_eq!(essentials.from.tag().as_deref(), Some("98asjd8"));
    assert_eq!(essentials.to.tag().as_deref(), Some("1918181833n"));
    assert_eq!((essentials.cseq.number, essentials.via.branch().as_deref()), (9, Some("390skdjuw")));
    assert_eq!(message.list(HeaderName::Via).count(), 3);
    assert_eq!(message.value(HeaderName::Subject), Some(""));
    assert_eq!(message.other_value("unknownheaderwithunusualvalue"), Some(";;,,;;,;"));
    let contact = NameAddr::parse("Contact", message.value(HeaderName::Contact).unwrap()).unwrap();
    assert_eq!(
        (&*contact.display_name, contact.parameters.value("q").as_deref()),
        ("Quoted string \"\"", Some("0.33"))
    );
    assert!(contact.parameters.has("secondparam"));
}

#[test]
fn every_cut_of_every_message_is_read_or_refused() {
    for Torture { text, .. } in VALID.iter().chain(OTHERS) {
        let octets = wire(text);
        for end in (0..octets.len()).step_by(3) {
            let _ = reads(&octets[..end]);
            response(&octets[..end]);
        }
    }
}
