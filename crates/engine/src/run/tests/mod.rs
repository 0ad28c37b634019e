//! The engine as a whole: real bus, real store, a carrier that does as it is told, and time in the test's
//! hand.

mod alert_evidence;
mod approval;
mod audience_counts;
mod backend;
mod carrier_words;
mod devices;
mod drills;
mod erasure;
mod forecasts;
mod live_people;
mod message_clients;
mod messages;
mod own_page;
mod people;
mod presence;
mod replay;
mod routes;
mod services;
mod several;
mod steering;
mod still;
mod stops;
mod survival;
mod test_engine;
mod texts;
mod told_before;

use crate::api::{EngineError, Event, Steer};
use backend::{TestBackend, over_both};
use records::{
    Account, Choice, DeliveryState, EndpointNo, Inbound, Intent, NotTried, OnUnknown, Outcome, ReceiptState,
    Strategy, Terminal,
};
use std::sync::{Arc, Mutex};
use test_engine::{START, accepted, crowd, draft, not_tried, person, receipt, refused, unknown};

async fn an_alert_to_all_reaches_everyone_once_and_is_done(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(1_500)).await;
    let carrier = engine_under_test.carrier(accepted);
    let submitted = engine_under_test.submit(|_| {}).await;
    let report = engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!((report.counts.endpoints, report.counts.accepted), (1_500, 1_500));
    assert_eq!(report.routes["sms"].counts.accepted, 1_500);
    assert!(report.times.p99.is_some());
    let mut sent = carrier.addresses();
    sent.sort_unstable();
    sent.dedup();
    assert_eq!((sent.len(), carrier.addresses().len()), (1_500, 1_500));
}

async fn duplicates_are_merged_and_every_exclusion_keeps_its_reason(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let mut off = person("off", &["sms:+46700000003"]);
    off.devices[0].enabled = false;
    let people = vec![
        person("anna", &["sms:+46700000001", "mail:a@b.se"]),
        person("bo", &["sms:+46700000001"]),
        person("nobody", &[]),
        person("stopped", &["sms:+46700000002"]),
        off,
    ];
    engine_under_test.people(people).await;
    let stopped = channels::SMS;
    engine_under_test
        .store
        .set_opt_out(Account::DEFAULT, stopped, "+46700000002", true, engine_under_test.now())
        .await
        .unwrap();
    let _carrier = engine_under_test.carrier(accepted);
    let submitted = engine_under_test.submit(|_| {}).await;
    let report = engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!((report.counts.endpoints, report.counts.accepted, report.counts.excluded), (5, 2, 3));
    let (list, next) = engine_under_test
        .engine
        .deliveries(Account::DEFAULT, submitted.alert.id, None, EndpointNo(0), 100)
        .await
        .unwrap();
    assert_eq!((list.len(), next), (5, None));
    let shared = list.iter().find(|delivery| delivery.address == "+46700000001").unwrap();
    let who: Vec<&str> = shared.recipients.iter().map(|person| person.id.as_str()).collect();
    assert_eq!(who, ["anna", "bo"]);
    let reason = |id: &str| {
        list.iter()
            .find(|delivery| delivery.recipients.iter().any(|person| person.id == id))
            .unwrap()
            .reason
            .clone()
    };
    assert_eq!(reason("nobody"), "left out: no device on the channels of this alert");
    assert_eq!(reason("stopped"), "left out: opted out");
    assert_eq!(reason("off"), "left out: the device is switched off");
}

async fn what_a_network_without_receipts_took_does_not_keep_an_alert_open(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(vec![person("anna", &["sms:+46700000001", "mail:a@b.se"])]).await;
    let carrier = engine_under_test.carrier(|segment, entry| match segment.route.as_str() {
        "mail" => accepted(segment, entry),
        _ => accepted(segment, entry)
            .into_iter()
            .chain([receipt(segment, entry, ReceiptState::Delivered)])
            .collect(),
    });
    let submitted = engine_under_test.submit(|request| request.terminal = Terminal::Delivered).await;
    let report = engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!((report.counts.delivered, report.counts.accepted), (1, 1));
    drop(carrier);
    // Where the network tells, the alert waits for it.
    let _carrier = engine_under_test.carrier(accepted);
    let submitted = engine_under_test.submit(|request| request.terminal = Terminal::Delivered).await;
    let report = engine_under_test.until(&submitted.alert, |report| report.counts.accepted == 2).await;
    assert_eq!(report.state, "running");
}

async fn receipts_and_answers_find_their_delivery(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(3)).await;
    let _carrier = engine_under_test.carrier(|segment, entry| {
        let mut out = accepted(segment, entry);
        match entry.endpoint.0 {
            // The receipt comes before the answer to the submission.
            0 => out.insert(0, receipt(segment, entry, ReceiptState::Delivered)),
            1 => out.push(receipt(segment, entry, ReceiptState::Failed)),
            _ => out.push(Outcome::Inbound(Inbound {
                octets: None,
                channel: channels::SMS,
                route: segment.route.clone(),
                from: entry.address.clone(),
                to: "12345".into(),
                text: " 1. ".into(),
                of: None,
                at: test_engine::START.plus_s(3),
            })),
        }
        out
    });
    let submitted = engine_under_test
        .submit(|request| {
            request.require_answer = true;
            request.choices = vec![Choice { key: "1".into(), label: "I am safe".into() }];
        })
        .await;
    let wanted = |report: &crate::Report| {
        report.counts.delivered == 1 && report.counts.failed == 1 && report.counts.answered == 1
    };
    let report = engine_under_test.until(&submitted.alert, wanted).await;
    assert_eq!(report.answers["1"], 1);
    let page = engine_under_test.engine.deliveries(
        Account::DEFAULT,
        submitted.alert.id,
        Some(DeliveryState::Answered),
        EndpointNo(0),
        9,
    );
    assert_eq!(page.await.unwrap().0[0].answer.as_ref().unwrap().text, "I am safe");
}

async fn a_temporary_refusal_is_tried_again_later_and_a_permanent_one_is_not(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(2)).await;
    let carrier = engine_under_test.carrier(|segment, entry| match (entry.endpoint.0, entry.attempt) {
        (0, _) => refused(segment, entry, true),
        (_, 1) => refused(segment, entry, false),
        _ => accepted(segment, entry),
    });
    let submitted = engine_under_test.submit(|_| {}).await;
    let report = engine_under_test
        .until(&submitted.alert, |report| report.counts.held == 1 && report.counts.failed == 1)
        .await;
    assert_eq!(report.state, "running");
    assert_eq!(carrier.addresses().len(), 2);
    engine_under_test.pass_s(40);
    let report = engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!((report.counts.accepted, report.counts.failed), (1, 1));
    let reason = report.reasons.keys().next().unwrap();
    assert_eq!(reason, "refused by the carrier");
}

async fn an_unknown_outcome_is_sent_again_or_held_as_the_alert_says(ground: TestBackend) {
    for (rule, copies, state) in [(OnUnknown::Resend, 2, "accepted"), (OnUnknown::Hold, 1, "unknown")] {
        let ground = ground.another().await;
        let engine_under_test = ground.engine_under_test().await;
        engine_under_test.people(crowd(1)).await;
        let carrier = engine_under_test.carrier(|segment, entry| match entry.attempt {
            1 => unknown(segment, entry),
            _ => accepted(segment, entry),
        });
        let submitted = engine_under_test.submit(|request| request.on_unknown = rule).await;
        let report = engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
        let count = if state == "accepted" { report.counts.accepted } else { report.counts.unknown };
        assert_eq!((count, carrier.addresses().len()), (1, copies), "{rule:?}");
    }
}

async fn a_mail_of_which_nobody_knows_is_known_by_the_bounce_that_came_before_or_comes_later(
    ground: TestBackend,
) {
    let engine_under_test = ground.engine_under_test().await;
    let people = ["mail:a@b.se", "mail:b@b.se", "mail:c@b.se", "sms:+46700000002"];
    engine_under_test.people(people.map(|address| person(&address[5..6], &[address])).to_vec()).await;
    let _carrier = engine_under_test.carrier(|segment, entry| {
        let mut out = unknown(segment, entry);
        let report = |state| {
            let mut report = receipt(segment, entry, state);
            if let Outcome::Receipt(receipt) = &mut report {
                receipt.route.clear();
                receipt.keys = vec![records::mail_key(segment.alert, entry.endpoint)];
            }
            report
        };
        match entry.address.as_str() {
            "a@b.se" => out.insert(0, report(ReceiptState::Failed)),
            "b@b.se" => out.push(report(ReceiptState::Failed)),
            "c@b.se" => out.push(report(ReceiptState::Delivered)),
            // What is read from a mailbox is of no message by phone.
            _ => out.push(report(ReceiptState::Failed)),
        }
        out
    });
    let submitted = engine_under_test.submit(|request| request.on_unknown = OnUnknown::Hold).await;
    let report = engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!((report.counts.failed, report.counts.delivered, report.counts.unknown), (2, 1, 1));
}

async fn what_a_process_says_of_an_attempt_that_another_had_begun_is_void(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(1)).await;
    let held: Arc<Mutex<Vec<Outcome>>> = Arc::default();
    let keep = held.clone();
    let carrier = engine_under_test.carrier(move |segment, entry| {
        if segment.alert.0 > 1 {
            return accepted(segment, entry);
        }
        keep.lock().unwrap().extend(accepted(segment, entry));
        // It gives back what it had in hand, and has not heard yet that the segment is another's.
        let attempts = vec![(entry.endpoint, entry.attempt)];
        let (route, lane, alert) = (segment.route.clone(), segment.lane, segment.alert);
        let intent = Intent { route, lane, segment: 0, alert, from: 0, attempts, at: START };
        let mut record = vec![Outcome::By { node: "late".into() }, Outcome::Intent(intent)];
        record.extend(not_tried(segment, entry, NotTried::RouteDown));
        record
    });
    let first = engine_under_test.submit(|_| {}).await;
    engine_under_test.until(&first.alert, |report| report.counts.submitted == 1).await;
    // Whatever follows from it has followed when a later alert is done.
    let second = engine_under_test.submit(|_| {}).await;
    engine_under_test.until(&second.alert, |report| report.state == "done").await;
    let answers = held.lock().unwrap().clone();
    let topic = engine_under_test.bus.topic(records::OUTCOMES).unwrap();
    topic.append(&[&records::encode_outcomes(&answers)]).await.unwrap();
    engine_under_test
        .until(&first.alert, |report| report.state == "done" && report.counts.accepted == 1)
        .await;
    assert_eq!(carrier.addresses().len(), 2, "one of each alert");
}

async fn the_next_device_is_tried_when_the_first_fails_and_spared_when_it_delivers(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test
        .people(vec![
            person("anna", &["sms:+46700000001", "mail:a@b.se"]),
            person("bo", &["sms:+46700000002", "mail:b@b.se"]),
        ])
        .await;
    let carrier = engine_under_test.carrier(|segment, entry| match entry.address.as_str() {
        "+46700000001" => refused(segment, entry, true),
        "+46700000002" => {
            let mut out = accepted(segment, entry);
            out.push(receipt(segment, entry, ReceiptState::Delivered));
            out
        }
        _ => accepted(segment, entry),
    });
    let submitted = engine_under_test.submit(|request| request.strategy = Strategy::FirstReachable).await;
    let report = engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(
        (report.counts.failed, report.counts.delivered, report.counts.accepted, report.counts.excluded),
        (1, 1, 1, 1)
    );
    let mut sent = carrier.addresses();
    sent.sort_unstable();
    assert_eq!(sent, ["+46700000001", "+46700000002", "a@b.se"]);
}

async fn who_does_not_answer_in_time_is_called_on_the_next_device(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test
        .people(vec![
            person("anna", &["sms:+46700000001", "mail:a@b.se"]),
            person("bo", &["sms:+46700000002", "mail:b@b.se"]),
        ])
        .await;
    let carrier = engine_under_test.carrier(|segment, entry| {
        let mut out = accepted(segment, entry);
        if entry.address == "+46700000002" {
            let (alert, endpoint, at) = (segment.alert, entry.endpoint, test_engine::START.plus_s(5));
            out.push(Outcome::Answer { alert, endpoint, text: "here".into(), via: "link".into(), at });
        }
        out
    });
    let submitted = engine_under_test
        .submit(|request| {
            request.strategy = Strategy::EscalateAfter { seconds: 300 };
            request.require_answer = true;
            request.terminal = Terminal::Answered;
        })
        .await;
    engine_under_test
        .until(&submitted.alert, |report| report.counts.answered == 1 && report.counts.accepted == 1)
        .await;
    assert_eq!(carrier.addresses().len(), 2);
    engine_under_test.pass_s(310);
    let report = engine_under_test.until(&submitted.alert, |report| report.counts.accepted == 2).await;
    assert_eq!((report.counts.answered, report.counts.excluded), (1, 1));
    assert!(carrier.addresses().contains(&"a@b.se".to_owned()));
    assert!(!carrier.addresses().contains(&"b@b.se".to_owned()));
}

async fn the_texts_of_an_alert_are_compiled_once(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let mut anna = person("anna", &["sms:+46700000001", "mail:a@b.se"]);
    anna.name = "Anna".into();
    engine_under_test.people(vec![anna]).await;
    let _carrier = engine_under_test.carrier(accepted);
    let submitted = engine_under_test
        .submit(|request| {
            request.text = Some("Hi {{name}}".into());
            request.require_answer = true;
        })
        .await;
    engine_under_test.until(&submitted.alert, |report| report.counts.accepted == 2).await;
    for _ in 0..3 {
        let question = engine_under_test.engine.question(submitted.alert.no, EndpointNo(0)).await.unwrap();
        assert_eq!(question.text, "Hi Anna");
    }
    assert_eq!(
        engine_under_test.engine.inner.parts.texts.compiled(),
        1,
        "checked, solved, dispatched and shown"
    );
}

async fn a_drill_is_marked_in_the_language_of_the_person(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let mut anna = person("anna", &["sms:+46700000001"]);
    anna.language = Some("de-AT".into());
    engine_under_test.people(vec![anna]).await;
    let mut routes = engine_under_test.routes.clone();
    for route in &mut routes {
        (route.mode, route.simulated) = (records::Mode::Drill, true);
    }
    engine_under_test.engine.change_routes(routes).await.unwrap();
    let carrier = engine_under_test.carrier(accepted);
    let submitted = engine_under_test
        .submit(|request| {
            request.mode = records::Mode::Drill;
            request.text = Some("Probe".into());
        })
        .await;
    engine_under_test.until(&submitted.alert, |report| report.counts.accepted == 1).await;
    let texts: Vec<String> = carrier.sent.lock().unwrap().iter().map(|(_, text)| text.clone()).collect();
    assert_eq!(texts, ["[ÜBUNG] Probe"]);
    let question = engine_under_test.engine.question(submitted.alert.no, EndpointNo(0)).await.unwrap();
    assert_eq!(
        (question.drill, question.language, question.text.as_str()),
        (Some("ÜBUNG"), None, "[ÜBUNG] Probe")
    );
}

async fn a_request_that_cannot_be_carried_out_is_refused_field_by_field(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    let mut wrong = crate::testing::request("Dear {{name");
    wrong.audience = vec![
        records::AudienceEntry { to: "group:nobody".into(), strategy: None, expires: None },
        records::AudienceEntry { to: "sms:12".into(), strategy: None, expires: None },
    ];
    wrong.mode = records::Mode::Drill;
    wrong.expires = engine_under_test.now();
    let Err(EngineError::Unprocessable(problems)) = engine_under_test.engine.submit(draft(wrong)).await
    else {
        panic!("accepted")
    };
    let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
    let texts: Vec<String> = channels::names().map(|channel| format!("texts.{channel}")).collect();
    let expected = ["audience[1]"].into_iter().chain(texts.iter().map(String::as_str));
    assert_eq!(fields, expected.chain(["expires", "channels"]).collect::<Vec<_>>());
    let mut empty = crate::testing::request("x");
    empty.audience.clear();
    assert!(matches!(
        engine_under_test.engine.submit(draft(empty)).await,
        Err(EngineError::Unprocessable(_))
    ));
    let mut unknown = crate::testing::request("x");
    unknown.expires = engine_under_test.now().plus_s(60);
    unknown.audience[0].to = "group:nobody".into();
    let Err(EngineError::Unprocessable(problems)) = engine_under_test.engine.submit(draft(unknown)).await
    else {
        panic!("accepted")
    };
    assert_eq!(problems[0].field, "audience[0]");
}

/// Groups in groups, one level deeper than is looked into; with the deepest one empty.
async fn groups_too_deep(engine_under_test: &test_engine::TestEngine) {
    let group = |level: usize| records::Group {
        id: format!("g{level}"),
        groups: vec![format!("g{}", level + 1)],
        ..records::Group::default()
    };
    for level in 0..=crate::solve::GROUP_DEPTH_MAX {
        engine_under_test.store.put_group(Account::DEFAULT, group(level)).await.unwrap();
    }
    let last = format!("g{}", crate::solve::GROUP_DEPTH_MAX + 1);
    let last = records::Group { id: last, ..records::Group::default() };
    engine_under_test.store.put_group(Account::DEFAULT, last).await.unwrap();
}

/// A group of the one there is.
fn of_all(id: &str) -> records::Group {
    records::Group { id: id.into(), members: vec![crowd(1)[0].id.clone()], ..records::Group::default() }
}

async fn what_could_not_be_solved_is_tried_again_after_a_minute(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(1)).await;
    groups_too_deep(&engine_under_test).await;
    let _carrier = engine_under_test.carrier(accepted);
    let submitted = engine_under_test.submit(|request| request.audience[0].to = "group:g0".into()).await;
    let alert = &submitted.alert;
    let told = async {
        while !engine_under_test
            .engine
            .alert(&alert.account, alert.id)
            .await
            .unwrap()
            .note
            .contains("nests deeper than")
        {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(test_engine::PATIENCE, told).await.expect("its note says why it is not solved");
    let paused = engine_under_test.engine.steer(&alert.account, alert.id, Steer::Pause).await;
    assert!(matches!(paused, Err(EngineError::WrongState { state: "accepted", .. })), "{paused:?}");
    engine_under_test.store.put_group(Account::DEFAULT, of_all("g0")).await.unwrap();
    engine_under_test.pass_s(61);
    let report = engine_under_test.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.counts.accepted, 1);
}

fn later(engine_under_test: &test_engine::TestEngine) -> records::AlertRequest {
    let mut request = crate::testing::request("x");
    request.expires = engine_under_test.now().plus_s(86_400);
    request
}

async fn what_could_not_be_solved_expires(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(1)).await;
    groups_too_deep(&engine_under_test).await;
    let alert = engine_under_test.submit(|request| request.audience[0].to = "group:g0".into()).await.alert;
    let state = async || engine_under_test.engine.alert(&alert.account, alert.id).await.unwrap().state;
    let ends = async {
        while state().await != records::AlertState::Expired {
            engine_under_test.pass_s(3_600);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(test_engine::PATIENCE, ends).await.expect("it is not tried for ever");
}

async fn what_could_not_be_solved_can_be_cancelled_and_is_not_tried_again(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(1)).await;
    groups_too_deep(&engine_under_test).await;
    let carrier = engine_under_test.carrier(accepted);
    let alert = engine_under_test.submit(|request| request.audience[0].to = "group:g0".into()).await.alert;
    let cancelled = engine_under_test.engine.steer(&alert.account, alert.id, Steer::Cancel).await.unwrap();
    assert_eq!(cancelled.state.name(), "cancelled");
    engine_under_test.store.put_group(Account::DEFAULT, of_all("g0")).await.unwrap();
    engine_under_test.pass_s(61);
    let other = engine_under_test.submit(|_| {}).await;
    engine_under_test.until(&other.alert, |report| report.state == "done").await;
    let stored = engine_under_test.engine.alert(&alert.account, alert.id).await.unwrap();
    assert_eq!((stored.state.name(), carrier.addresses().len()), ("cancelled", 1));
}

async fn what_was_refused_to_who_waited_for_it_is_not_sent_later(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(1)).await;
    groups_too_deep(&engine_under_test).await;
    let carrier = engine_under_test.carrier(accepted);
    let mut request = later(&engine_under_test);
    request.audience[0].to = "group:g0".into();
    let refused = engine_under_test.engine.submit(crate::Draft { wait_solved: true, ..draft(request) }).await;
    assert!(matches!(refused, Err(EngineError::Unprocessable(_))), "{refused:?}");
    engine_under_test.store.put_group(Account::DEFAULT, of_all("g0")).await.unwrap();
    assert!(engine_under_test.store.unfinished_alerts().await.unwrap().is_empty());
    engine_under_test.pass_s(61);
    let other = engine_under_test.submit(|_| {}).await;
    engine_under_test.until(&other.alert, |report| report.state == "done").await;
    assert_eq!(carrier.addresses().len(), 1);
}

async fn the_same_key_gives_the_same_alert_and_another_body_is_refused(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(1)).await;
    let mut request = crate::testing::request("x");
    request.expires = engine_under_test.now().plus_s(60);
    let with = |hash: u8| {
        let key =
            store::IdempotencyKey { key: "k".into(), body_hash: [hash; 32], of: store::KeyOwner::Token };
        crate::Draft { key: Some(key), ..draft(request.clone()) }
    };
    let first = engine_under_test.engine.submit(with(1)).await.unwrap();
    let again = engine_under_test.engine.submit(with(1)).await.unwrap();
    assert_eq!((first.fresh, again.fresh, first.alert.id == again.alert.id), (true, false, true));
    assert!(matches!(engine_under_test.engine.submit(with(2)).await, Err(EngineError::KeyTaken)));
}

async fn a_live_view_sees_progress_answers_and_the_end(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(2)).await;
    let submitted = engine_under_test.submit(|request| request.require_answer = true).await;
    let mut events =
        engine_under_test.engine.watch(Account::DEFAULT, submitted.alert.id).await.unwrap().unwrap();
    let _carrier = engine_under_test.carrier(|segment, entry| {
        let (alert, endpoint, at) = (segment.alert, entry.endpoint, test_engine::START.plus_s(5));
        let mut out = accepted(segment, entry);
        out.push(Outcome::Answer { alert, endpoint, text: "here".into(), via: "link".into(), at });
        out
    });
    let mut answers = 0;
    loop {
        match events.recv().await.unwrap() {
            Event::Progress(_) => {}
            Event::Answer { .. } => answers += 1,
            Event::Done(report) => {
                assert_eq!(report.state, "done");
                break;
            }
        }
    }
    assert_eq!(answers, 2);
}

async fn a_forecast_tells_who_and_which_way_and_sends_nothing(ground: TestBackend) {
    let engine_under_test = ground.engine_under_test().await;
    engine_under_test.people(crowd(10)).await;
    let carrier = engine_under_test.carrier(accepted);
    let mut request = crate::testing::request("x");
    request.expires = engine_under_test.now().plus_s(60);
    let forecast = engine_under_test.engine.forecast(Account::DEFAULT, request).await.unwrap();
    assert_eq!((forecast.endpoints, forecast.recipients, forecast.routes["sms"].endpoints), (10, 10, 10));
    assert!(carrier.addresses().is_empty());
}

over_both!(
    an_alert_to_all_reaches_everyone_once_and_is_done,
    duplicates_are_merged_and_every_exclusion_keeps_its_reason,
    what_a_network_without_receipts_took_does_not_keep_an_alert_open,
    receipts_and_answers_find_their_delivery,
    a_temporary_refusal_is_tried_again_later_and_a_permanent_one_is_not,
    an_unknown_outcome_is_sent_again_or_held_as_the_alert_says,
    a_mail_of_which_nobody_knows_is_known_by_the_bounce_that_came_before_or_comes_later,
    what_a_process_says_of_an_attempt_that_another_had_begun_is_void,
    the_next_device_is_tried_when_the_first_fails_and_spared_when_it_delivers,
    who_does_not_answer_in_time_is_called_on_the_next_device,
    the_texts_of_an_alert_are_compiled_once,
    a_drill_is_marked_in_the_language_of_the_person,
    a_request_that_cannot_be_carried_out_is_refused_field_by_field,
    what_could_not_be_solved_is_tried_again_after_a_minute,
    what_could_not_be_solved_expires,
    what_could_not_be_solved_can_be_cancelled_and_is_not_tried_again,
    what_was_refused_to_who_waited_for_it_is_not_sent_later,
    the_same_key_gives_the_same_alert_and_another_body_is_refused,
    a_live_view_sees_progress_answers_and_the_end,
    a_forecast_tells_who_and_which_way_and_sends_nothing,
);
