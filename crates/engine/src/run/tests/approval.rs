//! Alerts that wait for other people: nothing is handed over before, and nothing is lost or sent twice,
//! wherever the process ends between two steps.

use super::backend::{TestBackend, over_both};
use super::test_engine::{Carrier, START, TestEngine, accepted, all_of, crowd, draft, person};
use crate::api::{Draft, EngineError, Steer};
use crate::approval::{
    ApprovalDecision, ApprovalPolicy, ApprovalRefusal, ApprovalRule, ApprovalSubject, ApprovalVerb,
};
use crate::testing::request;
use records::{Account, Alert, AlertState, ApprovalNeed, ApprovalPerson, EndedKind, Lane, Origin, Segment};
use std::sync::Arc;
use std::time::Duration;

const PEOPLE: usize = 20;

fn user(id: &str, person: &str) -> ApprovalPerson {
    ApprovalPerson { user: format!("user:{id}"), name: id.to_owned(), person: Some(person.to_owned()) }
}

fn policy(needs: ApprovalNeed) -> ApprovalPolicy {
    ApprovalPolicy { rules: vec![ApprovalRule { needs, expires_s: Some(600), ..ApprovalRule::default() }] }
}

/// By jonas, at the console.
fn by_jonas(later_s: Option<i64>) -> Draft {
    let mut request = request("All out now");
    request.expires = START.plus_s(86_400);
    request.not_before = later_s.map(|seconds| START.plus_s(seconds));
    Draft { origin: Origin::Console, authors: vec![user("1", "jonas")], ..draft(request) }
}

fn approve(who: ApprovalPerson, alert: &Alert) -> ApprovalDecision {
    let verb = ApprovalVerb::Approve { people: None };
    ApprovalDecision { by: Some(who), verb, version: Some(alert.version) }
}

async fn decide(
    engine: &TestEngine,
    alert: &Alert,
    decision: ApprovalDecision,
) -> Result<Alert, EngineError> {
    engine.engine.decide(Account::DEFAULT, alert.id, decision).await
}

/// Submits and waits until it waits; as it is then.
async fn waiting(engine: &TestEngine, draft: Draft) -> Alert {
    let submitted = engine.engine.submit(draft).await.unwrap();
    engine.until(&submitted.alert, |report| report.state == "awaiting_approval").await;
    engine.engine.alert(Account::DEFAULT, submitted.alert.id).await.unwrap()
}

/// Segments that were handed over.
async fn handed_over(engine: &TestEngine) -> usize {
    let mut count = 0;
    for route in &engine.routes {
        for lane in Lane::ALL {
            let topic = engine.bus.topic(&records::segment_topic(&route.name, lane)).unwrap();
            let records = all_of(&*topic).await;
            count += records
                .iter()
                .filter(|one| !Segment::decode(&one.octets).unwrap().is_fencing_record())
                .count();
        }
    }
    count
}

async fn everybody_once(engine: &TestEngine, alert: &Alert, carrier: &Carrier, people: usize) {
    engine.until(alert, |report| report.state == "done" && report.counts.accepted == people as u64).await;
    let mut sent = carrier.addresses();
    assert_eq!(sent.len(), people);
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), people, "nobody gets it twice");
}

async fn an_alert_waits_with_its_people_counted_until_another_person_approves(ground: TestBackend) {
    let engine = ground.engine_asking(START, policy(ApprovalNeed::One)).await;
    engine.people(crowd(PEOPLE)).await;
    let carrier = engine.carrier(accepted);
    let alert = waiting(&engine, by_jonas(None)).await;
    let approval = alert.approval.clone().unwrap();
    assert_eq!((approval.people, approval.version), (PEOPLE as u64, alert.version));
    assert_eq!(approval.authors, [user("1", "jonas")]);
    for (who, expected) in [
        (user("1", "jonas"), ApprovalRefusal::OwnAlert),
        (user("7", "jonas"), ApprovalRefusal::OwnAlert),
        (ApprovalPerson { person: None, ..user("t", "x") }, ApprovalRefusal::NotAPerson),
    ] {
        let refused = decide(&engine, &alert, approve(who, &alert)).await;
        assert_eq!(refused, Err(EngineError::Approval(expected)));
    }
    for verb in [Steer::Resume, Steer::Pause, Steer::RetryFailed] {
        let steered = engine.engine.steer(Account::DEFAULT, alert.id, verb).await;
        assert!(matches!(steered, Err(EngineError::WrongState { .. })), "{verb:?} does not send it");
    }
    assert_eq!((handed_over(&engine).await, carrier.addresses().len()), (0, 0));
    let approved = decide(&engine, &alert, approve(user("2", "mia"), &alert)).await.unwrap();
    assert_eq!(approved.state, AlertState::Running);
    everybody_once(&engine, &alert, &carrier, PEOPLE).await;
    let late = decide(&engine, &alert, approve(user("3", "ola"), &alert)).await;
    assert!(matches!(late, Err(EngineError::WrongState { verb: "approve", .. })), "{late:?}");
}

/// Where the process ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cut {
    Accepted,
    Waiting,
    ApprovedOnce,
    Approved,
}

async fn wherever_the_process_ends_nothing_is_lost_or_sent_twice_or_without_approval(ground: TestBackend) {
    for cut in [Cut::Accepted, Cut::Waiting, Cut::ApprovedOnce, Cut::Approved] {
        let ground = ground.another().await;
        let rules = policy(ApprovalNeed::Two);
        let engine = ground.engine_asking(START, rules.clone()).await;
        engine.people(crowd(PEOPLE)).await;
        let submitted = engine.engine.submit(by_jonas(None)).await.unwrap().alert;
        let mut alert = submitted.clone();
        if cut != Cut::Accepted {
            engine.until(&submitted, |report| report.state == "awaiting_approval").await;
            alert = engine.engine.alert(Account::DEFAULT, submitted.id).await.unwrap();
        }
        if matches!(cut, Cut::ApprovedOnce | Cut::Approved) {
            decide(&engine, &alert, approve(user("2", "mia"), &alert)).await.unwrap();
        }
        if cut == Cut::Approved {
            decide(&engine, &alert, approve(user("3", "ola"), &alert)).await.unwrap();
        }
        let ground = ground.killed(engine).await;
        let engine = ground.engine_asking(START.plus_s(60), rules).await;
        let carrier = engine.carrier(accepted);
        if cut != Cut::Approved {
            engine.until(&submitted, |report| report.state == "awaiting_approval").await;
            assert_eq!((handed_over(&engine).await, carrier.addresses().len()), (0, 0), "{cut:?}");
            let alert = engine.engine.alert(Account::DEFAULT, submitted.id).await.unwrap();
            if cut != Cut::ApprovedOnce {
                decide(&engine, &alert, approve(user("2", "mia"), &alert)).await.unwrap();
            }
            let again = decide(&engine, &alert, approve(user("9", "mia"), &alert)).await;
            assert_eq!(again, Err(EngineError::Approval(ApprovalRefusal::ApprovedAlready)), "{cut:?}");
            decide(&engine, &alert, approve(user("3", "ola"), &alert)).await.unwrap();
        }
        everybody_once(&engine, &submitted, &carrier, PEOPLE).await;
    }
}

async fn a_process_that_ends_while_it_decides_has_decided_or_has_not(ground: TestBackend) {
    for seed in 0..ground.seeds() {
        let ground = ground.another().await;
        let rules = policy(ApprovalNeed::One);
        let engine = ground.engine_asking(START, rules.clone()).await;
        engine.people(crowd(PEOPLE)).await;
        let alert = waiting(&engine, by_jonas(None)).await;
        let (deciding, of) = (engine.engine.clone(), alert.clone());
        let decision = approve(user("2", "mia"), &alert);
        let task = tokio::spawn(async move { deciding.decide(Account::DEFAULT, of.id, decision).await });
        tokio::time::sleep(Duration::from_micros(seed * 700)).await;
        let ground = ground.killed(engine).await;
        task.abort();
        let engine = ground.engine_asking(START.plus_s(60), rules).await;
        let carrier = engine.carrier(accepted);
        let is_known =
            |report: &crate::Report| ["awaiting_approval", "running", "done"].contains(&report.state);
        engine.until(&alert, is_known).await;
        let found = engine.engine.alert(Account::DEFAULT, alert.id).await.unwrap();
        if found.state == AlertState::AwaitingApproval {
            assert_eq!(handed_over(&engine).await, 0);
            decide(&engine, &found, approve(user("2", "mia"), &found)).await.unwrap();
        }
        everybody_once(&engine, &alert, &carrier, PEOPLE).await;
    }
}

async fn of_two_who_approve_at_once_both_count_and_it_is_sent_once(ground: TestBackend) {
    let engine = ground.engine_asking(START, policy(ApprovalNeed::Two)).await;
    engine.people(crowd(PEOPLE)).await;
    let carrier = engine.carrier(accepted);
    let alert = waiting(&engine, by_jonas(None)).await;
    let one = decide(&engine, &alert, approve(user("2", "mia"), &alert));
    let same = decide(&engine, &alert, approve(user("8", "mia"), &alert));
    let other = decide(&engine, &alert, approve(user("3", "ola"), &alert));
    let (one, same, other) = tokio::join!(one, same, other);
    // They come in any order. The same person's second approval comes too late, or does not count.
    let (counted, refused) = if one.is_ok() { (one, same) } else { (same, one) };
    let late = EngineError::WrongState { state: "solving", verb: "approve" };
    let refused = refused.unwrap_err();
    let is_known = refused == EngineError::Approval(ApprovalRefusal::ApprovedAlready) || refused == late;
    assert!(is_known, "{refused}");
    let mut states = [counted.unwrap().state.name(), other.unwrap().state.name()];
    states.sort_unstable();
    assert_eq!(states, ["awaiting_approval", "running"], "the second of the two sends it");
    everybody_once(&engine, &alert, &carrier, PEOPLE).await;
}

async fn an_audience_that_grew_asks_again_and_who_left_gets_nothing(ground: TestBackend) {
    let engine = ground.engine_asking(START, policy(ApprovalNeed::One)).await;
    engine.people(crowd(PEOPLE)).await;
    let carrier = engine.carrier(accepted);
    let alert = waiting(&engine, by_jonas(None)).await;
    engine
        .people((0..3).map(|n| person(&format!("n{n}"), &[&format!("sms:+4671000000{n}")])).collect())
        .await;
    let grew = decide(&engine, &alert, approve(user("2", "mia"), &alert)).await;
    let (before, people, version) = (PEOPLE as u64, PEOPLE as u64 + 3, alert.version + 1);
    let expected = ApprovalRefusal::AudienceGrew { before, people, version };
    assert_eq!(grew, Err(EngineError::Approval(expected)));
    let stale = decide(&engine, &alert, approve(user("2", "mia"), &alert)).await;
    assert_eq!(stale, Err(EngineError::Approval(ApprovalRefusal::VersionChanged { version })));
    let alert = engine.engine.alert(Account::DEFAULT, alert.id).await.unwrap();
    assert_eq!(alert.approval.as_ref().unwrap().people, people);
    engine.store.delete_recipient(Account::DEFAULT, "n0").await.unwrap();
    decide(&engine, &alert, approve(user("2", "mia"), &alert)).await.unwrap();
    everybody_once(&engine, &alert, &carrier, PEOPLE + 2).await;
}

async fn an_alert_for_later_that_grew_after_its_approval_asks_again_at_its_start(ground: TestBackend) {
    for grows in [false, true] {
        let ground = ground.another().await;
        let engine = ground.engine_asking(START, policy(ApprovalNeed::One)).await;
        engine.people(crowd(PEOPLE)).await;
        let carrier = engine.carrier(accepted);
        let alert = waiting(&engine, by_jonas(Some(3_600))).await;
        let approved = decide(&engine, &alert, approve(user("2", "mia"), &alert)).await.unwrap();
        assert_eq!(approved.state, AlertState::Running);
        if grows {
            let more = (0..3).map(|n| person(&format!("n{n}"), &[&format!("sms:+4671000000{n}")]));
            engine.people(more.collect()).await;
        }
        let ground = ground.killed(engine).await;
        drop(carrier);
        let engine = ground.engine_asking(START.plus_s(600), policy(ApprovalNeed::One)).await;
        let carrier = engine.carrier(accepted);
        assert_eq!(handed_over(&engine).await, 0);
        engine.pass_s(3_100);
        if !grows {
            everybody_once(&engine, &alert, &carrier, PEOPLE).await;
            continue;
        }
        engine.until(&alert, |report| report.state == "awaiting_approval").await;
        assert_eq!(carrier.addresses().len(), 0);
        let alert = engine.engine.alert(Account::DEFAULT, alert.id).await.unwrap();
        decide(&engine, &alert, approve(user("3", "ola"), &alert)).await.unwrap();
        everybody_once(&engine, &alert, &carrier, PEOPLE + 3).await;
    }
}

async fn silence_never_sends(ground: TestBackend) {
    let engine = ground.engine_asking(START, policy(ApprovalNeed::One)).await;
    engine.people(crowd(PEOPLE)).await;
    let carrier = engine.carrier(accepted);
    let alert = waiting(&engine, by_jonas(None)).await;
    engine.pass_s(601);
    engine.until(&alert, |report| report.state == "cancelled" && report.counts.failed == PEOPLE as u64).await;
    let ended = engine.engine.alert(Account::DEFAULT, alert.id).await.unwrap();
    let by = ended.approval.unwrap().ended_by.unwrap();
    assert_eq!((by.kind, by.by), (EndedKind::Expired, None));
    let ground = ground.killed(engine).await;
    drop(carrier);
    let engine = ground.engine_asking(START.plus_s(700), policy(ApprovalNeed::One)).await;
    let stored = engine.engine.alert(Account::DEFAULT, alert.id).await.unwrap();
    assert_eq!(stored.state, AlertState::Cancelled);
    assert_eq!(handed_over(&engine).await, 0);
}

async fn what_is_returned_or_stopped_is_not_sent_and_what_is_sent_alone_is(ground: TestBackend) {
    let engine = ground.engine_asking(START, policy(ApprovalNeed::Two)).await;
    engine.people(crowd(PEOPLE)).await;
    let carrier = engine.carrier(accepted);
    let mia = |verb| ApprovalDecision { by: Some(user("2", "mia")), verb, version: None };
    let alert = waiting(&engine, by_jonas(None)).await;
    let returned = mia(ApprovalVerb::Return { reason: "the area is wrong".into() });
    let ended = decide(&engine, &alert, returned).await.unwrap();
    assert_eq!(
        (ended.state, ended.note.as_str()),
        (AlertState::Cancelled, "returned by 2: the area is wrong")
    );
    let alert = waiting(&engine, by_jonas(None)).await;
    let stopped = engine.engine.steer(Account::DEFAULT, alert.id, Steer::Cancel).await.unwrap();
    assert_eq!(stopped.state, AlertState::Cancelled);
    let late = decide(&engine, &alert, approve(user("2", "mia"), &alert)).await;
    assert!(matches!(late, Err(EngineError::WrongState { .. })), "{late:?}");
    assert_eq!((handed_over(&engine).await, carrier.addresses().len()), (0, 0));
    let alert = waiting(&engine, by_jonas(None)).await;
    let alone = ApprovalVerb::SendAlone { reason: "nobody answers".into(), people: None };
    let by = ApprovalDecision { by: Some(user("1", "jonas")), verb: alone, version: None };
    assert_eq!(decide(&engine, &alert, by).await.unwrap().state, AlertState::Running);
    everybody_once(&engine, &alert, &carrier, PEOPLE).await;
}

async fn rules_ask_by_people_and_origin_and_hold_from_the_next_alert_on(ground: TestBackend) {
    let engine = ground.engine_asking(START, ApprovalPolicy::default()).await;
    engine.people(crowd(PEOPLE)).await;
    let _carrier = engine.carrier(accepted);
    let state = async |draft: Draft| {
        let wait_solved = true;
        engine.engine.submit(Draft { wait_solved, ..draft }).await.unwrap().alert.state
    };
    assert_eq!(state(by_jonas(None)).await, AlertState::Running);
    let rule = |people_over| ApprovalRule {
        needs: ApprovalNeed::One,
        people_over: Some(people_over),
        ..ApprovalRule::default()
    };
    let asks = async |rules: Vec<ApprovalRule>| {
        engine.engine.change_approval_policy(ApprovalPolicy { rules }).await.unwrap();
    };
    asks(vec![rule(PEOPLE as u64)]).await;
    assert_eq!(state(by_jonas(None)).await, AlertState::Running);
    asks(vec![rule(PEOPLE as u64 - 1)]).await;
    assert_eq!(state(by_jonas(None)).await, AlertState::AwaitingApproval);
    let notice = || Draft { origin: Origin::Notice, authors: Vec::new(), ..by_jonas(None) };
    assert_eq!(state(notice()).await, AlertState::Running, "what tells approvers waits for nobody");
    let by_program = || Draft { origin: Origin::Api, authors: Vec::new(), ..by_jonas(None) };
    assert_eq!(state(by_program()).await, AlertState::AwaitingApproval);
    asks(vec![ApprovalRule { applies_to: vec![ApprovalSubject::Stop], ..rule(0) }]).await;
    assert_eq!(state(by_jonas(None)).await, AlertState::Running);
}

async fn a_clock_that_is_stepped_back_neither_loses_an_approval_nor_sends_twice(ground: TestBackend) {
    let engine = Arc::new(ground.engine_asking(START, policy(ApprovalNeed::One)).await);
    engine.people(crowd(PEOPLE)).await;
    let carrier = engine.carrier(accepted);
    let alert = waiting(&engine, by_jonas(None)).await;
    engine.clock.store(START.plus_s(-60).0, std::sync::atomic::Ordering::SeqCst);
    decide(&engine, &alert, approve(user("2", "mia"), &alert)).await.unwrap();
    engine.clock.store(START.plus_s(60).0, std::sync::atomic::Ordering::SeqCst);
    everybody_once(&engine, &alert, &carrier, PEOPLE).await;
}

over_both!(
    an_alert_waits_with_its_people_counted_until_another_person_approves,
    wherever_the_process_ends_nothing_is_lost_or_sent_twice_or_without_approval,
    a_process_that_ends_while_it_decides_has_decided_or_has_not,
    of_two_who_approve_at_once_both_count_and_it_is_sent_once,
    an_audience_that_grew_asks_again_and_who_left_gets_nothing,
    an_alert_for_later_that_grew_after_its_approval_asks_again_at_its_start,
    silence_never_sends,
    what_is_returned_or_stopped_is_not_sent_and_what_is_sent_alone_is,
    rules_ask_by_people_and_origin_and_hold_from_the_next_alert_on,
    a_clock_that_is_stepped_back_neither_loses_an_approval_nor_sends_twice,
);
