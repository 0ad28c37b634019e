//! Decisions tried on alerts that wait: who may, when, and what becomes of the alert.

use super::policy::ApprovalDemand;
use super::*;
use crate::api::EngineError;
use crate::testing;
use proptest::prelude::*;
use records::{Alert, AlertState, Approval, ApprovalNeed, ApprovalPerson, EndedKind, Mode, Timestamp};

const NOW: Timestamp = Timestamp(1_000_000_000);

fn user(id: &str, person: &str) -> ApprovalPerson {
    ApprovalPerson { user: format!("user:{id}"), name: id.to_owned(), person: Some(person.to_owned()) }
}

fn demand(needs: ApprovalNeed) -> ApprovalDemand {
    ApprovalDemand { needs, type_people_over: None, remind_s: 120, expires_s: Some(600) }
}

/// An alert by jonas that waits, to so many people.
fn waiting(needs: ApprovalNeed, people: u64) -> Alert {
    let mut alert = testing::alert(1, testing::request("Out"));
    alert.request.expires = NOW.plus_s(3_600);
    alert.version = 2;
    let authors = vec![user("1", "jonas")];
    alert.approval = Some(Box::new(Approval::of(authors, Timestamp(0), alert.request.expires)));
    let (state, approval) = after_solve(&alert, people, demand(needs), NOW).unwrap();
    Alert { state, approval: Some(Box::new(approval)), ..alert }
}

fn by(user: ApprovalPerson, verb: ApprovalVerb) -> ApprovalDecision {
    ApprovalDecision { by: Some(user), verb, version: Some(2) }
}

fn approve(user: ApprovalPerson) -> ApprovalDecision {
    by(user, ApprovalVerb::Approve { people: None })
}

fn after(alert: &Alert, decided: Decided) -> Alert {
    let change = decided.change;
    let approval = Some(Box::new(change.approval));
    Alert { state: change.state, version: change.version, note: change.note, approval, ..alert.clone() }
}

fn refusal(decided: Result<Decided, EngineError>) -> ApprovalRefusal {
    match decided {
        Err(EngineError::Approval(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_may_not_approve_is_refused_and_changes_nothing() {
    let one = |change: fn(&mut Alert)| {
        let mut alert = waiting(ApprovalNeed::One, 10);
        change(&mut alert);
        alert
    };
    let token = ApprovalPerson { user: "t_1".into(), name: "n".into(), person: None };
    let stale = ApprovalDecision { version: Some(1), ..approve(user("2", "mia")) };
    let unnamed = |alert: &mut Alert| alert.approval.as_mut().unwrap().type_people_over = Some(9);
    let late = |alert: &mut Alert| alert.approval.as_mut().unwrap().expires = NOW;
    let approved = |alert: &mut Alert| {
        *alert = Alert { ..waiting(ApprovalNeed::Two, 10) };
        *alert = after(alert, decide(alert, &approve(user("2", "mia")), Some(10), NOW).unwrap());
    };
    let table = [
        ("its author", one(|_| {}), approve(user("1", "jonas")), ApprovalRefusal::OwnAlert),
        ("its author as another user", one(|_| {}), approve(user("9", "jonas")), ApprovalRefusal::OwnAlert),
        ("a token", one(|_| {}), approve(token), ApprovalRefusal::NotAPerson),
        (
            "nobody",
            one(|_| {}),
            ApprovalDecision { by: None, ..approve(user("2", "mia")) },
            ApprovalRefusal::NotAPerson,
        ),
        ("of another version", one(|_| {}), stale, ApprovalRefusal::VersionChanged { version: 2 }),
        (
            "without the number",
            one(unnamed),
            approve(user("2", "mia")),
            ApprovalRefusal::TypePeople { people: 10 },
        ),
        (
            "with another number",
            one(unnamed),
            by(user("2", "mia"), ApprovalVerb::Approve { people: Some(11) }),
            ApprovalRefusal::TypePeople { people: 10 },
        ),
        ("too late", one(late), approve(user("2", "mia")), ApprovalRefusal::Expired),
        ("twice", one(approved), approve(user("2", "mia")), ApprovalRefusal::ApprovedAlready),
        ("twice as another user", one(approved), approve(user("3", "mia")), ApprovalRefusal::ApprovedAlready),
    ];
    for (what, alert, decision, expected) in table {
        assert_eq!(refusal(decide(&alert, &decision, Some(10), NOW)), expected, "{what}");
    }
}

#[test]
fn one_who_wrote_a_part_of_it_does_not_approve_it_either() {
    let mut alert = waiting(ApprovalNeed::One, 10);
    alert.approval.as_mut().unwrap().authors.push(user("2", "mia"));
    let refused = decide(&alert, &approve(user("4", "mia")), Some(10), NOW);
    assert_eq!(refusal(refused), ApprovalRefusal::OwnAlert);
}

#[test]
fn in_a_drill_one_may_approve_what_one_wrote_but_once() {
    let mut alert = waiting(ApprovalNeed::Two, 10);
    alert.request.mode = Mode::Drill;
    let alert = after(&alert, decide(&alert, &approve(user("1", "jonas")), Some(10), NOW).unwrap());
    let again = decide(&alert, &approve(user("9", "jonas")), Some(10), NOW);
    assert_eq!(refusal(again), ApprovalRefusal::ApprovedAlready);
}

#[test]
fn the_last_approval_has_it_solved_anew_and_sent() {
    for (needs, approvers) in [(ApprovalNeed::One, vec!["mia"]), (ApprovalNeed::Two, vec!["mia", "ola"])] {
        let mut alert = waiting(needs, 10);
        for (n, person) in approvers.iter().enumerate() {
            assert_eq!(alert.state, AlertState::AwaitingApproval);
            let decision = approve(user(&format!("a{n}"), person));
            alert = after(&alert, decide(&alert, &decision, Some(10), NOW).unwrap());
        }
        assert_eq!((alert.state, alert.may_send()), (AlertState::Solving, false));
        alert.version += 1;
        let (state, approval) = after_solve(&alert, 11, demand(ApprovalNeed::Nobody), NOW).unwrap();
        assert_eq!((state, approval.may_send()), (AlertState::Running, true));
    }
}

#[test]
fn an_audience_that_grew_by_more_than_a_tenth_asks_again() {
    for (before, now, asks) in
        [(100, 110, false), (100, 111, true), (9, 9, false), (9, 10, true), (100, 5, false)]
    {
        let alert = waiting(ApprovalNeed::Two, before);
        let decided = decide(&alert, &approve(user("2", "mia")), Some(now), NOW).unwrap();
        let grew = ApprovalRefusal::AudienceGrew { before, people: now, version: 3 };
        assert_eq!(decided.refusal, asks.then_some(grew), "{before} {now}");
        assert_eq!(decided.change.approval.approvals.len(), usize::from(!asks));
        assert_eq!(decided.change.state, AlertState::AwaitingApproval);
        let seen = if asks { now } else { before };
        assert_eq!(decided.change.approval.people, seen);
    }
    // What the first approver saw counts for the second, and for the start.
    let alert = waiting(ApprovalNeed::Two, 100);
    let alert = after(&alert, decide(&alert, &approve(user("2", "mia")), Some(60), NOW).unwrap());
    let grown = decide(&alert, &approve(user("3", "ola")), Some(67), NOW).unwrap();
    assert!(grown.change.approval.approvals.is_empty(), "mia's approval is dropped");
    let alert = after(&alert, decide(&alert, &approve(user("3", "ola")), Some(66), NOW).unwrap());
    assert_eq!(alert.state, AlertState::Solving);
    let (state, approval) = after_solve(&alert, 67, demand(ApprovalNeed::Nobody), NOW).unwrap();
    assert_eq!((state, approval.needs), (AlertState::AwaitingApproval, ApprovalNeed::Two));
    assert!(approval.approvals.is_empty());
}

#[test]
fn an_alert_for_later_is_counted_again_when_its_time_comes() {
    let mut alert = waiting(ApprovalNeed::One, 10);
    let start = NOW.plus_s(900);
    alert.request.not_before = Some(start);
    let alert = after(&alert, decide(&alert, &approve(user("2", "mia")), Some(10), NOW).unwrap());
    assert_eq!((alert.state, alert.may_send()), (AlertState::Running, false));
    let begin = ApprovalDecision { by: None, verb: ApprovalVerb::Begin, version: None };
    let alert = after(&alert, decide(&alert, &begin, None, start).unwrap());
    assert_eq!(alert.state, AlertState::Solving);
    let (state, approval) = after_solve(&alert, 12, demand(ApprovalNeed::One), start).unwrap();
    assert_eq!((state, approval.may_send()), (AlertState::AwaitingApproval, false));
    assert!(matches!(decide(&alert, &begin, None, start), Err(EngineError::WrongState { .. })));
}

#[test]
fn a_request_ends_with_who_ended_it_and_why() {
    let reason = || "the area is wrong".to_owned();
    let table = [
        (by(user("2", "mia"), ApprovalVerb::Return { reason: reason() }), EndedKind::Returned),
        (by(user("2", "mia"), ApprovalVerb::Reject { reason: reason() }), EndedKind::Rejected),
        (ApprovalDecision { by: None, verb: ApprovalVerb::Expire, version: None }, EndedKind::Expired),
    ];
    for (decision, kind) in table {
        let alert = waiting(ApprovalNeed::One, 10);
        let ended = after(&alert, decide(&alert, &decision, None, NOW).unwrap());
        let by = ended.approval.as_ref().unwrap().ended_by.clone().unwrap();
        assert_eq!((ended.state, by.kind), (AlertState::Cancelled, kind));
        assert!(!by.reason.is_empty() && ended.note.contains(&by.reason), "{}", ended.note);
        assert!(!ended.may_send());
        let again = decide(&ended, &approve(user("3", "ola")), Some(10), NOW);
        assert!(matches!(again, Err(EngineError::WrongState { state: "cancelled", verb: "approve" })));
    }
}

#[test]
fn break_glass_sends_whatever_was_needed_and_keeps_why() {
    let alert = waiting(ApprovalNeed::Two, 10);
    let alone = ApprovalVerb::SendAlone { reason: "nobody answers".into(), people: None };
    let sent = after(&alert, decide(&alert, &by(user("1", "jonas"), alone), None, NOW).unwrap());
    let (state, approval) = after_solve(&sent, 1_000, demand(ApprovalNeed::Two), NOW).unwrap();
    assert_eq!((state, approval.may_send()), (AlertState::Running, true));
    let kept = approval.sent_alone.unwrap();
    assert_eq!((kept.by.name.as_str(), kept.reason.as_str()), ("1", "nobody answers"));
}

#[test]
fn a_stop_that_a_rule_names_waits_until_another_person_wants_it_too() {
    let mut alert = testing::alert(1, testing::request("Out"));
    let wants = |user| ApprovalDecision {
        by: Some(user),
        verb: ApprovalVerb::Confirm { verb: "cancel", needs: ApprovalNeed::One },
        version: None,
    };
    let waits = |alert: &Alert| alert.approval.as_ref().unwrap().steering.is_some();
    for (who, expected) in [(user("1", "jonas"), true), (user("9", "jonas"), true), (user("2", "mia"), false)]
    {
        alert = after(&alert, decide(&alert, &wants(who), None, NOW).unwrap());
        assert_eq!(waits(&alert), expected);
        assert!(alert.may_send(), "it goes on meanwhile");
    }
    alert = after(&alert, decide(&alert, &wants(user("1", "jonas")), None, NOW).unwrap());
    let late = decide(&alert, &wants(user("2", "mia")), None, NOW.plus_s(900)).unwrap();
    assert!(waits(&after(&alert, late)), "what was asked long ago is asked anew");
}

#[derive(Debug, Clone)]
enum Step {
    Approve(u8, u8, u64),
    Return(u8),
    Alone(u8),
    Expire,
    Begin,
    Solve(u64),
    Later(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..6u8, 0..4u8, 90..125u64).prop_map(|(user, person, people)| Step::Approve(user, person, people)),
        1 => (0..4u8).prop_map(Step::Return),
        1 => (0..4u8).prop_map(Step::Alone),
        1 => Just(Step::Expire),
        2 => Just(Step::Begin),
        4 => (90..125u64).prop_map(Step::Solve),
        2 => (0..400i64).prop_map(Step::Later),
    ];
    proptest::collection::vec(step, 0..30)
}

/// The decisions of a run that count, as the alert's row would have them.
fn run(alert: &mut Alert, step: &Step, now: &mut Timestamp) {
    let person = |no: u8| ["jonas", "mia", "ola", "kim"][usize::from(no) % 4];
    let decision = match step {
        Step::Later(seconds) => {
            *now = now.plus_s(*seconds);
            return;
        }
        Step::Solve(people) => {
            if alert.state == AlertState::Solving {
                alert.version += 1;
                alert.state = AlertState::Running;
                if let Some((state, approval)) =
                    after_solve(alert, *people, demand(ApprovalNeed::Nobody), *now)
                {
                    (alert.state, alert.approval) = (state, Some(Box::new(approval)));
                }
            }
            return;
        }
        Step::Approve(user_no, who, people) => {
            let decision = approve(user(&user_no.to_string(), person(*who)));
            let decision = ApprovalDecision { version: Some(alert.version), ..decision };
            if let Ok(decided) = decide(alert, &decision, Some(*people), *now) {
                *alert = after(alert, decided);
            }
            return;
        }
        Step::Return(who) => by(user("r", person(*who)), ApprovalVerb::Return { reason: "no".into() }),
        Step::Alone(who) => {
            let verb = ApprovalVerb::SendAlone { reason: "nobody answers".into(), people: None };
            by(user("s", person(*who)), verb)
        }
        Step::Expire => ApprovalDecision { by: None, verb: ApprovalVerb::Expire, version: None },
        Step::Begin => ApprovalDecision { by: None, verb: ApprovalVerb::Begin, version: None },
    };
    let decision = ApprovalDecision { version: None, ..decision };
    if let Ok(decided) = decide(alert, &decision, None, *now) {
        *alert = after(alert, decided);
    }
}

proptest! {
    #[test]
    fn nothing_may_be_sent_without_the_approvals_of_different_people_who_did_not_write_it(
        needs in prop_oneof![Just(ApprovalNeed::One), Just(ApprovalNeed::Two)],
        is_for_later in any::<bool>(),
        steps in steps(),
    ) {
        let mut now = NOW;
        let mut alert = waiting(needs, 100);
        alert.request.not_before = is_for_later.then(|| NOW.plus_s(300));
        for step in &steps {
            let revision = alert.approval.as_ref().unwrap().revision;
            run(&mut alert, step, &mut now);
            let approval = alert.approval.as_ref().unwrap();
            prop_assert!(approval.revision >= revision, "a change can be told from the one before");
            prop_assert!(approval.needs >= needs, "what was asked for stays");
            if alert.state != AlertState::Running || !alert.may_send() || approval.sent_alone.is_some() {
                continue;
            }
            let persons: std::collections::BTreeSet<_> =
                approval.approvals.iter().filter_map(|given| given.by.person.clone()).collect();
            prop_assert!(persons.len() >= needs.count(), "{approval:?}");
            prop_assert!(!persons.contains("jonas"));
            prop_assert!(approval.ended_by.is_none());
        }
    }
}
