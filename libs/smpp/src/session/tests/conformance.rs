//! Bodies that are wrong in one place each: the request's own response says what, with its sequence, and the
//! session goes on.

use super::*;
use crate::limits::{self, DESTINATIONS_MAX};
use crate::pdu::{
    BroadcastSm, CancelSm, DataSm, Destination, DestinationBuf, QueryBroadcastSm, QuerySm, ReplaceSm,
    SubmitMulti,
};
use crate::samples::{self, STRINGS};
use crate::tlv::{Tag, Tlvs};

/// What the server answers to a frame of sequence 7, and that it works on after it.
fn verdict(frame: &[u8]) -> (Command, Status) {
    let (mut smsc, now) = bound_smsc(Config::default());
    input(&mut smsc, frame, now);
    let given = answers(&mut smsc);
    let [(command, status, 7)] = given[..] else { panic!("{given:?} to {frame:?}") };
    assert_eq!(smsc.unanswered(), 0, "a refused request holds no place");
    assert!(matches!(input(&mut smsc, &super::frame(&hello(), 8), now)[..], [Seen::Submit { .. }]));
    (command, status)
}

/// Takes a frame apart, changes its body, and puts it together again.
fn with_body(frame: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let header = Header::parse(frame).unwrap();
    let mut body = frame[limits::HEADER_OCTETS..].to_vec();
    change(&mut body);
    samples::raw(header.command, &body)
}

fn with_tail(frame: &[u8], tail: &[u8]) -> Vec<u8> {
    with_body(frame, |body| body.extend_from_slice(tail))
}

#[test]
fn octets_that_are_no_tlvs_are_answered_whatever_they_are_behind() {
    let message_id = &b"1A"[..];
    let data = DataSm { destination: Address::international(b"417"), ..DataSm::default() };
    let frames = [
        samples::frame(&hello(), 7),
        samples::frame(&data, 7),
        samples::frame(&QuerySm { message_id, ..QuerySm::default() }, 7),
        samples::frame(&CancelSm { message_id, ..CancelSm::default() }, 7),
        samples::frame(&ReplaceSm { message_id, ..ReplaceSm::default() }, 7),
        samples::frame(&BroadcastSm::default(), 7),
        samples::frame(&QueryBroadcastSm { message_id, ..QueryBroadcastSm::default() }, 7),
    ];
    // Stray octets; a tag without a length; a length without its value; one octet short; a whole TLV and a
    // stray octet.
    let tails: [&[u8]; 7] = [
        b"\0",
        b"\x02\x04\0",
        b"\x02\x04",
        b"\x02\x04\0\x02",
        b"\x02\x04\0\x02\x01",
        b"\x04\x24\xFF\xFFabc",
        b"\x02\x04\0\x02\x01\x02\x02",
    ];
    for frame in &frames {
        let response = Header::parse(frame).unwrap().command.response();
        for tail in tails {
            let expected = (response, Status::RINVOPTPARSTREAM);
            assert_eq!(verdict(&with_tail(frame, tail)), expected, "{response} {tail:?}");
        }
    }
}

#[test]
fn each_bad_body_is_answered_with_the_status_of_what_is_wrong() {
    let good = samples::frame(&hello(), 7);
    let length_at = good.len() - limits::HEADER_OCTETS - 6;
    let with_sm_length = |length: u8| with_body(&good, |body| body[length_at] = length);
    let submit = |submit: SubmitSm<'_>| samples::frame(&submit, 7);
    let source = |ton, npi| submit(SubmitSm { source: Address::new(ton, npi, b"1"), ..hello() });
    let to = |ton, npi| submit(SubmitSm { destination: Address::new(ton, npi, b"1"), ..hello() });
    let mut payload = TlvBuf::new();
    payload.push(Tag::MESSAGE_PAYLOAD, b"hello").unwrap();
    let cases: [(&str, Vec<u8>, Status); 19] = [
        ("no NUL in the body at all", samples::raw(Command::SUBMIT_SM, b"CMT"), Status::RINVCMDLEN),
        ("no NUL where one must be", samples::raw(Command::SUBMIT_SM, &[b'x'; 300]), Status::RINVSERTYP),
        ("sm_length one above", with_sm_length(6), Status::RINVMSGLEN),
        ("sm_length far above", with_sm_length(255), Status::RINVMSGLEN),
        ("sm_length below", with_sm_length(4), Status::RINVOPTPARSTREAM),
        ("sm_length 0 and a text", with_sm_length(0), Status::RINVOPTPARSTREAM),
        (
            "255 octets of text in 3.4",
            submit(SubmitSm { short_message: &[b'x'; 255], ..hello() }),
            Status::RINVMSGLEN,
        ),
        ("text twice", submit(SubmitSm { tlvs: payload.as_tlvs(), ..hello() }), Status::ROPTPARNOTALLWD),
        (
            "no destination",
            submit(SubmitSm { destination: Address::default(), ..hello() }),
            Status::RINVDSTADR,
        ),
        ("source_addr_ton 7", source(7, 0), Status::RINVSRCTON),
        ("source_addr_npi 2", source(0, 2), Status::RINVSRCNPI),
        ("dest_addr_ton 255", to(255, 0), Status::RINVDSTTON),
        ("dest_addr_npi 255", to(0, 255), Status::RINVDSTNPI),
        ("priority_flag 5", submit(SubmitSm { priority_flag: 5, ..hello() }), Status::RINVPRTFLG),
        (
            "registered_delivery 0x40",
            submit(SubmitSm { registered_delivery: 0x40, ..hello() }),
            Status::RINVREGDLVFLG,
        ),
        (
            "replace_if_present 2",
            submit(SubmitSm { replace_if_present_flag: 2, ..hello() }),
            Status::RINVREPFLAG,
        ),
        ("a query without an id", samples::frame(&QuerySm::default(), 7), Status::RINVMSGID),
        ("a replacement without an id", samples::frame(&ReplaceSm::default(), 7), Status::RINVMSGID),
        ("a cancel of nothing", samples::frame(&CancelSm::default(), 7), Status::RINVDSTADR),
    ];
    for (what, frame, status) in cases {
        let response = Header::parse(&frame).unwrap().command.response();
        assert_eq!(verdict(&frame), (response, status), "{what}");
    }
    let missing = (Command::BROADCAST_SM_RESP, Status::RMISSINGOPTPARAM);
    assert_eq!(verdict(&samples::frame(&BroadcastSm::default(), 7)), missing);
    let unnamed = (Command::QUERY_BROADCAST_SM_RESP, Status::RINVMSGID);
    assert_eq!(verdict(&samples::frame(&QueryBroadcastSm::default(), 7)), unnamed);
}

#[test]
fn every_string_over_its_field_is_refused_with_its_status_before_anything_else() {
    for (field, build) in STRINGS {
        let over = build(&vec![b'x'; field.octets_max]);
        let command = Header::parse(&over).unwrap().command;
        let pair = Pair::trx();
        let (mut session, bind) = match command {
            Command::DELIVER_SM | Command::ALERT_NOTIFICATION => (pair.esme, false),
            Command::OUTBIND => (Session::new(Role::Esme, Config::default(), pair.now), false),
            _ if BindMode::of(command).is_some() => {
                (Session::new(Role::Smsc, Config::default(), pair.now), true)
            }
            _ => (pair.smsc, false),
        };
        let seen = input(&mut session, &over, pair.now);
        assert_eq!(seen, [Seen::Refused { command, status: field.status }], "{} of {command}", field.name);
        let has_response = !matches!(command, Command::OUTBIND | Command::ALERT_NOTIFICATION);
        let response = if has_response { command.response() } else { Command::GENERIC_NACK };
        assert_eq!(answers(&mut session), [(response, field.status, 7)], "{} of {command}", field.name);
        assert!(session.input.capacity() < 4_096);
        assert_eq!(session.state() == SessionState::Open, bind || command == Command::OUTBIND);
    }
}

#[test]
fn every_tlv_is_held_to_the_size_of_its_table_row() {
    for &tag in Tag::ALL {
        let allowed = tag.octets_allowed();
        let sizes = [
            allowed.start().checked_sub(1),
            Some(*allowed.start()),
            Some(*allowed.end()),
            Some(allowed.end() + 1),
        ];
        for (column, size) in sizes.into_iter().enumerate() {
            let Some(size) = size.filter(|size| *size <= limits::TLV_OCTETS_MAX) else { continue };
            let mut tlvs = TlvBuf::new();
            tlvs.push(tag, &vec![0; size]).unwrap();
            let short_message = if tag == Tag::MESSAGE_PAYLOAD { b"" } else { &b"hello"[..] };
            let submit = samples::frame(&SubmitSm { short_message, tlvs: tlvs.as_tlvs(), ..hello() }, 7);
            let (mut smsc, now) = bound_smsc(Config::default());
            let seen = input(&mut smsc, &submit, now);
            if matches!(column, 1 | 2) {
                assert!(matches!(seen[..], [Seen::Submit { .. }]), "{tag:?} of {size}: {seen:?}");
            } else {
                assert_eq!(
                    answers(&mut smsc),
                    [(Command::SUBMIT_SM_RESP, Status::RINVPARLEN, 7)],
                    "{tag:?} of {size}"
                );
            }
        }
    }
}

#[test]
fn unknown_and_repeated_tlvs_reach_the_caller_as_they_came() {
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag(0x1400), b"vendor").unwrap();
    tlvs.push_u16(Tag::USER_MESSAGE_REFERENCE, 1).push_u16(Tag::USER_MESSAGE_REFERENCE, 2);
    tlvs.push(Tag(0xFFFF), b"").unwrap();
    let (mut smsc, now) = bound_smsc(Config::default());
    smsc.handle_input(&samples::frame(&SubmitSm { tlvs: tlvs.as_tlvs(), ..hello() }, 7), now);
    let Some(Event::Submit { pdu, .. }) = smsc.poll_event() else { panic!("no submission") };
    assert_eq!(pdu.tlvs, tlvs.as_tlvs());
    assert_eq!(pdu.tlvs.find_u16(Tag::USER_MESSAGE_REFERENCE), Some(1), "of duplicates the first counts");
    assert_eq!(pdu.tlvs.find_all(Tag::USER_MESSAGE_REFERENCE).count(), 2);
}

#[test]
fn a_user_data_header_that_runs_over_its_message_is_refused() {
    let esm_class = crate::pdu::esm_class::UDHI;
    let cases: [(&[u8], bool); 7] = [
        (b"\x05\x00\x03\x2A\x02\x01hi", true),
        (b"\x00hi", true),
        (b"", false),
        (b"\x05\x00\x03\x2A\x02", false),
        (b"\xFFhi", false),
        (b"\x05\x00\x04\x2A\x02\x01hi", false),
        (b"\x06\x00\x03\x2A\x02\x01\x00hi", false),
    ];
    for (message, good) in cases {
        let mut tlvs = TlvBuf::new();
        tlvs.push(Tag::MESSAGE_PAYLOAD, message).unwrap();
        let tlvs = tlvs.as_tlvs();
        let mut destinations = DestinationBuf::new();
        destinations.push(Destination::Sme(Address::international(b"417"))).unwrap();
        let destinations = destinations.as_destinations();
        let destination = Address::international(b"417");
        let frames = [
            samples::frame(&SubmitSm { esm_class, short_message: message, ..hello() }, 7),
            samples::frame(&SubmitSm { esm_class, short_message: b"", tlvs, ..hello() }, 7),
            samples::frame(&DataSm { esm_class, destination, tlvs, ..DataSm::default() }, 7),
            samples::frame(
                &SubmitMulti { esm_class, destinations, short_message: message, ..SubmitMulti::default() },
                7,
            ),
        ];
        for frame in frames {
            let response = Header::parse(&frame).unwrap().command.response();
            if good {
                let (mut smsc, now) = bound_smsc(Config::default());
                input(&mut smsc, &frame, now);
                assert_eq!(smsc.unanswered(), 1, "{response} {message:?}");
            } else {
                assert_eq!(verdict(&frame), (response, Status::RINVESMCLASS), "{message:?}");
            }
        }
    }
}

#[test]
fn bad_times_are_refused_in_every_request_that_has_them() {
    let bad: [&[u8]; 9] = [
        b"next week",
        b"1",
        b"261301000000000+",
        b"260132000000000+",
        b"260101240000000+",
        b"260101000000049+",
        b"260101000000000*",
        b"000000010000100R",
        b"26010100000000a+",
    ];
    let mut destinations = DestinationBuf::new();
    destinations.push(Destination::Sme(Address::international(b"417"))).unwrap();
    let destinations = destinations.as_destinations();
    let message_id = &b"1A"[..];
    for time in bad {
        for (schedule_delivery_time, validity_period, status) in
            [(time, &b""[..], Status::RINVSCHED), (b"", time, Status::RINVEXPIRY)]
        {
            let frames = [
                samples::frame(&SubmitSm { schedule_delivery_time, validity_period, ..hello() }, 7),
                samples::frame(
                    &SubmitMulti {
                        destinations,
                        schedule_delivery_time,
                        validity_period,
                        ..SubmitMulti::default()
                    },
                    7,
                ),
                samples::frame(
                    &ReplaceSm {
                        message_id,
                        schedule_delivery_time,
                        validity_period,
                        ..ReplaceSm::default()
                    },
                    7,
                ),
                samples::frame(
                    &BroadcastSm { schedule_delivery_time, validity_period, ..BroadcastSm::default() },
                    7,
                ),
            ];
            for frame in frames {
                assert_eq!(verdict(&frame).1, status, "{}", String::from_utf8_lossy(time));
            }
        }
    }
}

#[test]
fn a_list_of_destinations_is_counted_before_it_is_believed() {
    let multi = |count: u8| {
        let mut destinations = DestinationBuf::new();
        for _ in 0..count {
            destinations.push(Destination::List(b"firemen")).unwrap();
        }
        samples::frame(
            &SubmitMulti { destinations: destinations.as_destinations(), ..SubmitMulti::default() },
            7,
        )
    };
    // service_type, source's three octets: the count is the fifth.
    let with_count = |count: u8| with_body(&multi(2), |body| body[4] = count);
    let with_flag = |flag: u8| with_body(&multi(2), |body| body[5] = flag);
    let response = Command::SUBMIT_MULTI_RESP;
    assert_eq!(verdict(&multi(0)), (response, Status::RINVNUMDESTS));
    assert_eq!(verdict(&multi(255)), (response, Status::RINVNUMDESTS));
    for flag in [0, 3, 255] {
        assert_eq!(verdict(&with_flag(flag)), (response, Status::RINVDESTFLAG));
    }
    // More than are there: what follows is read as a destination, and is none.
    assert_ne!(verdict(&with_count(3)).1, Status::ROK);
    assert_ne!(verdict(&with_count(255)).1, Status::ROK);
    let (mut smsc, now) = bound_smsc(Config::default());
    assert_eq!(input(&mut smsc, &multi(DESTINATIONS_MAX as u8), now).len(), 1);
    assert_eq!(smsc.unanswered(), 1);
    let (mut smsc, now) = bound_smsc(Config { version: Version::V5_0, ..Config::default() });
    input(&mut smsc, &multi(255), now);
    assert_eq!(smsc.unanswered(), 1, "5.0 allows one more");
}

#[test]
fn a_server_judges_and_a_client_takes_what_comes() {
    // A receipt refused over a flag would be a receipt lost.
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag::MESSAGE_STATE, &[2, 0]).unwrap();
    let deliver = DeliverSm {
        esm_class: crate::pdu::esm_class::UDHI,
        source: Address::new(99, 99, b"1"),
        priority_flag: 200,
        schedule_delivery_time: b"soon",
        replace_if_present_flag: 9,
        short_message: b"\xFF",
        tlvs: tlvs.as_tlvs(),
        ..DeliverSm::default()
    };
    let mut pair = Pair::trx();
    assert!(matches!(
        input(&mut pair.esme, &samples::frame(&deliver, 7), pair.now)[..],
        [Seen::Deliver { .. }]
    ));
    let data = DataSm { source: Address::new(99, 99, b"1"), ..DataSm::default() };
    assert!(matches!(input(&mut pair.esme, &samples::frame(&data, 8), pair.now)[..], [Seen::Data { .. }]));
    assert_eq!(Tlvs::NONE, data.tlvs);
}
