//! Forgetting people, and what is shown of one.

use super::backend::{TestBackend, over_both};
use super::messages::{accept, message, until};
use super::test_engine::{START, TestEngine, accepted, person};
use crate::Privacy;
use crate::api::{DeliveryView, EngineError};
use records::{Account, Alert, Choice, DeliveryState, DlrState, EndpointNo, Inbound, Outcome, Reason};

const OWN: &str = Account::DEFAULT;

/// With a key for the stops of forgotten people.
async fn engine_of(ground: &TestBackend) -> TestEngine {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.store.set_stop_key([7; 32]);
    engine_under_test
}

async fn views(of: &TestEngine, alert: &Alert) -> Vec<DeliveryView> {
    of.engine.deliveries(OWN, alert.id, None, EndpointNo(0), 100).await.unwrap().0
}

/// An alert that asks, to Ann alone by mail, to both by a number that they share, and to Bo; Ann has
/// answered.
async fn answered(of: &TestEngine) -> Alert {
    of.people(vec![
        person("ann", &["sms:+46700000001", "mail:ann@x.se"]),
        person("bo", &["sms:+46700000001", "mail:bo@x.se"]),
    ])
    .await;
    let submitted = of
        .submit(|request| {
            request.require_answer = true;
            request.choices = vec![Choice { key: "1".into(), label: "I am safe".into() }];
        })
        .await;
    of.until(&submitted.alert, |report| report.counts.answered == 1 && report.state == "done").await;
    submitted.alert
}

fn answers(segment: &records::Segment, entry: &records::Entry) -> Vec<Outcome> {
    let mut out = accepted(segment, entry);
    if entry.address == "ann@x.se" {
        out.push(Outcome::Inbound(Inbound {
            octets: None,
            channel: channels::MAIL,
            route: segment.route.clone(),
            from: entry.address.clone(),
            to: "us@x.se".into(),
            text: "1".into(),
            of: Some((segment.alert, entry.endpoint)),
            at: START.plus_s(3),
        }));
    }
    out
}

fn is_named(views: &[DeliveryView], words: &[&str]) -> bool {
    let all = serde_json::to_string(views).unwrap();
    words.iter().any(|word| all.contains(word))
}

async fn an_erased_person_is_in_no_report_and_counts_stay_as_they_were(ground: TestBackend) {
    let of = engine_of(&ground).await;
    let _carrier = of.carrier(answers);
    let alert = answered(&of).await;
    let before = of.engine.report(OWN, alert.id).await.unwrap();
    let erased = Privacy::of(&of.engine).erase(OWN, "ann", None).await.unwrap();
    assert!(erased.record && (erased.alerts, erased.waiting) == (1, 0), "{erased:?}");
    let theirs = ["\"ann\"", "ann@x.se", "ANN", "I am safe"];
    // At once, while the alert is in memory, and after a start from SQL.
    let shown = views(&of, &alert).await;
    assert!(!is_named(&shown, &theirs), "{shown:#?}");
    assert!(
        is_named(&shown, &["+46700000001"]) && is_named(&shown, &["bo@x.se"]),
        "these are Bo's: {shown:#?}"
    );
    assert_eq!(shown.iter().filter(|view| view.state == DeliveryState::Answered).count(), 1);
    let ground = ground.ended(of).await;
    let of = engine_of(&ground).await;
    let shown = views(&of, &alert).await;
    assert!(!is_named(&shown, &theirs), "{shown:#?}");
    let after = of.engine.report(OWN, alert.id).await.unwrap();
    assert_eq!((after.counts, &after.answers), (before.counts, &before.answers));
    assert_eq!(after.channels, before.channels);
    assert_eq!(Privacy::of(&of.engine).erase(OWN, "ann", None).await, Err(EngineError::NotFound));
    assert_eq!(of.store.erasures().await.unwrap(), []);
}

async fn a_person_of_an_alert_that_runs_is_forgotten_once_it_has_ended(ground: TestBackend) {
    let of = engine_of(&ground).await;
    of.people(vec![person("ann", &["sms:+46700000001"]), person("bo", &["sms:+46700000002"])]).await;
    let submitted = of.submit(|request| request.not_before = Some(START.plus_s(60))).await;
    of.until(&submitted.alert, |report| report.counts.held + report.counts.planned == 2).await;
    let erased = Privacy::of(&of.engine).erase(OWN, "ann", None).await.unwrap();
    assert_eq!((erased.alerts, erased.waiting), (0, 1));
    Privacy::of(&of.engine).erase_noted(None).await.unwrap();
    assert!(is_named(&views(&of, &submitted.alert).await, &["+46700000001"]), "it is still to be sent");
    let carrier = of.carrier(accepted);
    of.pass_s(61);
    of.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(carrier.addresses().len(), 2);
    until_final(&of, &submitted.alert).await;
    Privacy::of(&of.engine).erase_noted(None).await.unwrap();
    let shown = views(&of, &submitted.alert).await;
    assert!(!is_named(&shown, &["+46700000001", "\"ann\""]), "{shown:#?}");
    assert_eq!(of.store.erasures().await.unwrap(), []);
}

/// Waits until SQL knows that the alert has ended.
async fn until_final(of: &TestEngine, alert: &Alert) {
    loop {
        let stored = of.store.alert_by_no(alert.no).await.unwrap().unwrap();
        if stored.state.is_final() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

async fn an_erasure_that_was_cut_short_is_made_good(ground: TestBackend) {
    let of = engine_of(&ground).await;
    let _carrier = of.carrier(answers);
    let alert = answered(&of).await;
    until_final(&of, &alert).await;
    let fails: crate::ForgetElsewhere = std::sync::Arc::new(|_| Box::pin(async { Err("disk".to_owned()) }));
    let failed = Privacy::of(&of.engine).erase(OWN, "ann", Some(&fails)).await;
    assert_eq!(failed, Err(EngineError::Internal("disk".to_owned())));
    assert_eq!(of.store.erasures().await.unwrap().len(), 1);
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = asked.clone();
    let works: crate::ForgetElsewhere = std::sync::Arc::new(move |person| {
        heard.lock().unwrap().push(person);
        Box::pin(async { Ok(1) })
    });
    Privacy::of(&of.engine).erase_noted(Some(&works)).await.unwrap();
    assert_eq!(of.store.erasures().await.unwrap(), []);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].id == "ann" && asked[0].has(channels::MAIL, "ann@x.se"), "{asked:?}");
    assert!(!asked[0].has(channels::SMS, "+46700000001"), "Bo has it too");
}

async fn a_stop_holds_over_erasure_and_import_until_a_start(ground: TestBackend) {
    let of = engine_of(&ground).await;
    let ann = || person("ann", &["sms:+46700000001"]);
    let mut marked = person("mia", &["sms:+46700000003"]);
    marked.devices[0].opted_out = true;
    of.people(vec![ann(), marked]).await;
    of.store.set_opt_out(OWN, channels::SMS, "+46700000001", true, START).await.unwrap();
    for id in ["ann", "mia"] {
        Privacy::of(&of.engine).erase(OWN, id, None).await.unwrap();
    }
    assert_eq!(of.store.all_opt_outs(OWN).await.unwrap(), []);
    of.people(vec![ann(), person("mia", &["sms:+46700000003"]), person("bo", &["sms:+46700000002"])]).await;
    let carrier = of.carrier(accepted);
    let submitted = of.submit(|_| {}).await;
    of.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(carrier.addresses(), ["+46700000002"]);
    let shown = views(&of, &submitted.alert).await;
    assert_eq!(shown.iter().filter(|view| view.reason_code == Reason::OptedOut).count(), 2);
    let ids = accept(&of, &[message("+46700000001"), message("+46700000002")]).await;
    until(&of, ids[0], DlrState::Rejected).await;
    until(&of, ids[1], DlrState::Accepted).await;
    of.store.set_opt_out(OWN, channels::SMS, "+46700000001", false, START).await.unwrap();
    let submitted = of.submit(|_| {}).await;
    let report = of.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!((report.counts.accepted, report.counts.excluded), (2, 1));
}

async fn an_export_shows_what_is_known_of_one_and_nothing_of_others(ground: TestBackend) {
    let of = engine_of(&ground).await;
    let _carrier = of.carrier(answers);
    answered(&of).await;
    of.store.set_opt_out(OWN, channels::MAIL, "ann@x.se", true, START).await.unwrap();
    of.store.set_opt_out(OWN, channels::MAIL, "bo@x.se", true, START).await.unwrap();
    let export = Privacy::of(&of.engine).export(OWN, "ann").await.unwrap();
    assert_eq!(export.record.as_ref().unwrap()["id"], "ann");
    assert_eq!(export.stops.iter().map(|stop| &*stop.address).collect::<Vec<_>>(), ["ann@x.se"]);
    let [alert] = &export.alerts[..] else { panic!("{export:?}") };
    assert_eq!(alert.deliveries.len(), 2);
    let answer = alert.deliveries.iter().find_map(|view| view.answer.as_ref()).unwrap();
    assert_eq!(answer.text, "I am safe");
    let all = serde_json::to_string(&export).unwrap();
    assert!(!all.contains("BO") && !all.contains("bo@x.se"), "{all}");
    assert_eq!(Privacy::of(&of.engine).export(OWN, "eve").await.err(), Some(EngineError::NotFound));
    Privacy::of(&of.engine).erase(OWN, "ann", None).await.unwrap();
    assert_eq!(Privacy::of(&of.engine).export(OWN, "ann").await.err(), Some(EngineError::NotFound));
}

over_both! {
    an_erased_person_is_in_no_report_and_counts_stay_as_they_were,
    a_person_of_an_alert_that_runs_is_forgotten_once_it_has_ended,
    an_erasure_that_was_cut_short_is_made_good,
    a_stop_holds_over_erasure_and_import_until_a_start,
    an_export_shows_what_is_known_of_one_and_nothing_of_others,
}
