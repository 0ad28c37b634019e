use super::*;
use crate::digest::{DigestAlgorithm, DigestChallenge, DigestCredentials, DigestQop};
use crate::message::{ExtraHeader, Method};

fn registration(index: usize) -> RegistrationOrder {
    RegistrationOrder {
        flow: flow(index),
        registrar: uri("sip:192.0.2.2"),
        address: PartyAddress::new(uri("sip:town@192.0.2.2")),
        contact_user: "town".to_owned(),
        expires: Duration::from_secs(600),
        credentials: Some(DigestCredentials::new("town", "pw", None).unwrap()),
    }
}

fn registrar() -> Wire {
    Wire::with(2, Weather::default(), |_, config| config.hands_over = vec![Method::Register])
}

/// The request that waits at agent 1, and its text.
fn request(wire: &mut Wire) -> (RequestHandle, String) {
    wire.settle();
    match wire.events[1].pop() {
        Some(AgentEvent::Request { request, octets, .. }) => (request, String::from_utf8(octets).unwrap()),
        other => panic!("{other:?}"),
    }
}

fn respond(wire: &mut Wire, request: RequestHandle, response: &SipResponse) {
    wire.agents[1].respond(request, response, wire.now).unwrap();
    wire.settle();
}

#[test]
fn a_registration_is_challenged_lengthened_refreshed_and_given_up() {
    let mut wire = registrar();
    let handle = wire.agents[0].register(registration(1), wire.now).unwrap();
    let (first, _) = request(&mut wire);
    let challenge = DigestChallenge {
        realm: "r".to_owned(),
        nonce: "n".to_owned(),
        opaque: None,
        stale: false,
        algorithm: DigestAlgorithm::Md5,
        qop: vec![DigestQop::Auth],
    };
    respond(&mut wire, first, &SipResponse { challenges: vec![challenge], ..SipResponse::new(401) });
    let (second, text) = request(&mut wire);
    assert!(header(&text, HeaderName::Authorization).is_some());
    let min = ExtraHeader::new("Min-Expires", "1000").unwrap();
    respond(&mut wire, second, &SipResponse { headers: vec![min], ..SipResponse::new(423) });
    let (third, text) = request(&mut wire);
    assert_eq!(header(&text, HeaderName::Expires).as_deref(), Some("1000"));
    let contact = header(&text, HeaderName::Contact).unwrap();
    let contacts = vec!["<sip:other@x>;expires=5".to_owned(), format!("{contact};expires=1000")];
    respond(&mut wire, third, &SipResponse { contacts: contacts.clone(), ..SipResponse::new(200) });
    let expires = Duration::from_secs(1_000);
    let registered = AgentEvent::Registered { registration: handle, expires, service_routes: vec![] };
    assert_eq!(wire.events[0].pop(), Some(registered));
    wire.pass(939);
    assert!(wire.events[1].is_empty());
    wire.pass(2);
    let (fourth, text) = request(&mut wire);
    assert_eq!(header(&text, HeaderName::CSeq).as_deref(), Some("4 REGISTER"));
    respond(&mut wire, fourth, &SipResponse { contacts, ..SipResponse::new(200) });
    wire.agents[0].unregister(handle, wire.now).unwrap();
    let (fifth, text) = request(&mut wire);
    assert_eq!(header(&text, HeaderName::Expires).as_deref(), Some("0"));
    respond(&mut wire, fifth, &SipResponse::new(200));
    let over = AgentEvent::Unregistered { registration: handle, refusal: None };
    assert_eq!(wire.events[0].pop(), Some(over));
    wire.assert_empty();
}

#[test]
fn a_registration_that_is_refused_or_not_answered_ends() {
    let mut wire = registrar();
    wire.agents[0].register(registration(1), wire.now).unwrap();
    let (first, _) = request(&mut wire);
    respond(&mut wire, first, &SipResponse::new(403));
    let Some(AgentEvent::Unregistered { refusal: Some(refusal), .. }) = wire.events[0].pop() else {
        panic!()
    };
    assert_eq!((refusal.status, refusal.by), (403, RefusedBy::Peer));
    wire.agents[0].register(registration(7), wire.now).unwrap();
    wire.pass(33);
    let Some(AgentEvent::Unregistered { refusal: Some(refusal), .. }) = wire.events[0].pop() else {
        panic!()
    };
    assert_eq!((refusal.status, refusal.by), (408, RefusedBy::Silence));
    wire.assert_empty();
}

#[test]
fn a_request_that_the_caller_forgets_is_answered_by_500() {
    let mut wire = registrar();
    wire.agents[0].register(registration(1), wire.now).unwrap();
    let (forgotten, _) = request(&mut wire);
    wire.pass(31);
    assert_eq!(wire.count(1, "SIP/2.0 500"), 1);
    assert_eq!(
        wire.agents[1].respond(forgotten, &SipResponse::new(200), wire.now),
        Err(InviteRefusal::WrongState)
    );
    wire.assert_empty();
}

#[test]
fn options_find_out_whether_a_peer_is_there() {
    let ask = |wire: &mut Wire, to: usize| {
        let from = PartyAddress::new(uri("sip:town@192.0.2.1"));
        let order = OptionsOrder { flow: flow(to), target: uri("sip:192.0.2.2"), from, credentials: None };
        wire.agents[0].options(order, wire.now).unwrap();
        wire.pass(33);
        match wire.events[0].pop() {
            Some(AgentEvent::OptionsAnswered { outcome, .. }) => outcome,
            other => panic!("{other:?}"),
        }
    };
    let mut wire = Wire::with(2, Weather { delay_ms: 50, seed: 3, ..Weather::default() }, |_, _| {});
    let answer = ask(&mut wire, 1).unwrap();
    assert!(answer.status == 200 && answer.allow.contains(&"INVITE".to_owned()), "{answer:?}");
    assert!(answer.round_trip <= Duration::from_millis(100));
    assert_eq!(ask(&mut wire, 7), Err(RefusedBy::Silence));
    wire.assert_empty();
}

fn tcp(index: usize) -> SipFlow {
    SipFlow { transport: SipTransport::Tcp, remote: address(index) }
}

#[test]
fn a_call_by_tcp_repeats_nothing_and_its_stream_may_be_cut_anywhere() {
    let mut wire = Wire::new(1);
    let call = wire.agents[0].invite(OutgoingCall { flow: tcp(1), ..order(1) }, wire.now).unwrap();
    wire.pass(20);
    assert_eq!(wire.count(0, "INVITE"), 1);
    let invite = wire.last(0, "INVITE").to_owned();
    assert!(invite.contains("SIP/2.0/TCP") && invite.contains(";transport=tcp>"), "{invite}");
    let contact = "Contact: <sip:peer@192.0.2.2;transport=tcp>\r\n";
    let stream = raw::response(&invite, 100, "") + "\r\n" + &raw::response(&invite, 200, contact);
    for octet in stream.as_bytes() {
        wire.agents[0].receive(tcp(1), &[*octet], wire.now);
    }
    let answered = CallEvent::Answered { body: None, wants_answer: false };
    assert_eq!(wire.take_calls(0), [CallEvent::Trying, answered]);
    assert!(wire.agents[0].bye(call, vec![], wire.now).is_ok());
}

#[test]
fn pings_of_a_stream_are_answered_and_a_missing_pong_fails_its_flow() {
    let mut wire = Wire::new(1);
    wire.agents[0].receive(tcp(1), b"\r\n", wire.now);
    wire.settle();
    assert!(wire.sent.is_empty());
    wire.agents[0].receive(tcp(1), b"\r\n", wire.now);
    wire.settle();
    assert_eq!(wire.sent, ["\r\n"]);
    wire.agents[0].keep_alive(tcp(1), Some(Duration::from_secs(30)), wire.now);
    wire.pass(31);
    assert_eq!(wire.sent[1..], ["\r\n\r\n"]);
    wire.agents[0].receive(tcp(1), b"\r\n", wire.now);
    wire.pass(30);
    assert!(wire.events[0].is_empty());
    wire.pass(10);
    assert!(matches!(wire.events[0][..], [AgentEvent::FlowFailed { .. }]), "{:?}", wire.events[0]);
    assert_eq!(wire.agents[0].poll_timeout(), None);
}

#[test]
fn a_udp_flow_is_kept_alive_by_line_ends_and_needs_no_pong() {
    let mut wire = Wire::new(2);
    wire.agents[0].keep_alive(flow(1), Some(Duration::from_secs(25)), wire.now);
    wire.pass(101);
    assert_eq!(wire.sent, ["\r\n"; 4]);
    wire.agents[0].keep_alive(flow(1), None, wire.now);
    wire.pass(100);
    assert!(wire.sent.len() == 4 && wire.events[0].is_empty());
    assert_eq!(wire.agents[1].counters().unreadable, 0);
}

#[test]
fn a_stream_that_cannot_be_read_fails_its_flow() {
    for octets in [
        "INVITE sip:a@b SIP/2.0\r\nContent-Length: 99999999\r\n\r\n",
        "INVITE sip:a@b SIP/2.0\r\n\r\n",
        "nonsense\r\n\r\n",
    ] {
        let mut wire = Wire::new(1);
        wire.agents[0].receive(tcp(1), octets.as_bytes(), wire.now);
        wire.settle();
        assert!(matches!(wire.events[0][..], [AgentEvent::FlowFailed { .. }]), "{octets}");
    }
    let mut wire = Wire::new(1);
    for _ in 0..40 {
        wire.agents[0].receive(tcp(1), &[b'x'; 1_024], wire.now);
    }
    wire.settle();
    assert!(matches!(wire.events[0][0], AgentEvent::FlowFailed { .. }));
}
