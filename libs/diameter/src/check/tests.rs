use super::*;
use crate::dictionary::{command, vendor};
use crate::header::{CommandFlags, Header};
use crate::samples::{STRANGER, event, event_head, event_with, nested, request};
use crate::write::Writer;

const ORIGIN: Origin<'static> = Origin { host: "ocs.example", realm: "home.example" };

fn fault(octets: &[u8]) -> Fault {
    check(&Message::read(octets).unwrap()).unwrap_err()
}

fn accepts(octets: &[u8]) {
    let message = Message::read(octets).unwrap();
    if let Err(fault) = check(&message) {
        panic!("{fault}");
    }
}

/// The answer to a request that must be refused.
fn answer(octets: &[u8]) -> Vec<u8> {
    let message = Message::read(octets).unwrap();
    let mut out = Vec::new();
    fault(octets).answer(&message, &ORIGIN, None, &mut out);
    out
}

/// Result code, `E`, and the members of Failed-AVP.
fn judged(answer: &[u8]) -> (u32, bool, Vec<Avp<'_>>) {
    let message = Message::read(answer).unwrap();
    assert!(!message.header.flags.is_request() && !message.header.flags.is_retransmit());
    check(&message).expect("an answer keeps its own grammar");
    let failed = message.find(avp::FAILED_AVP).map(|avp| avp.group().map(Result::unwrap).collect());
    let code = message.find(avp::RESULT_CODE).unwrap().u32().unwrap();
    (code, message.header.flags.is_error(), failed.unwrap_or_default())
}

/// One AVP of any octets, put at the end of an event.
fn event_with_octets(octets: &[u8]) -> Vec<u8> {
    let mut message = [&event()[..], octets].concat();
    let length = message.len() as u32;
    message[1..4].copy_from_slice(&length.to_be_bytes()[1..]);
    message
}

#[test]
fn a_sound_request_tells_where_its_avps_stand() {
    let octets = event_with(|writer| {
        for host in ["a.example", "b.example"] {
            writer.group(avp::PROXY_INFO, |group| {
                group.identity(avp::PROXY_HOST, host);
                group.octet_string(avp::PROXY_STATE, host.as_bytes());
            });
            writer.u32(AvpName { code: 1, vendor: STRANGER }, 0);
        }
    });
    let message = Message::read(&octets).unwrap();
    let found = check(&message).unwrap();
    assert_eq!(found.find(avp::SERVICE_CONTEXT_ID).unwrap().utf8(), Ok("32274@3gpp.org"));
    assert_eq!(found.find(avp::CC_REQUEST_TYPE).unwrap().i32(), Ok(4));
    assert_eq!(found.find(avp::USER_NAME), None);
    let hosts: Vec<_> =
        found.all(avp::PROXY_INFO).map(|info| info.group().next().unwrap().unwrap().data).collect();
    assert_eq!(hosts, [b"a.example", b"b.example"]);
    assert_eq!(found.all(avp::ROUTE_RECORD).count(), 0);
    assert_eq!(found.all(avp::SUBSCRIPTION_ID).count(), 1);
}

#[test]
fn an_unknown_avp_with_m_is_refused_and_copied() {
    let name = AvpName { code: 77, vendor: STRANGER };
    let octets = event_with(|writer| writer.raw(name, AvpFlags::MANDATORY, b"abcde"));
    let answer = answer(&octets);
    let (code, is_error, failed) = judged(&answer);
    assert_eq!((code, is_error, failed.len()), (5001, false, 1));
    assert_eq!((failed[0].name, failed[0].data, failed[0].flags.0), (name, &b"abcde"[..], 0xC0));
}

#[test]
fn an_unknown_avp_without_m_is_passed_over_with_all_that_is_in_it() {
    accepts(&event_with(|writer| {
        writer.raw(AvpName { code: 77, vendor: STRANGER }, AvpFlags::NONE, b"abcde")
    }));
    accepts(&event_with(|writer| writer.raw(AvpName::ietf(77_777), AvpFlags(0x3F), &[0xFF; 40])));
}

#[test]
fn the_vendor_is_part_of_the_key() {
    // Session-Id's code under another vendor is no Session-Id, and no second one either.
    let name = AvpName { code: 263, vendor: STRANGER };
    accepts(&event_with(|writer| writer.raw(name, AvpFlags::NONE, &[0xFF])));
    let octets = event_with(|writer| writer.raw(name, AvpFlags::MANDATORY, &[0xFF]));
    assert_eq!(fault(&octets).result_code, 5001);
    // And 3GPP's Service-Information without its vendor is nothing that we know.
    let octets = event_with(|writer| writer.raw(AvpName::ietf(873), AvpFlags::MANDATORY, b""));
    assert_eq!(fault(&octets).result_code, 5001);
}

#[test]
fn an_unknown_avp_in_a_group_is_shown_inside_its_groups() {
    let name = AvpName { code: 5, vendor: STRANGER };
    let octets = event_with(|writer| {
        writer.group(avp::SERVICE_INFORMATION, |service| {
            service.group(avp::SMS_INFORMATION, |sms| {
                sms.i32(avp::SMS_NODE, 0);
                sms.raw(name, AvpFlags::MANDATORY, b"x");
            });
        });
    });
    let answer = answer(&octets);
    let (code, _, failed) = judged(&answer);
    assert_eq!((code, failed.len(), failed[0].name), (5001, 1, avp::SERVICE_INFORMATION));
    let service: Vec<_> = failed[0].group().map(Result::unwrap).collect();
    assert_eq!((service.len(), service[0].name), (1, avp::SMS_INFORMATION));
    let sms: Vec<_> = service[0].group().map(Result::unwrap).collect();
    assert_eq!((sms.len(), sms[0].name, sms[0].data), (1, name, &b"x"[..]));
}

#[test]
fn values_that_cannot_be_are_refused_and_copied() {
    type Write = fn(&mut Writer<'_>);
    let cases: [(&str, Write); 5] = [
        ("an Enumerated above its last value", |w| w.i32(avp::MULTIPLE_SERVICES_INDICATOR, 2)),
        ("an Enumerated below its first value", |w| w.i32(avp::MULTIPLE_SERVICES_INDICATOR, -1)),
        ("text that is not UTF-8", |w| w.octet_string(avp::USER_NAME, b"\xFF\xFE")),
        ("an identity with a space", |w| w.octet_string(avp::DESTINATION_HOST, b"a b")),
        ("an identity of nothing", |w| w.octet_string(avp::ROUTE_RECORD, b"")),
    ];
    for (what, write) in cases {
        let octets = event_with(write);
        let answer = answer(&octets);
        let (code, is_error, failed) = judged(&answer);
        assert_eq!((code, is_error, failed.len()), (5004, false, 1), "{what}");
        let guilty = Message::read(&octets).unwrap().avps().last().unwrap().unwrap();
        assert_eq!(failed[0].octets, guilty.octets, "{what}");
    }
}

#[test]
fn each_missing_avp_is_told_with_an_example_in_zeros() {
    let whole = event();
    let message = Message::read(&whole).unwrap();
    let grammar = dictionary::command_rule(command::CREDIT_CONTROL, true).unwrap().grammar();
    let mut required = 0;
    for left_out in message.avps().map(Result::unwrap) {
        let octets = request(command::CREDIT_CONTROL, |writer| {
            message
                .avps()
                .map(Result::unwrap)
                .filter(|avp| avp.name != left_out.name)
                .for_each(|avp| writer.copy(&avp));
        });
        let number = dictionary::lookup_numbered(left_out.name).unwrap();
        if grammar.required >> grammar.slot(number.0) & 1 == 0 {
            accepts(&octets);
            continue;
        }
        required += 1;
        let answer = answer(&octets);
        let (code, is_error, failed) = judged(&answer);
        let name = left_out.name;
        assert_eq!((code, failed.len(), failed[0].name), (5005, 1, name));
        assert_eq!(failed[0].data, &[0; 8][..number.1.kind.octets_min()], "{name}");
        // Where CCA's own grammar cannot be met, the answer is an answer-message.
        let needed =
            [avp::SESSION_ID, avp::CC_REQUEST_TYPE, avp::CC_REQUEST_NUMBER, avp::AUTH_APPLICATION_ID];
        assert_eq!(is_error, needed.contains(&name), "{name}");
    }
    assert_eq!(required, 8);
}

#[test]
fn what_is_missing_in_a_group_is_told_with_its_group() {
    let octets = event_with(|writer| {
        writer.group(avp::SERVICE_INFORMATION, |service| {
            service.group(avp::SUBSCRIPTION_ID, |group| group.i32(avp::SUBSCRIPTION_ID_TYPE, 0));
        });
    });
    let answer = answer(&octets);
    let (code, _, failed) = judged(&answer);
    assert_eq!((code, failed[0].name), (5005, avp::SERVICE_INFORMATION));
    let subscription = failed[0].group().next().unwrap().unwrap();
    let example = subscription.group().next().unwrap().unwrap();
    assert_eq!((subscription.name, example.name), (avp::SUBSCRIPTION_ID, avp::SUBSCRIPTION_ID_DATA));
    assert!(example.data.is_empty());
}

#[test]
fn what_must_not_occur_is_refused() {
    for octets in [
        event_with(|writer| writer.u32(avp::RESULT_CODE, 2001)),
        event_with(|writer| writer.group(avp::GRANTED_SERVICE_UNIT, |_| {})),
        // A grammar without `*[ AVP ]`.
        event_with(|writer| {
            writer.group(avp::SUBSCRIPTION_ID, |group| {
                group.i32(avp::SUBSCRIPTION_ID_TYPE, 0);
                group.utf8(avp::SUBSCRIPTION_ID_DATA, "46701");
                group.utf8(avp::USER_NAME, "x");
            });
        }),
    ] {
        let answer = answer(&octets);
        let (code, _, failed) = judged(&answer);
        assert_eq!((code, failed.len()), (5008, 1));
    }
}

#[test]
fn the_first_that_is_too_many_is_copied() {
    let octets = event_with(|writer| writer.u32(avp::CC_REQUEST_NUMBER, 77));
    let answer = answer(&octets);
    let (code, _, failed) = judged(&answer);
    assert_eq!((code, failed.len(), failed[0].u32()), (5009, 1, Ok(77)));
    let octets = event_with(|writer| {
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |group| {
            group.u32(avp::RATING_GROUP, 1);
            group.u32(avp::RATING_GROUP, 2);
        });
    });
    assert_eq!(fault(&octets).result_code, 5009);
}

#[test]
fn wrong_lengths_show_the_header_and_zeros() {
    for (what, octets, zeros) in [
        ("a number of three octets", &[0, 0, 1, 16, 0x40, 0, 0, 11, 1, 2, 3, 0][..], 4),
        ("a number of five octets", &[0, 0, 1, 16, 0x40, 0, 0, 13, 1, 2, 3, 4, 5, 0, 0, 0], 4),
        ("Unsigned64 of four octets", &[0, 0, 1, 163, 0x40, 0, 0, 12, 1, 2, 3, 4], 8),
        ("a length of nought", &[0, 0, 1, 16, 0x40, 0, 0, 0, 1, 2, 3, 4], 4),
        ("a length of seven", &[0, 0, 1, 16, 0x40, 0, 0, 7, 1, 2, 3, 4], 4),
        ("a length past the end", &[0, 0, 1, 16, 0x40, 0, 0, 16, 1, 2, 3, 4], 4),
        ("a group past the end", &[0, 0, 1, 200, 0x40, 0, 0, 16, 1, 2, 3, 4], 0),
        ("an address of one octet", &[0, 0, 1, 1, 0x40, 0, 0, 9, 0, 0, 0, 0], 2),
        ("a header that is cut off", &[0, 0, 1, 16], 4),
    ] {
        let octets = event_with_octets(octets);
        let answer = answer(&octets);
        let (code, is_error, failed) = judged(&answer);
        assert_eq!((code, is_error, failed.len()), (5014, false, 1), "{what}");
        assert_eq!(failed[0].data, &[0; 8][..zeros], "{what}");
        assert_eq!(
            failed[0].name.code,
            u32::from_be_bytes(octets[event().len()..][..4].try_into().unwrap()),
            "{what}"
        );
    }
}

#[test]
fn the_padding_of_a_groups_last_member_is_required_and_free() {
    let member =
        |length: u8| [0, 0, 1, 188, 0x40, 0, 0, 9, b'1', 0xFF, 0xFF, 0xFF][..usize::from(length)].to_vec();
    let group = |length: u8| {
        let kind = [0, 0, 1, 194, 0x40, 0, 0, 12, 0, 0, 0, 0];
        [
            &[0, 0, 1, 187, 0x40, 0, 0, 20 + length][..],
            &kind,
            &member(length),
            &[0; 3][..usize::from(12 - length)],
        ]
        .concat()
    };
    accepts(&event_with_octets(&group(12)));
    assert_eq!(
        fault(&event_with_octets(&group(9))).result_code,
        5014,
        "section 4.2 counts the padding of members"
    );
}

#[test]
fn wrong_flags_of_a_known_avp_are_refused() {
    let m = AvpFlags::MANDATORY;
    for (what, octets, expected) in [
        ("M is missing", event_with(|w| w.raw(avp::USER_NAME, AvpFlags::NONE, b"x")), 3009),
        ("M must not be", event_with(|w| w.raw(avp::ERROR_REPORTING_HOST, m, b"x")), 5016),
        ("V without a vendor", event_with_octets(&[0, 0, 0, 1, 0xC0, 0, 0, 12, 0, 0, 0, 0]), 3009),
    ] {
        let answer = answer(&octets);
        let (code, is_error, failed) = judged(&answer);
        assert_eq!((code, is_error), (expected, expected == 3009), "{what}");
        assert_eq!(failed.len(), 1, "{what}");
    }
    for flags in [0x60, 0x5F, 0x7F] {
        accepts(&event_with(|w| w.raw(avp::USER_NAME, AvpFlags(flags), b"x")));
    }
    for flags in [AvpFlags::NONE, m] {
        accepts(&event_with(|w| w.raw(avp::CC_CORRELATION_ID, flags, b"x")));
        accepts(&event_with(|w| w.raw(AvpName { code: 21, vendor: vendor::TGPP }, flags, &[6, 0, 0, 0])));
    }
}

#[test]
fn commands_and_header_bits_are_judged() {
    assert_eq!(fault(&request(999, |_| {})).result_code, 3001);
    let mut octets = event();
    octets[4] |= 0x20;
    assert_eq!(fault(&octets), Fault::new(3008), "a request with E");
    octets[4] = 0xC0 | 0x0F | 0x10;
    accepts(&octets);
}

#[test]
fn a_protocol_error_is_an_answer_message_with_the_session() {
    let octets = event_with(|writer| {
        writer.group(avp::PROXY_INFO, |group| {
            group.identity(avp::PROXY_HOST, "p.example");
            group.octet_string(avp::PROXY_STATE, &[7, 7, 7]);
        });
    });
    let message = Message::read(&octets).unwrap();
    let mut out = Vec::new();
    Fault::new(result_code::TOO_BUSY).answer(&message, &ORIGIN, Some("come again"), &mut out);
    let (code, is_error, failed) = judged(&out);
    assert_eq!((code, is_error, failed), (3004, true, vec![]));
    let answer = Message::read(&out).unwrap();
    assert_eq!((answer.header.hop_by_hop, answer.header.end_to_end), (11, 22));
    assert!(answer.header.flags.is_proxiable());
    let names: Vec<_> = answer.avps().map(|avp| avp.unwrap().name).collect();
    assert_eq!(names[0], avp::SESSION_ID);
    assert!(!names.contains(&avp::CC_REQUEST_TYPE));
    assert_eq!(answer.find(avp::PROXY_INFO).unwrap().octets, message.find(avp::PROXY_INFO).unwrap().octets);
    assert_eq!(answer.find(avp::ERROR_MESSAGE).unwrap().utf8(), Ok("come again"));
}

#[test]
fn a_permanent_error_keeps_the_grammar_of_the_commands_answer() {
    let octets = event_with(|writer| writer.u32(avp::RESULT_CODE, 1));
    let answer = answer(&octets);
    let (code, is_error, _) = judged(&answer);
    assert_eq!((code, is_error), (5008, false));
    let message = Message::read(&answer).unwrap();
    assert_eq!(message.find(avp::CC_REQUEST_TYPE).unwrap().i32(), Ok(4));
    assert_eq!(message.find(avp::AUTH_APPLICATION_ID).unwrap().u32(), Ok(4));
}

#[test]
fn an_answer_that_cannot_name_its_request_number_is_an_answer_message() {
    let octets = request(command::CREDIT_CONTROL, |writer| {
        event_head(writer);
        writer.raw(avp::CC_SUB_SESSION_ID, AvpFlags::MANDATORY, b"123");
    });
    let (code, is_error, _) = judged(&answer(&octets));
    assert_eq!((code, is_error), (5014, false));
    let octets = request(command::CREDIT_CONTROL, |writer| {
        writer.utf8(avp::SESSION_ID, "s");
        writer.raw(avp::CC_REQUEST_NUMBER, AvpFlags::MANDATORY, b"123");
    });
    let (code, is_error, _) = judged(&answer(&octets));
    assert_eq!((code, is_error), (5014, true));
}

#[test]
fn an_answer_repeats_nothing_that_is_wrong_itself() {
    let octets = request(command::CREDIT_CONTROL, |writer| {
        writer.utf8(avp::SESSION_ID, "s");
        writer.raw(AvpName { code: 1, vendor: STRANGER }, AvpFlags::MANDATORY, b"x");
        writer.u32(avp::AUTH_APPLICATION_ID, 4);
        writer.i32(avp::CC_REQUEST_TYPE, 99);
        writer.u32(avp::CC_REQUEST_NUMBER, 1);
    });
    let answer = answer(&octets);
    let (code, is_error, _) = judged(&answer);
    assert_eq!((code, is_error), (5001, true), "the type of the request is none, so that no CCA can name it");
}

#[test]
fn nested_groups_end_in_an_answer_and_not_in_the_stack() {
    for groups in [17, 1_000, 60_000] {
        let octets = event_with_octets(&nested(avp::PROXY_INFO, groups));
        let answer = answer(&octets);
        let (code, _, failed) = judged(&answer);
        assert_eq!((code, failed.len()), (5012, 0), "{groups}");
        let octets = event_with_octets(&nested(avp::FAILED_AVP, groups));
        assert_eq!(fault(&octets).result_code, 5008, "{groups}");
        let octets = event_with_octets(&nested(AvpName::ietf(297), groups));
        assert!(matches!(fault(&octets).result_code, 5008), "{groups}: it cannot hold itself");
    }
}

#[test]
fn more_avps_than_the_limit_are_refused() {
    let many =
        |count: u32| event_with(|w| (0..count).for_each(|_| w.identity(avp::ROUTE_RECORD, "a.example")));
    accepts(&many(AVPS_MAX - 15));
    assert_eq!(fault(&many(AVPS_MAX)), Fault::new(5012));
}

#[test]
fn every_command_of_the_dictionary_can_be_checked_in_its_shortest_form() {
    for rule in dictionary::commands() {
        let mut out = Vec::new();
        let flags = if rule.is_request { CommandFlags::REQUEST } else { CommandFlags(0) };
        let mut writer =
            Writer::message(&mut out, &Header { flags, command: rule.code, ..Header::default() });
        for slot in (0..64).filter(|slot| rule.grammar().required >> slot & 1 == 1) {
            let member = rule.grammar().member(slot).unwrap();
            match member.kind {
                Kind::Address => writer.octet_string(member.name, &[0, 1, 127, 0, 0, 1]),
                Kind::DiameterIdentity => writer.identity(member.name, "a"),
                Kind::Enumerated => writer.i32(member.name, 1),
                kind => writer.octet_string(member.name, &[0; 8][..kind.octets_min()]),
            }
        }
        writer.finish();
        accepts(&out);
    }
}

#[test]
fn what_is_no_message_is_answered_as_far_as_it_can_be() {
    let mut octets = event();
    octets[0] = 2;
    let error = Message::read(&octets).unwrap_err();
    let mut out = Vec::new();
    answer_broken_frame(&octets, error.result_code(), &ORIGIN, &mut out);
    let (code, is_error, _) = judged(&out);
    assert_eq!((code, is_error), (5011, true));
    assert!(Message::read(&out).unwrap().find(avp::SESSION_ID).is_some());
    out.clear();
    answer_broken_frame(&octets[..19], 5015, &ORIGIN, &mut out);
    octets[4] = 0x40;
    answer_broken_frame(&octets, 5015, &ORIGIN, &mut out);
    assert!(out.is_empty(), "no header, no request: no answer");
    octets[4] = 0xC0;
    octets[1..4].copy_from_slice(&[0, 0, 7]);
    answer_broken_frame(&octets[..20], 5015, &ORIGIN, &mut out);
    assert_eq!(judged(&out).0, 5015);
}

#[test]
fn a_fault_is_explained_by_the_name_of_its_avp() {
    let m = AvpFlags::MANDATORY;
    let subscription = |group: &mut Writer<'_>| group.i32(avp::SUBSCRIPTION_ID_TYPE, 0);
    for (octets, expected) in [
        (
            event_with(|w| w.raw(AvpName { code: 7, vendor: 99 }, m, b"")),
            "99:7 has the M bit and is not known here",
        ),
        (
            event_with(|w| w.octet_string(avp::USER_NAME, b"\xFF")),
            "User-Name has a value that it cannot have",
        ),
        (event_with(|w| w.u32(avp::RESULT_CODE, 1)), "Result-Code must not occur here"),
        (event_with(|w| w.u32(avp::CC_REQUEST_NUMBER, 1)), "CC-Request-Number occurs too many times"),
        (
            event_with(|w| w.raw(avp::CC_SUB_SESSION_ID, m, b"1")),
            "CC-Sub-Session-Id has a length that it cannot have",
        ),
        (
            event_with(|w| w.group(avp::SUBSCRIPTION_ID, subscription)),
            "Subscription-Id-Data is missing in Subscription-Id",
        ),
        (request(command::DEVICE_WATCHDOG, |_| {}), "Origin-Host is missing"),
        (request(999, |_| {}), "this command is not served here"),
    ] {
        let message = Message::read(&octets).unwrap();
        assert_eq!(fault(&octets).explain(&message).to_string(), expected);
    }
}

#[test]
fn what_gateways_send_against_the_standard_is_let_pass_where_that_is_wanted() {
    let vendor_0 = {
        let mut avp = avp::ORIGIN_STATE_ID.code.to_be_bytes().to_vec();
        avp.extend_from_slice(&[0xC0, 0, 0, 16, 0, 0, 0, 0, 1, 2, 3, 4]);
        event_with_octets(&avp)
    };
    let unknown = AvpName { vendor: vendor::TGPP, code: 65_000 };
    let within = |name: AvpName| {
        event_with(|writer| {
            writer.group(avp::SERVICE_INFORMATION, |service| {
                service.group(avp::PS_INFORMATION, |ps| ps.raw(name, AvpFlags::MANDATORY, &[1, 2, 3, 4]));
            });
        })
    };
    let beside = event_with(|writer| {
        writer.group(avp::SERVICE_INFORMATION, |_| {});
        writer.raw(unknown, AvpFlags::MANDATORY, &[1, 2, 3, 4]);
    });
    let vendors = |count: u32| {
        request(command::CAPABILITIES_EXCHANGE, |writer| {
            writer.identity(avp::ORIGIN_HOST, "a.example");
            writer.identity(avp::ORIGIN_REALM, "example");
            writer.address(avp::HOST_IP_ADDRESS, crate::avp::Address::Ip([127, 0, 0, 1].into()));
            writer.u32(avp::VENDOR_ID, 0);
            writer.utf8(avp::PRODUCT_NAME, "a");
            writer.group(avp::VENDOR_SPECIFIC_APPLICATION_ID, |group| {
                (0..count).for_each(|vendor| group.u32(avp::VENDOR_ID, vendor));
                group.u32(avp::AUTH_APPLICATION_ID, 4);
            });
        })
    };
    for (what, octets, strict, lenient) in [
        ("a vendor 0", vendor_0, Err(3009), Ok(())),
        ("several Vendor-Ids", vendors(3), Err(5009), Ok(())),
        ("one Vendor-Id", vendors(1), Ok(()), Ok(())),
        ("no Vendor-Id", vendors(0), Err(5005), Err(5005)),
        ("an unknown AVP of 3GPP within Service-Information", within(unknown), Err(5001), Ok(())),
        ("the same beside it", beside, Err(5001), Err(5001)),
        ("a known AVP within with a wrong length", within(avp::CC_TOTAL_OCTETS), Err(5014), Err(5014)),
    ] {
        let message = Message::read(&octets).unwrap();
        let code = |strictness| check_as(&message, strictness).map(drop).map_err(|fault| fault.result_code);
        assert_eq!((code(Strictness::Strict), code(Strictness::Lenient)), (strict, lenient), "{what}");
    }
}
