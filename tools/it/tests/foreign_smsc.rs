//! Short messages to SMSCs that nobody here wrote: npm's `smpp`, Java's jsmpp and Cloudhopper.

use crate::fixtures::{SOON, count, number, phone_owner};
use it::{ForeignSmsc, ForeignSmscOptions, Server, SmscBy, eventually, sms_route};
use serde_json::{Value, json};
use std::time::Duration;

/// A test for each library that has an SMSC.
macro_rules! by_each_library {
    ($($story:ident => $npm:ident, $jsmpp:ident, $cloudhopper:ident;)*) => {$(
        #[tokio::test]
        async fn $npm() {
            $story(SmscBy::Npm).await;
        }
        #[tokio::test]
        async fn $jsmpp() {
            $story(SmscBy::Jsmpp).await;
        }
        #[tokio::test]
        async fn $cloudhopper() {
            $story(SmscBy::Cloudhopper).await;
        }
    )*};
}

by_each_library! {
    accepted_delivered_answered =>
        npms_smsc_accepts_then_delivers_then_hands_the_answer_over,
        jsmpps_smsc_accepts_then_delivers_then_hands_the_answer_over,
        cloudhoppers_smsc_accepts_then_delivers_then_hands_the_answer_over;
    refused_and_tried_again =>
        npms_smsc_that_refuses_the_bind_is_reported_as_down_and_tried_again,
        jsmpps_smsc_that_refuses_the_bind_is_reported_as_down_and_tried_again,
        cloudhoppers_smsc_that_refuses_the_bind_is_reported_as_down_and_tried_again;
    long_and_whole =>
        long_messages_and_other_scripts_arrive_whole_at_npms_smsc,
        long_messages_and_other_scripts_arrive_whole_at_jsmpps_smsc,
        long_messages_and_other_scripts_arrive_whole_at_cloudhoppers_smsc;
}

async fn accepted_delivered_answered(by: SmscBy) {
    for text_receipts in [false, true] {
        let reply = Some(("1".to_owned(), Duration::from_millis(100)));
        let options = ForeignSmscOptions { reply, text_receipts, ..ForeignSmscOptions::default() };
        let smsc = ForeignSmsc::start(by, options).await;
        let server = Server::start(&sms_route("carrier", smsc.address(), "")).await;
        let api = server.api();
        api.add_recipients(&json!([phone_owner("ann", 0), phone_owner("bo", 1)])).await;
        let id = api.submit(&question()).await;
        api.until(&id, "both have answered", SOON, |report| count(report, "answered") == 2).await;

        for delivery in api.deliveries(&id).await {
            assert!(delivery["accepted"].is_string(), "{delivery}");
            assert!(delivery["delivered"].is_string(), "{delivery}");
            assert_eq!(delivery["answer"]["key"], "1", "{delivery}");
            assert_eq!(delivery["answer"]["via"], "sms", "{delivery}");
        }
        let report = api.report(&id).await;
        assert_eq!(report["answers"]["1"], 2, "{report}");
        let submits = smsc.events("submit");
        assert_eq!(submits.len(), 2);
        assert!(submits.iter().all(|submit| submit["text"].as_str().unwrap().starts_with("Are you safe?")));
        // The answer to a reply is heard a moment after the reply counted.
        eventually("each receipt and reply was answered", SOON, async || {
            let counts = (smsc.events("receipt").len(), smsc.events("reply").len());
            if counts == (2, 2) { Ok(()) } else { Err(format!("{counts:?}")) }
        })
        .await;
        assert!(smsc.events("reply").iter().all(|reply| reply["status"] == 0));
        assert_eq!(smsc.events("bind").len(), 1);
    }
}

fn question() -> Value {
    json!({
        "text": "Are you safe?", "audience": ["all"], "require_answer": true,
        "choices": [{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help"}],
    })
}

#[tokio::test]
async fn a_long_reply_whose_parts_come_in_the_wrong_order_is_whole() {
    let text = "Vi är i källaren 🔔 och vattnet stiger. ".repeat(5).trim().to_owned();
    for by in [SmscBy::Jsmpp, SmscBy::Cloudhopper] {
        let reply = Some((text.clone(), Duration::from_millis(20)));
        let smsc =
            ForeignSmsc::start(by, ForeignSmscOptions { reply, ..ForeignSmscOptions::default() }).await;
        let server = Server::start(&sms_route("carrier", smsc.address(), "")).await;
        let api = server.api();
        api.add_recipients(&json!([phone_owner("ann", 0)])).await;
        let id = api.submit(&question()).await;
        api.until(&id, "it is answered", SOON, |report| count(report, "answered") == 1).await;
        let answer = api.deliveries(&id).await.remove(0)["answer"].take();
        assert_eq!(answer["text"], text, "{by:?}: {answer}");
    }
}

#[tokio::test]
async fn a_receipt_is_matched_also_after_a_restart() {
    let receipt_after = Duration::from_secs(4);
    let smsc = ForeignSmsc::start(
        SmscBy::Npm,
        ForeignSmscOptions { receipt_after, ..ForeignSmscOptions::default() },
    )
    .await;
    let mut server = Server::start(&sms_route("carrier", smsc.address(), "")).await;
    let api = server.api();
    let id = api.submit(&json!({"text": "hello", "audience": [format!("sms:{}", number(0))]})).await;
    api.until(&id, "it is accepted", SOON, |report| count(report, "accepted") == 1).await;
    server.kill9();
    server.restart().await;
    api.until(&id, "it is delivered", SOON, |report| count(report, "delivered") == 1).await;
}

async fn long_and_whole(by: SmscBy) {
    let smsc = ForeignSmsc::start(by, ForeignSmscOptions::default()).await;
    let server = Server::start(&sms_route("carrier", smsc.address(), "")).await;
    let api = server.api();
    let gsm = "Long before the bells rang {twice} the river had left its bed. ".repeat(8);
    let greek = "Η πλατεία είναι κλειστή, μείνετε σπίτι 🔔. ".repeat(6);
    let cases = [
        (0, "short".to_owned(), 0, 1),
        (1, "[ä] {ö} €".to_owned(), 0, 1),
        (2, gsm.trim().to_owned(), 0, 4),
        (3, "Πύρ".to_owned(), 8, 1),
        (4, greek.trim().to_owned(), 8, 4),
    ];
    for (place, text, coding, parts) in &cases {
        let id = api.submit(&json!({"text": text, "audience": [format!("sms:{}", number(*place))]})).await;
        let report = api.until(&id, "it is delivered", SOON, |report| count(report, "delivered") == 1);
        report.await;
        let of_this = |submit: &Value| number(*place).ends_with(submit["to"].as_str().unwrap());
        let submits = eventually("all parts are there", SOON, async || {
            let submits: Vec<Value> = smsc.events("submit").into_iter().filter(of_this).collect();
            if submits.len() >= *parts { Ok(submits) } else { Err(submits.len()) }
        })
        .await;
        assert_eq!(submits.len(), *parts, "{text}");
        assert!(submits.iter().all(|submit| submit["coding"] == *coding), "{submits:?}");
        assert_eq!(&whole(&submits), text);
    }
}

/// Joins parts by their user data headers (3GPP TS 23.040, 9.2.3.24.1).
fn whole(submits: &[Value]) -> String {
    let mut parts: Vec<(u8, u8, &str)> = submits
        .iter()
        .map(|submit| {
            let header = submit["udh"].as_str().unwrap();
            let place = if header.is_empty() { (1, 1) } else { concatenation(header) };
            (place.0, place.1, submit["text"].as_str().unwrap())
        })
        .collect();
    parts.sort();
    assert!(parts.iter().all(|part| usize::from(part.1) == parts.len()), "{parts:?}");
    parts.iter().map(|part| part.2).collect()
}

/// Part and parts of a header `05 00 03 ref parts part`.
fn concatenation(hex: &str) -> (u8, u8) {
    assert!(hex.starts_with("050003"), "{hex}");
    let octet = |place: usize| u8::from_str_radix(&hex[place..place + 2], 16).unwrap();
    (octet(10), octet(8))
}

async fn refused_and_tried_again(by: SmscBy) {
    let smsc = ForeignSmsc::start(
        by,
        ForeignSmscOptions { password: "other".to_owned(), ..ForeignSmscOptions::default() },
    )
    .await;
    let server = Server::start(&sms_route("carrier", smsc.address(), "")).await;
    let api = server.api();
    let id = api.submit(&json!({"text": "hello", "audience": [format!("sms:{}", number(0))]})).await;
    eventually("it was tried twice", SOON, async || {
        let binds = smsc.events("bind");
        if binds.len() >= 2 { Ok(()) } else { Err(binds.len()) }
    })
    .await;
    eventually("its one message waits", SOON, async || {
        let report = api.report(&id).await;
        let waiting = ["planned", "submitted", "held"].map(|state| count(&report, state));
        if waiting.iter().sum::<u64>() == 1 { Ok(()) } else { Err(report) }
    })
    .await;
    let forecast = api
        .post("/api/v1/alerts:forecast", &json!({"text": "x", "audience": [format!("sms:{}", number(1))]}))
        .await;
    assert!(forecast.expect(200)["problems"].to_string().contains("carrier"), "{}", forecast.text);
}
