use super::ShardUnderTest;
use super::bench::{KEY, SECOND, asks, plain};
use crate::{Config, KeyKind, Kind, PackedKey, Request, Units, config::DefaultAccount};

#[test]
fn a_debit_takes_its_price_and_no_more_than_there_is() {
    let mut shard_under_test = ShardUnderTest::with_account(3);
    assert_eq!(
        (shard_under_test.debit("a", Units::specific(2)).result, shard_under_test.balance()),
        (2001, (1, 0))
    );
    assert_eq!(
        (shard_under_test.debit("b", Units::specific(2)).result, shard_under_test.balance()),
        (4012, (1, 0))
    );
    assert_eq!(
        (shard_under_test.debit("c", Units::specific(1)).result, shard_under_test.balance()),
        (2001, (0, 0))
    );
}

#[test]
fn begun_steps_of_time_and_octets_cost_whole_ones() {
    for (units, price) in [
        (Units::time(1), 1),
        (Units::time(60), 1),
        (Units::time(61), 2),
        (Units::octets(1_000_000), 1),
        (Units::octets(1_000_001), 2),
        (Units::money(17), 17),
        (Units::default(), 1),
    ] {
        let mut shard_under_test = ShardUnderTest::with_account(100);
        let answer = shard_under_test.debit("a", units);
        assert_eq!(
            (answer.result, answer.cost, shard_under_test.balance().0),
            (2001, price, 100 - price),
            "{units:?}"
        );
    }
}

#[test]
fn what_cannot_be_rated_is_refused_and_moves_nothing() {
    let mut shard_under_test = ShardUnderTest::with_account(100);
    assert_eq!(shard_under_test.debit("a", Units::money(-1)).result, 5031);
    assert_eq!(
        shard_under_test
            .debit(
                "b",
                Units { present: 15, time_s: 1, octets: u64::MAX, specific: u64::MAX, money: i64::MAX }
            )
            .result,
        5031
    );
    assert_eq!(shard_under_test.balance(), (100, 0));
}

#[test]
fn an_unknown_account_is_opened_where_the_rules_say_so_and_refused_elsewhere() {
    let mut shard_under_test = ShardUnderTest::new(Config::default());
    assert_eq!(shard_under_test.debit("a", Units::specific(1)).result, 5030);
    let default_account = Some(DefaultAccount { balance: 1_000_000, limit: 0 });
    let mut shard_under_test = ShardUnderTest::new(Config { default_account, ..Config::default() });
    assert_eq!(
        (shard_under_test.debit("a", Units::specific(1)).result, shard_under_test.balance()),
        (2001, (999_999, 0))
    );
}

#[test]
fn a_duplicate_gets_the_first_answer_and_debits_nothing() {
    let mut shard_under_test = ShardUnderTest::with_account(3);
    let services = [asks(Units::specific(2))];
    let request =
        Request { session: ShardUnderTest::session("a"), services: &services, ..plain(Kind::Debit) };
    let (first, granted) = shard_under_test.ask(&request);
    assert_eq!((first.result, first.is_duplicate, first.cost), (2001, false, 2));
    let (answer, services) = shard_under_test.ask(&request);
    assert_eq!((answer.is_duplicate, answer.result, answer.cost, &services), (true, 2001, 2, &granted));
    // A refusal is answered again as well, though there is money by now.
    let refused = Request { session: ShardUnderTest::session("c"), ..request };
    assert_eq!(shard_under_test.ask(&refused).0.result, 4012);
    shard_under_test.ask(&plain(Kind::TopUp { amount: 10 }));
    assert_eq!((shard_under_test.ask(&refused).0.result, shard_under_test.balance()), (4012, (11, 0)));
    assert_eq!(shard_under_test.shard.duplicates_found, 2);
}

#[test]
fn the_same_session_with_another_request_is_no_duplicate() {
    let mut shard_under_test = ShardUnderTest::with_account(20);
    let other = PackedKey::new(KEY, KeyKind::Imsi, b"240010000000001");
    shard_under_test.ask(&Request { account: other, ..plain(Kind::Create { balance: 20, limit: 0 }) });
    let (one, three) = ([asks(Units::specific(1))], [asks(Units::specific(3))]);
    let session = ShardUnderTest::session("always the same");
    let debit = Request { session, services: &one, ..plain(Kind::Debit) };
    for (request, cost, what) in [
        (debit, 1, "the first"),
        (Request { services: &three, ..debit }, 3, "another amount"),
        (Request { account: other, ..debit }, 1, "another account"),
        (Request { kind: Kind::PriceEnquiry, ..debit }, 1, "another action"),
        (Request { number: 1, ..debit }, 1, "another number"),
    ] {
        let answer = shard_under_test.ask(&request).0;
        assert_eq!((answer.result, answer.cost, answer.is_duplicate), (2001, cost, false), "{what}");
        let again = shard_under_test.ask(&request).0;
        assert_eq!((again.result, again.cost, again.is_duplicate), (2001, cost, true), "{what}, again");
    }
    assert_eq!(shard_under_test.balance(), (15, 0));
    shard_under_test.check();
}

#[test]
fn an_event_is_known_again_for_its_window_only() {
    let mut shard_under_test = ShardUnderTest::with_account(10);
    shard_under_test.debit("a", Units::specific(1));
    shard_under_test.pass(59 * SECOND);
    assert!(shard_under_test.debit("a", Units::specific(1)).is_duplicate);
}

#[test]
fn the_entry_of_an_event_has_150_octets_at_most() {
    let mut shard_under_test = ShardUnderTest::with_account(i64::MAX >> 4);
    let before = shard_under_test.log.len();
    let services = [crate::Service {
        rating_group: Some(u32::MAX),
        service_id: Some(u32::MAX),
        ..asks(Units { present: 15, time_s: u32::MAX, octets: 1 << 50, specific: 1 << 40, money: 1 << 50 })
    }];
    let destination = crate::request::Destination::parse(b"+9999999999999999");
    let request = Request {
        session: [u64::MAX; 2],
        number: u32::MAX,
        class: 255,
        destination,
        services: &services,
        ..plain(Kind::Debit)
    };
    assert_eq!(shard_under_test.ask(&request).1[0].result, 2001);
    let octets = shard_under_test.log.len() - before;
    assert!(octets <= 150, "{octets}");
}

#[test]
fn refunds_of_an_event_are_never_more_than_was_debited() {
    let mut shard_under_test = ShardUnderTest::with_account(10);
    shard_under_test.debit("a", Units::specific(5));
    let mut refund = |count: u64, of: Option<[u64; 2]>| {
        let services = [asks(Units::specific(count))];
        let (answer, _) =
            shard_under_test.ask(&Request { services: &services, ..plain(Kind::Refund { of }) });
        shard_under_test.check();
        (answer.result, shard_under_test.balance().0)
    };
    let event = Some(ShardUnderTest::session("a"));
    assert_eq!(refund(3, event), (2001, 8));
    assert_eq!(refund(3, event), (4010, 8));
    assert_eq!(refund(2, event), (2001, 10));
    assert_eq!(refund(1, event), (4010, 10));
    assert_eq!(refund(1, Some(ShardUnderTest::session("never"))), (4010, 10));
    // Without a name the rules bound each refund.
    assert_eq!(refund(100_000, None), (2001, 100_010));
    assert_eq!(refund(100_001, None), (4010, 100_010));
}

#[test]
fn an_enquiry_tells_and_moves_nothing() {
    let mut shard_under_test = ShardUnderTest::with_account(4);
    for (count, is_enough) in [(4, true), (5, false)] {
        let services = [asks(Units::specific(count))];
        let (answer, _) = shard_under_test.ask(&Request { services: &services, ..plain(Kind::CheckBalance) });
        assert_eq!((answer.result, answer.enough_credit), (2001, Some(is_enough)));
        let (answer, _) = shard_under_test.ask(&Request { services: &services, ..plain(Kind::PriceEnquiry) });
        assert_eq!((answer.result, answer.cost, answer.enough_credit), (2001, count as i64, None));
    }
    assert_eq!(shard_under_test.balance(), (4, 0));
    shard_under_test.check();
}

#[test]
fn a_limit_lets_the_balance_go_below_zero_so_far_and_no_further() {
    let mut shard_under_test = ShardUnderTest::with_account(1);
    assert_eq!(shard_under_test.ask(&plain(Kind::SetLimit { limit: 3 })).0.result, 2001);
    assert_eq!(
        (shard_under_test.debit("a", Units::specific(4)).result, shard_under_test.balance()),
        (2001, (-3, 0))
    );
    assert_eq!(shard_under_test.debit("b", Units::specific(1)).result, 4012);
    // A limit that is lowered below what is used gives nothing more until it is paid.
    assert_eq!(shard_under_test.ask(&plain(Kind::SetLimit { limit: 0 })).0.result, 2001);
    shard_under_test.ask(&plain(Kind::TopUp { amount: 3 }));
    assert_eq!(shard_under_test.debit("c", Units::specific(1)).result, 4012);
    shard_under_test.ask(&plain(Kind::TopUp { amount: 1 }));
    assert_eq!(
        (shard_under_test.debit("d", Units::specific(1)).result, shard_under_test.balance()),
        (2001, (0, 0))
    );
    assert_eq!(shard_under_test.ask(&plain(Kind::SetLimit { limit: -1 })).0.result, 5004);
    shard_under_test.check();
}

#[test]
fn amounts_that_would_leave_64_bits_are_refused() {
    let mut shard_under_test = ShardUnderTest::with_account(1 << 59);
    for amount in [i64::MAX, -1, 1 << 60] {
        assert_eq!(shard_under_test.ask(&plain(Kind::TopUp { amount })).0.result, 5004, "{amount}");
    }
    assert_eq!(shard_under_test.ask(&plain(Kind::Create { balance: 1, limit: 0 })).0.result, 5004);
    assert_eq!(shard_under_test.balance(), (1 << 59, 0));
    shard_under_test.check();
}

#[test]
fn services_of_an_event_have_results_of_their_own() {
    let mut shard_under_test = ShardUnderTest::with_account(5);
    let services = [4, 3, 1]
        .map(|count| crate::Service { rating_group: Some(count as u32), ..asks(Units::specific(count)) });
    let request = Request { services: &services, ..plain(Kind::Debit) };
    let (answer, services) = shard_under_test.ask(&request);
    assert_eq!(services.iter().map(|service| service.result).collect::<Vec<_>>(), [2001, 4012, 2001]);
    assert_eq!((answer.result, answer.cost, shard_under_test.balance()), (2001, 5, (0, 0)));
}
