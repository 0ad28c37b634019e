//! The sender's hand on a running alert.

use super::backend::{TestBackend, over_both};
use super::test_engine::{accepted, crowd, not_tried, refused};
use crate::api::{EngineError, Steer};
use records::{Account, AlertState, NotTried};

async fn pause_gives_back_what_is_not_written_and_resume_sends_it_once(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(50)).await;
    let submitted = engine_under_test.submit(|_| {}).await;
    let id = submitted.alert.id;
    let paused = engine_under_test.engine.steer(Account::DEFAULT, id, Steer::Pause).await.unwrap();
    assert_eq!(paused.state, AlertState::Paused);
    let carrier = engine_under_test.carrier(|segment, entry| match entry.attempt {
        1 => not_tried(segment, entry, NotTried::Paused),
        _ => accepted(segment, entry),
    });
    engine_under_test
        .until(&submitted.alert, |report| report.counts.planned == 50 && report.state == "paused")
        .await;
    engine_under_test.engine.steer(Account::DEFAULT, id, Steer::Resume).await.unwrap();
    let report = engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.counts.accepted, 50);
    drop(carrier);
}

/// A solve of so many takes longer than a change of routes.
const MANY: u64 = 4_000;

async fn an_alert_that_is_solved_while_routes_change_is_sent_by_those_there_are_now(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(MANY as usize)).await;
    let submitted = engine_under_test.submit(|_| {}).await;
    let mut routes = engine_under_test.routes.clone();
    routes.reverse();
    engine_under_test.engine.change_routes(routes).await.unwrap();
    let carrier = engine_under_test.carrier(accepted);
    engine_under_test.until(&submitted.alert, |report| report.counts.accepted == MANY).await;
    drop(carrier);
}

async fn cancel_ends_what_is_not_yet_sent_and_says_so(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(5)).await;
    let submitted = engine_under_test
        .submit(|request| request.not_before = Some(engine_under_test.now().plus_s(3_600)))
        .await;
    let cancelled =
        engine_under_test.engine.steer(Account::DEFAULT, submitted.alert.id, Steer::Cancel).await.unwrap();
    assert_eq!(cancelled.state, AlertState::Cancelled);
    let report = engine_under_test.until(&submitted.alert, |report| report.counts.failed == 5).await;
    assert_eq!(report.reasons["not sent: the alert was cancelled"], 5);
    let again = engine_under_test.engine.steer(Account::DEFAULT, submitted.alert.id, Steer::Resume).await;
    assert!(matches!(again, Err(EngineError::WrongState { state: "cancelled", .. })));
}

async fn retry_failed_tries_what_failed_and_nothing_else(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(10)).await;
    let carrier = engine_under_test.carrier(|segment, entry| match (entry.endpoint.0 % 2, entry.attempt) {
        (1, 1) => refused(segment, entry, true),
        _ => accepted(segment, entry),
    });
    let submitted = engine_under_test.submit(|_| {}).await;
    engine_under_test
        .until(&submitted.alert, |report| report.state == "done" && report.counts.failed == 5)
        .await;
    engine_under_test.engine.steer(Account::DEFAULT, submitted.alert.id, Steer::RetryFailed).await.unwrap();
    engine_under_test
        .until(&submitted.alert, |report| report.state == "done" && report.counts.accepted == 10)
        .await;
    assert_eq!(carrier.addresses().len(), 15);
}

async fn retry_failed_with_nothing_failed_changes_nothing(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(3)).await;
    let carrier = engine_under_test.carrier(accepted);
    let submitted = engine_under_test.submit(|_| {}).await;
    engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
    for _ in 0..20 {
        engine_under_test
            .engine
            .steer(Account::DEFAULT, submitted.alert.id, Steer::RetryFailed)
            .await
            .unwrap();
        engine_under_test
            .until(&submitted.alert, |report| report.state == "done" && report.counts.accepted == 3)
            .await;
    }
    assert_eq!(carrier.addresses().len(), 3);
}

async fn an_alert_ends_when_its_time_runs_out(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(5)).await;
    let submitted = engine_under_test
        .submit(|request| request.not_before = Some(engine_under_test.now().plus_s(3_600)))
        .await;
    engine_under_test.until(&submitted.alert, |report| report.state == "running").await;
    engine_under_test.pass_s(90_000);
    let report = engine_under_test.until(&submitted.alert, |report| report.state == "expired").await;
    assert_eq!(report.reasons["not sent: the alert's time ran out"], 5);
}

over_both!(
    pause_gives_back_what_is_not_written_and_resume_sends_it_once,
    an_alert_that_is_solved_while_routes_change_is_sent_by_those_there_are_now,
    cancel_ends_what_is_not_yet_sent_and_says_so,
    retry_failed_tries_what_failed_and_nothing_else,
    retry_failed_with_nothing_failed_changes_nothing,
    an_alert_ends_when_its_time_runs_out,
);
