use super::*;
use crate::avp::Avp;
use crate::check::check;
use crate::credit::request::ServiceControl;
use crate::credit::{Rounding, UnitType};
use crate::samples::{event, event_with};

const ORIGIN: Origin<'static> = Origin { host: "ocs.example", realm: "home.example" };

/// Writes an answer, checks it as a client would, and shows it.
fn written(answer: &CreditControlAnswer<'_>, request: &[u8]) -> Vec<u8> {
    let message = Message::read(request).unwrap();
    let request = CreditControlRequest::read(&message).unwrap();
    let mut out = Vec::new();
    assert_eq!(answer.write(&request, &ORIGIN, &mut out), out.len());
    check(&Message::read(&out).unwrap()).expect("the answer keeps its grammar");
    out
}

fn members<'a>(group: &Avp<'a>) -> Vec<(AvpName, &'a [u8])> {
    group.group().map(|avp| avp.map(|avp| (avp.name, avp.data)).unwrap()).collect()
}

#[test]
fn an_answer_repeats_what_it_must_and_says_its_result() {
    let request = event_with(|writer| {
        writer.u64(avp::CC_SUB_SESSION_ID, 8);
        for state in [b"1", b"2"] {
            writer.group(avp::PROXY_INFO, |group| {
                group.identity(avp::PROXY_HOST, "p.example");
                group.octet_string(avp::PROXY_STATE, state);
            });
        }
    });
    let answer = CreditControlAnswer {
        result_code: 2001,
        granted: Some(Grant::of(Units::of_specific(1))),
        ..CreditControlAnswer::default()
    };
    let octets = written(&answer, &request);
    let (message, asked) = (Message::read(&octets).unwrap(), Message::read(&request).unwrap());
    assert_eq!((message.header.hop_by_hop, message.header.end_to_end), (11, 22));
    for name in [avp::SESSION_ID, avp::CC_REQUEST_TYPE, avp::CC_REQUEST_NUMBER, avp::CC_SUB_SESSION_ID] {
        assert_eq!(
            message.find(name),
            asked.find(name).map(|avp| message.find(name).filter(|a| a.data == avp.data).unwrap())
        );
    }
    let infos = |message: &Message<'_>| -> Vec<Vec<u8>> {
        message
            .avps()
            .map(Result::unwrap)
            .filter(|avp| avp.name == avp::PROXY_INFO)
            .map(|avp| avp.octets.to_vec())
            .collect()
    };
    assert_eq!((infos(&message), infos(&message).len()), (infos(&asked), 2));
    let granted = message.find(avp::GRANTED_SERVICE_UNIT).unwrap();
    assert_eq!(members(&granted), [(avp::CC_SERVICE_SPECIFIC_UNITS, &1u64.to_be_bytes()[..])]);
}

const POOLS: [PoolReference; 1] = [PoolReference {
    pool: 4,
    unit: UnitType::Money,
    weight: Money { digits: 3, exponent: -1, currency: None },
}];

const UNITS: Units = Units {
    time_s: Some(1),
    money: Some(Money::from_minor_units(250, Some(978))),
    total_octets: Some(2),
    input_octets: Some(3),
    output_octets: Some(4),
    specific: Some(5),
};

const SERVICE: ServiceGrant<'static> = ServiceGrant {
    granted: Some(Grant { units: UNITS, tariff_time_change: Some(1_763_845_888) }),
    service_identifiers: &[7, 8],
    rating_group: Some(10),
    pools: &POOLS,
    validity_s: Some(600),
    result_code: Some(4012),
    final_unit: Some(FinalUnit::Redirect(RedirectServer::Url("http://topup.example"))),
    time_quota_threshold_s: Some(10),
    volume_quota_threshold_octets: Some(1_000),
    unit_quota_threshold: Some(1),
    quota_holding_s: Some(60),
};

#[test]
fn all_that_an_answer_can_say_is_in_its_grammar() {
    let answer = CreditControlAnswer {
        result_code: 2001,
        failover: Some(SessionFailover::Supported),
        granted: SERVICE.granted,
        services: &[SERVICE],
        cost: Some(Cost { money: Money::from_minor_units(99, None), currency: 978, unit: Some("message") }),
        final_unit: Some(FinalUnit::Terminate),
        check_balance: Some(CheckBalanceResult::EnoughCredit),
        remaining_balance: Some(Money::from_minor_units(-1, Some(978))),
        low_balance: Some(true),
        failure_handling: Some(FailureHandling::Continue),
        debiting_failure_handling: Some(DebitingFailureHandling::TerminateOrBuffer),
        validity_s: Some(30),
        origin_state_id: Some(6),
    };
    let octets = written(&answer, &event());
    let message = Message::read(&octets).unwrap();
    for (name, value) in [
        (avp::CC_SESSION_FAILOVER, 1),
        (avp::CHECK_BALANCE_RESULT, 0),
        (avp::LOW_BALANCE_INDICATION, 1),
        (avp::CREDIT_CONTROL_FAILURE_HANDLING, 1),
        (avp::DIRECT_DEBITING_FAILURE_HANDLING, 0),
        (avp::VALIDITY_TIME, 30),
        (avp::ORIGIN_STATE_ID, 6),
    ] {
        assert_eq!(message.find(name).unwrap().u32(), Ok(value), "{name}");
    }
    let service =
        ServiceControl::read(message, message.find(avp::MULTIPLE_SERVICES_CREDIT_CONTROL).unwrap()).unwrap();
    let granted = service.granted.unwrap();
    assert_eq!((granted.units, granted.tariff_time_change), (UNITS, Some(1_763_845_888)));
    assert_eq!(granted.units.money.unwrap().minor_units(Rounding::TowardsZero), Ok(250));
    assert_eq!(
        (service.rating_group, service.result_code, service.validity_s),
        (Some(10), Some(4012), Some(600))
    );
    assert_eq!(service.service_identifiers().collect::<Vec<_>>(), [7, 8]);
    assert_eq!(service.pools().collect::<Vec<_>>(), POOLS);
    for (name, value) in [
        (avp::TIME_QUOTA_THRESHOLD, 10),
        (avp::VOLUME_QUOTA_THRESHOLD, 1_000),
        (avp::UNIT_QUOTA_THRESHOLD, 1),
        (avp::QUOTA_HOLDING_TIME, 60),
    ] {
        assert_eq!(service.avp().group().find_name(name).unwrap().u32(), Ok(value), "{name}");
    }
    assert_eq!(members(&message.find(avp::COST_INFORMATION).unwrap()).len(), 3);
    assert_eq!(members(&message.find(avp::REMAINING_BALANCE).unwrap()).len(), 2);
}

/// Members as they are compared.
type Members = Vec<(AvpName, Vec<u8>)>;

fn owned(group: &Avp<'_>) -> Members {
    members(group).into_iter().map(|(name, data)| (name, data.to_vec())).collect()
}

fn action(value: i32) -> (AvpName, Vec<u8>) {
    (avp::FINAL_UNIT_ACTION, value.to_be_bytes().to_vec())
}

/// What stands in the group of an indication, and in the group of the server in it.
fn indicated(indication: FinalUnit<'_>, outer: AvpName) -> (Members, Members) {
    let answer = CreditControlAnswer {
        result_code: 2001,
        final_unit: Some(indication),
        ..CreditControlAnswer::default()
    };
    let octets = written(&answer, &event());
    let group = Message::read(&octets).unwrap().find(outer).unwrap();
    let is_server = |name| name == avp::REDIRECT_SERVER || name == avp::REDIRECT_SERVER_EXTENSION;
    let server = group.group().map(Result::unwrap).find(|avp| is_server(avp.name));
    let mut outer = owned(&group);
    outer.retain(|(name, _)| !is_server(*name));
    (outer, server.map(|server| owned(&server)).unwrap_or_default())
}

#[test]
fn each_way_to_end_a_service_is_written_as_rfc_4006_has_it() {
    let v6: IpAddr = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255".parse().unwrap();
    for (server, kind, text) in [
        (RedirectServer::Ip("10.0.0.1".parse().unwrap()), 0, "10.0.0.1".to_string()),
        (RedirectServer::Ip(v6), 1, v6.to_string()),
        (RedirectServer::Url("http://a"), 2, "http://a".to_string()),
        (RedirectServer::SipUri("sip:a"), 3, "sip:a".to_string()),
    ] {
        let address: Members = vec![
            (avp::REDIRECT_ADDRESS_TYPE, i32::to_be_bytes(kind).to_vec()),
            (avp::REDIRECT_SERVER_ADDRESS, text.into_bytes()),
        ];
        let found = indicated(FinalUnit::Redirect(server), avp::FINAL_UNIT_INDICATION);
        assert_eq!(found, (vec![action(1)], address), "{server:?}");
    }
    let found = indicated(FinalUnit::Terminate, avp::FINAL_UNIT_INDICATION);
    assert_eq!(found, (vec![action(0)], vec![]));
    let rule = "permit in ip from any to 10.0.0.1";
    let restrict = FinalUnit::RestrictAccess { rules: &[rule], filters: &["walled"] };
    let expected = vec![
        action(2),
        (avp::RESTRICTION_FILTER_RULE, rule.as_bytes().to_vec()),
        (avp::FILTER_ID, b"walled".to_vec()),
    ];
    assert_eq!(indicated(restrict, avp::FINAL_UNIT_INDICATION), (expected, vec![]));
}

#[test]
fn each_way_to_end_a_service_is_written_as_rfc_8506_has_it() {
    let indicated = |way| indicated(FinalUnit::Extended(way), avp::QOS_FINAL_UNIT_INDICATION);
    assert_eq!(indicated(ExtendedFinalUnit::Terminate), (vec![action(0)], vec![]));
    let restrict = ExtendedFinalUnit::RestrictAccess { filters: &["walled"] };
    assert_eq!(indicated(restrict), (vec![action(2), (avp::FILTER_ID, b"walled".to_vec())], vec![]));
    for (server, name, data) in [
        (
            RedirectServer::Ip("10.0.0.1".parse().unwrap()),
            avp::REDIRECT_ADDRESS_IPADDRESS,
            &[0, 1, 10, 0, 0, 1][..],
        ),
        (RedirectServer::Url("http://a"), avp::REDIRECT_ADDRESS_URL, b"http://a"),
        (RedirectServer::SipUri("sip:a"), avp::REDIRECT_ADDRESS_SIP_URI, b"sip:a"),
    ] {
        let found = indicated(ExtendedFinalUnit::Redirect(server));
        assert_eq!(found, (vec![action(1)], vec![(name, data.to_vec())]), "{server:?}");
    }
}

#[test]
fn a_stored_answer_is_repeated_for_the_duplicate_that_asks() {
    let proxied = |state: &[u8; 1]| {
        event_with(|writer| {
            writer.group(avp::PROXY_INFO, |group| {
                group.identity(avp::PROXY_HOST, "p.example");
                group.octet_string(avp::PROXY_STATE, state);
            });
        })
    };
    let answer = CreditControlAnswer {
        result_code: 4012,
        cost: Some(Cost { money: Money::from_minor_units(99, None), currency: 978, unit: None }),
        ..CreditControlAnswer::default()
    };
    let stored = written(&answer, &proxied(b"1"));
    let mut again = proxied(b"2");
    again[4] |= CommandFlags::RETRANSMIT.0;
    again[12..20].copy_from_slice(&[0, 0, 0, 77, 0, 0, 0, 22]);
    let duplicate = Message::read(&again).unwrap();
    let mut out = Vec::new();
    assert_eq!(repeat(&stored, &duplicate, &mut out), out.len());
    let (repeated, stored) = (Message::read(&out).unwrap(), Message::read(&stored).unwrap());
    assert_eq!((repeated.header.hop_by_hop, repeated.header.end_to_end), (77, 22));
    assert_eq!(repeated.header.flags, stored.header.flags);
    let but_proxies = |message: &Message<'_>| -> Vec<Vec<u8>> {
        message
            .avps()
            .map(Result::unwrap)
            .filter(|avp| avp.name != avp::PROXY_INFO)
            .map(|avp| avp.octets.to_vec())
            .collect()
    };
    assert_eq!(but_proxies(&repeated), but_proxies(&stored));
    assert_eq!(
        repeated.find(avp::PROXY_INFO).unwrap().octets,
        duplicate.find(avp::PROXY_INFO).unwrap().octets
    );
    assert_eq!(repeat(b"no message", &duplicate, &mut out), 0);
}

#[test]
fn what_a_server_asks_by_itself_is_in_its_grammar() {
    let service = SessionPart::Service { service_identifier: 5, rating_group: 10 };
    for (part, expected) in [
        (SessionPart::All, vec![]),
        (SessionPart::SubSession(3), vec![(avp::CC_SUB_SESSION_ID, 3)]),
        (SessionPart::Pool(4), vec![(avp::G_S_U_POOL_IDENTIFIER, 4)]),
        (service, vec![(avp::SERVICE_IDENTIFIER, 5), (avp::RATING_GROUP, 10)]),
        (SessionPart::RatingGroup(10), vec![(avp::RATING_GROUP, 10)]),
    ] {
        let ask = ServerRequest {
            session_id: "s;1",
            origin: ORIGIN,
            destination_host: "client.example",
            destination_realm: "example",
            origin_state_id: Some(8),
            part,
        };
        let mut out = Vec::new();
        assert_eq!(ask.write_re_auth(5, 6, &mut out), out.len());
        let message = Message::read(&out).unwrap();
        let found = check(&message).unwrap();
        assert_eq!((message.header.command, message.header.flags.0), (258, 0xC0));
        assert_eq!(found.find(avp::ORIGIN_STATE_ID).unwrap().u32(), Ok(8));
        let names =
            [avp::CC_SUB_SESSION_ID, avp::G_S_U_POOL_IDENTIFIER, avp::SERVICE_IDENTIFIER, avp::RATING_GROUP];
        let told: Vec<_> = names.into_iter().filter_map(|name| found.find(name)).collect();
        let told: Vec<_> = told
            .iter()
            .map(|avp| (avp.name, avp.data.iter().fold(0u64, |n, &b| n << 8 | u64::from(b))))
            .collect();
        assert_eq!(told, expected, "{part:?}");
        let begin = out.len();
        assert_eq!(ask.write_abort(7, 8, &mut out), out.len() - begin);
        let message = Message::read(&out[begin..]).unwrap();
        assert_eq!(
            (message.header.command, message.header.hop_by_hop, message.header.end_to_end),
            (274, 7, 8)
        );
        check(&message).unwrap();
    }
}
