//! Input that no good peer sends: each case of the list ends in a clear answer, and the session in a known
//! state.

use super::*;
use crate::limits::{PDU_OCTETS_MAX, TLV_OCTETS_MAX};
use crate::pdu::QuerySm;
use crate::samples::{Pool, Random};
use crate::tlv::Tag;

/// The session still works: it answers an enquire_link.
fn assert_alive(session: &mut Session, now: Instant, what: &str) {
    output(session);
    input(session, &raw(Command::ENQUIRE_LINK, Status::ROK, 0x0ABC_DEF0, b""), now);
    let expected = (Command::ENQUIRE_LINK_RESP, Status::ROK, 0x0ABC_DEF0);
    assert!(answers(session).contains(&expected), "{what}");
}

#[test]
fn a_bad_length_is_nacked_and_closes_without_allocation() {
    for length in [0u32, 4, 15, 70_001, 100_000_000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF] {
        let (mut smsc, now) = bound_smsc(Config::default());
        let bytes = [&length.to_be_bytes()[..], &[0; 12]].concat();
        assert_eq!(input(&mut smsc, &bytes, now), [Seen::Closed(Reason::BadLength)], "{length}");
        assert_eq!(answers(&mut smsc), [(Command::GENERIC_NACK, Status::RINVCMDLEN, 0)], "{length}");
        assert!(smsc.input.capacity() < 4_096, "{length}");
        assert_eq!(input(&mut smsc, &frame(&hello(), 1), now), [], "nothing is read after it");
    }
}

#[test]
fn four_octets_are_enough_to_see_a_bad_length() {
    let (mut smsc, now) = bound_smsc(Config::default());
    assert_eq!(input(&mut smsc, &[0xFF; 3], now), []);
    assert_eq!(input(&mut smsc, &[0xFF], now), [Seen::Closed(Reason::BadLength)]);
}

#[test]
fn other_protocols_on_the_port_are_closed() {
    let tls = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3];
    for hello in [&b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..], &tls, b"EHLO mail\r\n", b"SSH-2.0-x\r\n"] {
        let now = Instant::now();
        let mut smsc = Session::new(Role::Smsc, Config::default(), now);
        assert_eq!(input(&mut smsc, hello, now), [Seen::Closed(Reason::BadLength)]);
    }
}

#[test]
fn what_was_in_flight_at_a_bad_length_is_unknown() {
    let mut pair = Pair::trx();
    pair.esme.submit(&hello(), 1, pair.now).unwrap();
    output(&mut pair.esme);
    pair.esme.submit(&hello(), 2, pair.now).unwrap();
    let seen = input(&mut pair.esme, &[0; 16], pair.now);
    let expected = [
        Seen::Unanswered { token: 1, fate: NoResponse::SessionEnded },
        Seen::Unanswered { token: 2, fate: NoResponse::NotSent },
        Seen::Closed(Reason::BadLength),
    ];
    assert_eq!(seen, expected);
    assert_eq!(
        answers(&mut pair.esme),
        [(Command::GENERIC_NACK, Status::RINVCMDLEN, 0)],
        "request 2 is taken back"
    );
}

#[test]
fn a_header_alone_is_answered_and_the_session_stays_up() {
    for &command in Command::ALL {
        for role in [Role::Esme, Role::Smsc] {
            let pair = Pair::trx();
            let (mut session, now) = (if role == Role::Smsc { pair.smsc } else { pair.esme }, pair.now);
            input(&mut session, &raw(command, Status::ROK, 9, b""), now);
            let answers = answers(&mut session);
            if command.is_response() {
                assert_eq!(answers, [], "{command} to {role:?}");
            } else {
                let [(_, status, 9)] = answers[..] else { panic!("{command} to {role:?}: {answers:?}") };
                let ok = matches!(command, Command::UNBIND | Command::ENQUIRE_LINK);
                assert_eq!(status.is_ok(), ok, "{command} to {role:?}: {status}");
            }
            if command != Command::UNBIND {
                assert_alive(&mut session, now, &command.to_string());
            }
        }
    }
}

#[test]
fn truncation_at_every_octet_is_answered_with_the_sequence_and_the_session_stays_up() {
    for whole in Pool::default().frames() {
        let header = Header::parse(&whole).unwrap();
        if matches!(header.command, Command::UNBIND | Command::UNBIND_RESP) {
            continue;
        }
        let (mut smsc, now) = bound_smsc(Config { peer_window: WINDOW_MAX, ..Config::default() });
        for end in 16..whole.len() {
            let sequence = end as u32;
            let cut = raw(header.command, Status::ROK, sequence, &whole[16..end]);
            let events = input(&mut smsc, &cut, now);
            let answers = answers(&mut smsc);
            let accepted =
                events.iter().any(|seen| !matches!(seen, Seen::Refused { .. } | Seen::Nack { .. }));
            let silent = header.command.is_response() || accepted;
            assert!(
                silent && answers.is_empty() || matches!(answers[..], [(_, _, s)] if s == sequence),
                "{} cut at {end}: {events:?} {answers:?}",
                header.command
            );
        }
        assert_alive(&mut smsc, now, &header.command.to_string());
    }
}

#[test]
fn unknown_commands_are_nacked_with_their_sequence() {
    let (mut smsc, now) = bound_smsc(Config::default());
    // 3.3's param_retrieve, query_last_msgs and query_msg_details, and others of no version.
    for command in [0x22, 0x23, 0x24, 0x00, 0x0A, 0x104, 0x7FFF_FFFF].map(Command) {
        let seen = input(&mut smsc, &raw(command, Status::ROK, 77, b"body"), now);
        assert_eq!(seen, [Seen::Refused { command, status: Status::RINVCMDID }]);
        assert_eq!(answers(&mut smsc), [(Command::GENERIC_NACK, Status::RINVCMDID, 77)]);
    }
    assert_alive(&mut smsc, now, "after unknown commands");
}

#[test]
fn unknown_responses_are_dropped_and_counted_and_never_answered() {
    let mut pair = Pair::trx();
    let sequence = pair.esme.submit(&hello(), 1, pair.now).unwrap();
    output(&mut pair.esme);
    for (command, of) in [
        (Command::SUBMIT_SM_RESP, sequence + 1),
        (Command::SUBMIT_SM_RESP, 0),
        (Command::SUBMIT_SM_RESP, 0xFFFF_FFFF),
        (Command::DATA_SM_RESP, sequence),
        (Command::DELIVER_SM_RESP, sequence),
        (Command::BIND_TRANSCEIVER_RESP, 1),
        (Command::UNBIND_RESP, 5),
        (Command(0x8000_0022), 3),
        (Command(0xFFFF_FFFF), sequence),
    ] {
        assert_eq!(input(&mut pair.esme, &raw(command, Status::ROK, of, b"x\0"), pair.now), [], "{command}");
    }
    assert_eq!(pair.esme.counters().unknown_responses, 9);
    assert!(output(&mut pair.esme).is_empty());
    assert_eq!(pair.esme.in_flight(), 1, "the request still waits for its own response");
}

#[test]
fn requests_before_the_bind_are_refused_and_a_second_bind_too() {
    let now = Instant::now();
    let mut smsc = Session::new(Role::Smsc, Config::default(), now);
    let refused = |command, status| vec![Seen::Refused { command, status }];
    assert_eq!(input(&mut smsc, &frame(&hello(), 5), now), refused(Command::SUBMIT_SM, Status::RINVBNDSTS));
    assert_eq!(answers(&mut smsc), [(Command::SUBMIT_SM_RESP, Status::RINVBNDSTS, 5)]);
    let unbind = raw(Command::UNBIND, Status::ROK, 6, b"");
    assert_eq!(input(&mut smsc, &unbind, now), refused(Command::UNBIND, Status::RINVBNDSTS));
    let bind = |mode| frame(&Bind { mode, ..Bind::default() }, 7);
    assert_eq!(input(&mut smsc, &bind(BindMode::Transceiver), now).len(), 1);
    let again = refused(Command::BIND_RECEIVER, Status::RALYBND);
    assert_eq!(
        input(&mut smsc, &bind(BindMode::Receiver), now),
        again,
        "while the first waits for its answer"
    );
    assert_eq!(input(&mut smsc, &frame(&hello(), 5), now), refused(Command::SUBMIT_SM, Status::RINVBNDSTS));
    smsc.accept_bind(b"carrier", now).unwrap();
    assert_eq!(input(&mut smsc, &bind(BindMode::Receiver), now), again, "and when it is bound");
    assert_alive(&mut smsc, now, "after a second bind");
}

#[test]
fn pdus_in_the_wrong_direction_are_refused() {
    let pool = Pool::default();
    for pdu in pool.pdus() {
        let command = pdu.command();
        if command.is_response() || matches!(command, Command::UNBIND | Command::ENQUIRE_LINK) {
            continue;
        }
        for mode in [BindMode::Transmitter, BindMode::Receiver, BindMode::Transceiver] {
            let pair = Pair::bound(mode);
            for (mut session, peer) in [(pair.smsc, Role::Esme), (pair.esme, Role::Smsc)] {
                if may_send(peer, command, SessionState::Bound(mode)) {
                    continue;
                }
                let seen = input(&mut session, &frame(&pdu, 3), pair.now);
                let bind = BindMode::of(command).is_some() && peer == Role::Esme;
                let status = if bind { Status::RALYBND } else { Status::RINVBNDSTS };
                assert_eq!(seen, [Seen::Refused { command, status }], "{mode:?} from {peer:?}");
            }
        }
    }
}

#[test]
fn any_sequence_number_is_echoed_and_may_be_used_again_once_answered() {
    let (mut smsc, now) = bound_smsc(Config::default());
    for sequence in [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 1, 1] {
        assert_eq!(input(&mut smsc, &frame(&hello(), sequence), now).len(), 1);
        smsc.respond(sequence, Status::ROK, b"1", now).unwrap();
        assert_eq!(answers(&mut smsc), [(Command::SUBMIT_SM_RESP, Status::ROK, sequence)]);
    }
}

#[test]
fn requests_of_one_kind_may_share_a_sequence_number_and_each_is_answered_in_its_turn() {
    let (mut smsc, now) = bound_smsc(Config::default());
    for _ in 0..3 {
        assert_eq!(input(&mut smsc, &frame(&hello(), 5), now).len(), 1);
    }
    assert_eq!(smsc.unanswered(), 3);
    smsc.respond(5, Status::ROK, b"1", now).unwrap();
    smsc.respond(5, Status::RINVDSTADR, b"", now).unwrap();
    smsc.respond(5, Status::ROK, b"3", now).unwrap();
    let (ok, command) = (Status::ROK, Command::SUBMIT_SM_RESP);
    assert_eq!(answers(&mut smsc), [(command, ok, 5), (command, Status::RINVDSTADR, 5), (command, ok, 5)]);
    assert_eq!(smsc.unanswered(), 0);
    assert!(smsc.respond(5, Status::ROK, b"4", now).is_err(), "all are answered");
}

#[test]
fn a_sequence_number_of_an_outstanding_request_of_another_kind_is_an_error() {
    let (mut smsc, now) = bound_smsc(Config::default());
    input(&mut smsc, &frame(&hello(), 5), now);
    let query = QuerySm { message_id: b"1", ..QuerySm::default() };
    let seen = input(&mut smsc, &frame(&query, 5), now);
    assert_eq!(seen, [Seen::Refused { command: Command::QUERY_SM, status: Status::RSYSERR }]);
    assert_eq!(smsc.unanswered(), 1);
}

#[test]
fn one_octet_at_a_time_gives_the_same_events() {
    let frames = Pool::default().frames();
    let bytes: Vec<u8> = frames
        .iter()
        .filter(|f| Header::parse(f).unwrap().command != Command::UNBIND)
        .flatten()
        .copied()
        .collect();
    let (mut whole, now) = bound_smsc(Config::default());
    let expected = input(&mut whole, &bytes, now);
    let (mut slow, now) = bound_smsc(Config::default());
    let mut seen = Vec::new();
    for octet in &bytes {
        seen.extend(input(&mut slow, std::slice::from_ref(octet), now));
    }
    assert_eq!(seen, expected);
    assert_eq!(output(&mut slow), output(&mut whole));
}

#[test]
fn many_pdus_in_one_segment_are_all_read() {
    let (mut smsc, now) = bound_smsc(Config { peer_window: WINDOW_MAX, ..Config::default() });
    let bytes: Vec<u8> = (0..5_000).flat_map(|sequence| frame(&hello(), sequence)).collect();
    assert_eq!(input(&mut smsc, &bytes, now).len(), 5_000);
    assert!(smsc.poll_event().is_none());
}

#[test]
fn a_great_input_buffer_is_kept_while_it_is_needed_and_then_given_back() {
    let many: Vec<u8> = (0..500).flat_map(|sequence| frame(&hello(), sequence)).collect();
    let enquire = raw(Command::ENQUIRE_LINK, Status::ROK, 1, b"");
    let (mut smsc, now) = bound_smsc(Config::default());
    let buffer = |smsc: &Session| (smsc.input.capacity(), smsc.input.as_ptr());
    input(&mut smsc, &many, now);
    let great = buffer(&smsc);
    assert!(great.0 > INPUT_KEPT_OCTETS);
    for _ in 0..10 {
        input(&mut smsc, &enquire, now);
        input(&mut smsc, &many, now);
    }
    assert_eq!(buffer(&smsc), great, "no allocation while it is busy");
    for _ in 0..=SMALL_INPUTS_MAX {
        input(&mut smsc, &enquire, now);
    }
    assert!(buffer(&smsc).0 <= INPUT_KEPT_OCTETS, "after small inputs");
    input(&mut smsc, &many, now);
    output(&mut smsc);
    smsc.handle_timeout(now + second(30));
    assert_eq!(buffer(&smsc).0, 0, "when the peer is silent");
}

#[test]
fn a_thousand_submits_and_then_a_reset_leave_nothing_behind() {
    let (mut smsc, now) = bound_smsc(Config::default());
    let bytes: Vec<u8> = (0..1_000).flat_map(|sequence| frame(&hello(), sequence)).collect();
    smsc.handle_input(&bytes, now);
    smsc.handle_eof(now);
    let seen = events(&mut smsc);
    assert_eq!(seen.iter().filter(|seen| matches!(seen, Seen::Submit { .. })).count(), 1_000);
    assert_eq!(seen.last(), Some(&Seen::Closed(Reason::ConnectionLost)));
    assert_eq!(smsc.unanswered(), 0);
    assert_eq!(smsc.respond(1, Status::ROK, b"1", now), Err(SendError::UnknownSequence));
}

#[test]
fn a_window_flood_is_throttled_and_not_kept() {
    for flood_status in [Status::RTHROTTLED, Status::RMSGQFUL] {
        let (mut smsc, now) = bound_smsc(Config { peer_window: 10, flood_status, ..Config::default() });
        let bytes: Vec<u8> = (0..1_000).flat_map(|sequence| frame(&hello(), sequence)).collect();
        assert_eq!(input(&mut smsc, &bytes, now).len(), 10);
        assert_eq!((smsc.unanswered(), smsc.counters().flooded_requests), (10, 990));
        let answers = answers(&mut smsc);
        assert_eq!(answers.len(), 990);
        assert!(
            answers
                .iter()
                .all(|(command, status, _)| (*command, *status) == (Command::SUBMIT_SM_RESP, flood_status))
        );
    }
}

#[test]
fn bad_values_get_the_requests_response_with_their_status() {
    let (mut smsc, now) = bound_smsc(Config::default());
    let long = [b'x'; 255];
    let mut payload = TlvBuf::new();
    payload.push(Tag::MESSAGE_PAYLOAD, b"x").unwrap();
    let cases = [
        (SubmitSm { destination: Address::default(), ..hello() }, Status::RINVDSTADR),
        (SubmitSm { short_message: &long, ..hello() }, Status::RINVMSGLEN),
        (SubmitSm { validity_period: b"next week", ..hello() }, Status::RINVEXPIRY),
        (SubmitSm { schedule_delivery_time: b"99", ..hello() }, Status::RINVSCHED),
        (SubmitSm { tlvs: payload.as_tlvs(), ..hello() }, Status::ROPTPARNOTALLWD),
    ];
    for (submit, status) in cases {
        input(&mut smsc, &frame(&submit, 8), now);
        assert_eq!(answers(&mut smsc), [(Command::SUBMIT_SM_RESP, status, 8)]);
    }
    assert_eq!(smsc.unanswered(), 0);
}

#[test]
fn version_5_allows_one_octet_more() {
    let (mut smsc, now) = bound_smsc(Config { version: Version::V5_0, ..Config::default() });
    let long = [b'x'; 255];
    let seen = input(&mut smsc, &frame(&SubmitSm { short_message: &long, ..hello() }, 8), now);
    assert!(matches!(seen[..], [Seen::Submit { .. }]), "{seen:?}");
}

#[test]
fn a_message_of_64_kilobytes_passes_and_one_octet_over_the_pdu_limit_closes() {
    let (mut smsc, now) = bound_smsc(Config::default());
    let payload = vec![b'x'; TLV_OCTETS_MAX];
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag::MESSAGE_PAYLOAD, &payload).unwrap();
    let submit = SubmitSm { short_message: b"", tlvs: tlvs.as_tlvs(), ..hello() };
    let seen = input(&mut smsc, &frame(&submit, 1), now);
    assert_eq!(seen, [Seen::Submit { sequence: 1, text: payload }]);
    let over = ((PDU_OCTETS_MAX + 1) as u32).to_be_bytes();
    assert_eq!(input(&mut smsc, &over, now), [Seen::Closed(Reason::BadLength)]);
}

#[test]
fn ten_thousand_bad_binds_are_ten_thousand_refusals() {
    let now = Instant::now();
    let bytes = frame(&Bind { system_id: b"mallory", password: b"guess", ..Bind::default() }, 1);
    for _ in 0..10_000 {
        let mut smsc = Session::new(Role::Smsc, Config::default(), now);
        smsc.handle_input(&bytes, now);
        assert!(matches!(smsc.poll_event(), Some(Event::Bind { .. })));
        smsc.refuse_bind(Status::RINVPASWD, now).unwrap();
        assert!(smsc.has_output());
    }
}

#[test]
fn an_idle_session_holds_no_memory() {
    let now = Instant::now();
    let smsc = Session::new(Role::Smsc, Config { window: WINDOW_MAX, ..Config::default() }, now);
    assert_eq!((smsc.input.capacity(), smsc.core.out.capacity()), (0, 0));
    assert!(size_of::<Session>() < 1_024, "{}", size_of::<Session>());
}

#[test]
fn a_caller_that_never_takes_events_is_stopped() {
    let (mut smsc, now) = bound_smsc(Config::default());
    let bytes: Vec<u8> = (0..10_000).flat_map(|sequence| frame(&hello(), sequence)).collect();
    for _ in 0..100 {
        smsc.handle_input(&bytes, now);
    }
    assert!(smsc.input.len() < 12 << 20);
    assert_eq!(smsc.state(), SessionState::Closed);
    assert_eq!(events(&mut smsc), [Seen::Closed(Reason::Overrun)]);
}

/// Valid conversations with random octets changed, in random pieces: whatever happens, every answer is a
/// whole PDU, nothing panics, and no buffer grows.
#[test]
fn sessions_survive_random_and_mutated_input() {
    let frames = Pool::default().frames();
    for seed in cases::seeds(300) {
        let mut random = Random(0x5EED_1000 + seed);
        let pair = Pair::trx();
        let (mut session, now) = (if seed % 2 == 0 { pair.smsc } else { pair.esme }, pair.now);
        for _ in 0..200 {
            let mut bytes = frames[random.below(frames.len())].clone();
            for _ in 0..random.below(3) {
                let at = 4 + random.below(bytes.len() - 4);
                bytes[at] = random.next() as u8;
            }
            let cut = random.below(bytes.len());
            let (first, rest) = bytes.split_at(cut);
            input(&mut session, first, now);
            input(&mut session, rest, now);
            headers(&output(&mut session));
            assert!(session.input.len() <= PDU_OCTETS_MAX, "seed {seed}");
            assert!(session.unanswered() <= PEER_WINDOW_DEFAULT, "seed {seed}");
        }
    }
}
