use super::*;
use crate::error::ParameterProblem;
use crate::limits;
use crate::samples::{Pool, Random, STRINGS, frame, raw};
use crate::tlv::{Tag, TlvBuf, Tlvs};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn text(octets_max: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(1u8..=255, 0..octets_max)
}

fn tlvs() -> impl Strategy<Value = TlvBuf> {
    vec((any::<u16>(), vec(any::<u8>(), 0..300)), 0..5).prop_map(|pairs| {
        let mut tlvs = TlvBuf::new();
        for (tag, value) in pairs {
            tlvs.push(Tag(tag), &value).unwrap();
        }
        tlvs
    })
}

fn pool() -> impl Strategy<Value = Pool> {
    let names = (text(16), text(9), text(13), text(41), text(6), text(21));
    let addresses = (text(21), text(21), text(65), text(65), text(17));
    let rest = (vec(any::<u8>(), 0..=255), any::<[u8; 9]>(), tlvs(), any::<u8>());
    (names, addresses, rest).prop_map(|(names, addresses, (message, octets, tlvs, count))| {
        let (system_id, password, system_type, address_range, service_type, list_name) = names;
        let (source, destination, long_address, message_id, time) = addresses;
        let (destinations, refused) = (DestinationBuf::new(), RefusedBuf::new());
        let mut pool = Pool {
            system_id,
            password,
            system_type,
            address_range,
            service_type,
            source,
            destination,
            long_address,
            message_id,
            time,
            list_name,
            message,
            octets,
            tlvs,
            destinations,
            refused,
        };
        pool.fill_lists(count);
        pool
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases::times(64)))]

    #[test]
    fn every_pdu_reads_back_as_it_was_written(pool in pool(), status: u32, sequence: u32) {
        for pdu in pool.pdus() {
            let mut bytes = b"before".to_vec();
            encode(&pdu, Status(status), sequence, &mut bytes).unwrap();
            prop_assert!(bytes.starts_with(b"before"));
            let (header, read) = decode(&bytes[6..]).unwrap();
            prop_assert_eq!(header.status, Status(status));
            prop_assert_eq!(header.sequence, sequence);
            prop_assert_eq!(header.command, pdu.command());
            prop_assert_eq!(read, pdu);
        }
    }

    #[test]
    fn tlvs_read_back_in_order_with_unknown_ones_kept(pairs in vec((any::<u16>(), vec(any::<u8>(), 0..40)), 0..12)) {
        let mut buf = TlvBuf::new();
        for (tag, value) in &pairs {
            buf.push(Tag(*tag), value).unwrap();
        }
        let tlvs = Tlvs::parse(buf.as_tlvs().as_bytes()).unwrap();
        let read: Vec<_> = tlvs.iter().map(|tlv| (tlv.tag.0, tlv.value.to_vec())).collect();
        for (tag, _) in &pairs {
            let first = pairs.iter().find(|(other, _)| other == tag).map(|(_, value)| &value[..]);
            prop_assert_eq!(tlvs.find(Tag(*tag)), first);
        }
        prop_assert_eq!(read, pairs);
    }

    #[test]
    fn random_octets_never_break_a_decoder(bytes in vec(any::<u8>(), 0..200), command in 0u32..0x120, response: bool) {
        let command = if response { Command(command).response() } else { Command(command) };
        let header = Header { length: 0, command, status: Status::ROK, sequence: 1 };
        if let Ok(pdu) = Pdu::decode(header, &bytes) {
            prop_assert_eq!(pdu.command(), command);
        }
    }
}

#[test]
fn the_samples_hold_one_of_every_command() {
    let frames = Pool::default().frames();
    let seen: BTreeSet<_> =
        frames.iter().filter_map(|frame| Header::parse(frame)).map(|h| h.command).collect();
    let all: BTreeSet<_> = Command::ALL.iter().copied().collect();
    assert_eq!(seen, all);
}

#[test]
fn the_specifications_sample_bind_is_read() {
    // 3.4 §3.2.3 (5.0 §3.1.1): the sample bind_transmitter.
    let bytes = [
        &[0, 0, 0, 0x2F, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1][..],
        b"SMPP3TEST\0secret08\0SUBMIT1\0",
        &[0x50, 1, 1, 0],
    ]
    .concat();
    let (header, pdu) = decode(&bytes).unwrap();
    assert_eq!(
        header,
        Header { length: 47, command: Command::BIND_TRANSMITTER, status: Status::ROK, sequence: 1 }
    );
    let bind = Bind {
        mode: BindMode::Transmitter,
        system_id: b"SMPP3TEST",
        password: b"secret08",
        system_type: b"SUBMIT1",
        interface_version: Version::V5_0,
        addr_ton: 1,
        addr_npi: 1,
        ..Bind::default()
    };
    assert_eq!(pdu, Pdu::Bind(bind));
    assert_eq!(frame(&bind, 1), bytes);
}

/// Fixes `command_length` after the octets were changed.
fn with_length(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

#[test]
fn truncation_at_every_octet_is_an_error_or_a_shorter_pdu_never_a_panic() {
    for whole in Pool::default().frames() {
        let (header, _) = decode(&whole).unwrap();
        for end in 0..whole.len() {
            assert!(decode(&whole[..end]).is_err(), "{:?} cut at {end} with its old length", header.command);
            if end < limits::HEADER_OCTETS {
                continue;
            }
            let cut = with_length(whole[..end].to_vec());
            match decode(&cut) {
                // Without its TLVs, or a response without its body, a PDU may be whole.
                Ok((_, pdu)) => assert_eq!(pdu.command(), header.command),
                Err((at, error)) => {
                    assert_eq!(at.map(|header| header.sequence), Some(7));
                    assert!(!error.status.is_ok() && !error.field.is_empty(), "{error}");
                }
            }
        }
    }
}

/// Commands by which a carrier brings a message, a receipt or an id, and their answers.
const FORGIVEN: [Command; 4] =
    [Command::DELIVER_SM, Command::DELIVER_SM_RESP, Command::SUBMIT_SM_RESP, Command::DATA_SM_RESP];

#[test]
fn stray_octets_behind_a_body_are_an_error_but_behind_a_carriers_message_or_answer() {
    for whole in Pool::default().frames() {
        let (header, pdu) = decode(&whole).unwrap();
        for stray in 1..4 {
            let bytes = with_length([&whole[..], &[0xAA; 3][..stray]].concat());
            if FORGIVEN.contains(&header.command) {
                assert_eq!(decode(&bytes).unwrap().1, pdu, "{}", header.command);
                continue;
            }
            let (_, error) = decode(&bytes).unwrap_err();
            let expected = [Status::RINVOPTPARSTREAM, Status::RINVCMDLEN];
            assert!(expected.contains(&error.status), "{:?}: {error}", header.command);
        }
    }
}

#[test]
fn a_string_may_fill_its_field_and_one_octet_more_is_refused_with_its_status() {
    for (field, build) in STRINGS {
        let fits = vec![b'x'; field.octets_max - 1];
        let bytes = build(&fits);
        let (_, pdu) = decode(&bytes).unwrap_or_else(|(_, error)| panic!("{}: {error}", field.name));
        assert_eq!(frame(&pdu, 7), bytes, "{} of {}", field.name, pdu.command());

        let over = vec![b'x'; field.octets_max];
        let (_, error) = decode(&build(&over)).unwrap_err();
        let problem = ParameterProblem::TooLong { octets_max: field.octets_max };
        assert_eq!(error, DecodeError { status: field.status, field: field.name, problem });
    }
}

#[test]
fn a_string_without_its_nul_is_a_wrong_length() {
    let bytes = raw(Command::OUTBIND, b"carrier\0secret");
    let (_, error) = decode(&bytes).unwrap_err();
    assert_eq!((error.status, error.problem), (Status::RINVCMDLEN, ParameterProblem::Unterminated));
}

#[test]
fn strings_over_their_field_or_with_a_nul_are_never_written() {
    let over = [b'x'; 65];
    let cases: [(&str, SubmitSm<'_>); 5] = [
        ("service_type", SubmitSm { service_type: &over[..6], ..SubmitSm::default() }),
        ("source_addr", SubmitSm { source: Address::new(0, 0, &over[..21]), ..SubmitSm::default() }),
        (
            "destination_addr",
            SubmitSm { destination: Address::new(0, 0, b"4179\x0012"), ..SubmitSm::default() },
        ),
        ("schedule_delivery_time", SubmitSm { schedule_delivery_time: &over[..17], ..SubmitSm::default() }),
        ("validity_period", SubmitSm { validity_period: &over[..17], ..SubmitSm::default() }),
    ];
    for (field, submit) in cases {
        let mut out = b"kept".to_vec();
        let error = encode(&submit, Status::ROK, 1, &mut out).unwrap_err();
        assert_eq!((error.field, &out[..]), (field, &b"kept"[..]));
    }
    let mut out = Vec::new();
    let long = [0; 256];
    let submit = SubmitSm { short_message: &long, ..SubmitSm::default() };
    assert_eq!(encode(&submit, Status::ROK, 1, &mut out).unwrap_err().field, "short_message");
    let submit = SubmitSm { short_message: &long[..255], ..SubmitSm::default() };
    assert!(encode(&submit, Status::ROK, 1, &mut out).is_ok());
    assert_eq!(
        encode_for(&submit, Status::ROK, 1, Version::V3_4, &mut out).unwrap_err().field,
        "short_message"
    );
}

#[test]
fn sm_length_above_what_is_there_is_refused_and_below_leaves_stray_octets() {
    let whole = frame(&SubmitSm { short_message: b"hello", ..SubmitSm::default() }, 7);
    let at = whole.len() - 6;
    assert_eq!(whole[at], 5);
    let with_sm_length = |length: u8| {
        let mut bytes = whole.clone();
        bytes[at] = length;
        decode(&bytes).map(|_| ()).map_err(|(_, error)| error.status)
    };
    assert_eq!(with_sm_length(5), Ok(()));
    assert_eq!(with_sm_length(6), Err(Status::RINVMSGLEN));
    assert_eq!(with_sm_length(255), Err(Status::RINVMSGLEN));
    assert_eq!(with_sm_length(4), Err(Status::RINVOPTPARSTREAM));
}

#[test]
fn a_tlv_that_runs_over_the_body_is_refused() {
    let mut tlvs = TlvBuf::new();
    tlvs.push_u8(Tag::MESSAGE_STATE, 2);
    let mut bytes = frame(&DataSm { tlvs: tlvs.as_tlvs(), ..DataSm::default() }, 7);
    let length_at = bytes.len() - 2;
    for length in [2u8, 3, 0xFF] {
        bytes[length_at] = length;
        assert_eq!(decode(&bytes).unwrap_err().1.status, Status::RINVOPTPARSTREAM);
    }
}

#[test]
fn a_payload_of_64_kilobytes_passes() {
    let payload = vec![b'x'; limits::TLV_OCTETS_MAX];
    let mut tlvs = TlvBuf::new();
    tlvs.push(Tag::MESSAGE_PAYLOAD, &payload).unwrap();
    let bytes = frame(&SubmitSm { tlvs: tlvs.as_tlvs(), ..SubmitSm::default() }, 1);
    assert!(bytes.len() <= limits::PDU_OCTETS_MAX);
    let (_, Pdu::SubmitSm(submit)) = decode(&bytes).unwrap() else { panic!("not a submit_sm") };
    assert_eq!(submit.message(), &payload[..]);
    assert!(tlvs.push(Tag::MESSAGE_PAYLOAD, &vec![0; limits::TLV_OCTETS_MAX + 1]).is_err());
}

#[test]
fn of_duplicate_tlvs_the_first_counts() {
    let mut tlvs = TlvBuf::new();
    tlvs.push_u8(Tag::MESSAGE_STATE, 2).push_u8(Tag::MESSAGE_STATE, 5);
    assert_eq!(tlvs.as_tlvs().find_u8(Tag::MESSAGE_STATE), Some(2));
    assert_eq!(tlvs.as_tlvs().iter().count(), 2);
}

#[test]
fn a_peer_below_3_4_gets_no_tlvs_and_never_loses_a_payload_silently() {
    let mut tlvs = TlvBuf::new();
    tlvs.push_u16(Tag::USER_MESSAGE_REFERENCE, 1);
    let mut out = Vec::new();
    let submit = SubmitSm { short_message: b"x", tlvs: tlvs.as_tlvs(), ..SubmitSm::default() };
    encode_for(&submit, Status::ROK, 1, Version::V3_3, &mut out).unwrap();
    let (_, Pdu::SubmitSm(read)) = decode(&out).unwrap() else { panic!("not a submit_sm") };
    assert!(read.tlvs.is_empty());
    tlvs.push(Tag::MESSAGE_PAYLOAD, b"hello").unwrap();
    let submit = SubmitSm { tlvs: tlvs.as_tlvs(), ..SubmitSm::default() };
    let error = encode_for(&submit, Status::ROK, 1, Version::V3_3, &mut out).unwrap_err();
    assert_eq!((error.field, error.problem), ("message_payload", ParameterProblem::NotAllowed));
}

#[test]
fn a_refusal_is_read_with_a_body_without_one_and_with_a_bad_one() {
    let responses = Command::ALL.iter().filter(|command| command.is_response());
    for &command in responses {
        for body in [&b""[..], b"\0", b"id\0", b"id", b"\xFF\xFF\xFF"] {
            let mut bytes = raw(command, body);
            bytes[8..12].copy_from_slice(&Status::RTHROTTLED.0.to_be_bytes());
            let (header, pdu) =
                decode(&bytes).unwrap_or_else(|(_, error)| panic!("{command} {body:?}: {error}"));
            assert_eq!((header.status, pdu.command()), (Status::RTHROTTLED, command));
        }
    }
}

#[test]
fn a_message_id_without_its_nul_is_still_read() {
    let bytes = raw(Command::SUBMIT_SM_RESP, b"12ab");
    let (_, Pdu::SubmitSmResp(response)) = decode(&bytes).unwrap() else { panic!("not a submit_sm_resp") };
    assert_eq!(response.message_id, b"12ab");
    let bytes = raw(Command::SUBMIT_SM_RESP, &[b'1'; 65]);
    assert_eq!(decode(&bytes).unwrap_err().1.status, Status::RINVMSGID);
}

#[test]
fn an_unknown_command_is_named_by_its_status() {
    for command in [0x22, 0x23, 0x24, 0x0A, 0x10200, 0xFFFF_FFFF].map(Command) {
        let (header, error) = decode(&raw(command, b"")).unwrap_err();
        assert_eq!((header.map(|h| h.sequence), error.status), (Some(7), Status::RINVCMDID));
    }
}

#[test]
fn bad_values_are_refused_with_their_status() {
    let good = SubmitSm { destination: Address::international(b"41791234567"), ..SubmitSm::default() };
    let mut payload = TlvBuf::new();
    payload.push(Tag::MESSAGE_PAYLOAD, b"hello").unwrap();
    let mut long = TlvBuf::new();
    long.push(Tag::USER_MESSAGE_REFERENCE, &[1, 2, 3]).unwrap();
    let address = |ton, npi| Address::new(ton, npi, b"1");
    let cases = [
        (SubmitSm { destination: Address::international(b""), ..good }, Status::RINVDSTADR),
        (SubmitSm { source: address(7, 1), ..good }, Status::RINVSRCTON),
        (SubmitSm { source: address(1, 2), ..good }, Status::RINVSRCNPI),
        (SubmitSm { destination: address(255, 1), ..good }, Status::RINVDSTTON),
        (SubmitSm { destination: address(1, 99), ..good }, Status::RINVDSTNPI),
        (SubmitSm { priority_flag: 5, ..good }, Status::RINVPRTFLG),
        (SubmitSm { registered_delivery: 0x20, ..good }, Status::RINVREGDLVFLG),
        (SubmitSm { replace_if_present_flag: 2, ..good }, Status::RINVREPFLAG),
        (SubmitSm { schedule_delivery_time: b"tomorrow", ..good }, Status::RINVSCHED),
        (SubmitSm { schedule_delivery_time: b"261301000000000+", ..good }, Status::RINVSCHED),
        (SubmitSm { validity_period: b"000000000000000X", ..good }, Status::RINVEXPIRY),
        (SubmitSm { validity_period: b"1", ..good }, Status::RINVEXPIRY),
        (SubmitSm { short_message: b"x", tlvs: payload.as_tlvs(), ..good }, Status::ROPTPARNOTALLWD),
        (SubmitSm { tlvs: long.as_tlvs(), ..good }, Status::RINVPARLEN),
    ];
    assert!(good.check().is_ok());
    for (submit, status) in cases {
        assert_eq!(submit.check().unwrap_err().status, status, "{submit:?}");
    }
    let multi = SubmitMulti::default();
    assert_eq!(multi.check().unwrap_err().status, Status::RINVNUMDESTS);
    assert_eq!(BroadcastSm::default().check().unwrap_err().status, Status::RMISSINGOPTPARAM);
}

#[test]
fn every_status_and_tag_has_a_name_and_a_text() {
    for status in Status::ALL {
        assert!(status.name().is_some() && status.text().len() > 3);
    }
    assert_eq!(
        Status::RTHROTTLED.to_string(),
        "RTHROTTLED (0x58, throttling error: message limits exceeded)"
    );
    assert_eq!(Status(0x45C).text(), "vendor specific error");
    assert!(Status(0x45C).is_vendor() && Status(0x45C).name().is_none() && !Status(0x500).is_vendor());
    for tag in Tag::ALL {
        assert!(tag.name().is_some() && !tag.octets_allowed().is_empty());
    }
    assert!(Tag::ALL.is_sorted() && Status::ALL.is_sorted());
}

#[test]
fn the_tables_hold_every_code_of_the_specifications_and_no_other() {
    // 3.4 §5.1.2.1, 5.0 §4.7.5: requests with a response, then what has none.
    let with_response = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0x15, 0x21, 0x103, 0x111, 0x112, 0x113]
        .iter()
        .flat_map(|id| [*id, id | 0x8000_0000]);
    let commands: BTreeSet<u32> = with_response.chain([0x0B, 0x102, 0x8000_0000]).collect();
    assert_eq!(Command::ALL.iter().map(|command| command.0).collect::<BTreeSet<_>>(), commands);
    // 3.4 §5.1.3, 5.0 §4.7.6.
    let ranges = [
        0x00..=0x08,
        0x0A..=0x0F,
        0x11..=0x11,
        0x13..=0x15,
        0x33..=0x34,
        0x40..=0x40,
        0x42..=0x45,
        0x48..=0x49,
        0x50..=0x51,
        0x53..=0x55,
        0x58..=0x58,
        0x61..=0x67,
        0xC0..=0xC4,
        0xFE..=0x112,
    ];
    let statuses: BTreeSet<u32> = ranges.into_iter().flatten().collect();
    assert_eq!(Status::ALL.iter().map(|status| status.0).collect::<BTreeSet<_>>(), statuses);
    // 3.4 §5.3.2, 5.0 §4.8.1.
    let ranges = [
        0x0005..=0x0008,
        0x000D..=0x0010,
        0x0017..=0x0017,
        0x0019..=0x0019,
        0x001D..=0x001E,
        0x0030..=0x0030,
        0x0201..=0x0205,
        0x020A..=0x0210,
        0x0302..=0x0304,
        0x0381..=0x0381,
        0x0420..=0x0428,
        0x0501..=0x0501,
        0x0600..=0x060B,
        0x060D..=0x0613,
        0x1201..=0x1201,
        0x1203..=0x1204,
        0x130C..=0x130C,
        0x1380..=0x1380,
        0x1383..=0x1383,
    ];
    let tags: BTreeSet<u16> = ranges.into_iter().flatten().collect();
    assert_eq!(Tag::ALL.iter().map(|tag| tag.0).collect::<BTreeSet<_>>(), tags);
}

/// rusmpp as an oracle: it reads what we wrote, and what it then writes is the same.
fn through_rusmpp(bytes: &[u8]) -> Result<Vec<u8>, String> {
    use rusmpp::decode::DecodeWithLength;
    use rusmpp::encode::owned::Encode;
    let mut source = bytes::BytesMut::from(&bytes[4..]);
    let (command, read) =
        rusmpp::Command::decode(&mut source, bytes.len() - 4).map_err(|error| format!("{error:?}"))?;
    assert_eq!(read, bytes.len() - 4);
    let mut out = bytes::BytesMut::new();
    command.encode(&mut out);
    Ok([&bytes[..4], &out[..]].concat())
}

#[test]
fn another_implementation_reads_what_we_write_and_writes_the_same() {
    let pool = Pool { octets: [1, 1, 0, 0, 0, 1, 0, 0, 0x34], ..Pool::default() };
    let plain = Pool { tlvs: TlvBuf::new(), ..pool.clone() };
    for (pool, with_tlvs) in [(&plain, false), (&pool, true)] {
        for pdu in pool.pdus() {
            // These have no optional parameters in the specification, and so none in the other
            // implementation.
            let bare = matches!(
                pdu.command().request(),
                Command::UNBIND
                    | Command::ENQUIRE_LINK
                    | Command::OUTBIND
                    | Command::CANCEL_SM
                    | Command::QUERY_SM
                    | Command(0)
            ) || matches!(
                pdu.command(),
                Command::BIND_RECEIVER
                    | Command::BIND_TRANSMITTER
                    | Command::BIND_TRANSCEIVER
                    | Command::REPLACE_SM_RESP
                    | Command::CANCEL_BROADCAST_SM_RESP
            );
            if bare && with_tlvs {
                continue;
            }
            let ours = frame(&pdu, 7);
            assert_eq!(through_rusmpp(&ours), Ok(ours.clone()), "{}", pdu.command());
        }
    }
}

/// Every PDU, with random octets changed, cut out, doubled; its length made right again in half of the cases.
#[test]
fn decoders_survive_random_and_mutated_input() {
    let seed = 0x5EED_0001;
    let mut random = Random(seed);
    let frames = Pool::default().frames();
    for round in 0..20_000 {
        let mut bytes = frames[random.below(frames.len())].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = random.next() as u8,
                1 => bytes[at] = [0, 1, 0x7F, 0x80, 0xFF][random.below(5)],
                2 => bytes.truncate(at.max(limits::HEADER_OCTETS)),
                _ => bytes.insert(at, random.next() as u8),
            }
        }
        if bytes.len() >= limits::HEADER_OCTETS && random.chance(70) {
            bytes = with_length(bytes);
        }
        if let Ok((header, pdu)) = decode(&bytes) {
            // What was accepted can be written, and reads the same again.
            let mut again = Vec::new();
            let written = encode(&pdu, header.status, header.sequence, &mut again);
            assert!(written.is_ok(), "seed {seed:#x} round {round}: {written:?}");
            assert_eq!(decode(&again).unwrap().1, pdu, "seed {seed:#x} round {round}");
        }
        let _ = crate::frame::split(&bytes, limits::PDU_OCTETS_MAX);
        let _ = crate::text::udh::Udh::split(&bytes);
        let _ = crate::receipt::Receipt::parse(&bytes, Tlvs::NONE).is_empty();
    }
}

#[test]
fn a_carriers_parameters_are_read_as_far_as_they_are_whole() {
    let mut tlvs = TlvBuf::new();
    tlvs.push_u8(Tag::MESSAGE_STATE, 2);
    let whole = tlvs.as_tlvs().as_bytes();
    let with = |front: &[u8], back: &[u8]| [front, whole, back].concat();
    let cases: [(Vec<u8>, bool); 9] = [
        (with(b"", b""), true),
        (with(b"", b"\0"), true),
        (with(b"", b"\0\0\0"), true),
        (with(b"", b"\x04\x24\xFF\xFFabc"), true),
        (with(b"\0", b""), true),
        (with(b"\0\0\0", b""), true),
        (b"\0".to_vec(), false),
        (b"\0\0".to_vec(), false),
        (b"stray".to_vec(), false),
    ];
    for (octets, has_state) in cases {
        let state = Tlvs::parse_whole(&octets).find_u8(Tag::MESSAGE_STATE);
        assert_eq!(state, has_state.then_some(2), "{octets:?}");
    }
}
