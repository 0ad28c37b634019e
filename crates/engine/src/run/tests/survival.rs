//! Tests of a start: rows, outcomes after them, segments nobody acknowledged.

use super::backend::{TestBackend, over_both};
use super::test_engine::{START, TestEngine, accepted, all_of, crowd, receipt};
use records::{Inbound, Outcome, ReceiptState, Segment};
use std::sync::{Arc, Mutex};
use std::time::Duration;

async fn an_alert_goes_on_after_a_crash_and_nobody_is_left_out(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(2_000)).await;
    // All stand in segments that nobody has acknowledged.
    let submitted = engine_under_test.submit(|_| {}).await;
    engine_under_test
        .until(&submitted.alert, |report| report.state == "running" && report.counts.planned == 2_000)
        .await;
    let ground = ground.killed(engine_under_test).await;
    let second = ground.engine_at(START.plus_s(60)).await;
    let carrier = second.carrier(accepted);
    let report = second.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.counts.accepted, 2_000);
    let mut sent = carrier.addresses();
    assert_eq!(sent.len(), 2_000, "nobody gets a second copy");
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), 2_000);
}

async fn receipts_find_their_deliveries_after_an_orderly_end_and_after_a_crash(ground: TestBackend) {
    for in_order in [true, false] {
        let ground = ground.another().await;
        let late: Arc<Mutex<Vec<Outcome>>> = Arc::default();
        let engine_under_test = ground.engine_under_test().await;
        engine_under_test.people(crowd(20)).await;
        let keep = late.clone();
        let carrier = engine_under_test.carrier(move |segment: &Segment, entry| {
            keep.lock().unwrap().push(receipt(segment, entry, ReceiptState::Delivered));
            accepted(segment, entry)
        });
        let submitted = engine_under_test.submit(|_| {}).await;
        engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
        drop(carrier);
        let ground = if in_order {
            ground.ended(engine_under_test).await
        } else {
            ground.killed(engine_under_test).await
        };
        let again = ground.engine_at(START.plus_s(60)).await;
        let receipts = late.lock().unwrap().clone();
        let topic = again.bus.topic(records::OUTCOMES).unwrap();
        topic.append(&[&records::encode_outcomes(&receipts)]).await.unwrap();
        let report = again.until(&submitted.alert, |report| report.counts.delivered == 20).await;
        assert_eq!(report.counts.endpoints, 20);
    }
}

async fn receipts_that_came_before_their_answer_wait_for_it_over_an_end_and_a_crash(ground: TestBackend) {
    for in_order in [true, false] {
        let ground = ground.another().await;
        let late: Arc<Mutex<(Vec<Outcome>, Vec<Outcome>)>> = Arc::default();
        let engine_under_test = ground.engine_under_test().await;
        engine_under_test.people(crowd(20)).await;
        let keep = late.clone();
        let carrier = engine_under_test.carrier(move |segment: &Segment, entry| {
            let (receipts, answers) = &mut *keep.lock().unwrap();
            receipts.push(receipt(segment, entry, ReceiptState::Delivered));
            answers.extend(accepted(segment, entry));
            Vec::new()
        });
        let submitted = engine_under_test.submit(|_| {}).await;
        engine_under_test.until(&submitted.alert, |report| report.counts.submitted == 20).await;
        drop(carrier);
        let (receipts, answers) = late.lock().unwrap().clone();
        let append = async |engine_under_test: &TestEngine, outcomes: &[Outcome]| {
            let topic = engine_under_test.bus.topic(records::OUTCOMES).unwrap();
            topic.append(&[&records::encode_outcomes(outcomes)]).await.unwrap();
        };
        append(&engine_under_test, &receipts).await;
        // Taken in as its number says, and what was read is behind them when this one ends.
        append(&engine_under_test, &answers[..1]).await;
        engine_under_test.until(&submitted.alert, |report| report.counts.delivered == 1).await;
        let ground = if in_order {
            ground.ended(engine_under_test).await
        } else {
            ground.killed(engine_under_test).await
        };
        let again = ground.engine_at(START.plus_s(10)).await;
        append(&again, &answers[1..]).await;
        again.until(&submitted.alert, |report| report.counts.delivered == 20).await;
    }
}

async fn the_report_after_a_start_is_the_one_before(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(700)).await;
    let carrier = engine_under_test.carrier(|segment, entry| {
        let mut out = accepted(segment, entry);
        if entry.endpoint.0.is_multiple_of(3) {
            out.push(receipt(segment, entry, ReceiptState::Failed));
        }
        out
    });
    let submitted = engine_under_test.submit(|_| {}).await;
    let before = engine_under_test
        .until(&submitted.alert, |report| report.state == "done" && report.counts.failed == 234)
        .await;
    drop(carrier);
    let ground = ground.killed(engine_under_test).await;
    let second = ground.engine_at(START.plus_s(60)).await;
    let after = second
        .until(&submitted.alert, |report| report.counts == before.counts && report.state == "done")
        .await;
    assert_eq!(
        (&after.reasons, &after.times.p50, after.state),
        (&before.reasons, &before.times.p50, before.state)
    );
}

fn reply(from: &str) -> Outcome {
    Outcome::Inbound(Inbound {
        octets: None,
        channel: channels::SMS,
        route: "sms".into(),
        from: from.into(),
        to: "71700".into(),
        text: "1".into(),
        of: None,
        at: START.plus_s(90),
    })
}

/// What an alert was doing when its engine ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Doing {
    InSegments,
    NotFolded,
    Over,
}

async fn whose_answer_it_is_is_known_after_a_start_whatever_the_alert_was_doing(ground: TestBackend) {
    for doing in [Doing::InSegments, Doing::NotFolded, Doing::Over] {
        let ground = ground.another().await;
        let engine_under_test = ground.engine_under_test().await;
        engine_under_test.people(crowd(20)).await;
        let submitted = engine_under_test.submit(|request| request.require_answer = true).await;
        let planned = |report: &crate::Report| report.state == "running" && report.counts.planned == 20;
        engine_under_test.until(&submitted.alert, planned).await;
        let segments =
            engine_under_test.bus.topic(&records::segment_topic("sms", records::Lane::Routine)).unwrap();
        while all_of(&*segments)
            .await
            .iter()
            .all(|it| Segment::decode(&it.octets).unwrap().is_fencing_record())
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if doing != Doing::InSegments {
            let carrier = engine_under_test.carrier(accepted);
            engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
            drop(carrier);
        }
        let ground = match doing {
            Doing::Over => ground.ended(engine_under_test).await,
            _ => ground.killed(engine_under_test).await,
        };
        let again = ground.engine_at(START.plus_s(60)).await;
        let topic = again.bus.topic(records::OUTCOMES).unwrap();
        topic.append(&[&records::encode_outcomes(&[reply("+46700000007")])]).await.unwrap();
        let report = again.until(&submitted.alert, |report| report.counts.answered == 1).await;
        assert_eq!(report.counts.endpoints, 20, "{doing:?}");
    }
}

async fn an_answer_that_came_just_before_a_crash_is_folded_by_the_start(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(20)).await;
    let submitted = engine_under_test.submit(|request| request.require_answer = true).await;
    let carrier = engine_under_test.carrier(|segment, entry| {
        let mut out = accepted(segment, entry);
        out.push(reply(&entry.address));
        out
    });
    engine_under_test.until(&submitted.alert, |report| report.counts.answered == 20).await;
    drop(carrier);
    let ground = ground.killed(engine_under_test).await;
    let again = ground.engine_at(START.plus_s(60)).await;
    again.until(&submitted.alert, |report| report.counts.answered == 20).await;
}

over_both!(
    an_alert_goes_on_after_a_crash_and_nobody_is_left_out,
    receipts_find_their_deliveries_after_an_orderly_end_and_after_a_crash,
    receipts_that_came_before_their_answer_wait_for_it_over_an_end_and_a_crash,
    the_report_after_a_start_is_the_one_before,
    whose_answer_it_is_is_known_after_a_start_whatever_the_alert_was_doing,
    an_answer_that_came_just_before_a_crash_is_folded_by_the_start,
);
