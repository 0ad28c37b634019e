//! Short messages to an SMSC that nobody here wrote: npm's `smpp`.

use crate::world::{SOON, count, number, phone_owner};
use it::{NpmSmsc, NpmSmscOptions, Server, eventually, sms_route};
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn a_message_is_accepted_then_delivered_then_answered() {
    for text_receipts in [false, true] {
        let reply = Some(("1".to_owned(), Duration::from_millis(100)));
        let smsc = NpmSmsc::start(NpmSmscOptions { reply, text_receipts, ..NpmSmscOptions::default() }).await;
        let server = Server::start(&sms_route("carrier", smsc.address(), "")).await;
        let api = server.api();
        api.add_recipients(&json!([phone_owner("ann", 0), phone_owner("bo", 1)])).await;
        let id = api
            .submit(&json!({
                "text": "Are you safe?", "audience": ["all"], "require_answer": true,
                "choices": [{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help"}],
            }))
            .await;
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
        assert_eq!(smsc.events("receipt").len(), 2, "each receipt was answered");
        assert_eq!(smsc.events("reply").iter().filter(|reply| reply["status"] == 0).count(), 2);
        assert_eq!(smsc.events("bind").len(), 1);
    }
}

#[tokio::test]
async fn a_receipt_is_matched_also_after_a_restart() {
    let receipt_after = Duration::from_secs(4);
    let smsc = NpmSmsc::start(NpmSmscOptions { receipt_after, ..NpmSmscOptions::default() }).await;
    let mut server = Server::start(&sms_route("carrier", smsc.address(), "")).await;
    let api = server.api();
    let id = api.submit(&json!({"text": "hello", "audience": [format!("sms:{}", number(0))]})).await;
    api.until(&id, "it is accepted", SOON, |report| count(report, "accepted") == 1).await;
    server.kill9();
    server.restart().await;
    api.until(&id, "it is delivered", SOON, |report| count(report, "delivered") == 1).await;
}

#[tokio::test]
async fn long_messages_and_other_scripts_arrive_whole() {
    let smsc = NpmSmsc::start(NpmSmscOptions::default()).await;
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
            let header = submit["udh"].as_array().unwrap();
            let place = header.first().map_or((1, 1), |element| concatenation(element.as_str().unwrap()));
            (place.0, place.1, submit["text"].as_str().unwrap())
        })
        .collect();
    parts.sort();
    assert!(parts.iter().all(|part| usize::from(part.1) == parts.len()), "{parts:?}");
    parts.iter().map(|part| part.2).collect()
}

/// Part and parts of an information element `00 03 ref parts part`.
fn concatenation(hex: &str) -> (u8, u8) {
    assert!(hex.starts_with("0003"), "{hex}");
    let octet = |place: usize| u8::from_str_radix(&hex[place..place + 2], 16).unwrap();
    (octet(8), octet(6))
}

#[tokio::test]
async fn a_carrier_that_refuses_the_bind_is_reported_as_down_and_tried_again() {
    let smsc =
        NpmSmsc::start(NpmSmscOptions { password: "other".to_owned(), ..NpmSmscOptions::default() }).await;
    let server = Server::start(&sms_route("carrier", smsc.address(), "")).await;
    let api = server.api();
    let id = api.submit(&json!({"text": "hello", "audience": [format!("sms:{}", number(0))]})).await;
    eventually("it was tried twice", SOON, async || {
        let binds = smsc.events("bind");
        if binds.len() >= 2 { Ok(()) } else { Err(binds.len()) }
    })
    .await;
    let report = api.report(&id).await;
    assert_eq!(
        count(&report, "planned") + count(&report, "submitted") + count(&report, "held"),
        1,
        "{report}"
    );
    let forecast = api
        .post("/api/v1/alerts:forecast", &json!({"text": "x", "audience": [format!("sms:{}", number(1))]}))
        .await;
    assert!(forecast.expect(200)["problems"].to_string().contains("carrier"), "{}", forecast.text);
}
