use super::ShardUnderTest;
use super::bench::{SECOND, asks, plain};
use crate::config::{Config, FinalAction};
use crate::tariff::{Hours, Rate, Rates, Tariff, Tariffs};
use crate::{Answer, Kind, Request, Service, ServiceAnswer, Terms, Units};

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

fn uses(used: Units, requested: Option<Units>) -> Service {
    Service { used: Some(used), requested, ..Service::default() }
}

fn group(rating_group: u32, service: Service) -> Service {
    Service { rating_group: Some(rating_group), ..service }
}

#[test]
fn a_session_reserves_takes_what_was_used_and_frees_the_rest() {
    let mut shard_under_test = ShardUnderTest::with_account(100);
    let (answer, services) = ask(&mut shard_under_test, Kind::Initial, 0, &[asks(Units::time(600))]);
    assert_eq!((answer.result, services[0].granted, services[0].validity_s), (2001, Units::time(600), 3_600));
    assert_eq!(shard_under_test.balance(), (100, 10));
    ask(&mut shard_under_test, Kind::Update, 1, &[uses(Units::time(600), Some(Units::time(600)))]);
    assert_eq!(shard_under_test.balance(), (90, 10));
    let (answer, _) = ask(&mut shard_under_test, Kind::Terminate, 2, &[uses(Units::time(61), None)]);
    assert_eq!(
        (answer.result, shard_under_test.balance(), shard_under_test.shard.sessions().0),
        (2001, (88, 0), 0)
    );
}

#[test]
fn reports_of_one_rating_group_are_rounded_once() {
    let mut shard_under_test = ShardUnderTest::with_account(100);
    ask(&mut shard_under_test, Kind::Initial, 0, &[asks(Units::time(60))]);
    for number in 1..=10 {
        ask(&mut shard_under_test, Kind::Update, number, &[uses(Units::time(6), Some(Units::time(60)))]);
    }
    assert_eq!(shard_under_test.balance().0, 99);
    ask(&mut shard_under_test, Kind::Terminate, 11, &[uses(Units::time(1), None)]);
    assert_eq!(shard_under_test.balance(), (98, 0));
}

#[test]
fn less_money_than_asked_for_grants_what_it_pays_and_says_that_it_is_the_last() {
    let mut shard_under_test = ShardUnderTest::with_account(3);
    let (_, services) =
        ask(&mut shard_under_test, Kind::Initial, 0, &[group(1, asks(Units::octets(10_000_000)))]);
    assert_eq!((services[0].granted, services[0].is_final), (Units::octets(3_000_000), true));
    let (answer, services) = ask(
        &mut shard_under_test,
        Kind::Update,
        1,
        &[group(1, uses(Units::octets(3_000_000), Some(Units::octets(1))))],
    );
    assert_eq!((answer.result, services[0].result, services[0].granted), (2001, 4012, Units::default()));
    // After a top-up the session goes on.
    shard_under_test.ask(&plain(Kind::TopUp { amount: 5 }));
    let (_, services) = ask(&mut shard_under_test, Kind::Update, 2, &[group(1, asks(Units::octets(1)))]);
    assert_eq!((services[0].result, services[0].granted), (2001, Units::octets(1)));
}

#[test]
fn with_redirection_nothing_is_granted_finally_and_the_session_lives_on() {
    let mut shard_under_test = ShardUnderTest::new(Config { zero_grant: true, ..Config::default() });
    shard_under_test.ask(&plain(Kind::Create { balance: 0, limit: 0 }));
    let (answer, services) = ask(&mut shard_under_test, Kind::Initial, 0, &[asks(Units::octets(1))]);
    assert_eq!((answer.result, services[0].granted.octets, services[0].is_final), (2001, 0, true));
    assert_eq!((services[0].validity_s, shard_under_test.shard.sessions().0), (3_600, 1));
}

#[test]
fn more_used_than_granted_takes_no_more_than_there_is_and_records_the_rest() {
    let mut shard_under_test = ShardUnderTest::with_account(5);
    ask(&mut shard_under_test, Kind::Initial, 0, &[asks(Units::specific(2))]);
    ask(&mut shard_under_test, Kind::Terminate, 1, &[uses(Units::specific(9), None)]);
    assert_eq!(
        (shard_under_test.balance(), shard_under_test.entries().last().unwrap().services[0].shortfall),
        ((0, 0), 4)
    );
}

#[test]
fn two_services_share_one_balance() {
    let mut shard_under_test = ShardUnderTest::with_account(5);
    let services = [group(1, asks(Units::specific(3))), group(2, asks(Units::specific(3)))];
    let (_, answers) = ask(&mut shard_under_test, Kind::Initial, 0, &services);
    assert_eq!((answers[0].granted.specific, answers[1].granted.specific, answers[1].is_final), (3, 2, true));
    assert_eq!(shard_under_test.balance(), (5, 5));
    // One of them ends; the other keeps its reservation until the session ends.
    ask(&mut shard_under_test, Kind::Update, 1, &[group(1, uses(Units::specific(1), None))]);
    assert_eq!(shard_under_test.balance(), (4, 2));
    ask(&mut shard_under_test, Kind::Terminate, 2, &[]);
    assert_eq!(shard_under_test.balance(), (4, 0));
}

#[test]
fn a_service_named_twice_in_one_request_is_refused_and_moves_nothing() {
    let mut shard_under_test = ShardUnderTest::with_account(5);
    let twice = [group(1, asks(Units::specific(1))), group(1, asks(Units::specific(1)))];
    assert_eq!(ask(&mut shard_under_test, Kind::Initial, 0, &twice).0.result, 5004);
    assert_eq!((shard_under_test.balance(), shard_under_test.shard.sessions().0), ((5, 0), 0));
}

#[test]
fn an_update_after_the_end_and_one_of_an_unknown_session_are_refused() {
    let mut shard_under_test = ShardUnderTest::with_account(5);
    assert_eq!(ask(&mut shard_under_test, Kind::Update, 1, &[]).0.result, 5002);
    ask(&mut shard_under_test, Kind::Initial, 2, &[]);
    ask(&mut shard_under_test, Kind::Terminate, 3, &[]);
    assert_eq!(ask(&mut shard_under_test, Kind::Update, 4, &[]).0.result, 5002);
    assert_eq!(ask(&mut shard_under_test, Kind::Terminate, 5, &[]).0.result, 5002);
}

#[test]
fn a_request_with_a_lower_number_that_nobody_remembers_is_refused() {
    let mut shard_under_test = ShardUnderTest::with_account(5);
    ask(&mut shard_under_test, Kind::Initial, 5, &[asks(Units::specific(1))]);
    assert_eq!(ask(&mut shard_under_test, Kind::Update, 4, &[asks(Units::specific(1))]).0.result, 5004);
    assert_eq!(shard_under_test.balance(), (5, 1));
}

#[test]
fn a_session_that_is_begun_again_lets_go_of_what_it_held() {
    let mut shard_under_test = ShardUnderTest::with_account(5);
    ask(&mut shard_under_test, Kind::Initial, 0, &[group(1, asks(Units::specific(5)))]);
    let (_, services) = ask(&mut shard_under_test, Kind::Initial, 1, &[group(2, asks(Units::specific(4)))]);
    assert_eq!(
        (services[0].granted.specific, shard_under_test.balance(), shard_under_test.shard.sessions().0),
        (4, (5, 4), 1)
    );
}

#[test]
fn an_initial_that_is_refused_takes_nothing_that_an_earlier_one_holds() {
    let mut shard_under_test = ShardUnderTest::with_account(5);
    ask(&mut shard_under_test, Kind::Initial, 0, &[asks(Units::specific(4))]);
    let (answer, _) =
        ask(&mut shard_under_test, Kind::Initial, 1, &[uses(Units::specific(5), Some(Units::money(-1)))]);
    assert_eq!(
        (answer.result, shard_under_test.balance(), shard_under_test.shard.sessions().0),
        (5031, (5, 4), 1)
    );
}

#[test]
fn an_initial_that_is_refused_leaves_no_session() {
    let mut shard_under_test = ShardUnderTest::with_account(0);
    assert_eq!(ask(&mut shard_under_test, Kind::Initial, 0, &[asks(Units::specific(1))]).0.result, 4012);
    assert_eq!((shard_under_test.shard.sessions().0, shard_under_test.balance()), (0, (0, 0)));
}

#[test]
fn a_blocked_account_pays_what_was_used_and_gets_nothing_new() {
    let mut shard_under_test = ShardUnderTest::with_account(10);
    ask(&mut shard_under_test, Kind::Initial, 0, &[asks(Units::specific(2))]);
    shard_under_test.ask(&plain(Kind::Block { blocked: true }));
    let (answer, _) =
        ask(&mut shard_under_test, Kind::Update, 1, &[uses(Units::specific(2), Some(Units::specific(1)))]);
    assert_eq!((answer.result, shard_under_test.balance()), (4010, (8, 0)));
    assert_eq!(shard_under_test.debit("e", Units::specific(1)).result, 4010);
    shard_under_test.ask(&plain(Kind::Block { blocked: false }));
    assert_eq!(shard_under_test.debit("f", Units::specific(1)).result, 2001);
}

#[test]
fn ten_thousand_sessions_that_nobody_ends_are_released_after_tcc_and_their_memory_too() {
    let mut shard_under_test = ShardUnderTest::with_account(1_000_000);
    let services = [asks(Units::specific(2))];
    for i in 0..10_000 {
        let session = ShardUnderTest::session(&format!("s{i}"));
        shard_under_test.ask(&Request { session, services: &services, ..plain(Kind::Initial) });
    }
    let room = shard_under_test.shard.sessions().1;
    shard_under_test.pass(7_199 * SECOND);
    assert_eq!(
        (shard_under_test.balance(), shard_under_test.shard.sessions().0),
        ((1_000_000, 20_000), 10_000)
    );
    shard_under_test.pass(2 * SECOND);
    let (open, room_after) = shard_under_test.shard.sessions();
    assert_eq!((shard_under_test.balance(), open), ((1_000_000, 0), 0));
    assert!(room_after * 4 < room, "{room_after} of {room}");
    shard_under_test.check();
}

#[test]
fn an_update_gives_a_session_its_time_again() {
    let mut shard_under_test = ShardUnderTest::with_account(10);
    ask(&mut shard_under_test, Kind::Initial, 0, &[asks(Units::specific(1))]);
    shard_under_test.pass(7_000 * SECOND);
    ask(&mut shard_under_test, Kind::Update, 1, &[uses(Units::specific(1), Some(Units::specific(1)))]);
    shard_under_test.pass(7_000 * SECOND);
    assert_eq!((shard_under_test.shard.sessions().0, shard_under_test.balance()), (1, (9, 1)));
    shard_under_test.pass(300 * SECOND);
    assert_eq!((shard_under_test.shard.sessions().0, shard_under_test.balance()), (0, (9, 0)));
}

#[test]
fn a_duplicate_of_a_sessions_request_gets_its_first_answer_for_four_minutes() {
    let mut shard_under_test = ShardUnderTest::with_account(3);
    let first = ask(&mut shard_under_test, Kind::Initial, 0, &[asks(Units::specific(5))]);
    let update =
        ask(&mut shard_under_test, Kind::Update, 1, &[uses(Units::specific(1), Some(Units::specific(1)))]);
    shard_under_test.pass(239 * SECOND);
    for (kind, number, services, (answer, granted)) in [
        (Kind::Initial, 0, asks(Units::specific(5)), &first),
        (Kind::Update, 1, uses(Units::specific(1), Some(Units::specific(1))), &update),
    ] {
        let (again, services) = ask(&mut shard_under_test, kind, number, &[services]);
        assert_eq!((again.is_duplicate, again.result, &services), (true, answer.result, granted));
    }
    assert_eq!(shard_under_test.balance(), (2, 1));
}

#[test]
fn bundles_are_used_before_money_and_only_until_they_expire() {
    let mut shard_under_test = ShardUnderTest::with_account(10);
    let expires_s = (shard_under_test.now_us / SECOND) as u32 + 100;
    let context = plain(Kind::Debit).context;
    shard_under_test.ask(&plain(Kind::AddBundle { units: 5, context, expires_s }));
    assert_eq!(
        (shard_under_test.debit("a", Units::specific(3)).cost, shard_under_test.balance()),
        (0, (10, 0))
    );
    ask(&mut shard_under_test, Kind::Initial, 0, &[asks(Units::specific(3))]);
    // Two units of the bundle and one of money are reserved: nothing of the bundle is left for another.
    assert_eq!(shard_under_test.balance(), (10, 1));
    assert_eq!(shard_under_test.debit("b", Units::specific(1)).cost, 1);
    ask(&mut shard_under_test, Kind::Terminate, 1, &[uses(Units::specific(3), None)]);
    assert_eq!(shard_under_test.balance(), (8, 0));
    shard_under_test.ask(&plain(Kind::AddBundle { units: 5, context, expires_s }));
    shard_under_test.pass(101 * SECOND);
    assert_eq!(shard_under_test.debit("c", Units::specific(1)).cost, 1);
    shard_under_test.check();
}

/// One begun step of 1,000,000 octets costs 1 from 06:00 to 18:00 and 10 at night, in UTC.
fn day_and_night() -> Config {
    let rates = |price| Rates { octets: Rate { price, per: 1_000_000 }, ..Rates::BUILT_IN };
    let hours = |from: u16, to: u16| {
        Some(Hours { from_minute: from * 60, to_minute: to * 60, weekdays: 0x7f, offset_minutes: 0 })
    };
    let tariff = |hours, price| Tariff {
        context: None,
        rating_group: None,
        class: None,
        prefix: Default::default(),
        hours,
        rates: rates(price),
    };
    let all = vec![tariff(hours(6, 18), 1), tariff(hours(18, 6), 10)];
    Config { tariffs: Tariffs::new(all, None).unwrap(), validity_s: 3_600, ..Config::default() }
}

#[test]
fn a_grant_tells_when_the_tariff_changes_and_what_was_used_before_and_after_is_priced_apart() {
    const MB: u64 = 1_000_000;
    let mut shard_under_test = ShardUnderTest::new(day_and_night());
    shard_under_test.ask(&plain(Kind::Create { balance: 100, limit: 0 }));
    // Four in the afternoon: for the next hour the day's price holds.
    shard_under_test.pass(16 * 3_600 * SECOND - shard_under_test.now_us);
    let (_, services) =
        ask(&mut shard_under_test, Kind::Initial, 0, &[group(1, asks(Units::octets(5 * MB)))]);
    assert_eq!((services[0].granted, services[0].terms.tariff_change_s), (Units::octets(5 * MB), 0));
    assert_eq!(shard_under_test.balance(), (100, 5));
    // Half past five: at six the night begins. What is granted can be paid whenever it is used.
    shard_under_test.pass(90 * 60 * SECOND);
    let report = group(1, uses(Units::octets(2 * MB), Some(Units::octets(20 * MB))));
    let (_, services) = ask(&mut shard_under_test, Kind::Update, 1, &[report]);
    assert_eq!(services[0].terms.tariff_change_s, 18 * 3_600);
    assert_eq!((services[0].granted, services[0].is_final), (Units::octets(9 * MB), true));
    assert_eq!(shard_under_test.balance(), (98, 90));
    // A quarter past six: three before, two and a half after.
    shard_under_test.pass(45 * 60 * SECOND);
    let before = Service { is_before_change: true, ..group(1, uses(Units::octets(3 * MB), None)) };
    let after = group(1, uses(Units::octets(2 * MB + MB / 2), Some(Units::octets(MB))));
    let (answer, services) = ask(&mut shard_under_test, Kind::Update, 2, &[before, after]);
    assert_eq!((answer.result, services.len(), services[0].granted), (2001, 1, Units::octets(MB)));
    assert_eq!(services[0].terms.tariff_change_s, 0);
    // What was begun of the night's third million pays for a part of what is granted.
    assert_eq!(shard_under_test.balance(), (98 - 3 - 30, 10));
    let entry = shard_under_test.entries().pop().unwrap();
    let parts: Vec<_> =
        entry.services.iter().map(|part| (part.is_part, part.tariff, part.used, part.cost)).collect();
    assert_eq!(
        parts,
        [(true, 1, Units::octets(3 * MB), 3), (false, 2, Units::octets(2 * MB + MB / 2), 30)],
        "each has a record of its own"
    );
    // The same again says the same.
    let session = ShardUnderTest::session("s");
    let (again, repeated) = shard_under_test.ask(&Request {
        session,
        number: 2,
        services: &[before, after],
        ..plain(Kind::Update)
    });
    assert!(again.is_duplicate && repeated == services);
    // A part without its service is nothing.
    let (answer, _) = ask(&mut shard_under_test, Kind::Update, 3, &[before]);
    assert_eq!(answer.result, 5004);
    let (answer, _) = ask(&mut shard_under_test, Kind::Terminate, 4, &[]);
    assert_eq!((answer.result, shard_under_test.balance()), (2001, (65, 0)));
}

#[test]
fn a_grant_has_the_terms_of_the_rules() {
    let rules = Config {
        final_action: FinalAction::Redirect,
        zero_grant: true,
        threshold_percent: 20,
        holding_s: 600,
        ..Config::default()
    };
    let mut shard_under_test = ShardUnderTest::new(rules);
    shard_under_test.ask(&plain(Kind::Create { balance: 3, limit: 0 }));
    let (_, services) = ask(&mut shard_under_test, Kind::Initial, 0, &[group(1, asks(Units::specific(2)))]);
    let terms = Terms { threshold_percent: 20, holding_s: 600, ..Terms::default() };
    assert_eq!((services[0].is_final, services[0].terms), (false, terms));
    let report = group(1, uses(Units::specific(2), Some(Units::specific(2))));
    let (_, services) = ask(&mut shard_under_test, Kind::Update, 1, &[report]);
    assert_eq!((services[0].is_final, services[0].terms), (true, Terms { final_action: 1, ..terms }));
    let report = group(1, uses(Units::specific(1), Some(Units::specific(2))));
    let (_, services) = ask(&mut shard_under_test, Kind::Update, 2, &[report]);
    assert_eq!((services[0].result, services[0].granted.is_zero()), (2001, true));
    assert_eq!((services[0].is_final, services[0].validity_s), (true, 3_600));
    shard_under_test.ask(&plain(Kind::TopUp { amount: 5 }));
    let (_, services) = ask(&mut shard_under_test, Kind::Update, 3, &[group(1, asks(Units::specific(2)))]);
    assert_eq!((services[0].granted, services[0].is_final), (Units::specific(2), false));
}
