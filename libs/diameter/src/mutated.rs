//! Short form of the fuzz targets: no octets of a peer break anything, what is refused is answered soundly,
//! and the framing goes on. And what is written comes back as it was.

use crate::avp::{Avp, AvpFlags, AvpName, Avps};
use crate::check::{Fault, Origin, check};
use crate::credit::CreditControlRequest;
use crate::credit::answer::CreditControlAnswer;
use crate::dictionary::{self, avp, command};
use crate::frame::next_frame;
use crate::header::{CommandFlags, HEADER_OCTETS, Header};
use crate::message::Message;
use crate::samples::{event, event_with, nested};
use crate::write::Writer;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const ORIGIN: Origin<'static> = Origin { host: "ocs.example", realm: "home.example" };
const OCTETS_MAX: u32 = 1 << 20;

/// An AVP to write.
#[derive(Clone, Debug)]
enum Tree {
    Leaf(AvpName, AvpFlags, Vec<u8>),
    Group(AvpName, AvpFlags, Vec<Tree>),
}

fn name() -> impl Strategy<Value = AvpName> {
    let known = (0..dictionary::rules().len()).prop_map(|i| dictionary::rules()[i].name);
    let any = (any::<u32>(), prop_oneof![Just(0), Just(10415), any::<u32>()])
        .prop_map(|(code, vendor)| AvpName { code, vendor });
    prop_oneof![known, any]
}

fn tree() -> impl Strategy<Value = Tree> {
    let flags = || any::<u8>().prop_map(AvpFlags);
    let leaf = (name(), flags(), vec(any::<u8>(), 0..40))
        .prop_map(|(name, flags, data)| Tree::Leaf(name, flags, data));
    leaf.prop_recursive(4, 40, 6, move |inner| {
        (name(), flags(), vec(inner, 0..6))
            .prop_map(|(name, flags, members)| Tree::Group(name, flags, members))
    })
}

fn write(writer: &mut Writer<'_>, tree: &Tree) {
    match tree {
        Tree::Leaf(name, flags, data) => writer.raw(*name, *flags, data),
        Tree::Group(name, flags, members) => {
            writer
                .group_with(*name, *flags, |writer| members.iter().for_each(|member| write(writer, member)));
        }
    }
}

fn same(avps: Avps<'_>, trees: &[Tree]) {
    let read: Vec<Avp<'_>> = avps.map(Result::unwrap).collect();
    assert_eq!(read.len(), trees.len());
    for (avp, tree) in read.iter().zip(trees) {
        let (name, flags) = match tree {
            Tree::Leaf(name, flags, data) => {
                assert_eq!(avp.data, data);
                (name, flags)
            }
            Tree::Group(name, flags, members) => {
                same(avp.group(), members);
                (name, flags)
            }
        };
        let vendor = if name.vendor == 0 { 0 } else { 0x80 };
        assert_eq!((avp.name, avp.flags.0), (*name, flags.0 & 0x7F | vendor));
    }
}

/// What a server does with one frame; the answer, if one is due.
fn serve(frame: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let message = match Message::read(frame) {
        Ok(message) => message,
        Err(error) => {
            crate::check::answer_broken_frame(frame, error.result_code(), &ORIGIN, &mut out);
            return (!out.is_empty()).then_some(out);
        }
    };
    if !message.header.flags.is_request() {
        let _ = check(&message);
        return None;
    }
    match CreditControlRequest::read(&message).and_then(|request| touch(&request).map(|()| request)) {
        Ok(request) => drop(
            CreditControlAnswer { result_code: 2001, ..Default::default() }
                .write(&request, &ORIGIN, &mut out),
        ),
        Err(fault) => fault.answer(&message, &ORIGIN, Some("refused"), &mut out),
    }
    Some(out)
}

/// Reads all that can be asked for.
fn touch(request: &CreditControlRequest<'_>) -> Result<(), Fault> {
    let texts = [
        request.session_id,
        request.origin_realm(),
        request.destination_realm(),
        request.service_context_id(),
    ];
    let octets: usize = texts.iter().map(|text| text.len()).sum();
    assert!(octets <= request.message().octets().len());
    for service in request.services() {
        let service = service?;
        service.used().try_for_each(|used| used.map(drop))?;
        assert!(
            service.service_identifiers().count() + service.pools().count()
                <= crate::check::AVPS_MAX as usize
        );
    }
    request.used().try_for_each(|used| used.map(drop))?;
    if let Some(sms) = request.sms() {
        let _ = (sms.originator(), sms.parts(), sms.data_coding(), sms.recipients().count());
    }
    let _ = (request.subscriptions().count(), request.route_records().count(), request.event_timestamp());
    Ok(())
}

/// The result code of an answer, which must be sound and for this request.
fn judge(answer: &[u8], request: &[u8]) -> u32 {
    assert_eq!(next_frame(answer, 0xFF_FFFC), Ok(Some(answer)), "one frame, whole");
    let answer = Message::read(answer).unwrap();
    assert_eq!(answer.header.hop_by_hop.to_be_bytes(), request[12..16]);
    assert_eq!(answer.header.end_to_end.to_be_bytes(), request[16..20]);
    let flags = answer.header.flags;
    assert!(!flags.is_request() && !flags.is_retransmit());
    let code = answer.find(avp::RESULT_CODE).unwrap().u32().unwrap();
    assert!(flags.is_error() || code / 1000 != 3);
    for avp in answer.avps() {
        avp.unwrap();
    }
    code
}

/// A request with much in it.
fn rich() -> Vec<u8> {
    event_with(|writer| {
        writer.i32(avp::MULTIPLE_SERVICES_INDICATOR, 1);
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |group| {
            group.u32(avp::RATING_GROUP, 10);
            group.group(avp::USED_SERVICE_UNIT, |group| {
                group.group(avp::CC_MONEY, |group| {
                    group.group(avp::UNIT_VALUE, |group| {
                        group.i64(avp::VALUE_DIGITS, 100);
                        group.i32(avp::EXPONENT, -2);
                    });
                });
                group.u64(avp::CC_TOTAL_OCTETS, 7);
            });
        });
        writer.group(avp::SERVICE_INFORMATION, |group| {
            group.group(avp::SMS_INFORMATION, |group| group.u32(avp::NUMBER_OF_MESSAGES_SENT, 2));
        });
        writer.group(avp::PROXY_INFO, |group| {
            group.identity(avp::PROXY_HOST, "p.example");
            group.octet_string(avp::PROXY_STATE, b"state");
        });
    })
}

/// The same cases in every run: the fuzzer is who looks for new ones.
fn config() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(0x5EED_6733),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_message_is_read_as_it_was_written(trees in vec(tree(), 0..8), flags: u8, command in 0u32..1 << 24, ids: [u32; 3]) {
        let header = Header {
            length: 0,
            flags: CommandFlags(flags),
            command,
            application: ids[0],
            hop_by_hop: ids[1],
            end_to_end: ids[2],
        };
        let mut out = vec![0xEE; 3];
        let mut writer = Writer::message(&mut out, &header);
        trees.iter().for_each(|tree| write(&mut writer, tree));
        let octets = writer.finish();
        prop_assert_eq!(out.len(), octets + 3);
        let message = Message::read(&out[3..]).unwrap();
        prop_assert_eq!(message.header, Header { length: octets as u32, ..header });
        same(message.avps(), &trees);
    }

    #[test]
    fn mutated_requests_are_answered_and_keep_the_framing(
        changes in vec((HEADER_OCTETS..rich().len(), any::<u8>()), 1..6),
        flags: u8,
    ) {
        let mut frame = rich();
        frame[4] = flags;
        for (at, octet) in changes {
            frame[at] = octet;
        }
        let stream = [frame.clone(), event()].concat();
        let first = next_frame(&stream, OCTETS_MAX).unwrap().unwrap();
        prop_assert_eq!(first, &frame[..]);
        if let Some(answer) = serve(first) {
            judge(&answer, &frame);
        }
        let second = next_frame(&stream[first.len()..], OCTETS_MAX).unwrap().unwrap();
        prop_assert_eq!(judge(&serve(second).unwrap(), second), 2001, "the next message is as sound as before");
    }

    #[test]
    fn any_octets_behind_a_header_are_walked_to_an_end(
        octets in vec(prop_oneof![Just(0u8), Just(0x40), Just(8), Just(12), any::<u8>()], 0..400),
        request: bool,
        code in prop_oneof![Just(272u32), Just(257), Just(280), Just(271), Just(258)],
    ) {
        let mut frame = Vec::new();
        let flags = if request { CommandFlags::REQUEST } else { CommandFlags(0) };
        Writer::message(&mut frame, &Header { flags, command: code, application: 4, ..Header::default() }).finish();
        frame.extend_from_slice(&octets[..octets.len() & !3]);
        let length = frame.len() as u32;
        frame[1..4].copy_from_slice(&length.to_be_bytes()[1..]);
        let message = Message::read(&frame).unwrap();
        let walked: usize = message.avps().map_while(Result::ok).map(|avp| avp.octets.len()).sum();
        prop_assert!(walked <= frame.len() - HEADER_OCTETS);
        if let Some(answer) = serve(&frame) {
            judge(&answer, &frame);
        }
    }

    #[test]
    fn any_octets_are_a_frame_a_beginning_or_a_loss(octets in vec(any::<u8>(), 0..64)) {
        if let Ok(Some(frame)) = next_frame(&octets, OCTETS_MAX) {
            prop_assert!(frame.len() >= HEADER_OCTETS && frame.len().is_multiple_of(4));
            serve(frame);
        }
    }
}

/// An event with more octets behind it, its length made right.
fn with(octets: &[u8]) -> Vec<u8> {
    let mut frame = [&event()[..], octets].concat();
    let length = frame.len() as u32;
    frame[1..4].copy_from_slice(&length.to_be_bytes()[1..]);
    frame
}

#[test]
fn hostile_messages_are_answered_and_the_connection_goes_on() {
    let long = "x".repeat(64 << 10);
    let cases: [(&str, Vec<u8>, u32); 13] = [
        ("an AVP of length 0", with(&[0, 0, 1, 7, 0x40, 0, 0, 0]), 5014),
        ("an AVP of length 7", with(&[0, 0, 1, 7, 0x40, 0, 0, 7]), 5014),
        ("an AVP past the end", with(&[0, 0, 1, 7, 0x40, 0xFF, 0xFF, 0xFF]), 5014),
        ("a vendor past the end", with(&[0, 0, 1, 7, 0xC0, 0, 0, 12]), 5014),
        ("four stray octets", with(&[0, 0, 0, 0]), 5014),
        ("1,000 groups in one another", with(&nested(avp::PROXY_INFO, 1_000)), 5012),
        ("60,000 groups in one another", with(&nested(avp::PROXY_INFO, 60_000)), 5012),
        (
            "60,000 groups of every kind of credit",
            with(&nested(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, 60_000)),
            5012,
        ),
        (
            "10,000 empty AVPs",
            event_with(|w| (0..10_000).for_each(|_| w.octet_string(avp::CLASS, b""))),
            5012,
        ),
        ("a second Session-Id of 64 KiB", event_with(|w| w.utf8(avp::SESSION_ID, &long)), 5009),
        ("a User-Name of 64 KiB", event_with(|w| w.utf8(avp::USER_NAME, &long)), 2001),
        (
            "units of 2^64 - 1",
            event_with(|w| w.group(avp::USED_SERVICE_UNIT, |g| g.u64(avp::CC_TOTAL_OCTETS, u64::MAX))),
            2001,
        ),
        (
            "money of 10^(2^31)",
            event_with(|w| {
                w.group(avp::USED_SERVICE_UNIT, |g| {
                    g.group(avp::CC_MONEY, |g| {
                        g.group(avp::UNIT_VALUE, |g| {
                            g.i64(avp::VALUE_DIGITS, 1);
                            g.i32(avp::EXPONENT, i32::MAX);
                        });
                    });
                });
            }),
            5004,
        ),
    ];
    for (what, frame, expected) in cases {
        let stream = [frame, event()].concat();
        let first = next_frame(&stream, OCTETS_MAX).unwrap().unwrap();
        assert_eq!(judge(&serve(first).unwrap(), first), expected, "{what}");
        let second = next_frame(&stream[first.len()..], OCTETS_MAX).unwrap().unwrap();
        assert_eq!(judge(&serve(second).unwrap(), second), 2001, "after {what}");
    }
}

#[test]
fn a_length_that_cannot_be_loses_the_framing_before_anything_is_kept() {
    for (what, length, is_lost) in [
        ("16 MiB announced and nothing follows", 0xFF_FFFCu32, true),
        ("0", 0, true),
        ("7", 7, true),
        ("16, below the header", 16, true),
        ("not a multiple of four", 302, true),
        ("one over the maximum", OCTETS_MAX + 4, true),
        ("the maximum", OCTETS_MAX, false),
    ] {
        let mut head = Header {
            length,
            flags: CommandFlags::REQUEST,
            command: command::CREDIT_CONTROL,
            ..Header::default()
        }
        .octets();
        let found = next_frame(&head, OCTETS_MAX);
        assert_eq!(found.is_err(), is_lost, "{what}");
        assert_eq!(next_frame(&head[..4], OCTETS_MAX).is_err(), is_lost, "{what}, by its first four octets");
        if is_lost {
            let mut out = Vec::new();
            crate::check::answer_broken_frame(&head, found.unwrap_err().result_code(), &ORIGIN, &mut out);
            assert_eq!(judge(&out, &head), 5015, "{what}");
        }
        head[0] = 9;
        assert_eq!(next_frame(&head, OCTETS_MAX).is_err(), is_lost, "{what}, in whatever version");
    }
}

#[test]
fn a_request_that_comes_one_octet_at_a_time_is_answered_once() {
    let frame = rich();
    let stream = [frame.clone(), frame.clone()].concat();
    let (mut begin, mut codes) = (0, Vec::new());
    for end in 1..=stream.len() {
        if let Some(frame) = next_frame(&stream[begin..end], OCTETS_MAX).unwrap() {
            begin += frame.len();
            codes.push((end, judge(&serve(frame).unwrap(), frame)));
        }
    }
    assert_eq!(codes, [(frame.len(), 2001), (2 * frame.len(), 2001)]);
}
