use super::*;
use crate::limits::*;
use proptest::prelude::*;

fn request(more: &str) -> String {
    format!(
        "BYE sip:b@h SIP/2.0\r\nVia: SIP/2.0/UDP a;branch=z9hG4bK1\r\nFrom: <sip:a@x>;tag=1\r\n\
         To: <sip:b@x>;tag=2\r\nCall-ID: c\r\nCSeq: 1 BYE\r\n{more}\r\n"
    )
}

#[test]
fn a_message_is_read_with_bare_line_feeds_and_empty_lines_before_it() {
    let text = format!("\r\n\n{}", request("Subject: a\r\n b\r\n")).replace("\r\n", "\n") + "body";
    let message = SipMessage::parse(text.as_bytes()).unwrap();
    assert_eq!((message.method(), message.request_uri()), (Some(&Method::Bye), Some("sip:b@h")));
    assert_eq!(message.value(HeaderName::Subject), Some("a  b"));
    assert_eq!(message.body(), b"body");
    message.essentials().unwrap();
}

#[test]
fn limits_are_named_and_kept() {
    let long = |count: usize| "x".repeat(count);
    let cases = [
        (request(&"A: b\r\n".repeat(HEADER_FIELDS_MAX)), "header fields: more than 256 allowed"),
        (
            request(&format!("Subject: {}\r\n", long(HEADER_VALUE_OCTETS_MAX))),
            "Subject: more than 8192 allowed",
        ),
        (
            request(&format!("Subject: {}\r\n", long(HEAD_OCTETS_MAX))),
            "octets of the head: more than 32768 allowed",
        ),
        (
            request(&format!("\r\n{}", long(BODY_OCTETS_MAX + 1))),
            "octets of the body: more than 65536 allowed",
        ),
        (
            format!("BYE sip:{} SIP/2.0\r\n\r\n", long(START_LINE_OCTETS_MAX)),
            "Request-URI: more than 8192 allowed",
        ),
        (request("Content-Length: 5\r\n"), "Content-Length says 5 octets of body, the datagram has 0"),
        ("BYE sip:a@b SIP/2.0\r\nA: b\r\n".to_owned(), "no empty line behind the header fields"),
        (request("A b\r\n"), "header field: a line without a colon"),
        (request("A\u{1}: b\r\n"), "header field: a name that is no token"),
        (request("Subject: a\rVia: x\r\n"), "Subject: CR without LF"),
    ];
    for (text, problem) in cases {
        assert_eq!(SipMessage::parse(text.as_bytes()).unwrap_err().to_string(), problem);
    }
}

#[test]
fn octets_that_are_no_utf_8_are_replaced_in_the_head_and_kept_in_the_body() {
    let mut octets = request("Subject: M\u{FC}ller\r\n").into_bytes();
    octets.extend([0xFF, 0, 1]);
    let at = octets.windows(2).position(|pair| pair == [0xC3, 0xBC]).unwrap();
    octets.remove(at);
    let message = SipMessage::parse(&octets).unwrap();
    assert_eq!(message.value(HeaderName::Subject), Some("M\u{FFFD}ller"));
    assert_eq!(message.body(), [0xFF, 0, 1]);
}

#[test]
fn reasons_session_timers_and_numbers_are_read() {
    let text = request(
        "Reason: Q.850 ;cause=17 ;text=\"User \\\"busy\\\"\", SIP;cause=200, ;;bad\r\nx: 1800 ;Refresher=UAS\r\n\
         Retry-After: 120 (a meeting);duration=60\r\nMin-SE: 99999999999\r\nAllow: INVITE , ACK\r\nAllow: BYE\r\n",
    );
    let message = SipMessage::parse(text.as_bytes()).unwrap();
    let reasons: Vec<_> = message.reasons().map(|reason| reason.to_string()).collect();
    assert_eq!(reasons, ["Q.850;cause=17;text=\"User \\\"busy\\\"\"", "SIP;cause=200"]);
    let timer = message.session_expires().unwrap();
    assert_eq!((timer.interval.as_secs(), timer.refresher), (1_800, Some(Refresher::Uas)));
    assert_eq!(message.seconds(HeaderName::RetryAfter), Some(120));
    assert_eq!(message.seconds(HeaderName::MinSe), Some(u32::MAX));
    assert_eq!(message.list(HeaderName::Allow).collect::<Vec<_>>(), ["INVITE", "ACK", "BYE"]);
    assert!(message.lists(HeaderName::Allow, "bye") && !message.lists(HeaderName::Allow, "UPDATE"));
}

#[test]
fn the_description_is_found_in_a_multipart_body() {
    let sdp = "v=0\r\no=- 1 2 IN IP4 192.0.2.1\r\ns=-\r\nt=0 0\r\n";
    let parts = format!(
        "preamble\r\n--b--x\r\nContent-Type: application/isup;version=itu-t92+\r\n\r\n\x01\x02\r\n--b--x\r\n\
         C: application/SDP\r\n\r\n{sdp}\r\n--b--x--\r\n"
    );
    let text = request("Content-Type: multipart/Mixed; boundary=\"b--x\"\r\n") + &parts;
    let body = SipBody::of(&SipMessage::parse(text.as_bytes()).unwrap()).unwrap();
    assert_eq!(body.part("application/sdp"), Some(sdp.as_bytes()));
    assert_eq!(body.sdp().unwrap().origin.version, 2);
    assert_eq!(body.part("application/isup"), Some(&[1, 2][..]));
    assert!(body.part("text/plain").is_none());
}

#[test]
fn a_stream_is_cut_into_messages_wherever_its_pieces_end() {
    let one = request("Content-Length: 3\r\n") + "abc";
    let two = request("l: 0\r\n");
    let stream = format!("{one}\r\n\r\n{two}\r\n{one}");
    for size in 1..stream.len() {
        let mut framer = StreamFramer::default();
        let mut frames = Vec::new();
        for piece in stream.as_bytes().chunks(size) {
            framer.push(piece);
            while let Some(frame) = framer.next_frame(false).unwrap() {
                frames.push(frame);
            }
        }
        let message = |text: &str| StreamFrame::Message(text.as_bytes().to_vec());
        assert_eq!(
            frames,
            [message(&one), StreamFrame::Ping, message(&two), message(&one)],
            "pieces of {size}"
        );
        assert_eq!(framer.waiting(), 0);
    }
}

#[test]
fn a_lone_line_end_is_a_pong_only_while_one_is_awaited() {
    let mut framer = StreamFramer::default();
    framer.push(b"\r\n");
    assert_eq!(framer.next_frame(false), Ok(None));
    assert_eq!(framer.next_frame(true), Ok(Some(StreamFrame::Pong)));
    assert_eq!(framer.next_frame(true), Ok(None));
}

#[test]
fn content_length_is_bounded_before_it_is_believed() {
    for head in ["Content-Length: 65537", "Content-Length: 18446744073709551615", "Content-Length: x", "A: b"]
    {
        let mut framer = StreamFramer::default();
        framer.push(request(&format!("{head}\r\n")).as_bytes());
        assert!(framer.next_frame(false).is_err(), "{head}");
    }
}

/// A text that a header field may have: no line ends.
fn value() -> impl Strategy<Value = String> {
    "[ -~äöü\\t]{0,60}".prop_map(|text| text.trim_matches([' ', '\t']).to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(200)))]

    #[test]
    fn written_messages_are_read_back(
        user in "[ -~]{1,20}", name in "[ -~ä]{0,30}", values in prop::collection::vec(value(), 0..5),
        octets in prop::collection::vec(any::<u8>(), 0..50), status in 100_u16..700,
    ) {
        let uri = crate::Uri::sip(&user, crate::HostPort::new("192.0.2.1", Some(5060)).unwrap()).unwrap();
        let party = PartyAddress::named(&name, uri.clone()).unwrap();
        let body = SipBody::new("a/b", octets.clone()).ok();
        let fill = |mut writer: MessageWriter| {
            writer.header(HeaderName::From, &party).header(HeaderName::CallId, "c");
            for value in &values {
                writer.extra(&[ExtraHeader::new("X-Value", &value.replace('\t', " ")).unwrap()]);
            }
            writer.finish(body.as_ref())
        };
        let written = fill(MessageWriter::request(&Method::Message, &uri.to_string()));
        let read = SipMessage::parse(&written).unwrap();
        prop_assert_eq!(crate::Uri::parse(read.request_uri().unwrap()).unwrap(), uri.clone());
        let from = NameAddr::parse("From", read.value(HeaderName::From).unwrap()).unwrap();
        prop_assert_eq!(from.to_party().unwrap(), party.clone());
        prop_assert_eq!(read.body(), &octets[..]);
        let read_values: Vec<_> =
            read.header_fields().filter(|(name, _)| *name == "X-Value").map(|(_, value)| value.to_owned()).collect();
        let expected: Vec<_> = values.iter().map(|value| value.replace('\t', " ")).collect();
        prop_assert_eq!(read_values, expected);
        let written = fill(MessageWriter::response(status, Some("Some Words")));
        let read = SipMessage::parse(&written).unwrap();
        prop_assert_eq!((read.status(), read.phrase()), (Some(status), Some("Some Words")));
    }

    #[test]
    fn no_value_brings_a_line_into_a_message(value in any::<String>(), phrase in any::<String>()) {
        let mut writer = MessageWriter::response(200, Some(&phrase));
        writer.header(HeaderName::Subject, &value).header(HeaderName::To, &value);
        let written = writer.finish(None);
        let lines = String::from_utf8(written.clone()).unwrap().split("\r\n").count();
        prop_assert_eq!(lines, 6);
        prop_assert_eq!(SipMessage::parse(&written).unwrap().header_fields().count(), 3);
    }

    #[test]
    fn any_octets_are_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(message) = SipMessage::parse(&octets) {
            let _ = message.essentials();
        }
        let text = String::from_utf8_lossy(&octets).into_owned();
        let _ = NameAddr::parse("From", &text);
        let _ = Via::parse(&text);
        let _ = crate::Uri::parse(&text).map(|uri| uri.user());
    }
}
