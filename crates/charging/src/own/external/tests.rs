//! What becomes of messages, as their sessions see it.

use super::MessageId;
use super::request::phone;
use super::settle::{Word, Words};
use records::{
    AlertNo, AttemptRef, AttemptResult, EndpointNo, NotTried, Outcome, Receipt, ReceiptState, Timestamp,
    Unpaid, mail_key,
};

const ALERT: AlertNo = AlertNo(7);

fn id(endpoint: u32, attempt: u8) -> MessageId {
    MessageId { alert: ALERT, endpoint: EndpointNo(endpoint), attempt }
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

/// Reads outcomes, and says which sessions end, with how many parts used.
fn ends(words: &mut Words, outcomes: &[Outcome]) -> Vec<(MessageId, u32)> {
    let mut all = Vec::new();
    outcomes.iter().for_each(|outcome| words.read(outcome, &mut all));
    all.into_iter().map(|Word { id, used }| (id, used)).collect()
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
            ends(&mut Words::default(), &[part(1, 1, (1, 1), result.clone())]),
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
        assert_eq!(ends(&mut Words::default(), &outcomes), expected, "{outcomes:?}");
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
        assert_eq!(ends(&mut Words::default(), &[is_unknown(), then.clone()]), expected, "{then:?}");
    }
    // A receipt settles once.
    let mut words = Words::default();
    let delivered = || receipt(1, ReceiptState::Delivered);
    assert_eq!(ends(&mut words, &[is_unknown(), delivered(), delivered()]).len(), 1);
}

#[test]
fn a_receipt_that_comes_before_it_is_told_that_its_attempt_is_unknown_waits_for_that() {
    let is_unknown = |attempt| part(1, attempt, (1, 1), unknown());
    for (state, used) in [(ReceiptState::Delivered, 1), (ReceiptState::Failed, 0)] {
        let words = &mut Words::default();
        assert_eq!(ends(words, &[receipt(1, state)]), []);
        assert_eq!(ends(words, &[is_unknown(1)]), [(id(1, 1), used)]);
        assert_eq!(ends(words, &[is_unknown(2)]), [], "it is of one attempt");
        // What it says of an attempt that was taken does not count for another.
        let words = &mut Words::default();
        assert_eq!(ends(words, &[receipt(1, state), part(1, 1, (1, 1), accepted())]), [(id(1, 1), 1)]);
        assert_eq!(ends(words, &[is_unknown(2)]), []);
    }
}

#[test]
fn an_unknown_attempt_whose_session_the_server_wants_ended_has_used_nothing_and_waits_for_no_receipt() {
    let mut words = Words::default();
    assert_eq!(ends(&mut words, &[part(1, 1, (1, 1), unknown())]), []);
    assert_eq!(words.abort(id(1, 2)), None, "another attempt");
    assert_eq!(words.abort(id(1, 1)), Some(Word { id: id(1, 1), used: 0 }));
    assert_eq!(words.abort(id(1, 1)), None, "once");
    assert_eq!(ends(&mut words, &[receipt(1, ReceiptState::Delivered)]), []);
    // What is under way ends by its outcome.
    assert_eq!(words.abort(id(2, 1)), None);
    assert_eq!(ends(&mut words, &[part(2, 1, (1, 1), accepted())]), [(id(2, 1), 1)]);
}

#[test]
fn only_a_telephone_number_is_told_as_one() {
    for (address, expected) in
        [("+46701740605", "46701740605"), ("46701", "46701"), ("a@b.se", ""), ("+", ""), ("", "")]
    {
        assert_eq!(phone(address), expected);
    }
}
