//! Credit pools (RFC 8506, section 5.1.2): the units that a session's services were granted, weighed and
//! added up, are one sum S, which any of them may use: the pool is exhausted when C1 M1 + C2 M2 + … reaches
//! it.

use super::ShardUnderTest;
use super::bench::{SECOND, asks, plain};
use crate::config::Config;
use crate::request::{ServiceContext, Weights};
use crate::snapshot;
use crate::tariff::{Hours, Rate, Rates, Tariff, Tariffs};
use crate::{Answer, Kind, Request, Service, ServiceAnswer, Units};
use std::sync::Arc;

const MB: u64 = 1_000_000;
/// What 1 for each begun million octets and 1 for each begun minute come to.
const PRICES: Weights = Weights { time: 16_666_667, octets: 1_000, specific: 0 };

fn shard_under_test(balance: i64, credit_pool: bool) -> ShardUnderTest {
    let mut shard_under_test = ShardUnderTest::new(Config { credit_pool, ..Config::default() });
    shard_under_test.ask(&plain(Kind::Create { balance, limit: 0 }));
    shard_under_test
}

fn ask(
    shard_under_test: &mut ShardUnderTest,
    kind: Kind,
    number: u32,
    services: &[Service],
) -> (Answer, Vec<ServiceAnswer>) {
    let request = Request { session: ShardUnderTest::session("s"), number, services, ..plain(kind) };
    let answer = shard_under_test.ask(&request);
    shard_under_test.check();
    answer
}

fn group(rating_group: u32, used: Option<Units>, requested: Option<Units>) -> Service {
    Service { rating_group: Some(rating_group), used, requested, ..Service::default() }
}

/// Group 1 gets 5 MB and group 2 five minutes, which is all the money.
fn five_and_five(shard_under_test: &mut ShardUnderTest) -> Vec<ServiceAnswer> {
    let both = [group(1, None, Some(Units::octets(5 * MB))), group(2, None, Some(Units::time(300)))];
    let (_, services) = ask(shard_under_test, Kind::Initial, 0, &both);
    assert_eq!(shard_under_test.balance(), (10, 10));
    services
}

fn shortfall(shard_under_test: &ShardUnderTest) -> i64 {
    shard_under_test.entries().iter().flat_map(|entry| &entry.services).map(|service| service.shortfall).sum()
}

#[test]
fn each_grant_tells_how_much_of_the_pool_a_unit_takes() {
    let told: Vec<Weights> =
        five_and_five(&mut shard_under_test(10, true)).iter().map(|service| service.terms.pool).collect();
    assert_eq!(told, [Weights { time: 0, ..PRICES }, Weights { octets: 0, ..PRICES }]);
    let alone = five_and_five(&mut shard_under_test(10, false));
    assert!(alone.iter().all(|service| service.terms.pool == Weights::default()));
}

#[test]
fn a_service_may_use_what_another_one_was_granted() {
    for (credit_pool, posted, owed) in [(true, 1, 0), (false, 4, 3)] {
        let mut shard_under_test = shard_under_test(10, credit_pool);
        five_and_five(&mut shard_under_test);
        let used = [group(1, Some(Units::octets(8 * MB)), None), group(2, Some(Units::time(60)), None)];
        ask(&mut shard_under_test, Kind::Terminate, 1, &used);
        assert_eq!(
            (shard_under_test.balance(), shortfall(&shard_under_test)),
            ((posted, 0), owed),
            "{credit_pool}"
        );
    }
}

#[test]
fn what_the_pool_holds_for_a_service_that_is_not_named_pays_too_and_is_less_from_then_on() {
    let mut shard_under_test = shard_under_test(10, true);
    five_and_five(&mut shard_under_test);
    let first = [group(1, Some(Units::octets(8 * MB)), Some(Units::octets(MB)))];
    let (answer, services) = ask(&mut shard_under_test, Kind::Update, 1, &first);
    assert_eq!((answer.result, services.len(), services[0].result), (2001, 1, 4012));
    assert_eq!((shard_under_test.balance(), shortfall(&shard_under_test)), ((2, 2), 0));
    ask(&mut shard_under_test, Kind::Terminate, 2, &[group(2, Some(Units::time(120)), None)]);
    assert_eq!((shard_under_test.balance(), shortfall(&shard_under_test)), ((0, 0), 0));
}

#[test]
fn nothing_new_is_granted_before_all_that_was_used_is_paid() {
    let mut shard_under_test = shard_under_test(10, true);
    five_and_five(&mut shard_under_test);
    let both = [
        group(1, None, Some(Units::octets(5 * MB))),
        group(2, Some(Units::time(600)), Some(Units::time(60))),
    ];
    let (_, services) = ask(&mut shard_under_test, Kind::Update, 1, &both);
    assert_eq!(services.iter().map(|service| service.result).collect::<Vec<_>>(), [4012, 4012]);
    assert_eq!((shard_under_test.balance(), shortfall(&shard_under_test)), ((0, 0), 0));
}

#[test]
fn more_than_the_pool_is_on_record_as_never_paid() {
    let mut shard_under_test = shard_under_test(10, true);
    five_and_five(&mut shard_under_test);
    ask(&mut shard_under_test, Kind::Terminate, 1, &[group(1, Some(Units::octets(12 * MB)), None)]);
    assert_eq!((shard_under_test.balance(), shortfall(&shard_under_test)), ((0, 0), 2));
}

#[test]
fn a_service_that_shares_nothing_with_others_is_not_of_the_pool() {
    let free = Rates { octets: Rate { price: 0, per: 1 }, ..Rates::BUILT_IN };
    let at_night = Hours { from_minute: 0, to_minute: 17, weekdays: 0x7f, offset_minutes: 0 };
    let tariff = |rating_group, hours, rates| Tariff {
        context: None,
        rating_group: Some(rating_group),
        class: None,
        prefix: Default::default(),
        hours,
        rates,
    };
    let tariffs = vec![tariff(7, None, free), tariff(8, Some(at_night), Rates::BUILT_IN)];
    let tariffs = Tariffs::new(tariffs, Some(Rates::BUILT_IN)).unwrap();
    for (what, service) in [
        ("without a rating group", asks(Units::octets(1))),
        ("money costs itself", group(1, None, Some(Units::money(1)))),
        ("free of charge", group(7, None, Some(Units::octets(1)))),
        ("under either of two tariffs", group(8, None, Some(Units::octets(1)))),
    ] {
        let mut shard_under_test =
            ShardUnderTest::new(Config { credit_pool: true, tariffs: tariffs.clone(), ..Config::default() });
        shard_under_test.ask(&plain(Kind::Create { balance: 10, limit: 0 }));
        let (_, services) = ask(&mut shard_under_test, Kind::Initial, 0, &[service]);
        assert_eq!((services[0].result, services[0].terms.pool), (2001, Weights::default()), "{what}");
    }
    let mut shard_under_test = shard_under_test(10, true);
    let context = ServiceContext::SMS;
    shard_under_test.ask(&plain(Kind::AddBundle { units: 5, context, expires_s: 100_000 }));
    let (_, services) =
        ask(&mut shard_under_test, Kind::Initial, 0, &[group(1, None, Some(Units::specific(2)))]);
    assert_eq!((services[0].result, services[0].terms.pool), (2001, Weights::default()), "of a bundle");
}

#[test]
fn a_snapshot_has_the_pools() {
    let mut shard_under_test = shard_under_test(10, true);
    five_and_five(&mut shard_under_test);
    shard_under_test.pass(SECOND);
    let octets = shard_under_test.shard.freeze(9_000).encode(Vec::new()).unwrap();
    let thawed =
        snapshot::decode(&octets, super::bench::KEY, Arc::clone(&shard_under_test.config)).unwrap().shard;
    let id = ShardUnderTest::session("s");
    assert_eq!(thawed.sessions.find(&id), shard_under_test.shard.sessions.find(&id));
    assert!(thawed.sessions.find(&id).unwrap().has_pool());
}

#[test]
fn weights_are_prices_in_billionths_rounded_up() {
    let rates = |price, per| Rates { time_s: Rate { price, per }, ..Rates::BUILT_IN };
    for (price, per, weight) in [
        (2, 60, Some(33_333_334)),
        (20, 1, Some(20_000_000_000)),
        (1, 2_000_000_000, Some(1)),
        (0, 60, None),
        (i64::MAX, 1, None),
    ] {
        let time = rates(price, per).weights(&Units::time(1)).map(|weights| weights.time);
        assert_eq!(time, weight, "{price} for {per}");
    }
}
