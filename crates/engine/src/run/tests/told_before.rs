//! Alerts to whoever got an earlier one.

use super::backend::{TestBackend, over_both};
use super::test_engine::{PATIENCE, accepted, all_of, draft, not_tried, person, refused, unknown};
use crate::api::{Draft, EngineError, Steer};
use records::{
    Account, AlertRequest, AudienceEntry, Lane, NotTried, OnUnknown, Priority, Segment, segment_topic,
};
use tokio::time::timeout;

fn to_receivers(request: &mut AlertRequest, id: records::AlertId) {
    request.audience =
        vec![AudienceEntry { to: format!("alert:{id}/received"), strategy: None, expires: None }];
}

async fn only_who_got_an_alert_or_may_have_hears_what_follows_it(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let names = ["got", "refused", "maybe", "stopped"];
    let people = names.iter().zip(1..).map(|(id, n)| person(id, &[&format!("sms:+4670000000{n}")]));
    engine_under_test.people(people.collect()).await;
    let carrier =
        engine_under_test.carrier(|segment, entry| match (segment.alert.0, entry.address.as_str()) {
            (1, "+46700000002") => refused(segment, entry, true),
            (1, "+46700000003") => unknown(segment, entry),
            (1, "+46700000004") => not_tried(segment, entry, NotTried::Stopped),
            _ => accepted(segment, entry),
        });
    let hold = |request: &mut AlertRequest| request.on_unknown = OnUnknown::Hold;
    let first = engine_under_test.submit(hold).await.alert;
    engine_under_test
        .until(&first, |report| {
            (report.counts.accepted, report.counts.failed, report.counts.unknown) == (1, 2, 1)
        })
        .await;
    let second = engine_under_test.submit(|request| to_receivers(request, first.id)).await;
    engine_under_test.pass_s(1);
    let report = engine_under_test.until(&second.alert, |report| report.state == "done").await;
    assert_eq!(report.counts.endpoints, 2, "not who was refused, nor who was stopped before");
    let twice = |to: &str| carrier.addresses().iter().filter(|one| *one == to).count() == 2;
    assert!(twice("+46700000001") && twice("+46700000003") && !twice("+46700000002"));
}

/// Ready when the topic has a segment for gateways: one of several processes that begins to lead writes an
/// empty one before.
async fn a_segment_with_entries(segments: &dyn bus::Topic) {
    loop {
        let records = all_of(segments).await;
        if records.iter().any(|it| !Segment::decode(&it.octets).unwrap().is_fencing_record()) {
            return;
        }
        segments.readable(records.last().map_or(segments.low(), |last| last.index + 1)).await;
    }
}

async fn what_a_gateway_has_begun_is_waited_for(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test
        .people(vec![person("a", &["sms:+46700000001"]), person("b", &["sms:+46700000002"])])
        .await;
    // Nobody takes the segment yet: of both it is not known whether they get it.
    let first = engine_under_test.submit(|request| request.priority = Priority::Emergency).await.alert;
    let segments = engine_under_test.bus.topic(&segment_topic("sms", Lane::Emergency)).unwrap();
    timeout(PATIENCE, a_segment_with_entries(&*segments)).await.expect("a segment");
    engine_under_test.engine.steer(Account::DEFAULT, first.id, Steer::Cancel).await.unwrap();
    let mut request = crate::testing::request("all clear");
    to_receivers(&mut request, first.id);
    request.expires = engine_under_test.now().plus_s(3_600);
    let not_waited_for = Draft { wait_solved: false, ..draft(request) };
    let second = engine_under_test.engine.submit(not_waited_for).await.unwrap().alert;
    let carrier = engine_under_test.carrier(|segment, entry| match entry.address.as_str() {
        "+46700000001" if entry.attempt == 1 => accepted(segment, entry),
        "+46700000002" => not_tried(segment, entry, NotTried::Stopped),
        _ => accepted(segment, entry),
    });
    engine_under_test.until(&first, |report| report.counts.accepted == 1).await;
    engine_under_test.pass_s(1);
    let report = engine_under_test.until(&second, |report| report.state == "done").await;
    assert!(
        report.counts.endpoints <= 1,
        "who was not told is not told that it is over: {:?}",
        report.counts
    );
    drop(carrier);
}

async fn an_audience_of_an_alert_that_is_not_there_is_refused(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let mut request = crate::testing::request("x");
    let nothing = "00000000-0000-0000-0000-000000000007";
    to_receivers(&mut request, nothing.parse().unwrap());
    request.expires = engine_under_test.now().plus_s(3_600);
    let Err(EngineError::Unprocessable(problems)) = engine_under_test.engine.submit(draft(request)).await
    else {
        panic!("taken")
    };
    assert!(
        problems.iter().any(|one| one.field == "audience[0]" && one.reason.contains(nothing)),
        "{problems:?}"
    );
}

over_both!(
    only_who_got_an_alert_or_may_have_hears_what_follows_it,
    what_a_gateway_has_begun_is_waited_for,
    an_audience_of_an_alert_that_is_not_there_is_refused,
);
