use super::*;
use ledger::request::Weights;
use proptest::prelude::*;

/// Octets of an AVP: `session` or proxies as they stand in a request.
fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = Writer::message(&mut octets, &Header::default());
    write(&mut writer);
    writer.finish();
    octets.split_off(HEADER_OCTETS)
}

fn units() -> impl Strategy<Value = Units> {
    (0_u8..16, 0_u32..2, 0_i64..2).prop_map(|(present, small, money)| Units {
        present,
        time_s: small,
        octets: u64::from(small) << 33,
        specific: u64::from(small),
        money,
    })
}

fn terms() -> impl Strategy<Value = Terms> {
    (0_u8..3, 0_u8..2, 0_u32..2, 0_u32..2, 0_u64..2).prop_map(
        |(final_action, threshold, holding_s, tariff_change_s, weight)| Terms {
            final_action,
            threshold_percent: threshold * 20,
            holding_s,
            tariff_change_s,
            pool: Weights { time: weight, octets: weight * 5_000, specific: weight },
        },
    )
}

fn service() -> impl Strategy<Value = ServiceAnswer> {
    let ids = (prop::option::of(0_u32..2), prop::option::of(0_u32..2));
    let result = prop::sample::select(vec![2001, 4012, 5031, 3004, 5004]);
    (ids, result, units(), 0_i64..2, 0_u32..2, any::<bool>(), terms()).prop_map(
        |((rating_group, service_id), result, granted, cost, validity_s, is_final, terms)| ServiceAnswer {
            rating_group,
            service_id,
            result,
            granted,
            cost,
            validity_s,
            is_final,
            terms,
        },
    )
}

/// A request's context and its answer: from few values, so that ends are alike often.
#[derive(Debug, Clone)]
struct Case {
    flags: u8,
    hop_by_hop: u32,
    request_type: u32,
    number: u32,
    kind: Asked,
    session: String,
    has_proxy: bool,
    answer: Answer,
    services: Vec<ServiceAnswer>,
}

fn case() -> impl Strategy<Value = Case> {
    let kind = prop::sample::select(vec![Asked::Single, Asked::Multiple, Asked::Balance, Asked::Price]);
    let result = prop::sample::select(vec![2001, 4012, 5012, 3004, 5004]);
    let request =
        (any::<u8>(), any::<u32>(), 1_u32..6, 0_u32..3, kind, "[a-z;]{1,9}", prop::bool::weighted(0.1));
    let answer = (result, prop::option::of(any::<bool>()), 0_i64..2);
    (request, answer, prop::collection::vec(service(), 0..3)).prop_map(|(request, answer, services)| {
        let (flags, hop_by_hop, request_type, number, kind, session, has_proxy) = request;
        let (result, enough_credit, cost) = answer;
        let services_count = services.len() as u32;
        let answer = Answer { result, enough_credit, cost, services: services_count, ..Answer::default() };
        Case { flags, hop_by_hop, request_type, number, kind, session, has_proxy, answer, services }
    })
}

proptest! {
    #[test]
    fn an_answer_with_an_end_that_was_kept_is_the_one_written_anew(
        cases in prop::collection::vec(case(), 1..6),
        order in prop::collection::vec((0_usize..6, any::<u32>()), 1..40),
        has_others in any::<bool>(),
    ) {
        let identity = Identity::new("ocs.example", "example", &FinalUnits::default()).among_others(has_others);
        let mut tails = AnswerCache::default();
        let proxies = written(|writer| writer.group(avp::PROXY_INFO, |proxy| {
            proxy.identity(avp::PROXY_HOST, "proxy.example");
            proxy.octet_string(avp::PROXY_STATE, b"1");
        }));
        for (at, number) in order {
            let case = &cases[at % cases.len()];
            let session = written(|writer| writer.utf8(avp::SESSION_ID, &case.session));
            let context = Context {
                header: Header {
                    flags: CommandFlags(case.flags),
                    command: diameter::dictionary::command::CREDIT_CONTROL,
                    application: application::CREDIT_CONTROL,
                    hop_by_hop: case.hop_by_hop,
                    ..Header::default()
                },
                request_type: case.request_type,
                number: case.number ^ number,
                kind: case.kind,
                session: &session,
                proxies: if case.has_proxy { &proxies } else { &[] },
                whole: &[],
                ids: &[],
            };
            let (mut kept, mut anew) = (vec![1, 2], vec![1, 2]);
            credit(&mut kept, &identity, &mut tails, &context, &case.answer, &case.services);
            write(&mut anew, &identity, &context, &case.answer, &case.services);
            prop_assert_eq!(kept, anew);
        }
    }
}

#[test]
fn a_session_that_others_know_too_is_said_to_go_on_there() {
    let session = written(|writer| writer.utf8(avp::SESSION_ID, "s"));
    for (has_others, result, expected) in
        [(true, 2001, [true, true, false, false]), (true, 4012, [false; 4]), (false, 2001, [false; 4])]
    {
        let identity =
            Identity::new("ocs.example", "example", &FinalUnits::default()).among_others(has_others);
        let said = [1, 2, 3, 4].map(|request_type| {
            let header = Header {
                command: diameter::dictionary::command::CREDIT_CONTROL,
                application: application::CREDIT_CONTROL,
                ..Header::default()
            };
            let context = Context {
                header,
                request_type,
                number: 0,
                kind: Asked::Multiple,
                session: &session,
                proxies: &[],
                whole: &[],
                ids: &[],
            };
            let mut octets = Vec::new();
            write(&mut octets, &identity, &context, &Answer { result, ..Answer::default() }, &[]);
            let answer = Message::read(&octets).unwrap();
            diameter::check::check(&answer).unwrap();
            answer.find(avp::CC_SESSION_FAILOVER).is_some_and(|avp| avp.u32() == Ok(1))
        });
        assert_eq!(said, expected, "{has_others} {result}");
    }
}
