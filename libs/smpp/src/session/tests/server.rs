//! Tests of a server's events and answers, and of clients that misuse it.

use super::*;
use crate::pdu::{
    BroadcastSmResp, CancelSm, CancelSmResp, DataSm, DataSmResp, DeliverSmResp, Destination, DestinationBuf,
    QueryBroadcastSm, QueryBroadcastSmResp, QuerySm, QuerySmResp, Refused, RefusedBuf, SubmitMulti,
    SubmitMultiResp, SubmitSmResp,
};
use crate::receipt::{MessageState, Receipt};
use crate::tlv::Tag;

#[test]
fn a_bind_tells_all_that_it_says() {
    let mut pair = Pair::new(Config::default(), Config::default());
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag(0x1401), b"vendor").unwrap();
    let bind = Bind {
        mode: BindMode::Receiver,
        system_id: b"alice",
        password: b"secret",
        system_type: b"VMS",
        interface_version: Version::V3_4,
        addr_ton: 1,
        addr_npi: 1,
        address_range: b"^4179",
        tlvs: tlvs.as_tlvs(),
    };
    pair.esme.bind(&bind, pair.now).unwrap();
    let bytes = output(&mut pair.esme);
    pair.smsc.handle_input(&bytes, pair.now);
    assert_eq!(pair.smsc.poll_event(), Some(Event::Bind { bind }));
}

#[test]
fn a_bind_may_be_refused_with_any_status() {
    let vendor = Status(0x412);
    for status in
        [Status::RINVPASWD, Status::RINVSYSID, Status::RBINDFAIL, Status::RTHROTTLED, Status::RALYBND, vendor]
    {
        let mut pair = Pair::new(Config::default(), Config::default());
        pair.esme.bind(&Bind::default(), pair.now).unwrap();
        pair.carry_to_smsc();
        pair.smsc.refuse_bind(status, pair.now).unwrap();
        assert_eq!(pair.carry_to_esme(), [Seen::BindRefused(status)]);
    }
}

/// A 5.0 pair with each request of the list asked and not yet answered; their sequences.
fn asked() -> (Pair, [u32; 6]) {
    let v5 = || Config { version: Version::V5_0, ..Config::default() };
    let mut pair = Pair::bound_with(BindMode::Transceiver, v5(), v5());
    let (message_id, now) = (&b"1A"[..], pair.now);
    let mut destinations = DestinationBuf::new();
    destinations.push(Destination::List(b"firemen")).unwrap();
    let multi = SubmitMulti { destinations: destinations.as_destinations(), ..SubmitMulti::default() };
    let data = DataSm { destination: Address::international(b"417"), ..DataSm::default() };
    let sequences = [
        pair.esme.submit(&hello(), 0, now),
        pair.esme.data(&data, 1, now),
        pair.esme.request(&multi, 2, now),
        pair.esme.request(&QuerySm { message_id, ..QuerySm::default() }, 3, now),
        pair.esme.request(&CancelSm { message_id, ..CancelSm::default() }, 4, now),
        pair.esme.request(&QueryBroadcastSm { message_id, ..QueryBroadcastSm::default() }, 5, now),
    ]
    .map(Result::unwrap);
    assert_eq!(pair.carry_to_smsc().len(), sequences.len());
    (pair, sequences)
}

#[test]
fn each_request_is_answered_with_its_own_body() {
    let (mut pair, [submit, data, multi, query, cancel, broadcast]) = asked();
    let (now, message_id) = (pair.now, &b"77"[..]);
    let mut tlvs = TlvBuf::new();
    tlvs.push_u8(Tag::DELIVERY_FAILURE_REASON, 1);
    let tlvs = tlvs.as_tlvs();
    let mut refused = RefusedBuf::new();
    let nobody = Refused { destination: Address::international(b"418"), status: Status::RINVDSTADR };
    refused.push(nobody).unwrap();
    let state =
        QuerySmResp { message_id, final_date: b"260102150405000+", message_state: 2, error_code: 9, tlvs };
    let smsc = &mut pair.smsc;
    smsc.respond_with(submit, Status::ROK, &SubmitSmResp { message_id, tlvs }, now).unwrap();
    smsc.respond_with(data, Status::ROK, &DataSmResp { message_id, tlvs }, now).unwrap();
    smsc.respond_with(
        multi,
        Status::ROK,
        &SubmitMultiResp { message_id, refused: refused.as_list(), tlvs },
        now,
    )
    .unwrap();
    smsc.respond_with(query, Status::ROK, &state, now).unwrap();
    smsc.respond_with(cancel, Status::ROK, &CancelSmResp { tlvs }, now).unwrap();
    smsc.respond_with(broadcast, Status::ROK, &QueryBroadcastSmResp { message_id, tlvs }, now).unwrap();
    let bytes = output(&mut pair.smsc);
    pair.esme.handle_input(&bytes, now);
    for token in 0..6 {
        let Some(Event::Response(response)) = pair.esme.poll_event() else { panic!("no response {token}") };
        assert_eq!((response.token, response.status, response.malformed), (token, Status::ROK, false));
        assert_eq!(response.tlvs, tlvs, "{}", response.command);
        match token {
            2 => assert_eq!(response.submit_multi().unwrap().refused.iter().collect::<Vec<_>>(), [nobody]),
            3 => assert_eq!(response.query().unwrap(), state),
            5 => assert_eq!(response.query_broadcast().unwrap(), QueryBroadcastSmResp { message_id, tlvs }),
            _ => {}
        }
    }
    assert_eq!(pair.smsc.unanswered(), 0);
}

#[test]
fn an_answer_of_another_kind_is_not_written() {
    let (mut pair, [submit, ..]) = asked();
    let other = pair.smsc.respond_with(submit, Status::ROK, &BroadcastSmResp::default(), pair.now);
    assert_eq!(other, Err(SendError::WrongState));
    assert!(!pair.smsc.has_output());
    assert!(pair.smsc.respond(submit, Status::ROK, &[b'1'; 65], pair.now).is_err());
    assert!(!pair.smsc.has_output(), "an answer that cannot be written can be given again");
    assert!(pair.smsc.respond(submit, Status::ROK, b"1", pair.now).is_ok());
}

#[test]
fn a_5_0_peer_is_told_how_busy_we_are_in_answers_and_refusals() {
    let (mut pair, [submit, data, multi, query, cancel, broadcast]) = asked();
    let now = pair.now;
    pair.smsc.set_congestion(Some(250));
    pair.smsc.respond(submit, Status::ROK, b"1", now).unwrap();
    pair.smsc.set_congestion(Some(91));
    for sequence in [data, multi, query, cancel, broadcast] {
        pair.smsc.respond(sequence, Status::RTHROTTLED, b"", now).unwrap();
    }
    let bytes = output(&mut pair.smsc);
    pair.esme.handle_input(&bytes, now);
    for token in 0..6 {
        let Some(Event::Response(response)) = pair.esme.poll_event() else { panic!("no response {token}") };
        assert!(!response.malformed);
        let expected = if token == 0 { (Status::ROK, 100) } else { (Status::RTHROTTLED, 91) };
        assert_eq!(
            (response.status, response.congestion()),
            (expected.0, Some(expected.1)),
            "{}",
            response.command
        );
    }
    pair.smsc.set_congestion(None);
    let sequence = pair.esme.submit(&hello(), 9, now).unwrap();
    pair.carry_to_smsc();
    pair.smsc.respond(sequence, Status::RMSGQFUL, b"", now).unwrap();
    assert_eq!(output(&mut pair.smsc).len(), crate::limits::HEADER_OCTETS, "nothing said, no body");
}

#[test]
fn a_3_4_peer_is_not_told_how_busy_we_are() {
    let mut pair = Pair::trx();
    pair.smsc.set_congestion(Some(50));
    for status in [Status::ROK, Status::RTHROTTLED] {
        let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
        pair.carry_to_smsc();
        pair.smsc.respond(sequence, status, b"1", pair.now).unwrap();
        let bytes = output(&mut pair.smsc);
        pair.esme.handle_input(&bytes, pair.now);
        let Some(Event::Response(response)) = pair.esme.poll_event() else { panic!("no response") };
        assert_eq!((response.status, response.congestion()), (status, None));
    }
}

#[test]
fn a_flood_of_a_5_0_peer_is_told_too() {
    let v5 = Config { version: Version::V5_0, peer_window: 1, ..Config::default() };
    let (mut smsc, now) = bound_smsc(v5);
    smsc.set_congestion(Some(100));
    input(&mut smsc, &frame(&hello(), 1), now);
    input(&mut smsc, &frame(&hello(), 2), now);
    let bytes = output(&mut smsc);
    let (header, Pdu::SubmitSmResp(response)) = decode(&bytes).unwrap() else { panic!("no response") };
    assert_eq!((header.status, header.sequence), (Status::RTHROTTLED, 2));
    assert_eq!(response.tlvs.find_u8(Tag::CONGESTION_STATE), Some(100));
}

#[test]
fn ids_to_a_peer_of_3_3_are_hexadecimal_however_they_are_answered() {
    let esme = Config { version: Version::V3_3, ..Config::default() };
    let mut pair = Pair::bound_with(BindMode::Transceiver, esme, Config::default());
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    for id in [&b"123456789"[..], b"msg-1", b"1G"] {
        assert!(pair.smsc.respond(sequence, Status::ROK, id, pair.now).is_err());
        let body = SubmitSmResp { message_id: id, ..SubmitSmResp::default() };
        assert!(pair.smsc.respond_with(sequence, Status::ROK, &body, pair.now).is_err());
    }
    let mut tlvs = TlvBuf::new();
    tlvs.push_u8(Tag::CONGESTION_STATE, 1);
    let body = SubmitSmResp { message_id: b"00C0FFEE", tlvs: tlvs.as_tlvs() };
    pair.smsc.respond_with(sequence, Status::ROK, &body, pair.now).unwrap();
    let bytes = output(&mut pair.smsc);
    assert_eq!(&bytes[crate::limits::HEADER_OCTETS..], b"00C0FFEE\0", "no TLVs");
}

#[test]
fn the_answer_to_a_3_3_bind_has_no_tlvs() {
    let now = Instant::now();
    for (version, tlvs) in
        [(0x00, false), (0x32, false), (0x33, false), (0x34, true), (0x50, true), (0xFF, true)]
    {
        let mut smsc = Session::new(Role::Smsc, Config::default(), now);
        let bind = Bind { interface_version: Version(version), ..Bind::default() };
        input(&mut smsc, &frame(&bind, 1), now);
        smsc.accept_bind(b"carrier", now).unwrap();
        let bytes = output(&mut smsc);
        let (_, Pdu::BindResp(response)) = decode(&bytes).unwrap() else { panic!("no bind_resp") };
        assert_eq!(response.version(), tlvs.then_some(Version::V3_4), "{version:#x}");
    }
}

#[test]
fn messages_and_receipts_are_delivered_in_a_window_of_our_own() {
    let smsc = Config { window: 3, ..Config::default() };
    let mut pair = Pair::bound_with(BindMode::Receiver, Config::default(), smsc);
    let data = DataSm { destination: Address::international(b"417"), ..DataSm::default() };
    pair.smsc.deliver(&DeliverSm::default(), 1, pair.now).unwrap();
    let sequence = pair.smsc.data(&data, 2, pair.now).unwrap();
    pair.smsc.deliver(&DeliverSm::default(), 3, pair.now).unwrap();
    assert_eq!(pair.smsc.deliver(&DeliverSm::default(), 4, pair.now), Err(SendError::WindowFull));
    let seen = pair.carry_to_esme();
    assert!(matches!(seen[..], [Seen::Deliver { .. }, Seen::Data { .. }, Seen::Deliver { .. }]), "{seen:?}");
    pair.esme.respond(sequence, Status::RX_T_APPN, b"", pair.now).unwrap();
    let refused = Seen::Response { token: 2, status: Status::RX_T_APPN, id: String::new(), late: false };
    assert_eq!(pair.carry_to_smsc(), [refused]);
    assert_eq!(pair.smsc.free_slots(), 1);
    let (_, seen) = pair.pass(second(30));
    let unknown = |token| Seen::Unanswered { token, fate: NoResponse::TimedOut };
    assert_eq!(seen, [unknown(1), unknown(3)], "to be delivered again");
}

#[test]
fn an_answer_of_the_client_may_say_more() {
    let mut pair = Pair::trx();
    let sequence = pair.smsc.deliver(&DeliverSm::default(), 1, pair.now).unwrap();
    pair.carry_to_esme();
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag::NETWORK_ERROR_CODE, &[3, 0, 27]).unwrap();
    let body = DeliverSmResp { tlvs: tlvs.as_tlvs(), ..DeliverSmResp::default() };
    pair.esme.respond_with(sequence, Status::RX_P_APPN, &body, pair.now).unwrap();
    let bytes = output(&mut pair.esme);
    pair.smsc.handle_input(&bytes, pair.now);
    let Some(Event::Response(response)) = pair.smsc.poll_event() else { panic!("no response") };
    assert_eq!((response.status, response.tlvs), (Status::RX_P_APPN, tlvs.as_tlvs()));
}

#[test]
fn a_client_bound_as_transmitter_gets_no_receipts() {
    let mut pair = Pair::bound(BindMode::Transmitter);
    let receipt = Receipt { text_id: b"1A", state: Some(MessageState::Delivered), ..Receipt::default() };
    let mut text = Vec::new();
    receipt.write_text(&mut text);
    let deliver = DeliverSm { short_message: &text, ..DeliverSm::default() };
    assert_eq!(pair.smsc.deliver(&deliver, 1, pair.now), Err(SendError::WrongState));
    assert!(!pair.smsc.has_output() && pair.smsc.in_flight() == 0, "it waits for another bind");
    let refused = Seen::Refused { command: Command::DELIVER_SM, status: Status::RINVBNDSTS };
    assert_eq!(
        input(&mut pair.esme, &frame(&deliver, 5), pair.now),
        [refused],
        "and one sent all the same is refused"
    );
}

#[test]
fn we_unbind_a_client_and_still_answer_what_it_sent_before() {
    let mut pair = Pair::trx();
    let first = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    pair.carry_to_smsc();
    pair.smsc.unbind(pair.now);
    let second = pair.esme.submit(&hello(), 2, pair.now).unwrap();
    assert!(matches!(pair.carry_to_smsc()[..], [Seen::Submit { .. }]), "it had not heard of it");
    assert_eq!(pair.smsc.deliver(&DeliverSm::default(), 1, pair.now), Err(SendError::WrongState));
    assert!(pair.smsc.respond(first, Status::ROK, b"1", pair.now).is_ok());
    pair.smsc.respond(second, Status::ROK, b"2", pair.now).unwrap();
    let seen = pair.carry_to_esme();
    assert!(
        matches!(
            seen[..],
            [
                Seen::Response { .. },
                Seen::Response { .. },
                Seen::Unbinding,
                Seen::Closed(Reason::PeerUnbound)
            ]
        ),
        "{seen:?}"
    );
    assert_eq!(pair.carry_to_smsc(), [Seen::Closed(Reason::Unbound)]);
}

#[test]
fn a_client_that_submits_and_never_reads_costs_bounded_memory_and_is_closed() {
    let config = Config { output_octets_max: 4_096, peer_window: 100, ..Config::default() };
    let (mut smsc, now) = bound_smsc(config);
    let mut sequence = 0;
    while smsc.wants_input() {
        sequence += 1;
        input(&mut smsc, &frame(&hello(), sequence), now);
        smsc.respond(sequence, Status::ROK, b"0123456789abcdef", now).unwrap();
        assert!(sequence < 1_000);
    }
    assert!(smsc.output_octets() < 4_096 + 100);
    assert_eq!(smsc.poll_timeout(), Some(now + second(30)));
    smsc.handle_timeout(now + second(30));
    assert_eq!(events(&mut smsc), [Seen::Closed(Reason::NotReading)]);
}

#[test]
fn a_thousand_connections_that_never_bind_cost_little_and_are_closed_in_time() {
    let start = Instant::now();
    let mut sessions: Vec<Session> =
        (0..1_000).map(|_| Session::new(Role::Smsc, Config::default(), start)).collect();
    for session in &mut sessions {
        // Some octets of a bind, and then nothing more.
        session.handle_input(&frame(&Bind::default(), 1)[..7], start);
        assert!(session.poll_event().is_none() && session.input.capacity() < 64);
        session.handle_timeout(start + Duration::from_millis(9_999));
        assert_eq!(session.state(), SessionState::Open);
        session.handle_timeout(start + second(10));
        assert_eq!(events(session), [Seen::Closed(Reason::SessionInit)]);
    }
}

#[test]
fn a_bind_that_is_never_answered_by_our_caller_ends_with_session_init() {
    let mut pair = Pair::new(Config::default(), Config::default());
    pair.esme.bind(&Bind::default(), pair.now).unwrap();
    pair.carry_to_smsc();
    let (_, seen) = pair.pass(second(10));
    assert_eq!(seen, [Seen::Closed(Reason::SessionInit)]);
    assert_eq!(pair.smsc.accept_bind(b"carrier", pair.now), Err(SendError::WrongState));
}

#[test]
fn no_width_of_the_window_stalls() {
    for width in [1usize, 2, 5, 6, 10, 100, 500, WINDOW_MAX] {
        let config = || Config { window: width, peer_window: width, ..Config::default() };
        let mut pair = Pair::bound_with(BindMode::Transceiver, config(), config());
        let count = 5 * width.max(100) as u64;
        let (mut sent, mut answered, mut rounds) = (0, 0, 0);
        while answered < count {
            while sent < count && pair.esme.submit(&hello(), sent, pair.now).is_ok() {
                sent += 1;
            }
            let mut waiting: Vec<u32> = pair
                .carry_to_smsc()
                .iter()
                .map(|seen| match seen {
                    Seen::Submit { sequence, .. } => *sequence,
                    other => panic!("{other:?}"),
                })
                .collect();
            // The newest first, and the oldest only after a while.
            while let Some(sequence) = waiting.pop() {
                pair.smsc.respond(sequence, Status::ROK, b"1", pair.now).unwrap();
            }
            answered += pair.carry_to_esme().len() as u64;
            rounds += 1;
            assert!(rounds <= count, "window {width}: {answered} of {count}");
        }
        assert_eq!((pair.esme.free_slots(), pair.smsc.unanswered()), (width, 0));
        assert_eq!(rounds, count.div_ceil(width as u64), "window {width} was used in full");
    }
}
