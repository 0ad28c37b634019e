use super::ShardUnderTest;
use super::bench::{SECOND, plain};
use crate::{Kind, request::MessageKey};

const KEY: MessageKey = MessageKey { alert: 7, endpoint: 9 };

fn hold(shard_under_test: &mut ShardUnderTest, parts: u32) -> u32 {
    hold_since(shard_under_test, parts, 5)
}

fn hold_since(shard_under_test: &mut ShardUnderTest, parts: u32, since: u64) -> u32 {
    let until_us = shard_under_test.now_us + 3_600 * SECOND;
    tell(shard_under_test, Kind::Hold { message: KEY, parts, until_us, since })
}

fn release(shard_under_test: &mut ShardUnderTest, at: u64) -> u32 {
    tell(shard_under_test, Kind::Release { message: KEY, at })
}

fn settle(shard_under_test: &mut ShardUnderTest, parts: u32) -> u32 {
    tell(shard_under_test, Kind::Settle { message: KEY, parts })
}

fn tell(shard_under_test: &mut ShardUnderTest, kind: Kind) -> u32 {
    let (answer, _) = shard_under_test.ask(&plain(kind));
    shard_under_test.check();
    answer.result
}

#[test]
fn a_message_is_held_and_taken_once_however_often_it_is_told() {
    let mut shard_under_test = ShardUnderTest::with_account(10);
    for _ in 0..3 {
        assert_eq!((hold(&mut shard_under_test, 3), shard_under_test.balance()), (2001, (10, 3)));
    }
    for _ in 0..3 {
        assert_eq!(
            (
                tell(&mut shard_under_test, Kind::Settle { message: KEY, parts: 2 }),
                shard_under_test.balance()
            ),
            (2001, (8, 0))
        );
    }
    // It is charged: neither a late release nor another hold changes that.
    release(&mut shard_under_test, 9);
    assert_eq!((hold(&mut shard_under_test, 3), shard_under_test.balance()), (4011, (8, 0)));
}

#[test]
fn a_message_that_was_not_sent_costs_nothing() {
    let mut shard_under_test = ShardUnderTest::with_account(10);
    hold(&mut shard_under_test, 3);
    for _ in 0..2 {
        assert_eq!((release(&mut shard_under_test, 9), shard_under_test.balance()), (2001, (10, 0)));
    }
    shard_under_test.pass(3_601 * SECOND);
    assert_eq!(shard_under_test.balance(), (10, 0));
}

#[test]
fn what_was_freed_is_held_again_by_another_attempt_and_an_old_refusal_does_not_free_that() {
    let mut shard_under_test = ShardUnderTest::with_account(10);
    hold_since(&mut shard_under_test, 3, 5);
    assert_eq!((release(&mut shard_under_test, 4), shard_under_test.balance()), (4011, (10, 3)));
    assert_eq!((release(&mut shard_under_test, 6), shard_under_test.balance()), (2001, (10, 0)));
    assert_eq!((hold_since(&mut shard_under_test, 3, 7), shard_under_test.balance()), (2001, (10, 3)));
    // Told again after a crash.
    assert_eq!((release(&mut shard_under_test, 6), shard_under_test.balance()), (4011, (10, 3)));
    assert_eq!((settle(&mut shard_under_test, 3), shard_under_test.balance()), (2001, (7, 0)));
}

#[test]
fn a_late_yes_to_what_was_freed_is_charged_as_far_as_there_is_money() {
    for (left, taken) in [(10, 3), (2, 2), (0, 0)] {
        let mut shard_under_test = ShardUnderTest::with_account(10);
        hold(&mut shard_under_test, 3);
        release(&mut shard_under_test, 9);
        let other = MessageKey { alert: 8, endpoint: 1 };
        let until_us = shard_under_test.now_us + SECOND;
        if left < 10 {
            tell(&mut shard_under_test, Kind::Hold { message: other, parts: 10 - left, until_us, since: 0 });
        }
        for _ in 0..2 {
            settle(&mut shard_under_test, 3);
            assert_eq!(shard_under_test.balance().0, 10 - i64::from(taken));
        }
    }
}

#[test]
fn nothing_frees_what_is_unknown_but_a_yes_or_the_end_of_its_validity() {
    for yes in [false, true] {
        let mut shard_under_test = ShardUnderTest::with_account(10);
        hold(&mut shard_under_test, 3);
        assert_eq!(tell(&mut shard_under_test, Kind::Keep { message: KEY }), 2001);
        assert_eq!(
            (hold_since(&mut shard_under_test, 3, 20), release(&mut shard_under_test, 30)),
            (2001, 4011)
        );
        assert_eq!(shard_under_test.balance(), (10, 3));
        if yes {
            settle(&mut shard_under_test, 3);
        }
        shard_under_test.pass(3_601 * SECOND);
        assert_eq!(shard_under_test.balance(), (if yes { 7 } else { 10 }, 0));
    }
    let mut shard_under_test = ShardUnderTest::with_account(10);
    assert_eq!(tell(&mut shard_under_test, Kind::Keep { message: KEY }), 5002);
}

#[test]
fn without_money_a_message_is_refused_before_it_is_sent() {
    let mut shard_under_test = ShardUnderTest::with_account(2);
    assert_eq!((hold(&mut shard_under_test, 3), shard_under_test.balance()), (4012, (2, 0)));
    // With fewer parts, or after a top-up, the same message may be held.
    assert_eq!((hold(&mut shard_under_test, 2), shard_under_test.balance()), (2001, (2, 2)));
}

#[test]
fn an_unknown_outcome_keeps_its_hold_until_the_end_of_its_validity() {
    let mut shard_under_test = ShardUnderTest::with_account(10);
    hold(&mut shard_under_test, 3);
    shard_under_test.pass(3_599 * SECOND);
    assert_eq!(shard_under_test.balance(), (10, 3));
    shard_under_test.pass(2 * SECOND);
    assert_eq!(shard_under_test.balance(), (10, 0));
    assert_eq!(tell(&mut shard_under_test, Kind::Settle { message: KEY, parts: 3 }), 5002);
    shard_under_test.check();
}

#[test]
fn an_emergency_owes_and_never_touches_the_balance() {
    let mut shard_under_test = ShardUnderTest::with_account(1);
    let until_us = shard_under_test.now_us + SECOND;
    shard_under_test.ask(&plain(Kind::Block { blocked: true }));
    for _ in 0..2 {
        assert_eq!(
            tell(&mut shard_under_test, Kind::Debt { message: KEY, parts: 4, until_us, since: 5 }),
            2001
        );
    }
    let number = shard_under_test.shard.find(&plain(Kind::Debit).account).unwrap();
    assert_eq!(
        (shard_under_test.shard.account_of(number).unwrap().debt, shard_under_test.balance()),
        (4, (1, 0))
    );
    // Nothing is owed for what was not sent; what was sent is owed for good.
    assert_eq!((release(&mut shard_under_test, 4), release(&mut shard_under_test, 9)), (4011, 2001));
    assert_eq!(
        (shard_under_test.shard.account_of(number).unwrap().debt, shard_under_test.balance()),
        (0, (1, 0))
    );
    tell(&mut shard_under_test, Kind::Debt { message: KEY, parts: 4, until_us, since: 10 });
    assert_eq!((settle(&mut shard_under_test, 4), release(&mut shard_under_test, 11)), (2001, 4011));
    shard_under_test.pass(2 * SECOND);
    assert_eq!(
        (shard_under_test.shard.account_of(number).unwrap().debt, shard_under_test.balance()),
        (4, (1, 0))
    );
}
