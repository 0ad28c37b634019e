use super::ShardUnderTest;
use super::bench::{asks, plain};
use crate::request::{Destination, ServiceContext};
use crate::tariff::{Hours, Rate, Rates, Target, Tariff, Tariffs};
use crate::tariff_spec::{Price, TariffSpec};
use crate::{Config, Kind, Ledger, Options, Request, RulesError, Units};

fn tariff(prefix: &str, price: i64) -> Tariff {
    let rate = Rate { price, per: 1 };
    Tariff {
        context: None,
        rating_group: None,
        class: None,
        prefix: Destination::parse(prefix.as_bytes()),
        hours: None,
        rates: Rates { time_s: rate, octets: rate, specific: rate, named: 0 },
    }
}

fn found(tariffs: &Tariffs, to: &str, rating_group: Option<u32>, now_us: u64) -> Option<u16> {
    let destination = Destination::parse(to.as_bytes());
    let target = Target { context: ServiceContext::SMS, class: 2, destination };
    tariffs.find(&target, rating_group, now_us).map(|(number, _)| number)
}

#[test]
fn the_longest_prefix_holds_and_among_equals_what_names_more() {
    let tariffs = Tariffs::new(
        vec![
            tariff("", 9),
            tariff("46", 3),
            tariff("4670", 2),
            Tariff { rating_group: Some(5), ..tariff("46", 4) },
            Tariff { class: Some(1), ..tariff("467", 4) },
            Tariff { context: Some(ServiceContext(32_251)), ..tariff("46709", 1) },
        ],
        Some(Rates::BUILT_IN),
    )
    .unwrap();
    for (to, rating_group, number) in [
        ("46701234567", None, 3),
        ("46801234567", None, 2),
        ("46801234567", Some(5), 4),
        ("4671", None, 2),
        ("46709", None, 3),
        ("47", None, 1),
        ("", None, 1),
    ] {
        assert_eq!(found(&tariffs, to, rating_group, 0), Some(number), "{to} {rating_group:?}");
    }
}

#[test]
fn hours_are_those_of_their_zone_and_may_pass_midnight() {
    // 2026-11-23 is a Monday.
    let at = |day: u64, hour: u64, minute: u64| ((20_780 + day) * 1_440 + hour * 60 + minute) * 60_000_000;
    let night = Hours { from_minute: 22 * 60, to_minute: 6 * 60, weekdays: 0b0001_1111, offset_minutes: 60 };
    for (day, hour, minute, is_night) in [
        (0, 20, 59, false), // Monday 21:59 there
        (0, 21, 0, true),
        (1, 4, 59, true), // Tuesday 05:59, of Monday's night
        (1, 5, 0, false),
        (4, 21, 0, true),  // Friday 22:00
        (5, 4, 59, true),  // Saturday 05:59, of Friday's night
        (5, 21, 0, false), // Saturday 22:00
        (7, 4, 0, false),  // Monday 05:00, of Sunday's night
    ] {
        assert_eq!(night.contain(at(day, hour, minute)), is_night, "day {day} {hour}:{minute}");
    }
    let tariffs = Tariffs::new(vec![Tariff { hours: Some(night), ..tariff("", 1) }], None).unwrap();
    assert_eq!(found(&tariffs, "1", None, at(0, 21, 0)), Some(1));
    assert_eq!(found(&tariffs, "1", None, at(0, 12, 0)), None);
}

#[test]
fn without_a_tariff_and_without_a_fallback_nothing_can_be_rated() {
    let tariffs = Tariffs::new(vec![tariff("46", 7)], None).unwrap();
    let mut shard_under_test = ShardUnderTest::new(Config { tariffs, ..Config::default() });
    shard_under_test.ask(&plain(Kind::Create { balance: 100, limit: 0 }));
    let services = [asks(Units::specific(2))];
    let request = Request { services: &services, ..plain(Kind::Debit) };
    assert_eq!(shard_under_test.ask(&request).0.result, 5031);
    let destination = Destination::parse(b"+46701234567");
    let (answer, _) = shard_under_test.ask(&Request { destination, ..request });
    assert_eq!((answer.result, answer.cost, shard_under_test.balance()), (2001, 14, (86, 0)));
}

#[test]
fn a_tariff_that_cannot_hold_is_refused_by_its_number() {
    let why = Tariffs::new(vec![tariff("1", 1), tariff("2", -1)], None).unwrap_err();
    assert!(why.starts_with("tariff 2:"), "{why}");
    let hours = Some(Hours { from_minute: 1_440, to_minute: 0, weekdays: 127, offset_minutes: 0 });
    assert!(Tariffs::new(vec![Tariff { hours, ..tariff("1", 1) }], None).is_err());
}

#[test]
fn less_than_no_money_is_never_affordable_whatever_was_used_before() {
    for used in [0, 1, 100] {
        assert_eq!(Rates::BUILT_IN.affordable(&Units::money(used), &Units::money(-1), 1_000), None, "{used}");
    }
}

#[test]
fn what_is_affordable_costs_no_more_than_the_budget_and_one_more_step_would() {
    let rates = Rates {
        time_s: Rate { price: 3, per: 60 },
        octets: Rate { price: 2, per: 1_000 },
        specific: Rate { price: 7, per: 1 },
        named: 0,
    };
    for used in [0, 1, 59, 60, 61, 3_600] {
        for budget in 0..30 {
            let (granted, cost) =
                rates.affordable(&Units::time(used), &Units::time(100_000), budget).unwrap();
            let next = Units::time(granted.time_s + 1);
            assert!(cost <= budget && rates.price_of_more(&Units::time(used), &next).unwrap() > budget);
            assert_eq!(rates.price_of_more(&Units::time(used), &granted), Some(cost));
        }
    }
}

#[test]
fn less_than_nothing_cannot_be_granted_whatever_was_used_before() {
    let less = Units { money: -1, ..Units::money(0) };
    assert_eq!(Rates::BUILT_IN.affordable(&Units::money(1), &less, 10), None);
}

#[test]
fn prices_of_the_api_stand_in_the_place_of_the_configs_until_they_are_taken_away() {
    let spec = |price| TariffSpec { unit: Some(Price { price, per: 1 }), ..TariffSpec::default() };
    let of = |spec: &TariffSpec| Tariffs::new(vec![spec.read().unwrap()], None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let usual = super::disk::options(folder.path());
    let config = |price| Config { tariffs: of(&spec(price)), ..usual.config.clone() };
    let options = Options { config: config(2), tariffs: vec![spec(2)], ..usual.clone() };
    let mut next = 0;
    let mut cost = |ledger: &Ledger| {
        next += 1;
        super::disk::debit(ledger, next..next + 1)[0].1.cost
    };
    let ledger = Ledger::open(&options).unwrap();
    assert_eq!((cost(&ledger), ledger.prices().are_configs), (2, true));
    let wrong = TariffSpec { prefix: "x".into(), ..spec(9) };
    let refused = ledger.set_prices(Some(vec![spec(9), wrong]));
    assert!(matches!(refused, Err(RulesError::Tariff(1, "prefix", _))), "{refused:?}");
    assert_eq!((cost(&ledger), ledger.prices().version), (2, 0));
    let set = ledger.set_prices(Some(vec![spec(5)])).unwrap();
    assert_eq!(
        (cost(&ledger), set.version, set.are_configs, &set.tariffs[..]),
        (5, 1, false, &[spec(5)][..])
    );
    // Another config changes them no more, and neither does a start.
    ledger.configure(&config(3), &[spec(3)]);
    assert_eq!(cost(&ledger), 5);
    ledger.stop();
    let ledger = Ledger::open(&options).unwrap();
    assert_eq!((cost(&ledger), ledger.prices()), (5, set));
    ledger.configure(&config(3), &[spec(3)]);
    let back = ledger.set_prices(None).unwrap();
    assert_eq!((cost(&ledger), back.are_configs, &back.tariffs[..]), (3, true, &[spec(3)][..]));
    ledger.stop();
}
