//! Tests of settlement, as the sessions of messages see it.

use super::request::phone;
use super::settle::end;
use crate::message_charging::ChargeId;
use crate::message_charging::pending_receipts::Clock;
use crate::message_charging::settlement::{Change, Reading, Settlement};
use records::{
    AlertNo, AttemptRef, AttemptResult, EndpointNo, NotTried, Outcome, Receipt, ReceiptState, Timestamp,
    Unpaid, mail_key,
};

const ALERT: AlertNo = AlertNo(7);

fn id(endpoint: u32, attempt: u8) -> ChargeId {
    ChargeId { alert: ALERT, endpoint: EndpointNo(endpoint), attempt }
}

fn part(endpoint: u32, attempt: u8, (part, parts): (u8, u8), result: AttemptResult) -> Outcome {
    let of = AttemptRef { alert: ALERT, endpoint: EndpointNo(endpoint), attempt, part, parts };
    Outcome::Attempt { of, route: "r".into(), at: Timestamp(0), result }
}

fn accepted() -> AttemptResult {
    AttemptResult::Accepted { keys: Vec::new(), id: String::new() }
}

fn refused(code: &str) -> AttemptResult {
    AttemptResult::Refused { permanent: false, code: code.into(), text: String::new() }
}

fn unknown() -> AttemptResult {
    AttemptResult::Unknown { text: String::new() }
}

fn receipt(endpoint: u32, state: ReceiptState) -> Outcome {
    Outcome::Receipt(Receipt {
        route: String::new(),
        keys: vec![mail_key(ALERT, EndpointNo(endpoint))],
        id: String::new(),
        state,
        text: String::new(),
        at: Timestamp(0),
    })
}

fn ended(reading: &Reading) -> Vec<(ChargeId, u32)> {
    reading.decisions.iter().filter_map(|decision| end(*decision)).collect()
}

/// Reads outcomes, each in a record of its own, and says which sessions end, with how many parts used.
fn ends(words: &mut Settlement, outcomes: &[Outcome]) -> Vec<(ChargeId, u32)> {
    let read = |outcome| ended(&words.read(std::slice::from_ref(outcome), Clock::now()));
    outcomes.iter().flat_map(read).collect()
}

/// What each of these records changes, and what it ends.
fn changes(words: &mut Settlement, records: &[&[Outcome]]) -> Vec<Vec<Change>> {
    records.iter().map(|record| words.read(record, Clock::now()).changes).collect()
}

/// Who comes after these changes were noted.
fn heir(noted: &[Vec<Change>]) -> Settlement {
    let mut heir = Settlement::of_attempts();
    noted.iter().flatten().for_each(|change| heir.restore(*change, Clock::now()));
    heir
}

#[test]
fn each_outcome_of_one_part_ends_its_session_and_what_was_never_reserved_needs_no_end() {
    let not_tried = AttemptResult::NotTried { why: NotTried::Paused };
    for (result, expected) in [
        (accepted(), vec![(id(1, 1), 1)]),
        (refused("smpp:00000058"), vec![(id(1, 1), 0)]),
        (not_tried, vec![(id(1, 1), 0)]),
        (refused(Unpaid::NoMoney.code()), vec![]),
        (refused(Unpaid::NoAccount.code()), vec![]),
        // Its answer may have been lost.
        (refused(Unpaid::NoServer.code()), vec![(id(1, 1), 0)]),
        (unknown(), vec![]),
    ] {
        assert_eq!(
            ends(&mut Settlement::of_attempts(), &[part(1, 1, (1, 1), result.clone())]),
            expected,
            "{result:?}"
        );
    }
}

#[test]
fn of_several_parts_the_first_yes_pays_for_all_and_only_the_last_no_pays_for_none() {
    let no = || refused("smpp:00000058");
    for (results, expected) in [
        (vec![accepted(), accepted(), accepted()], vec![(id(1, 1), 3)]),
        (vec![no(), accepted(), no()], vec![(id(1, 1), 3)]),
        (vec![no(), no(), accepted()], vec![(id(1, 1), 3)]),
        (vec![no(), no()], vec![]),
        (vec![no(), no(), no()], vec![(id(1, 1), 0)]),
    ] {
        let outcomes: Vec<Outcome> =
            (1..).zip(results).map(|(at, result)| part(1, 1, (at, 3), result)).collect();
        assert_eq!(ends(&mut Settlement::of_attempts(), &outcomes), expected, "{outcomes:?}");
    }
}

#[test]
fn an_unknown_attempt_waits_for_its_receipt_or_for_the_yes_of_another() {
    let is_unknown = || part(1, 1, (1, 1), unknown());
    for (then, expected) in [
        (receipt(1, ReceiptState::Delivered), vec![(id(1, 1), 1)]),
        (receipt(1, ReceiptState::Failed), vec![(id(1, 1), 0)]),
        (receipt(1, ReceiptState::Buffered), vec![]),
        (receipt(2, ReceiptState::Delivered), vec![]),
        (part(1, 2, (1, 1), accepted()), vec![(id(1, 2), 1), (id(1, 1), 0)]),
        (part(1, 2, (1, 1), refused("smpp:00000008")), vec![(id(1, 2), 0)]),
    ] {
        assert_eq!(ends(&mut Settlement::of_attempts(), &[is_unknown(), then.clone()]), expected, "{then:?}");
    }
    // A receipt settles once.
    let mut words = Settlement::of_attempts();
    let delivered = || receipt(1, ReceiptState::Delivered);
    assert_eq!(ends(&mut words, &[is_unknown(), delivered(), delivered()]).len(), 1);
}

#[test]
fn a_receipt_that_comes_before_it_is_told_that_its_attempt_is_unknown_waits_for_that() {
    let is_unknown = |attempt| part(1, attempt, (1, 1), unknown());
    for (state, used) in [(ReceiptState::Delivered, 1), (ReceiptState::Failed, 0)] {
        let words = &mut Settlement::of_attempts();
        assert_eq!(ends(words, &[receipt(1, state)]), []);
        assert_eq!(ends(words, &[is_unknown(1)]), [(id(1, 1), used)]);
        assert_eq!(ends(words, &[is_unknown(2)]), [], "it is of one attempt");
        // What it says of an attempt that was taken does not count for another.
        let words = &mut Settlement::of_attempts();
        assert_eq!(ends(words, &[receipt(1, state), part(1, 1, (1, 1), accepted())]), [(id(1, 1), 1)]);
        assert_eq!(ends(words, &[is_unknown(2)]), []);
    }
}

#[test]
fn an_unknown_attempt_whose_session_the_server_wants_ended_has_used_nothing_and_waits_for_no_receipt() {
    let mut words = Settlement::of_attempts();
    assert_eq!(ends(&mut words, &[part(1, 1, (1, 1), unknown())]), []);
    assert_eq!(words.abort(id(1, 2)), None, "another attempt");
    assert_eq!(ended(&words.abort(id(1, 1)).unwrap()), [(id(1, 1), 0)]);
    assert_eq!(words.abort(id(1, 1)), None, "once");
    assert_eq!(ends(&mut words, &[receipt(1, ReceiptState::Delivered)]), []);
    // What is under way ends by its outcome.
    assert_eq!(words.abort(id(2, 1)), None);
    assert_eq!(ends(&mut words, &[part(2, 1, (1, 1), accepted())]), [(id(2, 1), 1)]);
}

#[test]
fn of_several_unknown_attempts_one_is_paid_by_a_receipt_and_none_by_a_yes_of_another() {
    let is_unknown = |attempt| part(1, attempt, (1, 1), unknown());
    let both = || {
        let mut words = Settlement::of_attempts();
        assert_eq!(ends(&mut words, &[is_unknown(1), is_unknown(2)]), []);
        words
    };
    assert_eq!(ends(&mut both(), &[receipt(1, ReceiptState::Delivered)]), [(id(1, 1), 0), (id(1, 2), 1)]);
    let failed_and_delivered = [receipt(1, ReceiptState::Failed), receipt(1, ReceiptState::Delivered)];
    assert_eq!(ends(&mut both(), &failed_and_delivered), [(id(1, 1), 0), (id(1, 2), 1)]);
    let yes = part(1, 3, (1, 1), accepted());
    assert_eq!(ends(&mut both(), &[yes]), [(id(1, 3), 1), (id(1, 1), 0), (id(1, 2), 0)]);
    // A late yes of the very attempt.
    let yes = part(1, 2, (1, 1), accepted());
    let mut words = both();
    assert_eq!(ends(&mut words, &[yes]), [(id(1, 2), 1), (id(1, 1), 0)]);
    assert_eq!(ends(&mut words, &[receipt(1, ReceiptState::Delivered)]), [], "it is paid");
    assert_eq!(ended(&both().abort(id(1, 1)).unwrap()), [(id(1, 1), 0)]);
}

#[test]
fn what_is_unknown_or_waits_outlives_who_heard_of_it() {
    let mut words = Settlement::of_attempts();
    let records = [
        [part(1, 1, (1, 1), unknown())],
        [part(2, 1, (1, 1), unknown())],
        [receipt(3, ReceiptState::Delivered)],
        [receipt(4, ReceiptState::Failed)],
        [receipt(2, ReceiptState::Failed)],
        [part(4, 1, (1, 1), accepted())],
    ];
    let records: Vec<&[Outcome]> = records.iter().map(|record| &record[..]).collect();
    let noted = changes(&mut words, &records);
    assert!(noted.iter().all(|changes| changes.len() == 1), "{noted:?}");
    // By what was noted one by one, and by all that was known in the end.
    for noted in [noted, vec![words.all(Clock::now())]] {
        assert_eq!(heir(&noted).len(), 2);
        let delivered = receipt(1, ReceiptState::Delivered);
        assert_eq!(ends(&mut heir(&noted), &[delivered]), [(id(1, 1), 1)]);
        assert_eq!(ends(&mut heir(&noted), &[part(3, 1, (1, 1), unknown())]), [(id(3, 1), 1)]);
        let over = [receipt(2, ReceiptState::Delivered), part(4, 2, (1, 1), unknown())];
        assert_eq!(ends(&mut heir(&noted), &over), []);
        assert_eq!(heir(&noted).unknown().collect::<Vec<_>>(), [id(1, 1)]);
        let mut aborted = heir(&noted);
        let changes = aborted.abort(id(1, 1)).unwrap().changes;
        assert_eq!(heir(&[noted.concat(), changes]).len(), 1);
    }
}

#[test]
fn a_message_of_several_parts_is_paid_once_though_another_settles_the_rest() {
    let no = || refused("smpp:00000058");
    let first_and_rest = [
        (accepted(), vec![(2, accepted()), (3, unknown())], vec![]),
        (accepted(), vec![(2, no()), (3, no())], vec![]),
        (no(), vec![(2, accepted()), (3, accepted())], vec![(id(1, 1), 3)]),
        (no(), vec![(2, no()), (3, no())], vec![(id(1, 1), 0)]),
        (no(), vec![(2, no()), (3, unknown())], vec![]),
        // Given out again, since it was not acknowledged.
        (accepted(), vec![(1, accepted()), (2, accepted())], vec![(id(1, 1), 3)]),
    ];
    for (first, rest, expected) in first_and_rest {
        let noted = changes(&mut Settlement::of_attempts(), &[&[part(1, 1, (1, 3), first)]]);
        let rest: Vec<Outcome> = rest.into_iter().map(|(at, result)| part(1, 1, (at, 3), result)).collect();
        let mut heir = heir(&noted);
        assert_eq!(ends(&mut heir, &rest), expected, "{rest:?}");
        let is_kept =
            rest.iter().any(|outcome| matches!(outcome, Outcome::Attempt { of, .. } if of.part == 1));
        assert_eq!(heir.all(Clock::now()).iter().any(|change| matches!(change, Change::Parts(..))), is_kept);
    }
    // What one record tells whole need not be noted.
    let whole: Vec<Outcome> = (1..=3).map(|at| part(1, 1, (at, 3), accepted())).collect();
    assert_eq!(changes(&mut Settlement::of_attempts(), &[&whole]), [[]]);
}

#[test]
fn what_waits_to_be_settled_is_bounded_in_number_and_age_and_the_oldest_goes_first() {
    let mut words = Settlement::of_attempts();
    let start = Clock::now();
    let at = |seconds: u64| {
        let after = std::time::Duration::from_secs(seconds);
        Clock { now: start.now + after, time: start.time + after }
    };
    const MAX: u32 = 65_536;
    for endpoint in 0..=MAX {
        words.read(&[part(endpoint, 1, (1, 1), unknown())], at(endpoint.into()));
    }
    assert_eq!(words.unknown().count() as u32, MAX / 2);
    assert!(words.unknown().all(|id| id.endpoint.0 > MAX / 2));
    let noted = words.all(at(MAX.into()));
    let late = |days: u64| {
        let mut heir = Settlement::of_attempts();
        noted.iter().for_each(|change| heir.restore(*change, at(u64::from(MAX) + days * 86_400)));
        heir.len()
    };
    assert_eq!((late(1), late(8)), (words.len(), 0));
}

#[test]
fn only_a_telephone_number_is_told_as_one() {
    for (address, expected) in
        [("+46701740605", "46701740605"), ("46701", "46701"), ("a@b.se", ""), ("+", ""), ("", "")]
    {
        assert_eq!(phone(address), expected);
    }
}
