//! People whom an alert names, and when they may be disturbed.

use super::backend::{TestBackend, over_both};
use super::test_engine::{accepted, draft, person};
use crate::api::EngineError;
use crate::testing::request;
use records::{AlertRequest, AudienceEntry, Priority, QuietHours, Recipient};

fn to(audience: &[&str], exclude: &[&str], expires: records::Timestamp) -> AlertRequest {
    let entry = |to: &&str| AudienceEntry { to: (*to).to_owned(), strategy: None, expires: None };
    let exclude = exclude.iter().map(|one| (*one).to_owned()).collect();
    AlertRequest { audience: audience.iter().map(entry).collect(), exclude, expires, ..request("Leave") }
}

async fn unknown_people_and_people_without_a_device_are_told_by_name(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(vec![person("ann", &["sms:+46700000001"]), person("bo", &[])]).await;
    let audience = ["recipient:ann", "recipient:typo", "recipient:bo"];
    let request = to(&audience, &["recipient:slip", "recipient:bo"], engine_under_test.now().plus_s(60));
    let forecast = engine_under_test.engine.forecast("default", request.clone()).await.unwrap();
    let mut draft = draft(request.clone());
    for wait_solved in [false, true] {
        draft.wait_solved = wait_solved;
        let submitted = engine_under_test.engine.submit(draft.clone()).await.unwrap();
        for problems in [&submitted.problems, &forecast.problems] {
            // The routes of these tests are not measured: a forecast may call them down.
            let told: Vec<(&str, bool)> = problems
                .iter()
                .filter(|problem| problem.field != "routes")
                .map(|problem| (problem.field.as_str(), problem.reason.contains("there is no recipient")))
                .collect();
            assert_eq!(told, [("audience[1]", true), ("audience[2]", false), ("exclude[0]", true)]);
            assert!(problems[0].reason.contains("\"typo\""), "{problems:?}");
        }
    }
    draft.request = to(&["recipient:typo"], &[], engine_under_test.now().plus_s(60));
    let Err(EngineError::Unprocessable(problems)) = engine_under_test.engine.submit(draft).await else {
        panic!("nobody is there")
    };
    assert!(problems.iter().any(|problem| problem.reason.contains("\"typo\"")), "{problems:?}");
}

async fn a_group_is_found_however_its_letters_are_composed(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let member = |id: &str, group: &str| Recipient {
        groups: vec![group.to_owned()],
        ..person(id, &[&format!("sms:+4670000000{}", id.len())])
    };
    // As an earlier version kept them.
    engine_under_test.people(vec![member("a", "Ström"), member("bo", "Stro\u{308}m")]).await;
    for group in ["group:Ström", "group:Stro\u{308}m", "group: Str\u{200b}öm"] {
        let request = to(&[group], &[], engine_under_test.now().plus_s(60));
        let forecast = engine_under_test.engine.forecast("default", request).await.unwrap();
        assert_eq!((forecast.recipients, forecast.endpoints), (2, 2), "{group}");
    }
}

async fn quiet_hours_that_began_since_hold_what_is_about_to_leave(ground: TestBackend) {
    const HOUR_S: i64 = 3_600;
    let engine_under_test = ground.engine_under_test().await;
    // The clock starts at eight; from nine to ten ann is not to be disturbed.
    let quiet = Recipient {
        quiet_hours: Some(QuietHours { from: 9 * 60, to: 10 * 60 }),
        ..person("ann", &["sms:+46700000001"])
    };
    engine_under_test.people(vec![quiet, person("bo", &["sms:+46700000002"])]).await;
    let carrier = engine_under_test.carrier(accepted);
    let starts = engine_under_test.now().plus_s(HOUR_S + 60);
    let routine = engine_under_test.submit(|request| request.not_before = Some(starts)).await.alert;
    let urgent = |request: &mut AlertRequest| {
        request.not_before = Some(starts);
        request.priority = Priority::Emergency;
    };
    let urgent = engine_under_test.submit(urgent).await.alert;
    engine_under_test.until(&routine, |report| report.counts.planned == 2).await;
    engine_under_test.pass_s(HOUR_S + 120);
    engine_under_test.until(&urgent, |report| report.counts.accepted == 2).await;
    let report = engine_under_test.until(&routine, |report| report.counts.accepted == 1).await;
    assert_eq!(report.counts.held, 1, "{report:?}");
    assert_eq!(carrier.addresses().iter().filter(|address| *address == "+46700000001").count(), 1);
    engine_under_test.pass_s(HOUR_S);
    engine_under_test.until(&routine, |report| report.counts.accepted == 2).await;
}

over_both!(
    unknown_people_and_people_without_a_device_are_told_by_name,
    a_group_is_found_however_its_letters_are_composed,
    quiet_hours_that_began_since_hold_what_is_about_to_leave,
);
