//! Messages written by hand, of peers that are not this crate.

use super::*;

/// A response to a request of ours, with its own To tag.
pub(super) fn response(request: &str, status: u16, more: &str) -> String {
    tagged(request, status, "peer", more)
}

/// The same with a tag of choice.
pub(super) fn tagged(request: &str, status: u16, tag: &str, more: &str) -> String {
    let mut text = format!("SIP/2.0 {status} Said So\r\n");
    for line in request.lines() {
        let is_echoed = ["Via:", "From:", "Call-ID:", "CSeq:"].iter().any(|name| line.starts_with(name));
        if is_echoed {
            text.push_str(&format!("{line}\r\n"));
        } else if line.starts_with("To:") {
            let has_tag = line.contains(";tag=");
            text.push_str(&if has_tag { format!("{line}\r\n") } else { format!("{line};tag={tag}\r\n") });
        }
    }
    format!("{text}{more}Content-Length: 0\r\n\r\n")
}

/// INVITE of a peer at the address of agent 0.
pub(super) fn invite(number: u32, more: &str) -> String {
    format!(
        "INVITE sip:agent@192.0.2.2 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKraw{number};rport\r\n\
         From: <sip:raw@192.0.2.1>;tag=raw\r\nTo: <sip:agent@192.0.2.2>\r\nCall-ID: raw{number}\r\n\
         CSeq: {number} INVITE\r\nContact: <sip:raw@192.0.2.1:5060>\r\n{more}Content-Length: 0\r\n\r\n"
    )
}

/// The ACK for a 2xx to [`invite`].
pub(super) fn ack(answer: &str) -> String {
    let value = |name| header(answer, name).unwrap();
    let number = value(HeaderName::CSeq).replace(" INVITE", "");
    format!(
        "ACK sip:agent@192.0.2.2 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKack{number}\r\n\
         From: {}\r\nTo: {}\r\nCall-ID: {}\r\nCSeq: {number} ACK\r\nContent-Length: 0\r\n\r\n",
        value(HeaderName::From),
        value(HeaderName::To),
        value(HeaderName::CallId),
    )
}

#[test]
fn of_several_forks_that_answer_the_first_is_taken_and_the_others_are_ended() {
    let mut wire = Wire::new(1);
    let call = wire.invite(order(7));
    let invite = wire.last(0, "INVITE").to_owned();
    let contact = |port: u16| format!("Contact: <sip:fork@192.0.2.77:{port}>\r\n");
    for tag in ["a", "b", "a", "b", "c"] {
        let ringing = tagged(&invite, 180, tag, &contact(1));
        wire.agents[0].receive(flow(7), ringing.as_bytes(), wire.now);
    }
    for (tag, port) in [("b", 1), ("a", 2), ("b", 1), ("a", 2), ("c", 3)] {
        let answer = tagged(&invite, 200, tag, &contact(port));
        wire.agents[0].receive(flow(7), answer.as_bytes(), wire.now);
    }
    wire.settle();
    let answered = wire.take_calls(0).into_iter().filter(|event| matches!(event, CallEvent::Answered { .. }));
    assert_eq!(answered.count(), 1);
    assert_eq!((wire.count(0, "ACK"), wire.count(0, "BYE")), (5, 2));
    let ends: Vec<_> = wire.sent.iter().filter(|message| message.starts_with("BYE")).collect();
    for (bye, (tag, port)) in ends.iter().zip([("a", 2), ("c", 3)]) {
        assert!(bye.starts_with(&format!("BYE sip:fork@192.0.2.77:{port} ")), "{bye}");
        assert!(header(bye, HeaderName::To).unwrap().ends_with(&format!(";tag={tag}")));
    }
    wire.agents[0].bye(call, vec![], wire.now).unwrap();
    wire.settle();
    assert!(header(wire.last(0, "BYE"), HeaderName::To).unwrap().ends_with(";tag=b"));
    assert_eq!(wire.agents[0].counters().forks_ended, 2);
}

#[test]
fn a_record_route_is_followed_in_both_directions() {
    let routes = "Record-Route: <sip:p2@192.0.2.51;lr>, <sip:p1@192.0.2.50;lr>\r\n";
    let mut wire = Wire::new(2);
    let call = wire.invite(order(7));
    let invite = wire.last(0, "INVITE").to_owned();
    let more = format!("{routes}Contact: <sip:end@192.0.2.77>\r\n");
    wire.agents[0].receive(flow(7), response(&invite, 200, &more).as_bytes(), wire.now);
    wire.agents[0].bye(call, vec![], wire.now).unwrap();
    wire.settle();
    for begin in ["ACK sip:end@192.0.2.77 ", "BYE sip:end@192.0.2.77 "] {
        let message = wire.last(0, begin);
        assert_eq!(header(message, HeaderName::Route).as_deref(), Some("<sip:p1@192.0.2.50;lr>"));
    }
    let raw = self::invite(1, routes);
    wire.agents[1].receive(flow(0), raw.as_bytes(), wire.now);
    wire.settle();
    let (call, _) = wire.incoming(1);
    wire.agents[1].answer(call, SipResponse::new(200), wire.now).unwrap();
    wire.settle();
    let answer = wire.last(1, "SIP/2.0 200").to_owned();
    assert_eq!(header(&answer, HeaderName::RecordRoute).as_deref(), Some("<sip:p2@192.0.2.51;lr>"));
    wire.agents[1].receive(flow(0), ack(&answer).as_bytes(), wire.now);
    wire.agents[1].bye(call, vec![], wire.now).unwrap();
    wire.settle();
    let bye = wire.last(1, "BYE sip:raw@192.0.2.1:5060 ");
    assert_eq!(header(bye, HeaderName::Route).as_deref(), Some("<sip:p2@192.0.2.51;lr>"));
}

#[test]
fn requests_that_cannot_be_served_get_the_status_that_says_why() {
    let cases: &[(&str, &str, &str)] = &[
        ("sip:agent@192.0.2.2", "sip:agent@192.0.2.2;;;", "SIP/2.0 100"),
        ("sip:agent@192.0.2.2 SIP", "nobody-knows:this SIP", "SIP/2.0 416"),
        ("Content-Length", "Require: 100rel, timer\r\nContent-Length", "SIP/2.0 420"),
        (
            "Content-Length: 0\r\n\r\n",
            "Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx",
            "SIP/2.0 415",
        ),
        ("CSeq: 1 INVITE", "CSeq: 1 BYE", "SIP/2.0 400"),
        ("Call-ID: raw1\r\n", "", "SIP/2.0 400"),
        ("SIP/2.0\r\nVia", "SIP/7.0\r\nVia", "SIP/2.0 505"),
        ("Content-Length: 0", "Content-Length: 9", "SIP/2.0 400"),
        ("Content-Length", "Session-Expires: 60\r\nContent-Length", "SIP/2.0 422"),
        ("Contact: <sip:raw@192.0.2.1:5060>\r\n", "", "SIP/2.0 400"),
        ("To: <sip:agent@192.0.2.2>", "To: <sip:agent@192.0.2.2>;tag=gone", "SIP/2.0 481"),
    ];
    for (from, to, status) in cases {
        let mut wire = Wire::new(2);
        wire.agents[1].receive(flow(0), invite(1, "").replacen(from, to, 1).as_bytes(), wire.now);
        wire.settle();
        assert_eq!(wire.count(1, status), 1, "{to}: {:?}", wire.log);
        assert_eq!(wire.agents[1].calls(), usize::from(*status == "SIP/2.0 100"), "{to}");
    }
}

#[test]
fn methods_outside_of_calls_are_answered() {
    let cases = [
        ("OPTIONS", 200),
        ("BYE", 481),
        ("INFO", 481),
        ("SUBSCRIBE", 405),
        ("REGISTER", 405),
        ("FANCY", 501),
    ];
    for (method, status) in cases {
        let mut wire = Wire::new(2);
        let raw = invite(1, "").replace("INVITE", method);
        wire.agents[1].receive(flow(0), raw.as_bytes(), wire.now);
        wire.agents[1].receive(flow(0), raw.as_bytes(), wire.now);
        wire.settle();
        assert_eq!(wire.count(1, &format!("SIP/2.0 {status}")), 2, "{method}: {:?}", wire.log);
        assert!(header(wire.last(1, "SIP"), HeaderName::Allow).unwrap().contains("CANCEL"));
        wire.assert_empty();
    }
}

#[test]
fn the_same_invite_by_another_way_is_a_loop() {
    let mut wire = Wire::new(2);
    wire.agents[1].receive(flow(0), invite(1, "").as_bytes(), wire.now);
    let other = invite(1, "").replace("z9hG4bKraw1", "z9hG4bKother");
    wire.agents[1].receive(flow(0), other.as_bytes(), wire.now);
    wire.settle();
    assert_eq!((wire.count(1, "SIP/2.0 482"), wire.agents[1].calls()), (1, 1));
}

#[test]
fn responses_go_to_where_the_request_came_from() {
    let port = |wire: &mut Wire, raw: &str| {
        let source = SipFlow { transport: SipTransport::Udp, remote: "198.51.100.9:4444".parse().unwrap() };
        wire.agents[1].receive(source, raw.as_bytes(), wire.now);
        let transmit = wire.agents[1].poll_transmit().unwrap();
        (transmit.flow.remote.to_string(), String::from_utf8(transmit.octets.to_vec()).unwrap())
    };
    let mut wire = Wire::new(2);
    let (to, text) = port(&mut wire, &invite(1, ""));
    assert_eq!(to, "198.51.100.9:4444");
    assert!(header(&text, HeaderName::Via).unwrap().ends_with(";received=198.51.100.9;rport=4444"), "{text}");
    let (to, text) = port(&mut wire, &invite(2, "").replace(";rport", ""));
    assert_eq!(to, "198.51.100.9:5060");
    assert!(header(&text, HeaderName::Via).unwrap().ends_with(";received=198.51.100.9"), "{text}");
}

#[test]
fn early_calls_end_by_bye_and_numbers_out_of_order_are_refused() {
    let mut wire = Wire::new(2);
    wire.agents[1].receive(flow(0), invite(5, "").as_bytes(), wire.now);
    wire.settle();
    let (call, _) = wire.incoming(1);
    wire.agents[1].ring(call, &SipResponse::new(180), wire.now).unwrap();
    wire.settle();
    let tag = header(wire.last(1, "SIP/2.0 180"), HeaderName::To).unwrap();
    let bye = |number: u32| {
        let text =
            invite(5, "").replace("INVITE", "BYE").replace("raw5;rport", &format!("bye{number};rport"));
        text.replace("CSeq: 5", &format!("CSeq: {number}"))
            .replace("To: <sip:agent@192.0.2.2>", &format!("To: {tag}"))
    };
    wire.agents[1].receive(flow(0), bye(6).as_bytes(), wire.now);
    wire.settle();
    assert_eq!((wire.count(1, "SIP/2.0 200"), wire.count(1, "SIP/2.0 487")), (1, 1));
    assert_eq!(refusal(&wire.take_calls(1)).status, 487);
    let mut wire = Wire::new(2);
    let (_, _) = wire.talking();
    let info = wire.last(0, "ACK").replace("ACK", "INFO").replace("branch=z9", "branch=z9hG4bKx9");
    wire.agents[1].receive(flow(0), info.as_bytes(), wire.now);
    wire.settle();
    assert_eq!(wire.count(1, "SIP/2.0 500"), 1);
    let info = info.replace("CSeq: 1", "CSeq: 2").replace("hG4bKx9", "hG4bKy9");
    wire.agents[1].receive(flow(0), info.as_bytes(), wire.now);
    assert_eq!(wire.take_calls(1), [CallEvent::Info { body: None }]);
}

#[test]
fn responses_with_two_vias_or_of_no_transaction_are_dropped() {
    let mut wire = Wire::new(1);
    wire.invite(order(7));
    let invite = wire.last(0, "INVITE").to_owned();
    let two = response(&invite, 486, "Via: SIP/2.0/UDP 192.0.2.9\r\n");
    let stray = response(&invite, 486, "").replace("z9hG4bK", "z9hG4bKx");
    for text in [two, stray] {
        wire.agents[0].receive(flow(7), text.as_bytes(), wire.now);
    }
    assert!(wire.take_calls(0).is_empty());
    assert_eq!((wire.agents[0].counters().unreadable, wire.agents[0].counters().stray_responses), (1, 1));
}
