//! What a start finds: rows, outcomes after them, segments nobody acknowledged.

use super::house::{House, START, accepted, crowd, receipt};
use records::{Channel, Inbound, Outcome, ReceiptState, Segment};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// What kill -9 leaves: the files as they are, while everything still runs.
pub fn copy_as_killed(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target: PathBuf = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_as_killed(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[tokio::test]
async fn an_alert_goes_on_after_a_crash_and_nobody_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let killed = tempfile::tempdir().unwrap();
    let house = House::open(dir.path()).await;
    house.people(crowd(2_000)).await;
    // All stand in segments that nobody has acknowledged.
    let submitted = house.submit(|_| {}).await;
    house.until(&submitted.alert, |report| report.state == "running" && report.counts.planned == 2_000).await;
    copy_as_killed(dir.path(), killed.path());
    let second = House::open_at(killed.path(), START.plus_s(60)).await;
    let carrier = second.carrier(accepted);
    let report = second.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.counts.accepted, 2_000);
    let mut sent = carrier.addresses();
    assert_eq!(sent.len(), 2_000, "nobody gets a second copy");
    sent.sort_unstable();
    sent.dedup();
    assert_eq!(sent.len(), 2_000);
}

#[tokio::test]
async fn receipts_find_their_deliveries_after_an_orderly_end_and_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let (killed, ended) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let submitted;
    let late: Arc<Mutex<Vec<Outcome>>> = Arc::default();
    {
        let house = House::open(dir.path()).await;
        house.people(crowd(20)).await;
        let keep = late.clone();
        let _carrier = house.carrier(move |segment: &Segment, entry| {
            keep.lock().unwrap().push(receipt(segment, entry, ReceiptState::Delivered));
            accepted(segment, entry)
        });
        submitted = house.submit(|_| {}).await;
        house.until(&submitted.alert, |report| report.state == "done").await;
        copy_as_killed(dir.path(), killed.path());
        house.engine.stop().await;
        house.store.close().await.unwrap();
        copy_as_killed(dir.path(), ended.path());
    }
    for dir in [ended.path(), killed.path()] {
        let again = House::open_at(dir, START.plus_s(60)).await;
        let receipts = late.lock().unwrap().clone();
        let topic = again.bus.topic(records::OUTCOMES).unwrap();
        topic.append(&[&records::encode_outcomes(&receipts)]).await.unwrap();
        let report = again.until(&submitted.alert, |report| report.counts.delivered == 20).await;
        assert_eq!(report.counts.endpoints, 20);
        again.engine.stop().await;
    }
}

#[tokio::test]
async fn the_report_after_a_start_is_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    let killed = tempfile::tempdir().unwrap();
    let house = House::open(dir.path()).await;
    house.people(crowd(700)).await;
    let _carrier = house.carrier(|segment, entry| {
        let mut out = accepted(segment, entry);
        if entry.endpoint.0.is_multiple_of(3) {
            out.push(receipt(segment, entry, ReceiptState::Failed));
        }
        out
    });
    let submitted = house.submit(|_| {}).await;
    let before =
        house.until(&submitted.alert, |report| report.state == "done" && report.counts.failed == 234).await;
    copy_as_killed(dir.path(), killed.path());
    let second = House::open_at(killed.path(), START.plus_s(60)).await;
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
        channel: Channel::Sms,
        route: "sms".into(),
        from: from.into(),
        to: "71700".into(),
        text: "1".into(),
        of: None,
        at: START.plus_s(90),
    })
}

#[tokio::test]
async fn whose_answer_it_is_is_known_after_a_start_whatever_the_alert_was_doing() {
    let dir = tempfile::tempdir().unwrap();
    let (in_segments, over) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let unfolded = tempfile::tempdir().unwrap();
    let house = House::open(dir.path()).await;
    house.people(crowd(20)).await;
    let submitted = house.submit(|request| request.require_answer = true).await;
    house.until(&submitted.alert, |report| report.state == "running" && report.counts.planned == 20).await;
    // In segments, in outcomes that are not folded, and in an alert that is over.
    let segments = house.bus.topic(&records::segment_topic("sms", records::Lane::Routine)).unwrap();
    segments.readable(0).await;
    copy_as_killed(dir.path(), in_segments.path());
    let carrier = house.carrier(accepted);
    house.until(&submitted.alert, |report| report.state == "done").await;
    copy_as_killed(dir.path(), unfolded.path());
    let who = carrier.addresses()[7].clone();
    house.engine.stop().await;
    house.store.close().await.unwrap();
    copy_as_killed(dir.path(), over.path());
    for dir in [in_segments.path(), unfolded.path(), over.path()] {
        let again = House::open_at(dir, START.plus_s(60)).await;
        let topic = again.bus.topic(records::OUTCOMES).unwrap();
        topic.append(&[&records::encode_outcomes(&[reply(&who)])]).await.unwrap();
        let report = again.until(&submitted.alert, |report| report.counts.answered == 1).await;
        assert_eq!(report.counts.endpoints, 20);
        again.engine.stop().await;
    }
}

#[tokio::test]
async fn an_answer_that_came_just_before_a_crash_is_folded_by_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let killed = tempfile::tempdir().unwrap();
    let house = House::open(dir.path()).await;
    house.people(crowd(20)).await;
    let submitted = house.submit(|request| request.require_answer = true).await;
    let _carrier = house.carrier(|segment, entry| {
        let mut out = accepted(segment, entry);
        out.push(reply(&entry.address));
        out
    });
    house.until(&submitted.alert, |report| report.counts.answered == 20).await;
    copy_as_killed(dir.path(), killed.path());
    let again = House::open_at(killed.path(), START.plus_s(60)).await;
    again.until(&submitted.alert, |report| report.counts.answered == 20).await;
}
