use super::super::read::{Reading, RequestReader};
use super::*;
use diameter::check::{Origin, Strictness};
use diameter::dictionary::{application, command};
use diameter::header::CommandFlags;
use diameter::write::Writer;
use ledger::HashKey;
use proptest::prelude::*;

const KEY: HashKey = HashKey([5, 6]);

fn reader() -> RequestReader {
    RequestReader::new(KEY, &Origin { host: "ocs.example", realm: "example" }, Strictness::Strict)
}

/// All that can be seen of a reading, and the context that is kept.
fn seen(reader: &mut RequestReader, octets: &[u8]) -> String {
    let Ok(message) = Message::read(octets) else { return "no message".to_owned() };
    let reading = reader.read(&message);
    let mut context = Vec::new();
    if let Reading::Credit(credit) = &reading {
        credit.context.write(&message, &mut context);
    }
    format!("{reading:?} {context:?}")
}

fn request(request_type: u32, more: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut octets = Vec::new();
    let (code, application) = (command::CREDIT_CONTROL, application::CREDIT_CONTROL);
    let mut writer = Writer::request(&mut octets, code, application, CommandFlags::PROXIABLE, 7, 9);
    writer.utf8(avp::SESSION_ID, "client.example;1;22");
    writer.identity(avp::ORIGIN_HOST, "client.example");
    writer.identity(avp::ORIGIN_REALM, "example");
    writer.identity(avp::DESTINATION_REALM, "example");
    writer.u32(avp::AUTH_APPLICATION_ID, application);
    writer.utf8(avp::SERVICE_CONTEXT_ID, "32274@3gpp.org");
    writer.u32(avp::CC_REQUEST_TYPE, request_type);
    writer.u32(avp::CC_REQUEST_NUMBER, 3);
    more(&mut writer);
    writer.finish();
    octets
}

fn subscription(writer: &mut Writer<'_>) {
    writer.group(avp::SUBSCRIPTION_ID, |id| {
        id.u32(avp::SUBSCRIPTION_ID_TYPE, 0);
        id.utf8(avp::SUBSCRIPTION_ID_DATA, "46701234567");
    });
}

/// An event with all that may differ.
fn event() -> Vec<u8> {
    request(4, |writer| {
        writer.time(avp::EVENT_TIMESTAMP, 1_790_000_000);
        subscription(writer);
        writer.u32(avp::REQUESTED_ACTION, 0);
        writer.group(avp::REQUESTED_SERVICE_UNIT, |unit| unit.u64(avp::CC_SERVICE_SPECIFIC_UNITS, 2));
        writer.u32(avp::SERVICE_IDENTIFIER, 1);
        writer.group(avp::SERVICE_INFORMATION, |service| {
            service.group(avp::SMS_INFORMATION, |sms| {
                sms.group(avp::RECIPIENT_INFO, |info| {
                    info.group(avp::RECIPIENT_ADDRESS, |address| {
                        address.utf8(avp::ADDRESS_DATA, "4679876543")
                    });
                });
            });
        });
        writer.group(avp::PROXY_INFO, |proxy| {
            proxy.identity(avp::PROXY_HOST, "proxy.example");
            proxy.octet_string(avp::PROXY_STATE, &[1, 2, 3, 200, 5]);
        });
    })
}

/// A later request of a session, which does not say whose account it is.
fn update() -> Vec<u8> {
    request(2, |writer| {
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |service| {
            service.group(avp::REQUESTED_SERVICE_UNIT, |unit| unit.u64(avp::CC_TOTAL_OCTETS, 1_000));
            service.group(avp::USED_SERVICE_UNIT, |unit| unit.u64(avp::CC_TOTAL_OCTETS, 500));
            service.u32(avp::RATING_GROUP, 1);
        });
    })
}

/// A gateway's: several services, some of whose amounts are sums or money.
fn gateway_update() -> Vec<u8> {
    request(2, |writer| {
        subscription(writer);
        for group in 1..4 {
            writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |service| {
                service.group(avp::REQUESTED_SERVICE_UNIT, |_| {});
                service.group(avp::USED_SERVICE_UNIT, |unit| {
                    unit.u32(avp::CC_TIME, 61);
                    unit.u64(avp::CC_INPUT_OCTETS, 100);
                    unit.u64(avp::CC_OUTPUT_OCTETS, 400);
                    if group > 1 {
                        unit.u64(avp::CC_TOTAL_OCTETS, 500);
                    }
                });
                if group == 3 {
                    service.group(avp::USED_SERVICE_UNIT, |unit| unit.u64(avp::CC_SERVICE_SPECIFIC_UNITS, 2));
                }
                service.u32(avp::RATING_GROUP, group);
            });
        }
    })
}

/// A request of a session without Multiple-Services-Credit-Control.
fn plain_update() -> Vec<u8> {
    request(2, |writer| {
        subscription(writer);
        writer.group(avp::REQUESTED_SERVICE_UNIT, |unit| unit.u32(avp::CC_TIME, 60));
        writer.group(avp::USED_SERVICE_UNIT, |unit| {
            unit.u32(avp::CC_TIME, 59);
            unit.group(avp::CC_MONEY, |money| {
                money.group(avp::UNIT_VALUE, |value| {
                    value.i64(avp::VALUE_DIGITS, 12);
                    value.i32(avp::EXPONENT, -2);
                });
            });
        });
    })
}

fn find(octets: &[u8], part: &[u8]) -> Range<usize> {
    let at = octets.windows(part.len()).position(|window| window == part).unwrap();
    at..at + part.len()
}

#[test]
fn a_request_that_differs_in_any_one_octet_is_read_as_without_shapes() {
    for octets in [event(), update(), gateway_update(), plain_update()] {
        for at in 0..octets.len() {
            let mut learnt = reader();
            seen(&mut learnt, &octets);
            for bits in [0x01, 0x02, 0x08, 0x20, 0x40, 0x80, 0xff] {
                let mut other = octets.clone();
                other[at] ^= bits;
                assert_eq!(
                    seen(&mut learnt, &other),
                    seen(&mut reader(), &other),
                    "octet {at}, bits {bits:#x}"
                );
            }
        }
    }
}

#[test]
fn the_next_request_of_a_client_is_of_the_shape_of_the_first() {
    let first = event();
    let mut learnt = reader();
    seen(&mut learnt, &first);
    let mut next = first.clone();
    next[12..20].copy_from_slice(&[0xff; 8]);
    let changes: [(&[u8], &[u8]); 4] = [
        (b"client.example;1;22", b"client.example;9;97"),
        (b"46701234567", b"46709999999"),
        (b"4679876543", b"4670000001"),
        (&[1, 2, 3, 200, 5], &[0, 0xff, 9, 9, 9]),
    ];
    for (from, to) in changes {
        let range = find(&next, from);
        next[range].copy_from_slice(to);
    }
    assert_eq!(learnt.shapes().find(&Message::read(&next).unwrap()), Some(0));
    assert_eq!(seen(&mut learnt, &next), seen(&mut reader(), &next));
    // Text that is not ASCII may be no UTF-8.
    let digit = find(&next, b"46709999999").start;
    for (at, octet) in [(digit, 0xff), (find(&next, b"proxy").start, b'P'), (0, 2), (4, 0x80)] {
        let mut other = next.clone();
        other[at] = octet;
        if let Ok(message) = Message::read(&other) {
            assert_eq!(learnt.shapes().find(&message), None, "octet {at}");
        }
    }
}

#[test]
fn a_request_with_other_amounts_is_of_the_shape_of_the_one_before() {
    for (octets, changes) in [
        (event(), vec![2_u64]),
        (update(), vec![1_000, 500]),
        // Of the second service; the first one's octets are a sum, and the third has two groups.
        (gateway_update(), vec![500]),
    ] {
        let mut learnt = reader();
        seen(&mut learnt, &octets);
        for amount in changes {
            for other in [0, 1, u64::from(u32::MAX) + 1, u64::MAX] {
                let mut next = octets.clone();
                let range = find(&next, &amount.to_be_bytes());
                next[range].copy_from_slice(&other.to_be_bytes());
                let message = Message::read(&next).unwrap();
                assert_eq!(learnt.shapes().find(&message), Some(0), "{other} for {amount}");
                assert_eq!(seen(&mut learnt, &next), seen(&mut reader(), &next), "{other} for {amount}");
            }
        }
    }
}

#[test]
fn amounts_that_are_added_up_are_read_in_full_each_time() {
    let octets = gateway_update();
    let mut learnt = reader();
    seen(&mut learnt, &octets);
    for part in [100_u64.to_be_bytes(), 2_u64.to_be_bytes()] {
        let mut next = octets.clone();
        let range = find(&next, &part);
        next[range].copy_from_slice(&u64::MAX.to_be_bytes());
        assert_eq!(learnt.shapes().find(&Message::read(&next).unwrap()), None);
        assert_eq!(seen(&mut learnt, &next), seen(&mut reader(), &next));
    }
}

#[test]
fn no_more_shapes_are_kept_than_there_is_room_for() {
    let mut reader = reader();
    let of = |realms: usize| {
        request(4, |writer| {
            subscription(writer);
            writer.u32(avp::REQUESTED_ACTION, 0);
            writer.utf8(avp::USER_NAME, &"x".repeat(4 * realms));
        })
    };
    for _ in 0..3 * REQUESTS_PER_SHAPE {
        for kind in 1..10 {
            seen(&mut reader, &of(kind));
        }
    }
    assert_eq!(reader.shapes().all.len(), SHAPES_MAX);
    seen(&mut reader, &of(OCTETS_MAX));
    assert!(reader.shapes().all.iter().all(|shape| shape.octets <= OCTETS_MAX));
}

proptest! {
    #[test]
    fn a_request_that_differs_in_several_octets_is_read_as_without_shapes(
        changes in prop::collection::vec((0_usize..1_024, any::<u8>()), 1..6),
    ) {
        for octets in [event(), update(), gateway_update(), plain_update()] {
            let mut learnt = reader();
            seen(&mut learnt, &octets);
            let mut other = octets.clone();
            for (at, octet) in &changes {
                let at = at % other.len();
                other[at] = *octet;
            }
            prop_assert_eq!(seen(&mut learnt, &other), seen(&mut reader(), &other));
        }
    }
}
