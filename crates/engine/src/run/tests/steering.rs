//! The sender's hand on a running alert.

use super::ground::{Ground, over_both};
use super::house::{accepted, crowd, not_tried, refused};
use crate::api::{EngineError, Steer};
use records::{Account, AlertState, NotTried};

async fn pause_gives_back_what_is_not_written_and_resume_sends_it_once(ground: Ground) {
    let house = ground.house().await;
    house.people(crowd(50)).await;
    let submitted = house.submit(|_| {}).await;
    let id = submitted.alert.id;
    let paused = house.engine.steer(Account::DEFAULT, id, Steer::Pause).await.unwrap();
    assert_eq!(paused.state, AlertState::Paused);
    let carrier = house.carrier(|segment, entry| match entry.attempt {
        1 => not_tried(segment, entry, NotTried::Paused),
        _ => accepted(segment, entry),
    });
    house.until(&submitted.alert, |report| report.counts.planned == 50 && report.state == "paused").await;
    house.engine.steer(Account::DEFAULT, id, Steer::Resume).await.unwrap();
    let report = house.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.counts.accepted, 50);
    drop(carrier);
}

async fn cancel_ends_what_is_not_yet_sent_and_says_so(ground: Ground) {
    let house = ground.house().await;
    house.people(crowd(5)).await;
    let submitted = house.submit(|request| request.not_before = Some(house.now().plus_s(3_600))).await;
    let cancelled = house.engine.steer(Account::DEFAULT, submitted.alert.id, Steer::Cancel).await.unwrap();
    assert_eq!(cancelled.state, AlertState::Cancelled);
    let report = house.until(&submitted.alert, |report| report.counts.failed == 5).await;
    assert_eq!(report.reasons["not sent: the alert was cancelled"], 5);
    let again = house.engine.steer(Account::DEFAULT, submitted.alert.id, Steer::Resume).await;
    assert!(matches!(again, Err(EngineError::WrongState { state: "cancelled", .. })));
}

async fn retry_failed_tries_what_failed_and_nothing_else(ground: Ground) {
    let house = ground.house().await;
    house.people(crowd(10)).await;
    let carrier = house.carrier(|segment, entry| match (entry.endpoint.0 % 2, entry.attempt) {
        (1, 1) => refused(segment, entry, true),
        _ => accepted(segment, entry),
    });
    let submitted = house.submit(|_| {}).await;
    house.until(&submitted.alert, |report| report.state == "done" && report.counts.failed == 5).await;
    house.engine.steer(Account::DEFAULT, submitted.alert.id, Steer::RetryFailed).await.unwrap();
    house.until(&submitted.alert, |report| report.state == "done" && report.counts.accepted == 10).await;
    assert_eq!(carrier.addresses().len(), 15);
}

async fn retry_failed_with_nothing_failed_changes_nothing(ground: Ground) {
    let house = ground.house().await;
    house.people(crowd(3)).await;
    let carrier = house.carrier(accepted);
    let submitted = house.submit(|_| {}).await;
    house.until(&submitted.alert, |report| report.state == "done").await;
    for _ in 0..20 {
        house.engine.steer(Account::DEFAULT, submitted.alert.id, Steer::RetryFailed).await.unwrap();
        house.until(&submitted.alert, |report| report.state == "done" && report.counts.accepted == 3).await;
    }
    assert_eq!(carrier.addresses().len(), 3);
}

async fn an_alert_ends_when_its_time_runs_out(ground: Ground) {
    let house = ground.house().await;
    house.people(crowd(5)).await;
    let submitted = house.submit(|request| request.not_before = Some(house.now().plus_s(3_600))).await;
    house.until(&submitted.alert, |report| report.state == "running").await;
    house.pass_s(90_000);
    let report = house.until(&submitted.alert, |report| report.state == "expired").await;
    assert_eq!(report.reasons["not sent: the alert's time ran out"], 5);
}

over_both!(
    pause_gives_back_what_is_not_written_and_resume_sends_it_once,
    cancel_ends_what_is_not_yet_sent_and_says_so,
    retry_failed_tries_what_failed_and_nothing_else,
    retry_failed_with_nothing_failed_changes_nothing,
    an_alert_ends_when_its_time_runs_out,
);
