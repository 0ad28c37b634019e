use super::*;

fn interval(index: usize, config: &mut UserAgentConfig, seconds: [Option<u64>; 2]) {
    config.session_interval = seconds[index].map(Duration::from_secs);
}

#[test]
fn the_client_refreshes_the_session_by_update() {
    let mut wire = Wire::with(2, Weather::default(), |i, c| interval(i, c, [Some(200), None]));
    wire.talking();
    assert_eq!(
        header(wire.last(1, "SIP/2.0 200"), HeaderName::SessionExpires).as_deref(),
        Some("200;refresher=uac")
    );
    wire.pass(1_000);
    assert!(wire.count(0, "UPDATE") >= 9 && wire.count(1, "UPDATE") == 0);
    assert_eq!((wire.agents[0].calls(), wire.agents[1].calls()), (1, 1));
}

#[test]
fn a_peer_without_update_is_refreshed_by_re_invite() {
    let mut wire = Wire::with(2, Weather::default(), |i, c| interval(i, c, [Some(200), None]));
    wire.talking();
    // The answer of a peer that names UPDATE and does not know it, in place of the peer's own.
    wire.drops = vec![(0, "UPDATE", 1_000)];
    wire.pass_ms(99_900);
    wire.pass_ms(200);
    let update = wire.last(0, "UPDATE").to_owned();
    let refusal = super::raw::response(&update, 405, "");
    wire.agents[0].receive(flow(1), refusal.as_bytes(), wire.now);
    wire.settle();
    assert_eq!(wire.count(0, "INVITE"), 2);
    assert_eq!(wire.take_calls(1).last(), Some(&CallEvent::Offered { body: body("offer") }));
}

#[test]
fn a_session_that_nobody_refreshes_ends_by_bye() {
    let mut wire = Wire::with(2, Weather::default(), |i, c| interval(i, c, [Some(200), None]));
    wire.talking();
    wire.drops = vec![(0, "UPDATE", 1_000), (0, "BYE", 1_000)];
    wire.pass(167);
    assert_eq!(wire.agents[1].calls(), 1);
    wire.pass(2);
    assert_eq!(ended(&wire.take_calls(1)), EndedBy::SessionExpired);
    wire.assert_empty();
}

#[test]
fn a_server_refreshes_where_the_client_knows_no_timers() {
    let mut wire = Wire::with(2, Weather::default(), |i, c| interval(i, c, [None, Some(300)]));
    let raw = super::raw::invite(1, "");
    wire.agents[1].receive(flow(0), raw.as_bytes(), wire.now);
    wire.settle();
    let (call, _) = wire.incoming(1);
    wire.agents[1].answer(call, SipResponse::new(200).with_body(body("answer")), wire.now).unwrap();
    wire.settle();
    let answer = wire.last(1, "SIP/2.0 200").to_owned();
    assert_eq!(header(&answer, HeaderName::SessionExpires).as_deref(), Some("300;refresher=uas"));
    assert_eq!(header(&answer, HeaderName::Require), None);
    wire.agents[1].receive(flow(0), super::raw::ack(&answer).as_bytes(), wire.now);
    wire.pass(151);
    assert_eq!(wire.count(1, "INVITE"), 1);
}

#[test]
fn an_interval_that_is_too_small_is_raised_once() {
    let mut wire = Wire::with(2, Weather::default(), |index, config| {
        config.session_interval = Some(Duration::from_secs(100));
        if index == 1 {
            config.session_interval_min = Duration::from_secs(400);
        }
    });
    wire.invite(order(1));
    assert_eq!(header(wire.last(1, "SIP/2.0 422"), HeaderName::MinSe).as_deref(), Some("400"));
    let second = wire.last(0, "INVITE");
    assert_eq!(header(second, HeaderName::SessionExpires).as_deref(), Some("400"));
    assert_eq!(header(second, HeaderName::MinSe).as_deref(), Some("400"));
    let (call, _) = wire.incoming(1);
    let again = super::raw::response(wire.last(0, "INVITE"), 422, "Min-SE: 900\r\n");
    wire.agents[0].receive(flow(1), again.as_bytes(), wire.now);
    assert_eq!(refusal(&wire.take_calls(0)).status, 422);
    assert!(wire.agents[1].call_id(call).is_some());
}
