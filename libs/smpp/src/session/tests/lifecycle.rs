//! Binding, unbinding, and the end of a session.

use super::*;

fn bind_as(mode: BindMode) -> Bind<'static> {
    Bind { mode, system_id: b"alice", password: b"secret", ..Bind::default() }
}

#[test]
fn a_refused_bind_leaves_the_session_open_for_another() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.esme.bind(&bind_as(BindMode::Transceiver), pair.now).unwrap();
    assert_eq!(pair.esme.bind(&bind_as(BindMode::Transceiver), pair.now), Err(SendError::WrongState));
    pair.carry_to_smsc();
    pair.smsc.refuse_bind(Status::RINVPASWD, pair.now).unwrap();
    assert_eq!(pair.carry_to_esme(), [Seen::BindRefused(Status::RINVPASWD)]);
    assert_eq!((pair.esme.state(), pair.smsc.state()), (SessionState::Open, SessionState::Open));
    pair.esme.bind(&bind_as(BindMode::Receiver), pair.now).unwrap();
    pair.carry_to_smsc();
    pair.smsc.accept_bind(b"carrier", pair.now).unwrap();
    assert_eq!(pair.carry_to_esme(), [Seen::Bound(Version::V3_4)]);
}

#[test]
fn the_third_refused_bind_closes_the_connection_behind_its_answer() {
    let mut pair = Pair::new(Config::default(), Config::default());
    for attempt in 1..=3 {
        pair.esme.bind(&bind_as(BindMode::Transceiver), pair.now).unwrap();
        pair.carry_to_smsc();
        pair.smsc.refuse_bind(Status::RINVPASWD, pair.now).unwrap();
        let closed = events(&mut pair.smsc);
        assert_eq!(pair.carry_to_esme(), [Seen::BindRefused(Status::RINVPASWD)]);
        assert_eq!(!closed.is_empty(), attempt == 3, "{closed:?}");
    }
    assert_eq!(pair.smsc.state(), SessionState::Closed);
    assert_eq!(pair.smsc.accept_bind(b"carrier", pair.now), Err(SendError::WrongState));
}

#[test]
fn a_generic_nack_to_a_bind_refuses_it() {
    let mut pair = Pair::new(Config::default(), Config::default());
    let sequence = pair.esme.bind(&bind_as(BindMode::Transceiver), pair.now).unwrap();
    let nack = raw(Command::GENERIC_NACK, Status::RINVCMDID, sequence, b"");
    assert_eq!(input(&mut pair.esme, &nack, pair.now), [Seen::BindRefused(Status::RINVCMDID)]);
}

#[test]
fn each_mode_allows_its_own_requests_only() {
    let deliver = DeliverSm::default();
    for (mode, submits, delivers) in [
        (BindMode::Transmitter, true, false),
        (BindMode::Receiver, false, true),
        (BindMode::Transceiver, true, true),
    ] {
        let mut pair = Pair::bound(mode);
        assert_eq!(pair.esme.submit(&hello(), 1, pair.now).is_ok(), submits, "{mode:?}");
        assert_eq!(pair.smsc.deliver(&deliver, 1, pair.now).is_ok(), delivers, "{mode:?}");
        assert_eq!(pair.esme.deliver(&deliver, 1, pair.now), Err(SendError::WrongState));
        assert_eq!(pair.smsc.submit(&hello(), 1, pair.now), Err(SendError::WrongState));
        assert_eq!(
            pair.esme.request(&crate::pdu::Unbind::default(), 1, pair.now),
            Err(SendError::WrongState)
        );
    }
}

#[test]
fn unbind_waits_for_what_is_in_flight_and_refuses_what_is_new() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    assert_eq!(pair.carry_to_smsc().len(), 1);
    pair.esme.unbind(pair.now);
    assert_eq!(pair.esme.state(), SessionState::Unbound);
    assert_eq!(pair.esme.submit(&hello(), 2, pair.now), Err(SendError::WrongState));
    assert!(output(&mut pair.esme).is_empty(), "no unbind before the response");
    pair.smsc.respond(sequence, Status::ROK, b"1", pair.now).unwrap();
    assert!(matches!(pair.carry_to_esme()[..], [Seen::Response { token: 1, .. }]));
    assert_eq!(pair.carry_to_smsc(), [Seen::Unbinding, Seen::Closed(Reason::PeerUnbound)]);
    assert_eq!(pair.carry_to_esme(), [Seen::Closed(Reason::Unbound)]);
    assert_eq!((pair.esme.state(), pair.smsc.state()), (SessionState::Closed, SessionState::Closed));
}

#[test]
fn unbind_does_not_wait_for_ever() {
    let mut pair = Pair::trx();
    pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    pair.esme.unbind(pair.now);
    pair.pass(second(5));
    let answers = answers(&mut pair.esme);
    assert!(matches!(answers[..], [(Command::UNBIND, ..)]), "{answers:?}");
    let (esme, _) = pair.pass(second(30));
    let unknown = Seen::Unanswered { token: 1, fate: NoResponse::SessionEnded };
    assert_eq!(esme, [unknown, Seen::Closed(Reason::UnbindTimedOut)]);
}

#[test]
fn receipts_that_cross_our_unbind_are_taken() {
    let mut pair = Pair::trx();
    pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    pair.esme.unbind(pair.now);
    let sequence = pair.smsc.deliver(&DeliverSm::default(), 9, pair.now).unwrap();
    assert!(matches!(pair.carry_to_esme()[..], [Seen::Deliver { .. }]));
    pair.esme.respond(sequence, Status::ROK, b"", pair.now).unwrap();
    assert!(matches!(pair.carry_to_smsc()[..], [Seen::Response { token: 9, .. }]));
}

#[test]
fn the_peers_unbind_is_answered_when_its_requests_are() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    let unbind = raw(Command::UNBIND, Status::ROK, 99, b"");
    assert_eq!(input(&mut pair.smsc, &unbind, pair.now), [Seen::Unbinding]);
    assert!(output(&mut pair.smsc).is_empty(), "its submit_sm is not answered yet");
    let late = frame(&hello(), 100);
    let refused = Seen::Refused { command: Command::SUBMIT_SM, status: Status::RINVBNDSTS };
    assert_eq!(input(&mut pair.smsc, &late, pair.now), [refused]);
    pair.smsc.respond(sequence, Status::ROK, b"1", pair.now).unwrap();
    assert_eq!(events(&mut pair.smsc), [Seen::Closed(Reason::PeerUnbound)]);
    let expected = [
        (Command::SUBMIT_SM_RESP, Status::RINVBNDSTS, 100),
        (Command::SUBMIT_SM_RESP, Status::ROK, sequence),
        (Command::UNBIND_RESP, Status::ROK, 99),
    ];
    assert_eq!(answers(&mut pair.smsc), expected);
}

#[test]
fn the_peers_unbind_is_answered_though_our_caller_never_answers() {
    let mut pair = Pair::trx();
    pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    input(&mut pair.smsc, &raw(Command::UNBIND, Status::ROK, 99, b""), pair.now);
    let (_, smsc) = pair.pass(second(5));
    assert_eq!(smsc, [Seen::Closed(Reason::PeerUnbound)]);
    assert_eq!(answers(&mut pair.smsc), [(Command::UNBIND_RESP, Status::ROK, 99)]);
}

#[test]
fn unbinds_that_cross_end_both_sides() {
    let mut pair = Pair::trx();
    pair.esme.unbind(pair.now);
    pair.smsc.unbind(pair.now);
    let (from_esme, from_smsc) = (output(&mut pair.esme), output(&mut pair.smsc));
    assert!(input(&mut pair.smsc, &from_esme, pair.now).contains(&Seen::Closed(Reason::PeerUnbound)));
    assert!(input(&mut pair.esme, &from_smsc, pair.now).contains(&Seen::Closed(Reason::PeerUnbound)));
}

#[test]
fn a_lost_connection_tells_sent_requests_from_unsent_ones() {
    let mut pair = Pair::trx();
    pair.esme.submit(&hello(), 1, pair.now).unwrap();
    output(&mut pair.esme);
    pair.esme.submit(&hello(), 2, pair.now).unwrap();
    pair.esme.handle_eof(pair.now);
    let expected = [
        Seen::Unanswered { token: 1, fate: NoResponse::SessionEnded },
        Seen::Unanswered { token: 2, fate: NoResponse::NotSent },
        Seen::Closed(Reason::ConnectionLost),
    ];
    assert_eq!(events(&mut pair.esme), expected);
    assert!(output(&mut pair.esme).is_empty());
    assert_eq!(events(&mut pair.esme), [], "the end is told once");
    assert_eq!(pair.esme.submit(&hello(), 3, pair.now), Err(SendError::WrongState));
    assert_eq!(pair.esme.poll_timeout(), None);
}

#[test]
fn what_came_before_the_connection_ended_still_counts() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    pair.smsc.respond(sequence, Status::ROK, b"1", pair.now).unwrap();
    let bytes = output(&mut pair.smsc);
    pair.esme.handle_input(&bytes, pair.now);
    pair.esme.handle_input(&bytes[..9], pair.now);
    pair.esme.handle_eof(pair.now);
    let seen = events(&mut pair.esme);
    assert!(
        matches!(seen[..], [Seen::Response { token: 1, .. }, Seen::Closed(Reason::ConnectionLost)]),
        "{seen:?}"
    );
}

#[test]
fn a_close_keeps_answers_and_takes_requests_back() {
    let mut pair = Pair::trx();
    pair.esme.submit(&hello(), 1, pair.now).unwrap();
    let sequence = pair.smsc.deliver(&DeliverSm::default(), 1, pair.now).unwrap();
    pair.carry_to_esme();
    pair.esme.respond(sequence, Status::ROK, b"", pair.now).unwrap();
    pair.esme.abort(pair.now);
    let not_sent = Seen::Unanswered { token: 1, fate: NoResponse::NotSent };
    assert_eq!(events(&mut pair.esme), [not_sent, Seen::Closed(Reason::Aborted)]);
    assert_eq!(answers(&mut pair.esme), [(Command::DELIVER_SM_RESP, Status::ROK, sequence)]);
}

#[test]
fn an_open_session_is_ended_by_unbind_at_once() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.esme.unbind(pair.now);
    assert_eq!(events(&mut pair.esme), [Seen::Closed(Reason::Aborted)]);
}
