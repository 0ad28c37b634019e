//! Tests of two sides that are both well.

use super::*;
use crate::pdu::{
    AlertNotification, BroadcastSm, CancelBroadcastSm, CancelSm, DataSm, Destination, DestinationBuf,
    Outbind, QueryBroadcastSm, QueryBroadcastSmResp, QuerySm, QuerySmResp, Refused, RefusedBuf, ReplaceSm,
    SubmitMulti, SubmitMultiResp,
};
use crate::tlv::Tag;

#[test]
fn a_message_is_submitted_and_its_response_carries_token_and_id() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 42, pair.now).unwrap();
    assert_eq!((pair.esme.in_flight(), pair.esme.free_slots()), (1, WINDOW_DEFAULT - 1));
    assert_eq!(pair.carry_to_smsc(), [Seen::Submit { sequence, text: b"hello".to_vec() }]);
    pair.smsc.respond(sequence, Status::ROK, b"1A2B", pair.now).unwrap();
    let expected = Seen::Response { token: 42, status: Status::ROK, id: "1A2B".into(), late: false };
    assert_eq!(pair.carry_to_esme(), [expected]);
    assert_eq!((pair.esme.in_flight(), pair.smsc.unanswered()), (0, 0));
}

#[test]
fn a_message_is_delivered_and_acknowledged() {
    let mut pair = Pair::trx();
    let deliver = DeliverSm { short_message: b"2", ..DeliverSm::default() };
    let sequence = pair.smsc.deliver(&deliver, 7, pair.now).unwrap();
    assert_eq!(pair.carry_to_esme(), [Seen::Deliver { sequence, text: b"2".to_vec() }]);
    pair.esme.respond(sequence, Status::ROK, b"ignored", pair.now).unwrap();
    let expected = Seen::Response { token: 7, status: Status::ROK, id: String::new(), late: false };
    assert_eq!(pair.carry_to_smsc(), [expected]);
}

#[test]
fn a_refusal_carries_its_status_and_the_vendors_pass_unchanged() {
    let mut pair = Pair::trx();
    for status in [Status::RTHROTTLED, Status::RMSGQFUL, Status(0x4A1), Status(0x0001_0000)] {
        let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
        pair.carry_to_smsc();
        pair.smsc.respond(sequence, status, b"", pair.now).unwrap();
        assert_eq!(
            pair.carry_to_esme(),
            [Seen::Response { token: 1, status, id: String::new(), late: false }]
        );
    }
}

#[test]
fn a_non_zero_response_may_have_a_body_or_none() {
    let mut pair = Pair::trx();
    for body in [&b""[..], b"\0", b"some id\0", b"\xFF"] {
        let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
        output(&mut pair.esme);
        let bytes = raw(Command::SUBMIT_SM_RESP, Status::RSUBMITFAIL, sequence, body);
        let seen = input(&mut pair.esme, &bytes, pair.now);
        assert!(
            matches!(seen[..], [Seen::Response { status: Status::RSUBMITFAIL, .. }]),
            "{body:?}: {seen:?}"
        );
    }
    assert_eq!(pair.esme.counters().malformed_responses, 0);
}

#[test]
fn a_success_with_an_unreadable_body_is_still_a_success() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    output(&mut pair.esme);
    let bytes = raw(Command::SUBMIT_SM_RESP, Status::ROK, sequence, &[b'9'; 80]);
    pair.esme.handle_input(&bytes, pair.now);
    match pair.esme.poll_event() {
        Some(Event::Response(response)) => {
            assert!(response.malformed && response.status.is_ok() && response.message_id.is_empty());
        }
        other => panic!("{other:?}"),
    }
    assert!(output(&mut pair.esme).is_empty(), "a response is never answered");
}

#[test]
fn responses_may_come_in_any_order_and_twice() {
    let mut pair = Pair::trx();
    let sequences: Vec<u32> =
        (0..5).map(|token| pair.esme.submit(&hello(), token, pair.now).unwrap()).collect();
    pair.carry_to_smsc();
    for &index in &[4, 0, 3, 1, 2] {
        pair.smsc.respond(sequences[index], Status::ROK, b"id", pair.now).unwrap();
    }
    let bytes = output(&mut pair.smsc);
    let tokens = |seen: Vec<Seen>| -> Vec<u64> {
        let token = |seen| match seen {
            Seen::Response { token, .. } => token,
            other => panic!("{other:?}"),
        };
        seen.into_iter().map(token).collect()
    };
    assert_eq!(tokens(input(&mut pair.esme, &bytes, pair.now)), [4, 0, 3, 1, 2]);
    assert!(input(&mut pair.esme, &bytes, pair.now).is_empty(), "the second copy of each is dropped");
    assert_eq!(pair.esme.counters().unknown_responses, 5);
}

#[test]
fn a_response_as_fast_as_can_be_finds_its_slot() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    // Before our side has even been told that its octets are written.
    let response = frame(&crate::pdu::SubmitSmResp { message_id: b"9", ..Default::default() }, sequence);
    let expected = Seen::Response { token: 1, status: Status::ROK, id: "9".into(), late: false };
    assert_eq!(input(&mut pair.esme, &response, pair.now), [expected]);
    assert_eq!((pair.esme.in_flight(), pair.esme.counters().unknown_responses), (0, 0));
}

#[test]
fn a_full_window_refuses_until_a_response_comes() {
    let esme = Config { window: 2, ..Config::default() };
    let mut pair = Pair::bound_with(BindMode::Transceiver, esme, Config::default());
    let first = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.esme.submit(&hello(), 2, pair.now).unwrap();
    assert_eq!(pair.esme.submit(&hello(), 3, pair.now), Err(SendError::WindowFull));
    pair.carry_to_smsc();
    pair.smsc.respond(first, Status::ROK, b"1", pair.now).unwrap();
    pair.carry_to_esme();
    assert!(pair.esme.submit(&hello(), 3, pair.now).is_ok());
}

#[test]
fn every_other_request_travels_and_is_answered() {
    let mut pair = Pair::trx();
    let (message_id, now) = (&b"1A"[..], pair.now);
    let mut broadcast = TlvBuf::new();
    broadcast.push(Tag::BROADCAST_AREA_IDENTIFIER, b"\0area").unwrap();
    broadcast.push(Tag::BROADCAST_CONTENT_TYPE, &[1, 0, 0]).unwrap();
    broadcast
        .push_u16(Tag::BROADCAST_REP_NUM, 1)
        .push(Tag::BROADCAST_FREQUENCY_INTERVAL, &[8, 0, 1])
        .unwrap();
    let mut destinations = DestinationBuf::new();
    destinations.push(Destination::Sme(Address::international(b"417"))).unwrap();
    let multi = SubmitMulti { destinations: destinations.as_destinations(), ..SubmitMulti::default() };
    let data = DataSm { destination: Address::international(b"417"), ..DataSm::default() };
    let sequences = [
        pair.esme.request(&QuerySm { message_id, ..QuerySm::default() }, 1, now),
        pair.esme.request(&CancelSm { message_id, ..CancelSm::default() }, 2, now),
        pair.esme.request(&ReplaceSm { message_id, ..ReplaceSm::default() }, 3, now),
        pair.esme.request(&multi, 4, now),
        pair.esme.request(&BroadcastSm { tlvs: broadcast.as_tlvs(), ..BroadcastSm::default() }, 5, now),
        pair.esme.request(&QueryBroadcastSm { message_id, ..QueryBroadcastSm::default() }, 6, now),
        pair.esme.request(&CancelBroadcastSm { message_id, ..CancelBroadcastSm::default() }, 7, now),
        pair.esme.data(&data, 8, now),
    ]
    .map(Result::unwrap);
    let seen = pair.carry_to_smsc();
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert_eq!(seen[1], Seen::Request { sequence: sequences[1], command: Command::CANCEL_SM });
    let state = Pdu::QuerySmResp(QuerySmResp { message_id, ..QuerySmResp::default() });
    let broadcast =
        Pdu::QueryBroadcastSmResp(QueryBroadcastSmResp { message_id, ..QueryBroadcastSmResp::default() });
    for (index, sequence) in sequences.into_iter().enumerate() {
        match index {
            0 => pair.smsc.respond_with(sequence, Status::ROK, &state, now).unwrap(),
            5 => pair.smsc.respond_with(sequence, Status::ROK, &broadcast, now).unwrap(),
            _ => pair.smsc.respond(sequence, Status::ROK, b"1A", now).unwrap(),
        }
    }
    let answered = pair.carry_to_esme();
    let tokens: Vec<_> =
        answered.iter().filter(|seen| matches!(seen, Seen::Response { status: Status::ROK, .. })).collect();
    assert_eq!(tokens.len(), 8, "{answered:?}");
    assert_eq!(pair.esme.counters().malformed_responses, 0);
}

#[test]
fn a_query_and_a_submit_multi_are_answered_with_their_bodies() {
    let mut pair = Pair::trx();
    let now = pair.now;
    let query = pair.esme.request(&QuerySm { message_id: b"1A", ..QuerySm::default() }, 1, now).unwrap();
    let mut destinations = DestinationBuf::new();
    destinations.push(Destination::List(b"firemen")).unwrap();
    let multi = SubmitMulti { destinations: destinations.as_destinations(), ..SubmitMulti::default() };
    let multi = pair.esme.request(&multi, 2, now).unwrap();
    pair.carry_to_smsc();
    let state = QuerySmResp { message_id: b"1A", message_state: 2, ..QuerySmResp::default() };
    assert_eq!(
        pair.smsc.respond_with(multi, Status::ROK, &Pdu::QuerySmResp(state), now),
        Err(SendError::WrongState),
        "not its response"
    );
    assert!(pair.smsc.respond(query, Status::ROK, b"1A", now).is_err(), "a query's answer needs a body");
    pair.smsc.respond_with(query, Status::ROK, &Pdu::QuerySmResp(state), now).unwrap();
    let mut refused = RefusedBuf::new();
    let destination = Address::international(b"418");
    refused.push(Refused { destination, status: Status::RINVDSTADR }).unwrap();
    let body =
        SubmitMultiResp { message_id: b"77", refused: refused.as_list(), ..SubmitMultiResp::default() };
    pair.smsc.respond_with(multi, Status::ROK, &Pdu::SubmitMultiResp(body), now).unwrap();
    let bytes = output(&mut pair.smsc);
    pair.esme.handle_input(&bytes, now);
    let Some(Event::Response(response)) = pair.esme.poll_event() else { panic!("no response") };
    assert_eq!(response.query().unwrap(), state);
    let Some(Event::Response(response)) = pair.esme.poll_event() else { panic!("no response") };
    let list: Vec<_> = response.submit_multi().unwrap().refused.iter().collect();
    assert_eq!(list, [Refused { destination, status: Status::RINVDSTADR }]);
    assert_eq!(response.message_id, b"77");
}

#[test]
fn an_alert_and_an_outbind_travel_without_a_response() {
    let mut pair = Pair::trx();
    pair.smsc.alert(&AlertNotification::default(), pair.now).unwrap();
    assert_eq!(pair.carry_to_esme(), [Seen::Alert]);
    assert!(output(&mut pair.esme).is_empty());

    let mut pair = Pair::new(Config::default(), Config::default());
    pair.smsc.outbind(&Outbind { system_id: b"carrier", ..Outbind::default() }, pair.now).unwrap();
    assert_eq!(pair.carry_to_esme(), [Seen::Outbind]);
    assert_eq!((pair.esme.state(), pair.smsc.state()), (SessionState::Outbound, SessionState::Outbound));
    let bind = Bind { mode: BindMode::Receiver, ..Bind::default() };
    pair.esme.bind(&bind, pair.now).unwrap();
    assert!(matches!(pair.carry_to_smsc()[..], [Seen::Bind { mode: BindMode::Receiver, .. }]));
    pair.smsc.accept_bind(b"carrier", pair.now).unwrap();
    assert_eq!(pair.carry_to_esme(), [Seen::Bound(Version::V3_4)]);
}

#[test]
fn a_generic_nack_answers_the_request_with_its_sequence() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 5, pair.now).unwrap();
    output(&mut pair.esme);
    let nack = |status, sequence| raw(Command::GENERIC_NACK, status, sequence, b"");
    let seen = input(&mut pair.esme, &nack(Status::RINVCMDID, sequence), pair.now);
    assert_eq!(
        seen,
        [Seen::Response { token: 5, status: Status::RINVCMDID, id: String::new(), late: false }]
    );
    let seen = input(&mut pair.esme, &nack(Status::RINVCMDLEN, 0), pair.now);
    assert_eq!(seen, [Seen::Nack { status: Status::RINVCMDLEN, sequence: 0 }]);
    let sequence = pair.esme.submit(&hello(), 6, pair.now).unwrap();
    output(&mut pair.esme);
    let seen = input(&mut pair.esme, &nack(Status::ROK, sequence), pair.now);
    assert!(
        matches!(seen[..], [Seen::Response { status: Status::RUNKNOWNERR, .. }]),
        "a nack that says nothing is no success: {seen:?}"
    );
    assert!(output(&mut pair.esme).is_empty(), "a nack is never answered");
}

#[test]
fn sequence_numbers_wrap_within_a_session() {
    let mut pair = Pair::trx();
    pair.esme.core.next_sequence = crate::limits::SEQUENCE_MAX - 1;
    let sequences: Vec<u32> =
        (0..4).map(|token| pair.esme.submit(&hello(), token, pair.now).unwrap()).collect();
    assert_eq!(sequences, [0x7FFF_FFFE, 0x7FFF_FFFF, 1, 2]);
    assert_eq!(pair.carry_to_smsc().len(), 4);
    for sequence in sequences {
        pair.smsc.respond(sequence, Status::ROK, b"1", pair.now).unwrap();
    }
    assert_eq!(pair.carry_to_esme().len(), 4);
}

#[test]
fn the_lower_version_is_spoken_and_below_3_4_there_are_no_tlvs() {
    let v = |version| Config { version, ..Config::default() };
    let assumed = Config { assumed_version: Some(Version::V3_4), ..Config::default() };
    let cases = [
        (v(Version::V3_4), v(Version::V3_4), Version::V3_4),
        (v(Version::V5_0), v(Version::V3_4), Version::V3_4),
        (v(Version::V3_4), v(Version::V5_0), Version::V3_4),
        (v(Version::V5_0), v(Version::V5_0), Version::V5_0),
        (v(Version::V3_3), v(Version::V5_0), Version::V3_3),
        (v(Version::V3_4), v(Version::V3_3), Version::V3_3),
        (v(Version(0x00)), v(Version::V3_4), Version::V3_3),
        // An SMSC that speaks 3.3 says no version: taken at the configured word.
        (assumed, v(Version::V3_3), Version::V3_4),
    ];
    for (esme, smsc, expected) in cases {
        let what = format!("{} and {}", esme.version, smsc.version);
        let mut pair = Pair::bound_with(BindMode::Transceiver, esme, smsc);
        assert_eq!(pair.esme.version(), expected, "{what}");
        let mut tlvs = TlvBuf::new();
        tlvs.push_u16(Tag::USER_MESSAGE_REFERENCE, 1);
        pair.esme.submit(&SubmitSm { tlvs: tlvs.as_tlvs(), ..hello() }, 1, pair.now).unwrap();
        let bytes = output(&mut pair.esme);
        let (_, Pdu::SubmitSm(submit)) = decode(&bytes).unwrap() else { panic!("not a submit_sm") };
        assert_eq!(submit.tlvs.is_empty(), !expected.has_tlvs(), "{what}");
    }
}

#[test]
fn message_ids_to_a_peer_of_3_3_have_at_most_eight_digits() {
    let esme = Config { version: Version::V3_3, ..Config::default() };
    let mut pair = Pair::bound_with(BindMode::Transceiver, esme, Config::default());
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    let error = pair.smsc.respond(sequence, Status::ROK, b"123456789", pair.now).unwrap_err();
    assert!(matches!(error, SendError::Encode(_)), "{error}");
    pair.smsc.respond(sequence, Status::ROK, b"12345678", pair.now).unwrap();
    assert_eq!(pair.carry_to_esme().len(), 1);
}

#[test]
fn many_pdus_go_out_in_one_write() {
    let esme = Config { window: 500, ..Config::default() };
    let mut pair = Pair::bound_with(BindMode::Transmitter, esme, Config::default());
    for token in 0..500 {
        pair.esme.submit(&hello(), token, pair.now).unwrap();
    }
    let bytes = output(&mut pair.esme);
    assert_eq!(headers(&bytes).len(), 500);
    assert_eq!(input(&mut pair.smsc, &bytes, pair.now).len(), 500, "and come in with one read");
}

#[test]
fn an_answer_can_be_given_once() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    pair.smsc.respond(sequence, Status::ROK, b"1", pair.now).unwrap();
    let again = pair.smsc.respond(sequence, Status::ROK, b"1", pair.now);
    assert_eq!(again, Err(SendError::UnknownSequence));
    assert_eq!(pair.carry_to_esme().len(), 1);
}
