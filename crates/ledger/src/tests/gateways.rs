//! Sessions as gateways in the field have them: reports of time beside volume, more used than was granted,
//! amounts left open, requests that overtake each other, and numbers counted wrongly.

use super::ShardUnderTest;
use super::bench::plain;
use crate::config::Quota;
use crate::request::ServiceContext;
use crate::tariff::{Rates, Tariff, Tariffs};
use crate::tariff_spec::{Price, TariffSpec};
use crate::{Answer, Config, Kind, Request, Service, ServiceAnswer, Units};

const DATA: ServiceContext = ServiceContext(32_251);
const CALLS: ServiceContext = ServiceContext(32_260);
const MEGABYTE: u64 = 1_000_000;

fn price(price: i64, per: u64) -> Option<Price> {
    Some(Price { price, per })
}

/// 5 for each begun megabyte, and no word of anything else.
fn octets_alone() -> TariffSpec {
    TariffSpec { octets: price(5, MEGABYTE), ..TariffSpec::default() }
}

fn shard(balance: i64, tariffs: &[TariffSpec], quota: Quota) -> ShardUnderTest {
    let tariffs: Vec<Tariff> = tariffs.iter().map(|spec| spec.read().unwrap()).collect();
    let tariffs = Tariffs::new(tariffs, Some(Rates::BUILT_IN)).unwrap();
    let mut shard_under_test = ShardUnderTest::new(Config { tariffs, quota, ..Config::default() });
    shard_under_test.ask(&plain(Kind::Create { balance, limit: 0 }));
    shard_under_test
}

fn ask(
    shard: &mut ShardUnderTest,
    kind: Kind,
    number: u32,
    services: &[Service],
) -> (Answer, Vec<ServiceAnswer>) {
    let session = ShardUnderTest::session("s");
    let answer = shard.ask(&Request { session, number, services, context: DATA, ..plain(kind) });
    shard.check();
    answer
}

fn reports(used: Units, requested: Option<Units>) -> Service {
    Service { rating_group: Some(1), used: Some(used), requested, ..Service::default() }
}

fn asks(units: Units) -> Service {
    Service { rating_group: Some(1), requested: Some(units), ..Service::default() }
}

fn both(octets: u64, time_s: u32) -> Units {
    Units { present: Units::OCTETS | Units::TIME, octets, time_s, ..Units::default() }
}

#[test]
fn what_was_not_granted_or_has_no_price_costs_nothing_beside_what_was_and_has() {
    let unpriced = TariffSpec::default();
    let both_priced = TariffSpec { seconds: price(1, 60), ..octets_alone() };
    for (what, tariff, granted, used, cost) in [
        ("time beside octets", &octets_alone(), Units::octets(MEGABYTE), both(MEGABYTE, 1_800), 5),
        (
            "the same without a tariff of its own",
            &unpriced,
            Units::octets(MEGABYTE),
            both(MEGABYTE, 1_800),
            1,
        ),
        (
            "both are granted, one has a price",
            &octets_alone(),
            both(MEGABYTE, 1_800),
            both(MEGABYTE, 1_800),
            5,
        ),
        ("both are granted, both have", &both_priced, both(MEGABYTE, 1_800), both(MEGABYTE, 1_800), 35),
        ("one is granted, both have", &both_priced, Units::time(1_800), both(MEGABYTE, 1_800), 30),
        ("alone it pays the usual price", &octets_alone(), Units::time(1_800), Units::time(1_800), 30),
        ("what was never granted at all", &octets_alone(), Units::octets(MEGABYTE), Units::time(1_800), 0),
    ] {
        let mut shard = shard(1_000, std::slice::from_ref(tariff), Quota::default());
        let (_, services) = ask(&mut shard, Kind::Initial, 0, &[asks(granted)]);
        assert_eq!(services[0].granted, granted, "{what}");
        ask(&mut shard, Kind::Update, 1, &[reports(used, Some(granted))]);
        assert_eq!(shard.balance().0, 1_000 - cost, "{what}");
        ask(&mut shard, Kind::Terminate, 2, &[reports(used, None)]);
        assert_eq!(shard.balance(), (1_000 - 2 * cost, 0), "{what}, twice");
    }
}

#[test]
fn nothing_is_granted_of_a_step_that_nobody_paid() {
    let mut shard = shard(5, &[octets_alone()], Quota::default());
    ask(&mut shard, Kind::Initial, 0, &[asks(Units::octets(MEGABYTE))]);
    let mut used = MEGABYTE + 1_400;
    for number in 1..4 {
        let report = reports(Units::octets(used), Some(Units::octets(MEGABYTE)));
        let (_, services) = ask(&mut shard, Kind::Update, number, &[report]);
        assert_eq!((services[0].result, services[0].granted), (4012, Units::default()), "{number}");
        used = 1_400;
    }
    assert_eq!(shard.balance(), (0, 0));
    // With money the next unit begins a step of its own.
    shard.ask(&plain(Kind::TopUp { amount: 5 }));
    let (_, services) = ask(&mut shard, Kind::Update, 4, &[asks(Units::octets(2 * MEGABYTE))]);
    assert_eq!((services[0].granted, services[0].is_final), (Units::octets(MEGABYTE), true));
    assert_eq!(shard.balance(), (5, 5));
}

#[test]
fn an_amount_that_is_left_open_is_granted_in_the_units_of_the_tariff() {
    let calls =
        TariffSpec { context: Some("32260@3gpp.org".into()), seconds: price(2, 60), ..TariffSpec::default() };
    let messages = TariffSpec { unit: price(3, 1), ..TariffSpec::default() };
    let quota = Quota::default();
    for (what, tariffs, context, granted) in [
        ("the tariff's octets", vec![octets_alone()], DATA, Units::octets(10_000_000)),
        ("also elsewhere", vec![octets_alone()], ServiceContext::SMS, Units::octets(10_000_000)),
        ("the tariff's seconds", vec![calls], CALLS, Units::time(600)),
        ("the tariff's units", vec![messages], DATA, Units::specific(1)),
        ("what is usual of data", vec![], DATA, Units::octets(10_000_000)),
        ("what is usual of calls", vec![], CALLS, Units::time(600)),
        ("what is usual of messages", vec![], ServiceContext::SMS, Units::specific(1)),
    ] {
        let mut shard = shard(1_000, &tariffs, quota);
        let services = [asks(Units::default())];
        let session = ShardUnderTest::session(what);
        let request = Request { session, services: &services, context, ..plain(Kind::Initial) };
        assert_eq!(shard.ask(&request).1[0].granted, granted, "{what}");
        shard.check();
    }
}

#[test]
fn no_grant_is_larger_than_the_bound_and_that_is_not_the_end_of_the_money() {
    let at_most =
        Units { time_s: 60, ..Units { present: Units::OCTETS | Units::TIME, ..Units::octets(500) } };
    for (asked, granted) in [
        (Units::octets(501), Units::octets(500)),
        (Units::octets(499), Units::octets(499)),
        (Units::time(61), Units::time(60)),
        (Units::specific(1_000), Units::specific(1_000)),
        (Units::default(), Units::octets(500)),
    ] {
        let mut shard = shard(100_000, &[], Quota { at_most, ..Quota::default() });
        let (_, services) = ask(&mut shard, Kind::Initial, 0, &[asks(asked)]);
        assert_eq!((services[0].granted, services[0].is_final), (granted, false), "{asked:?}");
    }
}

#[test]
fn an_end_under_a_number_that_was_there_ends_the_session_once() {
    let mut shard = shard(1_000, &[octets_alone()], Quota::default());
    let one = Units::octets(MEGABYTE);
    ask(&mut shard, Kind::Initial, 0, &[asks(one)]);
    ask(&mut shard, Kind::Update, 3, &[reports(one, Some(one))]);
    for number in [3, 0] {
        let (answer, _) = ask(&mut shard, Kind::Terminate, number, &[reports(one, None)]);
        let is_first = number == 3;
        assert_eq!((answer.result, answer.is_duplicate), (if is_first { 2001 } else { 5002 }, false));
    }
    assert!(ask(&mut shard, Kind::Terminate, 3, &[reports(one, None)]).0.is_duplicate);
    assert_eq!((shard.balance(), shard.shard.sessions().0), ((990, 0), 0));
}

#[test]
fn the_end_is_paid_with_what_is_held_for_services_that_it_does_not_name() {
    let mut shard = shard(5, &[octets_alone()], Quota::default());
    let named = Service { service_id: Some(7), ..asks(Units::octets(MEGABYTE)) };
    ask(&mut shard, Kind::Initial, 0, &[named]);
    assert_eq!(shard.balance(), (5, 5));
    ask(&mut shard, Kind::Terminate, 1, &[reports(Units::octets(MEGABYTE), None)]);
    assert_eq!(shard.balance(), (0, 0));
}

#[test]
fn updates_that_overtake_each_other_are_all_taken_and_each_once() {
    let mut shard = shard(1_000, &[octets_alone()], Quota::default());
    let one = Units::octets(MEGABYTE);
    ask(&mut shard, Kind::Initial, 10, &[asks(one)]);
    for number in [13, 11, 12, 100, 99, 37, 36, 101] {
        let (answer, _) = ask(&mut shard, Kind::Update, number, &[reports(one, Some(one))]);
        assert_eq!((answer.result, answer.is_duplicate), (2001, false), "{number}");
        assert!(ask(&mut shard, Kind::Update, number, &[reports(one, Some(one))]).0.is_duplicate, "{number}");
        // Another report under the same number is no request that was there, and none that is awaited.
        let other = [reports(Units::octets(1), Some(one))];
        assert_eq!(ask(&mut shard, Kind::Update, number, &other).0.result, 5004, "{number}");
    }
    assert_eq!(shard.balance(), (1_000 - 8 * 5, 5));
    // Lower than the first, the first itself, and so far behind that nobody knows any more.
    for number in [9, 10, 35] {
        let (answer, _) = ask(&mut shard, Kind::Update, number, &[reports(one, Some(one))]);
        assert_eq!((answer.result, answer.is_duplicate), (5004, false), "{number}");
    }
}
