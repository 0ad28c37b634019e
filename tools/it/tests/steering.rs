//! Stories of a running alert: pause, resume, cancel, retry-failed.

use crate::fixtures::{LATER, SOON, assert_counts_add_up, carrier, carrier_that, count, number, phones_csv};
use it::{Api, Server, eventually, sms_route};
use serde_json::{Value, json};
use sim::smsc::{ErrorShare, Smsc, SmscOptions};
use std::time::Duration;

const PEOPLE: u64 = 1_500;

/// An alert to everybody on its way over a route of 500/s, some of it sent.
async fn under_way(carrier: &Smsc) -> (Server, Api, String) {
    let server = Server::start(&sms_route("carrier", carrier.address(), "rate = 500.0")).await;
    let api = server.api();
    api.import_csv(phones_csv(PEOPLE)).await;
    let id = api.submit(&json!({"text": "hello", "audience": ["all"]})).await;
    eventually("some of it is sent", SOON, async || {
        let accepted = carrier.stats().accepted;
        if accepted >= 100 { Ok(()) } else { Err(accepted) }
    })
    .await;
    (server, api, id)
}

/// Waits until the carrier hears nothing more; returns what it accepted.
async fn silence(carrier: &Smsc) -> u64 {
    let mut last = (carrier.stats().accepted, tokio::time::Instant::now());
    eventually("the carrier hears nothing more", SOON, async || {
        let accepted = carrier.stats().accepted;
        if accepted != last.0 {
            last = (accepted, tokio::time::Instant::now());
        }
        if last.1.elapsed() > Duration::from_millis(700) { Ok(accepted) } else { Err(accepted) }
    })
    .await
}

#[tokio::test]
async fn a_pause_bites_at_once_and_nothing_is_lost_or_sent_twice_over_it() {
    let carrier = carrier().await;
    let (mut server, api, id) = under_way(&carrier).await;
    assert_eq!(api.steer(&id, "pause").await["state"], "paused");
    let accepted = silence(&carrier).await;
    assert!(accepted < PEOPLE, "the rest waits: {accepted}");
    let report = api.report(&id).await;
    assert_counts_add_up(&report);
    assert_eq!(report["state"], "paused");
    assert_eq!(count(&report, "accepted") + count(&report, "delivered"), accepted, "{report}");

    // A pause outlives the process.
    server.kill9();
    server.restart().await;
    assert_eq!(silence(&carrier).await, accepted);
    assert_eq!(api.report(&id).await["state"], "paused");

    assert_eq!(api.steer(&id, "resume").await["state"], "running");
    let report = api.done(&id, SOON).await;
    assert_eq!(count(&report, "accepted") + count(&report, "delivered"), PEOPLE, "{report}");
    let stats = carrier.stats();
    assert_eq!((stats.messages, stats.repeats), (PEOPLE, 0));
}

#[tokio::test]
async fn a_cancelled_alert_stops_for_good_and_says_who_was_not_sent_to() {
    let carrier = carrier().await;
    let (_server, api, id) = under_way(&carrier).await;
    assert_eq!(api.steer(&id, "cancel").await["state"], "cancelled");
    let accepted = silence(&carrier).await;
    let report = api.until(&id, "all is settled", SOON, |report| count(report, "planned") == 0).await;
    assert_counts_add_up(&report);
    assert_eq!(report["state"], "cancelled");
    assert_eq!(count(&report, "failed"), PEOPLE - accepted, "{report}");
    let left = api.pages(&format!("/api/v1/alerts/{id}/deliveries?state=failed&limit=1000")).await;
    assert!(left.iter().all(|delivery| delivery["reason_code"] == "cancelled"), "{left:?}");
    for verb in ["pause", "resume", "cancel"] {
        let reply = api.post(&format!("/api/v1/alerts/{id}:{verb}"), &json!({})).await;
        assert_eq!(reply.status, 409, "{verb}: {}", reply.text);
    }
    let wrong = api.post(&format!("/api/v1/alerts/{id}:cancle"), &json!({})).await;
    assert!(wrong.status == 404 && wrong.text.contains("cancel"), "{}", wrong.text);
}

#[tokio::test]
async fn retry_failed_tries_what_failed_and_nothing_else() {
    // Half of all submissions are refused for good, by the seed.
    let refusal = |share| vec![ErrorShare { status: "RINVDSTADR".to_owned(), share }];
    let carrier = carrier_that(|options| options.errors = refusal(0.5)).await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    api.import_csv(phones_csv(200)).await;
    let id = api.submit(&json!({"text": "hello", "audience": ["all"], "terminal": "delivered"})).await;
    let report = api.done(&id, SOON).await;
    let failed = count(&report, "failed");
    assert!((50..150).contains(&failed), "{report}");
    let delivery = &api.pages(&format!("/api/v1/alerts/{id}/deliveries?state=failed&limit=10")).await[0];
    assert!(delivery["reason"].as_str().unwrap().contains("refused by the carrier"), "{delivery}");

    carrier.change(SmscOptions { keep: 100_000, ..SmscOptions::default() }).unwrap();
    api.steer(&id, "retry-failed").await;
    let report = api.until(&id, "all are delivered", LATER, |report| count(report, "delivered") == 200).await;
    assert_counts_add_up(&report);
    let stats = carrier.stats();
    assert_eq!((stats.messages, stats.repeats), (200, 0), "who had it got no second copy");
}

#[tokio::test]
async fn an_alert_waits_for_its_start_and_ends_at_its_end() {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "rate = 20.0")).await;
    let api = server.api();
    api.import_csv(phones_csv(200)).await;
    let after =
        |seconds: i64| (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds)).to_string();
    let start = after(2);
    let id = api
        .submit(&json!({"text": "later", "audience": ["all"], "not_before": start, "expires": after(5)}))
        .await;
    let report = api.until(&id, "it has ended", SOON, |report| report["state"] == "expired").await;
    let report_at_rest = api.until(&id, "all is settled", SOON, |report| count(report, "planned") == 0).await;
    assert_counts_add_up(&report_at_rest);
    let accepted = carrier.stats().accepted;
    assert!((20..=80).contains(&accepted), "some three seconds at 20/s: {accepted}");
    assert_eq!(count(&report_at_rest, "failed"), 200 - accepted, "{report} {report_at_rest}");
    let start: jiff::Timestamp = start.parse().unwrap();
    let first = carrier.stats().first_accepted_us as i64;
    assert!(first >= start.as_microsecond(), "nothing is sent before the start");
    let failed = &api.pages(&format!("/api/v1/alerts/{id}/deliveries?state=failed&limit=10")).await[0];
    assert_eq!(failed["reason_code"], "expired", "{failed}");
}

#[tokio::test]
async fn a_route_that_is_down_holds_an_alert_until_it_is_up_again() {
    let port = it::free_port();
    let server = Server::start(&sms_route("carrier", format!("127.0.0.1:{port}"), "")).await;
    let api = server.api();
    let id = api.submit(&json!({"text": "hello", "audience": [format!("sms:{}", number(0))]})).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let report: Value = api.report(&id).await;
    assert_eq!(report["state"], "running", "{report}");
    let carrier = carrier_that(|options| options.listen = format!("127.0.0.1:{port}")).await;
    api.done(&id, SOON).await;
    assert_eq!(carrier.stats().messages, 1);
}
