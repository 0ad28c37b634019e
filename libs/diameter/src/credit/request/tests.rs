use super::*;
use crate::avp::AvpFlags;
use crate::check::Origin;
use crate::credit::write_request::{RequestToSend, ServiceToRequest, SmsToCharge};
use crate::samples::{event, event_with, request};
use crate::write::Writer;

const ORIGIN: Origin<'static> = Origin { host: "client.example", realm: "example" };

fn fault(octets: &[u8]) -> (u32, Option<Avp<'_>>) {
    let message = Message::read(octets).unwrap();
    let fault = CreditControlRequest::read(&message).unwrap_err();
    let guilty = match fault.failed {
        crate::check::FailedAvp::Copy { position } => message.avp_at(position),
        _ => None,
    };
    (fault.result_code, guilty)
}

fn money(digits: i64, exponent: i32) -> impl FnOnce(&mut Writer<'_>) {
    move |writer| {
        writer.group(avp::USED_SERVICE_UNIT, |_| {});
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |group| {
            group.group(avp::REQUESTED_SERVICE_UNIT, |group| {
                group.group(avp::CC_MONEY, |group| {
                    group.group(avp::UNIT_VALUE, |group| {
                        group.i64(avp::VALUE_DIGITS, digits);
                        group.i32(avp::EXPONENT, exponent);
                    });
                    group.u32(avp::CURRENCY_CODE, 978);
                });
            });
        });
    }
}

#[test]
fn an_event_is_read_with_all_it_says() {
    let octets = event();
    let request = CreditControlRequest::read(&Message::read(&octets).unwrap()).unwrap();
    assert_eq!(request.session_id, "client.example;1876543210;523;sms");
    assert_eq!((request.origin_host, request.origin_realm()), ("client.example", "example"));
    assert_eq!((request.destination_realm(), request.destination_host()), ("home.example", None));
    assert_eq!(
        (request.service_context_id(), request.kind, request.number),
        ("32274@3gpp.org", RequestType::Event, 0)
    );
    assert_eq!(
        (request.action, request.event_timestamp()),
        (Some(RequestedAction::DirectDebiting), Some(1_763_845_888))
    );
    assert_eq!(request.requested, Some(Units::of_specific(1)));
    let subscription = Subscription { kind: SubscriptionKind::E164, data: "46701234567" };
    assert_eq!(request.subscriptions().collect::<Vec<_>>(), [subscription]);
    assert!(!request.is_retransmit() && !request.has_multiple_services() && request.sms().is_none());
    assert_eq!(
        (request.used().count(), request.services().count(), request.route_records().count()),
        (0, 0, 0)
    );
}

const USED: [UsedUnits; 2] = [
    UsedUnits {
        units: Units { time_s: Some(60), total_octets: Some(u64::MAX), ..NOTHING },
        tariff_usage: Some(TariffChangeUsage::Before),
        tariff_time_change: None,
        reporting_reason: Some(3),
    },
    UsedUnits {
        units: Units { money: Some(Money { digits: 7, exponent: -1, currency: Some(752) }), ..NOTHING },
        tariff_usage: None,
        tariff_time_change: None,
        reporting_reason: None,
    },
];
const NOTHING: Units = Units {
    time_s: None,
    money: None,
    total_octets: None,
    input_octets: None,
    output_octets: None,
    specific: None,
};

#[test]
fn what_a_client_writes_is_read_as_it_was() {
    let services = [
        ServiceToRequest {
            requested: Some(Units::default()),
            used: &USED,
            rating_group: Some(10),
            ..ServiceToRequest::default()
        },
        ServiceToRequest {
            service_identifiers: &[5, 6],
            reporting_reason: Some(2),
            ..ServiceToRequest::default()
        },
    ];
    let subscriptions = [
        Subscription { kind: SubscriptionKind::Imsi, data: "240011234567890" },
        Subscription { kind: SubscriptionKind::Private, data: "å" },
    ];
    let to_send = RequestToSend {
        kind: RequestType::Update,
        number: 3,
        action: None,
        requested: None,
        origin_state_id: Some(9),
        route_record: Some("house.example"),
        subscriptions: &subscriptions,
        used: &USED[1..],
        has_multiple_services: true,
        services: &services,
        sms: Some(SmsToCharge { originator: "46700", recipient: "46701", parts: 2 }),
        is_retransmit: true,
        ..RequestToSend::debit("s;1", ORIGIN, "home.example", Units::default())
    };
    let mut octets = Vec::new();
    assert_eq!(to_send.write(1, 2, &mut octets), octets.len());
    let request = CreditControlRequest::read(&Message::read(&octets).unwrap()).unwrap();
    assert_eq!(
        (request.kind, request.number, request.action, request.requested),
        (RequestType::Update, 3, None, None)
    );
    assert!(request.is_retransmit() && request.has_multiple_services());
    assert_eq!(request.origin_state_id(), Some(9));
    assert_eq!(request.route_records().collect::<Vec<_>>(), ["house.example"]);
    assert_eq!(request.subscriptions().collect::<Vec<_>>(), subscriptions);
    assert_eq!(request.used().map(Result::unwrap).collect::<Vec<_>>(), USED[1..]);
    let read: Vec<_> = request.services().map(Result::unwrap).collect();
    assert_eq!((read[0].rating_group, read[0].requested), (Some(10), Some(Units::default())));
    assert!(read[0].has_used && !read[1].has_used);
    assert_eq!(read[0].used().map(Result::unwrap).collect::<Vec<_>>(), USED);
    assert_eq!(read[1].service_identifiers().collect::<Vec<_>>(), [5, 6]);
    assert_eq!(
        (read[1].service_identifier, read[1].reporting_reason, read[1].requested),
        (Some(5), Some(2), None)
    );
    let sms = request.sms().unwrap();
    assert_eq!((sms.originator(), sms.parts()), (Some("46700"), Some(2)));
    assert_eq!(sms.recipients().collect::<Vec<_>>(), ["46701"]);
}

#[test]
fn subscriptions_are_found_in_all_their_places() {
    let octets = event_with(|writer| {
        writer.group(avp::SUBSCRIPTION_ID_EXTENSION, |group| group.utf8(avp::SUBSCRIPTION_ID_NAI, "a@b"));
        writer.group(avp::SUBSCRIPTION_ID_EXTENSION, |group| group.octet_string(avp::CLASS, b"?"));
        writer.group(avp::SERVICE_INFORMATION, |group| {
            group.group(avp::SUBSCRIPTION_ID, |group| {
                group.i32(avp::SUBSCRIPTION_ID_TYPE, 2);
                group.utf8(avp::SUBSCRIPTION_ID_DATA, "sip:a@b");
            });
        });
    });
    let request = CreditControlRequest::read(&Message::read(&octets).unwrap()).unwrap();
    let found: Vec<_> =
        request.subscriptions().map(|subscription| (subscription.kind.value(), subscription.data)).collect();
    assert_eq!(found, [(0, "46701234567"), (2, "sip:a@b"), (3, "a@b")]);
}

#[test]
fn amounts_that_a_ledger_cannot_hold_are_refused_with_the_avp_to_blame() {
    for (digits, exponent, name) in [
        (-1, -2, avp::VALUE_DIGITS),
        (i64::MIN, 0, avp::VALUE_DIGITS),
        (i64::MAX, 0, avp::VALUE_DIGITS),
        (1, i32::MAX, avp::EXPONENT),
    ] {
        let octets = event_with(money(digits, exponent));
        let message = Message::read(&octets).unwrap();
        let request = CreditControlRequest::read(&message).unwrap();
        let fault = request.services().next().unwrap().unwrap_err();
        assert_eq!(fault.result_code, 5004);
        let crate::check::FailedAvp::Copy { position } = fault.failed else { panic!("{fault}") };
        assert_eq!(message.avp_at(position).unwrap().name, name, "{digits} {exponent}");
    }
    for (digits, exponent) in [(0, i32::MAX), (i64::MAX, i32::MIN), (i64::MAX, -2), (0, 0)] {
        let octets = event_with(money(digits, exponent));
        let request = CreditControlRequest::read(&Message::read(&octets).unwrap()).unwrap();
        assert!(request.services().next().unwrap().is_ok(), "{digits} {exponent}");
    }
}

#[test]
fn money_at_the_top_is_judged_when_the_request_is_read() {
    let octets = request(command::CREDIT_CONTROL, |writer| {
        let whole = event();
        for avp in Message::read(&whole).unwrap().avps().map(Result::unwrap) {
            if avp.name != avp::REQUESTED_SERVICE_UNIT {
                writer.copy(&avp);
            }
        }
        writer.group(avp::REQUESTED_SERVICE_UNIT, |group| {
            group.group(avp::CC_MONEY, |group| {
                group.group(avp::UNIT_VALUE, |group| group.i64(avp::VALUE_DIGITS, -5))
            });
        });
    });
    let (code, guilty) = fault(&octets);
    assert_eq!((code, guilty.unwrap().i64()), (5004, Ok(-5)));
}

#[test]
fn what_the_grammar_cannot_say_is_refused_too() {
    let without_action = request(command::CREDIT_CONTROL, |writer| {
        let whole = event();
        let message = Message::read(&whole).unwrap();
        let rest = message.avps().map(Result::unwrap).filter(|avp| avp.name != avp::REQUESTED_ACTION);
        rest.for_each(|avp| writer.copy(&avp));
    });
    assert_eq!(fault(&without_action), (5005, None));
    let contradicting = event_with(|writer| {
        writer.i32(avp::MULTIPLE_SERVICES_INDICATOR, 0);
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |group| group.u32(avp::RATING_GROUP, 1));
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |group| group.u32(avp::RATING_GROUP, 2));
    });
    assert_eq!(fault(&contradicting).0, 5007);
    let message = Message::read(&contradicting).unwrap();
    let mut out = Vec::new();
    CreditControlRequest::read(&message).unwrap_err().answer(&message, &ORIGIN, None, &mut out);
    let failed = Message::read(&out).unwrap().find(avp::FAILED_AVP).unwrap();
    let names: Vec<_> = failed.group().map(|avp| avp.unwrap().name).collect();
    assert_eq!(names, [avp::MULTIPLE_SERVICES_INDICATOR, avp::MULTIPLE_SERVICES_CREDIT_CONTROL]);
}

#[test]
fn one_service_in_the_group_for_several_is_no_contradiction() {
    for indicator in [None, Some(0), Some(1)] {
        let octets = event_with(|writer| {
            indicator.iter().for_each(|value| writer.i32(avp::MULTIPLE_SERVICES_INDICATOR, *value));
            writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |group| group.u32(avp::RATING_GROUP, 7));
        });
        let request = CreditControlRequest::read(&Message::read(&octets).unwrap()).unwrap();
        let groups: Vec<_> = request.services().map(|service| service.unwrap().rating_group).collect();
        assert_eq!(groups, [Some(7)], "{indicator:?}");
    }
}

#[test]
fn an_empty_session_id_is_refused() {
    let empty = request(command::CREDIT_CONTROL, |writer| {
        let whole = event();
        for avp in Message::read(&whole).unwrap().avps().map(Result::unwrap) {
            if avp.name == avp::SESSION_ID { writer.utf8(avp::SESSION_ID, "") } else { writer.copy(&avp) }
        }
    });
    let (code, guilty) = fault(&empty);
    assert_eq!((code, guilty.map(|avp| avp.name)), (5004, Some(avp::SESSION_ID)));
}

#[test]
fn another_command_or_application_is_not_ours_to_read() {
    assert_eq!(fault(&request(280, |_| {})).0, 3001);
    let mut octets = event();
    octets[11] = 3;
    assert_eq!(fault(&octets).0, 3007);
    let mut octets = event();
    let at = Message::read(&octets).map(|m| m.position(&m.find(avp::AUTH_APPLICATION_ID).unwrap())).unwrap();
    octets[at as usize + 11] = 5;
    let (code, guilty) = fault(&octets);
    assert_eq!((code, guilty.unwrap().u32()), (5004, Ok(5)));
}

#[test]
fn enumerated_values_are_those_of_the_dictionary() {
    for (name, known) in [
        (avp::CC_REQUEST_TYPE, (-1..9).filter_map(RequestType::from_value).count()),
        (avp::REQUESTED_ACTION, (-1..9).filter_map(RequestedAction::from_value).count()),
        (avp::SUBSCRIPTION_ID_TYPE, (-1..9).filter_map(SubscriptionKind::from_value).count()),
        (avp::TARIFF_CHANGE_USAGE, (-1..9).filter_map(TariffChangeUsage::from_value).count()),
        (avp::CC_UNIT_TYPE, (-1..9).filter_map(UnitType::from_value).count()),
    ] {
        let (first, last) = crate::dictionary::lookup(name).unwrap().values.unwrap();
        assert_eq!(known as i32, last - first + 1, "{name}");
    }
}

#[test]
fn pools_are_read_with_their_weight() {
    let octets = event_with(|writer| {
        writer.group(avp::MULTIPLE_SERVICES_CREDIT_CONTROL, |group| {
            group.group(avp::G_S_U_POOL_REFERENCE, |group| {
                group.u32(avp::G_S_U_POOL_IDENTIFIER, 1);
                group.i32(avp::CC_UNIT_TYPE, 2);
                group.group(avp::UNIT_VALUE, |group| {
                    group.raw(avp::VALUE_DIGITS, AvpFlags::MANDATORY, &10i64.to_be_bytes())
                });
            });
        });
    });
    let request = CreditControlRequest::read(&Message::read(&octets).unwrap()).unwrap();
    let service = request.services().next().unwrap().unwrap();
    let weight = Money { digits: 10, exponent: 0, currency: None };
    assert_eq!(
        service.pools().collect::<Vec<_>>(),
        [PoolReference { pool: 1, unit: UnitType::TotalOctets, weight }]
    );
}

/// What Kamailio 5.6.3 (`ims_charging`) asked for a call, as it was on the wire.
const KAMAILIO: &str = include_str!("kamailio.hex");

fn kamailio() -> Vec<u8> {
    let digits: Vec<u8> = KAMAILIO.bytes().filter(u8::is_ascii_hexdigit).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

#[test]
fn a_request_of_kamailio_is_read() {
    let octets = kamailio();
    let request = CreditControlRequest::read(&Message::read(&octets).unwrap()).unwrap();
    assert_eq!((request.kind, request.number), (RequestType::Initial, 0));
    assert_eq!(request.service_context_id(), "ext.01.001.8.32260@3gpp.org");
    assert!(request.has_multiple_services() && request.event_timestamp().is_some());
    let ann = Subscription { kind: SubscriptionKind::SipUri, data: "sip:ann@charging.test" };
    assert_eq!(request.subscriptions().next(), Some(ann));
    let service = request.services().next().unwrap().unwrap();
    assert_eq!((service.rating_group, service.service_identifier), (Some(100), Some(1_000)));
    assert_eq!(service.requested.and_then(|units| units.time_s), Some(5));
}

#[test]
fn the_application_may_stand_within_that_of_a_vendor_alone() {
    let with = |application: u32, top: Option<u32>| {
        request(272, |writer| {
            crate::samples::event_head_with(writer, top);
            writer.group(avp::VENDOR_SPECIFIC_APPLICATION_ID, |group| {
                group.u32(avp::VENDOR_ID, 10_415);
                group.u32(avp::AUTH_APPLICATION_ID, application);
            });
        })
    };
    let read = |octets: &[u8]| {
        let message = Message::read(octets).unwrap();
        CreditControlRequest::read(&message).map(drop).map_err(|fault| fault.result_code)
    };
    for (what, application, top, expected) in [
        ("within alone", 4, None, Ok(())),
        ("within alone, another", 3, None, Err(5004)),
        ("both", 4, Some(4), Ok(())),
        ("the one at the top counts", 3, Some(4), Ok(())),
        ("the one at the top counts, another", 4, Some(3), Err(5004)),
    ] {
        assert_eq!(read(&with(application, top)), expected, "{what}");
    }
    let neither = request(272, |writer| crate::samples::event_head_with(writer, None));
    assert_eq!(read(&neither), Err(5005));
}
