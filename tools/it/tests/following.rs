//! Seeing it happen: the stream of events, signed callbacks, observers, reports in other forms.

use crate::fixtures::{SOON, carrier, carrier_with, count, everybody_answers, number, phones_csv};
use base64::Engine;
use it::{Api, Call, Callbacks, Server, eventually, sms_route, within};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Events of an alert's stream until it ends: names and data.
async fn events(api: &Api, id: &str) -> Vec<(String, Value)> {
    let request = api.request(Method::GET, &format!("/api/v1/alerts/{id}/events"));
    let reply = within("the stream ends", SOON, api.send(request)).await;
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    let mut events = Vec::new();
    for block in reply.text.split("\n\n").filter(|block| block.contains("data:")) {
        let field = |name: &str| {
            let prefix = format!("{name}:");
            let line = block.lines().find_map(|line| line.strip_prefix(&prefix));
            line.unwrap_or_else(|| panic!("no {name} in {block:?}")).trim_start().to_owned()
        };
        events.push((field("event"), serde_json::from_str(&field("data")).unwrap()));
    }
    events
}

fn asking(audience: &str) -> Value {
    json!({
        "text": "Safe?", "audience": [audience], "terminal": "answered", "require_answer": true,
        "choices": [{"key": "1", "label": "yes"}],
    })
}

#[tokio::test]
async fn the_stream_tells_of_progress_of_answers_and_of_the_end() {
    let carrier = carrier_with(everybody_answers("1")).await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "rate = 50.0")).await;
    let api = server.api();
    api.import_csv(phones_csv(60)).await;
    let id = api.submit(&asking("all")).await;
    let heard = events(&api, &id).await;
    let named = |name: &str| heard.iter().filter(|(event, _)| event == name).count();
    assert!(named("progress") >= 2, "{heard:?}");
    assert_eq!(named("answer"), 60);
    assert_eq!(heard.last().unwrap().0, "done");
    let last = &heard.last().unwrap().1;
    assert_eq!(count(last, "answered"), 60, "{last}");
    let answer = &heard.iter().find(|(event, _)| event == "answer").unwrap().1;
    assert_eq!((&answer["key"], &answer["via"]), (&json!("1"), &json!("sms")));
    let progress: Vec<u64> = heard
        .iter()
        .filter(|(event, report)| event == "progress" && count(report, "endpoints") > 0)
        .map(|(_, report)| count(report, "planned"))
        .collect();
    assert!(progress.is_sorted_by(|a, b| a >= b), "{progress:?}");
    // Who comes when it is over hears just that.
    let heard = events(&api, &id).await;
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].0, "done");
}

/// A call's signature is right (Standard Webhooks: `webhook-signature` is `v1,` and the HMAC of
/// `id.timestamp.body`).
fn is_signed(call: &Call, secret: &str) -> bool {
    let key =
        base64::prelude::BASE64_STANDARD.decode(secret.strip_prefix("whsec_").unwrap_or(secret)).unwrap();
    let head = format!("{}.{}.", call.header("webhook-id"), call.header("webhook-timestamp"));
    let mac = hmac_sha256(&key, &[head.as_bytes(), &call.body].concat());
    let expected = format!("v1,{}", base64::prelude::BASE64_STANDARD.encode(mac));
    call.header("webhook-signature").split(' ').any(|signature| signature == expected)
}

/// As RFC 2104 has it, of a key of at most a block: other code than ours checks our signatures.
fn hmac_sha256(key: &[u8], text: &[u8]) -> [u8; 32] {
    let padded = |pad: u8| std::array::from_fn::<u8, 64, _>(|at| key.get(at).unwrap_or(&0) ^ pad);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().into()
}

#[tokio::test]
async fn a_callback_is_signed_tried_again_and_told_of_the_end() {
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let (carrier, callbacks) = (carrier_with(everybody_answers("1")).await, Callbacks::start().await);
    callbacks.answer_first(&[500, 503]);
    let config =
        format!("[callback]\nsecret = \"{SECRET}\"\n{}", sms_route("carrier", carrier.address(), ""));
    let server = Server::start(&config).await;
    let api = server.api();
    api.import_csv(phones_csv(3)).await;
    let mut alert = asking("all");
    alert["callback"] =
        json!({"url": callbacks.url(), "every": "1s", "format": "json", "events": ["answer", "done"]});
    let id = api.submit(&alert).await;
    let calls = eventually("it was told of the end", SOON, async || {
        let calls = callbacks.calls();
        let told = |call: &Call| call.answered == 200 && call.json()["type"] == "alert.done";
        if calls.iter().any(told) { Ok(calls) } else { Err(calls.len()) }
    })
    .await;
    for call in &calls {
        assert!(is_signed(call, SECRET), "{call:?}");
        assert!(call.json().to_string().contains(&id), "{}", call.json());
    }
    let refused: Vec<&str> =
        calls.iter().filter(|call| call.answered != 200).map(|call| call.header("webhook-id")).collect();
    assert_eq!(refused.len(), 2);
    for id in refused {
        let again =
            calls.iter().filter(|call| call.header("webhook-id") == id && call.answered == 200).count();
        assert_eq!(again, 1, "what was refused came again under its id");
    }
    let answers =
        calls.iter().filter(|call| call.answered == 200 && call.json()["type"] == "alert.answer").count();
    assert!(answers >= 1);
}

#[tokio::test]
async fn an_observer_may_come_later_and_choose_what_it_hears() {
    let (carrier, callbacks) = (carrier_with(everybody_answers("1")).await, Callbacks::start().await);
    let server = Server::start(&sms_route("carrier", carrier.address(), "rate = 20.0")).await;
    let api = server.api();
    api.import_csv(phones_csv(40)).await;
    let id = api.submit(&asking("all")).await;
    let path = format!("/api/v1/alerts/{id}/observers");
    let observer = api.post(&path, &json!({"url": callbacks.url(), "events": ["done"]})).await.expect(201);
    let other = api
        .post(&path, &json!({"url": callbacks.url() + "/other", "every": "1s", "events": ["progress"]}))
        .await
        .expect(201);
    assert_eq!(api.pages(&format!("{path}?limit=10")).await.len(), 2);
    api.done(&id, SOON).await;
    eventually("it was told of the end", SOON, async || {
        let calls = callbacks.calls();
        if calls.iter().any(|call| call.target == "/observer") { Ok(()) } else { Err(calls.len()) }
    })
    .await;
    let calls = callbacks.calls();
    assert_eq!(calls.iter().filter(|call| call.target == "/observer").count(), 1, "one event was chosen");
    assert!(calls.iter().any(|call| call.target == "/observer/other"), "the other heard of the progress");
    for id in [&observer["id"], &other["id"]] {
        assert_eq!(api.delete(&format!("{path}/{}", id.as_str().unwrap())).await.status, 204);
    }
    assert!(api.pages(&format!("{path}?limit=10")).await.is_empty());
}

#[tokio::test]
async fn a_report_comes_as_json_csv_and_xml() {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    api.import_csv(phones_csv(25)).await;
    let id = api
        .submit(
            &json!({"headline": "a,\"b\" <c>", "text": "x", "audience": ["all"], "terminal": "delivered"}),
        )
        .await;
    api.done(&id, SOON).await;
    let get = async |accept: &str| {
        let request =
            api.request(Method::GET, &format!("/api/v1/alerts/{id}/report")).header("accept", accept);
        api.send(request).await
    };
    let json = get("application/json").await.expect(200);
    assert_eq!(count(&json, "delivered"), 25);
    let csv = get("text/csv").await;
    assert_eq!(csv.header("content-type").map(|kind| kind.starts_with("text/csv")), Some(true));
    assert!(csv.text.matches("delivered").count() >= 25, "{}", csv.text);
    assert!(csv.text.contains(&number(0)));
    let xml = get("application/xml").await;
    assert!(xml.text.starts_with("<?xml") && xml.text.contains("&lt;c&gt;"), "{}", xml.text);
    assert_eq!(get("image/png").await.status, 406);
    let metrics = api.get("/metrics").await;
    assert!(metrics.text.contains("campanile_"), "{}", metrics.text);
}

#[tokio::test]
async fn what_an_observer_did_not_hear_is_told_after_a_kill() {
    let (carrier, callbacks) = (carrier().await, Callbacks::start().await);
    // As long as it takes to be killed.
    callbacks.answer_first(&[503; 1_000]);
    let mut server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    api.import_csv(phones_csv(3)).await;
    let callback = json!({"url": callbacks.url(), "events": ["done"]});
    let id = api.submit(&json!({"text": "x", "audience": ["all"], "callback": callback})).await;
    api.done(&id, SOON).await;
    let first =
        eventually("it was tried", SOON, async || callbacks.calls().into_iter().next().ok_or("not")).await;
    server.kill9();
    callbacks.answer_from_now(200);
    server.restart().await;
    let told = eventually("it was told", SOON, async || {
        callbacks.calls().into_iter().find(|call| call.answered == 200).ok_or(callbacks.calls().len())
    })
    .await;
    assert_eq!(told.json()["type"], "alert.done");
    assert_eq!(told.header("webhook-id"), first.header("webhook-id"), "the same notice");
}
