use super::*;
use crate::message::ReasonValue;

#[test]
fn a_call_rings_is_answered_and_ended_by_the_caller() {
    let mut wire = Wire::new(2);
    let ours = wire.invite(order(1));
    let (theirs, invite) = wire.incoming(1);
    assert_eq!((invite.from.display_name(), invite.target.as_str()), ("Town Hall", "sip:person@192.0.2.2"));
    wire.agents[1].ring(theirs, &SipResponse::new(180), wire.now).unwrap();
    wire.settle();
    let ringing = CallEvent::Progress { status: 180, phrase: "Ringing".to_owned(), body: None };
    assert_eq!(wire.take_calls(0), [CallEvent::Trying, ringing]);
    wire.agents[1].answer(theirs, SipResponse::new(200).with_body(body("answer")), wire.now).unwrap();
    wire.settle();
    wire.agents[0].bye(ours, vec![], wire.now).unwrap();
    wire.settle();
    assert_eq!(ended(&wire.take_calls(0)), EndedBy::Us);
    assert_eq!(ended(&wire.take_calls(1)), EndedBy::Peer);
    wire.assert_empty();
    assert_eq!(wire.count(0, "INVITE"), 1);
    assert_eq!(wire.count(0, "ACK"), 1);
}

#[test]
fn the_callee_ends_a_call_with_its_reason() {
    let mut wire = Wire::new(2);
    let (_, theirs) = wire.talking();
    let reason =
        ReasonValue { protocol: "Q.850".to_owned(), cause: Some(16), text: Some("Normal".to_owned()) };
    wire.agents[1].bye(theirs, vec![reason.clone()], wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.take_calls(0), [CallEvent::Ended { by: EndedBy::Peer, reasons: vec![reason] }]);
    assert_eq!(ended(&wire.take_calls(1)), EndedBy::Us);
    wire.assert_empty();
}

#[test]
fn nothing_leaves_before_a_prepared_call_is_released() {
    let mut wire = Wire::new(2);
    let call = wire.agents[0].prepare(order(1)).unwrap();
    let call_id = wire.agents[0].call_id(call).unwrap().to_owned();
    wire.pass(100);
    assert!(wire.log.is_empty());
    wire.agents[0].release(call, wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.incoming(1).1.call_id, call_id);
    assert_eq!(wire.agents[0].release(call, wire.now), Err(InviteRefusal::WrongState));
}

#[test]
fn a_prepared_call_that_is_cancelled_never_leaves() {
    let mut wire = Wire::new(2);
    let call = wire.agents[0].prepare(order(1)).unwrap();
    wire.agents[0].cancel(call, wire.now).unwrap();
    wire.settle();
    assert_eq!(refusal(&wire.take_calls(0)).by, RefusedBy::Cancelled);
    assert!(wire.log.is_empty());
    wire.assert_empty();
}

#[test]
fn refusals_carry_status_reason_and_retry_after() {
    for status in [404, 480, 486, 503, 600, 603, 608] {
        let mut wire = Wire::new(2);
        wire.invite(order(1));
        let (theirs, _) = wire.incoming(1);
        let mut response = SipResponse::new(status);
        response.reasons = vec![ReasonValue::parse("Q.850;cause=17;text=\"User busy\"").unwrap()];
        response.retry_after = Some(30);
        wire.agents[1].reject(theirs, &response, wire.now).unwrap();
        wire.settle();
        let refused = refusal(&wire.take_calls(0));
        assert_eq!((refused.by, refused.status, refused.retry_after), (RefusedBy::Peer, status, Some(30)));
        assert!(refused.reasons[0].is_q850() && refused.reasons[0].cause == Some(17));
        assert_eq!(refusal(&wire.take_calls(1)).by, RefusedBy::Ourselves);
        assert_eq!(wire.count(0, "ACK"), 1);
        wire.assert_empty();
    }
}

#[test]
fn a_call_blocked_by_the_carrier_has_the_words_of_603_plus() {
    let mut wire = Wire::new(2);
    wire.invite(order(1));
    let (theirs, _) = wire.incoming(1);
    let words = "v=analytics1;url=https://block.example.com;tel=+18005551212";
    let mut response = SipResponse::new(603);
    response.phrase = Some("Network Blocked".to_owned());
    response.reasons =
        vec![ReasonValue { protocol: "SIP".to_owned(), cause: Some(603), text: Some(words.to_owned()) }];
    wire.agents[1].reject(theirs, &response, wire.now).unwrap();
    wire.settle();
    let refused = refusal(&wire.take_calls(0));
    assert_eq!(
        (refused.phrase.as_str(), refused.reasons[0].text.as_deref()),
        ("Network Blocked", Some(words))
    );
}

#[test]
fn a_silent_server_ends_the_call_by_timer_b() {
    let mut wire = Wire::new(1);
    let begin = wire.now;
    wire.invite(order(7));
    let mut events = Vec::new();
    while events.is_empty() {
        assert!(wire.step(begin + Duration::from_secs(60)));
        events = wire.take_calls(0);
    }
    let refused = refusal(&events);
    assert_eq!((refused.by, refused.status), (RefusedBy::Silence, 408));
    assert_eq!(wire.now - begin, Duration::from_secs(32));
    assert_eq!(wire.count(0, "INVITE"), 7);
    wire.assert_empty();
}

#[test]
fn a_cancel_waits_for_a_provisional_response() {
    let mut wire = Wire::new(2);
    wire.drops = vec![(1, "SIP/2.0 100", 2)];
    let call = wire.agents[0].invite(order(1), wire.now).unwrap();
    wire.agents[0].cancel(call, wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.count(0, "CANCEL"), 0);
    let (theirs, _) = wire.incoming(1);
    wire.agents[1].ring(theirs, &SipResponse::new(180), wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.count(0, "CANCEL"), 1);
    let refused = refusal(&wire.take_calls(0));
    assert_eq!((refused.by, refused.status), (RefusedBy::Cancelled, 487));
    let theirs = refusal(&wire.take_calls(1));
    assert_eq!((theirs.by, theirs.status), (RefusedBy::Peer, 487));
    wire.assert_empty();
}

#[test]
fn a_cancel_without_any_response_ends_by_timer_b() {
    let mut wire = Wire::new(1);
    let call = wire.invite(order(7));
    wire.agents[0].cancel(call, wire.now).unwrap();
    wire.pass(33);
    assert_eq!(refusal(&wire.take_calls(0)).by, RefusedBy::Cancelled);
    assert_eq!(wire.count(0, "CANCEL"), 0);
    wire.assert_empty();
}

#[test]
fn a_200_that_crosses_our_cancel_is_acknowledged_and_ended() {
    let mut wire = Wire::new(2);
    let call = wire.invite(order(1));
    let (theirs, _) = wire.incoming(1);
    wire.agents[1].answer(theirs, SipResponse::new(200).with_body(body("answer")), wire.now).unwrap();
    wire.agents[0].cancel(call, wire.now).unwrap();
    wire.settle();
    assert_eq!(ended(&wire.take_calls(0)), EndedBy::CancelledLate);
    assert_eq!(ended(&wire.take_calls(1)), EndedBy::Peer);
    assert_eq!((wire.count(0, "CANCEL"), wire.count(0, "ACK"), wire.count(0, "BYE")), (1, 1, 1));
    wire.assert_empty();
}

#[test]
fn a_call_that_nobody_answers_in_its_time_is_cancelled() {
    let mut wire = Wire::new(2);
    let order = OutgoingCall { answer_within: Some(Duration::from_secs(20)), ..order(1) };
    wire.invite(order);
    let (theirs, _) = wire.incoming(1);
    wire.agents[1].ring(theirs, &SipResponse::new(180), wire.now).unwrap();
    wire.pass(19);
    assert_eq!(wire.count(0, "CANCEL"), 0);
    wire.pass(2);
    assert_eq!(refusal(&wire.take_calls(0)).by, RefusedBy::Cancelled);
    wire.assert_empty();
}

#[test]
fn a_peer_that_never_answers_after_cancel_is_given_up_after_64_t1() {
    let mut wire = Wire::new(2);
    wire.drops = vec![(1, "SIP/2.0 487", 100)];
    let call = wire.invite(order(1));
    wire.agents[0].cancel(call, wire.now).unwrap();
    wire.pass(31);
    assert!(wire.take_calls(0).iter().all(|event| *event == CallEvent::Trying));
    wire.pass(2);
    assert_eq!(refusal(&wire.take_calls(0)).by, RefusedBy::Cancelled);
}

#[test]
fn a_repeated_2xx_is_acknowledged_again() {
    let mut wire = Wire::new(2);
    wire.drops = vec![(0, "ACK", 3)];
    wire.invite(order(1));
    let (theirs, _) = wire.incoming(1);
    wire.agents[1].answer(theirs, SipResponse::new(200).with_body(body("answer")), wire.now).unwrap();
    wire.pass(20);
    assert_eq!((wire.count(1, "SIP/2.0 200"), wire.count(0, "ACK")), (4, 4));
    assert_eq!(wire.take_calls(1), [CallEvent::Acknowledged { body: None }]);
    let acks: Vec<_> = wire.sent.iter().filter(|message| message.starts_with("ACK")).collect();
    assert!(acks.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_callee_without_ack_ends_the_call_after_64_t1() {
    let mut wire = Wire::new(2);
    wire.drops = vec![(0, "ACK", 1_000)];
    wire.invite(order(1));
    let (theirs, _) = wire.incoming(1);
    wire.agents[1].answer(theirs, SipResponse::new(200), wire.now).unwrap();
    wire.pass(31);
    assert!(wire.take_calls(1).is_empty());
    wire.pass(2);
    assert_eq!(ended(&wire.take_calls(1)), EndedBy::NoAck);
    assert_eq!(ended(&wire.take_calls(0)), EndedBy::Peer);
    wire.assert_empty();
}

#[test]
fn a_callee_that_hangs_up_at_once_waits_for_the_ack() {
    let mut wire = Wire::new(2);
    wire.drops = vec![(0, "ACK", 1)];
    wire.invite(order(1));
    let (theirs, _) = wire.incoming(1);
    wire.agents[1].answer(theirs, SipResponse::new(200), wire.now).unwrap();
    wire.agents[1].bye(theirs, vec![], wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.count(1, "BYE"), 0);
    wire.pass(1);
    assert_eq!(ended(&wire.take_calls(1)), EndedBy::Us);
    wire.assert_empty();
}

#[test]
fn a_redirect_is_followed_once() {
    let mut wire = Wire::new(3);
    let order = OutgoingCall { redirects: RedirectRule::ContactAddress, ..order(1) };
    wire.invite(order);
    let (first, _) = wire.incoming(1);
    let moved = |to: usize| SipResponse {
        contacts: vec!["<mailto:a@b>".to_owned(), format!("<sip:other@{}>;q=0.5", address(to).ip())],
        ..SipResponse::new(302)
    };
    wire.agents[1].reject(first, &moved(2), wire.now).unwrap();
    wire.settle();
    let events = wire.take_calls(0);
    assert!(
        events.contains(&CallEvent::Redirected { target: "sip:other@192.0.2.3".to_owned() }),
        "{events:?}"
    );
    let (second, invite) = wire.incoming(2);
    assert_eq!(invite.target, "sip:other@192.0.2.3");
    wire.agents[2].reject(second, &moved(1), wire.now).unwrap();
    wire.settle();
    let refused = refusal(&wire.take_calls(0));
    assert_eq!((refused.status, refused.contacts.len()), (302, 2));
    wire.assert_empty();
}

#[test]
fn a_redirect_ends_the_call_where_the_rule_says_so() {
    let mut wire = Wire::new(2);
    wire.invite(OutgoingCall { redirects: RedirectRule::Final, ..order(1) });
    let (first, _) = wire.incoming(1);
    let response = SipResponse { contacts: vec!["<sip:a@b>".to_owned()], ..SipResponse::new(301) };
    wire.agents[1].reject(first, &response, wire.now).unwrap();
    wire.settle();
    assert_eq!(refusal(&wire.take_calls(0)).contacts, ["<sip:a@b>"]);
}

#[test]
fn calls_over_the_limit_are_refused_on_both_sides() {
    let mut wire = Wire::with(2, Weather::default(), |index, config| config.calls_max = 2 - index);
    wire.invite(order(1));
    wire.invite(order(1));
    wire.agents[0].prepare(order(1)).unwrap();
    assert_eq!(wire.agents[0].prepare(order(1)), Err(InviteRefusal::NoRoom));
    let refused = refusal(&wire.take_calls(0));
    assert_eq!((refused.status, refused.retry_after), (503, Some(5)));
    assert_eq!(wire.agents[1].counters().no_room, 1);
}

#[test]
fn the_offer_may_be_the_callees() {
    let mut wire = Wire::new(2);
    let call = wire.invite(OutgoingCall { body: None, ..order(1) });
    let (theirs, invite) = wire.incoming(1);
    assert_eq!(invite.body, None);
    wire.agents[1].answer(theirs, SipResponse::new(200).with_body(body("theirs")), wire.now).unwrap();
    wire.settle();
    let answered = CallEvent::Answered { body: body("theirs"), wants_answer: true };
    assert_eq!(wire.take_calls(0).last(), Some(&answered));
    assert_eq!(wire.count(0, "ACK"), 0);
    wire.agents[0].acknowledge(call, body("ours"), wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.take_calls(1), [CallEvent::Acknowledged { body: body("ours") }]);
    assert!(wire.agents[0].acknowledge(call, None, wire.now).is_err());
}

#[test]
fn a_transport_that_fails_ends_the_calls_that_wait_on_it_alone() {
    let mut wire = Wire::new(2);
    let (ours, _) = wire.talking();
    wire.invite(order(7));
    wire.agents[0].handle_flow_failed(flow(7), wire.now);
    let refused = refusal(&wire.take_calls(0));
    assert_eq!((refused.by, refused.status), (RefusedBy::Transport, 503));
    wire.agents[0].handle_flow_failed(flow(1), wire.now);
    wire.agents[0].bye(ours, vec![], wire.now).unwrap();
    wire.settle();
    assert_eq!(ended(&wire.take_calls(0)), EndedBy::Us);
}

#[test]
fn values_of_a_caller_bring_no_line_break_into_a_message() {
    use crate::message::ExtraHeader;
    let evil = "x\r\nEvil: yes";
    assert!(PartyAddress::named(evil, uri("sip:a@b")).is_err());
    assert!(ExtraHeader::new("X-A", evil).is_err() && ExtraHeader::new("X A", "y").is_err());
    assert!(ExtraHeader::new("v", "SIP/2.0/UDP x").is_err());
    assert!(Uri::parse(&format!("sip:{evil}@b")).is_err() && Uri::parse(&format!("tel:{evil}")).is_err());
    let mut wire = Wire::new(2);
    wire.invite(order(1));
    let (theirs, _) = wire.incoming(1);
    let response = SipResponse {
        phrase: Some(evil.to_owned()),
        contacts: vec![evil.to_owned()],
        reasons: vec![ReasonValue { protocol: evil.to_owned(), cause: None, text: Some(evil.to_owned()) }],
        ..SipResponse::new(302)
    };
    wire.agents[1].reject(theirs, &response, wire.now).unwrap();
    wire.settle();
    assert!(wire.sent.iter().all(|message| !message.lines().any(|line| line.starts_with("Evil"))));
}

#[test]
fn a_2xx_that_waits_for_the_callers_answer_and_comes_again_is_no_fork() {
    let mut wire = Wire::new(2);
    let call = wire.invite(OutgoingCall { body: None, ..order(1) });
    let (theirs, _) = wire.incoming(1);
    wire.agents[1].answer(theirs, SipResponse::new(200).with_body(body("theirs")), wire.now).unwrap();
    wire.pass(10);
    assert!(wire.count(1, "SIP/2.0 200") > 2);
    assert_eq!((wire.count(0, "ACK"), wire.count(0, "BYE")), (0, 0));
    wire.agents[0].acknowledge(call, body("ours"), wire.now).unwrap();
    wire.settle();
    assert_eq!(wire.take_calls(1), [CallEvent::Acknowledged { body: body("ours") }]);
}

#[test]
fn a_call_that_nobody_answers_does_not_ring_for_ever() {
    let mut wire = Wire::new(2);
    wire.invite(OutgoingCall { answer_within: None, ..order(1) });
    wire.pass(301);
    assert_eq!(refusal(&wire.take_calls(0)).status, 480);
    assert_eq!(refusal(&wire.take_calls(1)).by, RefusedBy::Silence);
    wire.assert_empty();
}
