//! Timers: each at its moment, and none by accident.

use super::*;

#[test]
fn a_peer_that_never_binds_is_closed_by_session_init() {
    let mut pair = Pair::new(Config::default(), Config::default());
    assert_eq!(pair.smsc.poll_timeout(), Some(pair.now + second(10)));
    assert_eq!(pair.pass(Duration::from_millis(9_999)).1, []);
    let enquire = raw(Command::ENQUIRE_LINK, Status::ROK, 1, b"");
    assert_eq!(input(&mut pair.smsc, &enquire, pair.now), [], "enquire_link is no bind");
    assert_eq!(pair.pass(Duration::from_millis(1)).1, [Seen::Closed(Reason::SessionInit)]);
}

#[test]
fn an_unanswered_bind_closes_our_side() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.esme.bind(&Bind::default(), pair.now).unwrap();
    output(&mut pair.esme);
    assert_eq!(pair.esme.poll_timeout(), Some(pair.now + second(30)));
    assert_eq!(pair.pass(second(30)).0, [Seen::Closed(Reason::BindTimedOut)]);
}

#[test]
fn a_request_without_a_response_is_unknown_and_its_slot_free() {
    let esme = Config { window: 1, enquire_link: None, ..Config::default() };
    let mut pair = Pair::bound_with(BindMode::Transceiver, esme, Config::default());
    pair.esme.submit(&hello(), 1, pair.now).unwrap();
    output(&mut pair.esme);
    assert_eq!(pair.esme.poll_timeout(), Some(pair.now + second(30)));
    assert_eq!(pair.pass(second(30)).0, [Seen::Unanswered { token: 1, fate: NoResponse::TimedOut }]);
    assert_eq!(pair.esme.free_slots(), 1);
    assert!(pair.esme.submit(&hello(), 2, pair.now).is_ok());
}

#[test]
fn a_late_response_is_reported_once_with_its_token() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    let (seen, _) = pair.pass(second(30));
    assert_eq!(seen, [Seen::Unanswered { token: 1, fate: NoResponse::TimedOut }]);
    let other = pair.esme.submit(&hello(), 2, pair.now).unwrap();
    assert_ne!(other, sequence);
    pair.now += second(60);
    let response = frame(&crate::pdu::SubmitSmResp { message_id: b"9", ..Default::default() }, sequence);
    let seen = input(&mut pair.esme, &response, pair.now);
    let late = Seen::Response { token: 1, status: Status::ROK, id: "9".into(), late: true };
    assert_eq!(seen, [late, Seen::Unanswered { token: 2, fate: NoResponse::TimedOut }]);
    assert_eq!(input(&mut pair.esme, &response, pair.now), [], "the second copy is unknown");
    let counters = pair.esme.counters();
    assert_eq!((counters.late_responses, counters.unknown_responses), (1, 1));
}

#[test]
fn a_response_in_the_same_input_as_its_deadline_is_in_time() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    pair.smsc.respond(sequence, Status::ROK, b"9", pair.now).unwrap();
    pair.now += second(31);
    let seen = pair.carry_to_esme();
    assert!(matches!(seen[..], [Seen::Response { token: 1, late: false, .. }]), "{seen:?}");
}

#[test]
fn either_side_asks_a_silent_peer_and_any_pdu_is_life() {
    let config = || Config { enquire_link: Some(second(60)), ..Config::default() };
    let mut pair = Pair::bound_with(BindMode::Transceiver, config(), config());
    pair.pass(second(59));
    assert!(output(&mut pair.esme).is_empty() && output(&mut pair.smsc).is_empty());
    pair.smsc.deliver(&DeliverSm::default(), 1, pair.now).unwrap();
    pair.carry_to_esme();
    pair.pass(second(1));
    assert!(output(&mut pair.esme).is_empty(), "the deliver_sm was life");
    let asked = answers(&mut pair.smsc);
    assert!(matches!(asked[..], [(Command::ENQUIRE_LINK, Status::ROK, _)]), "{asked:?}");
    pair.pass(second(58));
    assert!(!output(&mut pair.smsc).is_empty() || pair.smsc.state() == SessionState::Closed);
}

#[test]
fn a_peer_that_does_not_answer_an_enquire_link_is_gone() {
    let mut pair = Pair::trx();
    pair.esme.submit(&hello(), 1, pair.now).unwrap();
    output(&mut pair.esme);
    pair.pass(second(30));
    assert!(matches!(answers(&mut pair.esme)[..], [(Command::ENQUIRE_LINK, ..)]));
    let (seen, _) = pair.pass(second(30));
    assert_eq!(seen, [Seen::Closed(Reason::LinkDead)], "its submit_sm had timed out before");
}

#[test]
fn an_answered_enquire_link_is_asked_again_only_after_silence() {
    let mut pair = Pair::trx();
    for _ in 0..5 {
        pair.pass(second(30));
        pair.carry_to_smsc();
        pair.carry_to_esme();
        pair.carry_to_smsc();
        assert!(output(&mut pair.esme).is_empty() && output(&mut pair.smsc).is_empty());
    }
    assert_eq!(pair.esme.state(), SessionState::Bound(BindMode::Transceiver));
    assert_eq!(pair.esme.in_flight(), 0, "enquire_link takes no slot");
}

#[test]
fn enquire_link_is_never_asked_before_the_bind_and_always_answered() {
    let esme = Config { session_init: second(1_000), ..Config::default() };
    let mut pair = Pair::new(esme.clone(), esme);
    pair.pass(second(500));
    assert!(output(&mut pair.esme).is_empty() && output(&mut pair.smsc).is_empty());
    input(&mut pair.smsc, &raw(Command::ENQUIRE_LINK, Status::ROK, 3, b""), pair.now);
    assert_eq!(answers(&mut pair.smsc), [(Command::ENQUIRE_LINK_RESP, Status::ROK, 3)]);
}

#[test]
fn a_session_without_messages_is_unbound_and_enquire_link_is_no_message() {
    let esme = Config { inactivity: Some(second(100)), ..Config::default() };
    let mut pair = Pair::bound_with(BindMode::Transceiver, esme, Config::default());
    for _ in 0..3 {
        pair.pass(second(30));
        pair.carry_to_smsc();
        pair.carry_to_esme();
        pair.carry_to_smsc();
    }
    pair.pass(second(10));
    assert!(pair.carry_to_smsc().contains(&Seen::Unbinding));
    assert_eq!(pair.carry_to_esme(), [Seen::Closed(Reason::Unbound)]);
}

#[test]
fn a_peer_that_never_reads_is_closed_and_costs_bounded_memory() {
    let config = Config { output_octets_max: 4_096, window: 1_000, ..Config::default() };
    let mut pair = Pair::bound_with(BindMode::Transceiver, config, Config::default());
    output(&mut pair.esme);
    let mut taken = 0;
    while pair.esme.submit(&hello(), taken, pair.now).is_ok() {
        taken += 1;
    }
    assert_eq!(pair.esme.submit(&hello(), taken, pair.now), Err(SendError::OutputFull));
    assert!(!pair.esme.wants_input());
    assert!(pair.esme.output_octets() < 4_096 + 200);
    // What the caller had read already is still served.
    for sequence in 0..100 {
        input(&mut pair.esme, &raw(Command::ENQUIRE_LINK, Status::ROK, sequence, b""), pair.now);
    }
    assert!(pair.esme.output_octets() < 4_096 + 200 + 1_600);
    let (seen, _) = pair.pass(second(30));
    let unsent =
        seen.iter().filter(|seen| matches!(seen, Seen::Unanswered { fate: NoResponse::NotSent, .. })).count();
    assert_eq!(unsent as u64, taken);
    assert_eq!(seen.last(), Some(&Seen::Closed(Reason::NotReading)));
}

#[test]
fn time_that_runs_backwards_does_no_harm() {
    let mut pair = Pair::trx();
    let before = pair.now;
    pair.pass(second(20));
    pair.esme.submit(&hello(), 1, before).unwrap();
    pair.esme.handle_timeout(before);
    assert_eq!(events(&mut pair.esme), []);
    assert!(pair.esme.poll_timeout().unwrap() > before + second(20));
}

#[test]
fn needless_timeouts_change_nothing() {
    let mut pair = Pair::trx();
    for _ in 0..1_000 {
        pair.pass(Duration::from_millis(1));
    }
    assert!(output(&mut pair.esme).is_empty() && output(&mut pair.smsc).is_empty());
}
