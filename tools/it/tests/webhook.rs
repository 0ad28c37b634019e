//! Webhooks of the real program against a receiver that verifies with PyPI's standardwebhooks; and short
//! messages by HTTP against a small carrier.

use crate::fixtures::{LATER, SOON, count};
use it::{HttpCarrier, PythonReceiver, Server, WEBHOOK_SECRET, eventually};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn route(more: &str) -> String {
    format!(
        "[[route]]\nname = \"hooks\"\nchannel = \"webhook\"\nmode = \"live\"\nsecret = \"{WEBHOOK_SECRET}\"\n{more}\n"
    )
}

fn audience(urls: &[String]) -> Value {
    urls.iter().map(|url| format!("webhook:{url}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_verifies_what_it_gets_and_is_believed_where_it_says_delivered_or_answers() {
    let (receiver, server) = (PythonReceiver::start().await, Server::start(&route("")).await);
    let api = server.api();
    let paths = ["/quiet/secret", "/deliver", "/answer", "/later"];
    let people = paths.iter().enumerate().map(
        |(number, path)| json!({"id": format!("d{number}"), "name": path, "webhook": receiver.url(path)}),
    );
    api.add_recipients(&people.collect()).await;
    let id = api
        .submit(&json!({
            "headline": "Fire",
            "text": "Leave the harbour, {{name}}",
            "audience": ["all"],
            "require_answer": true,
            "choices": [{"key": "1", "label": "I am safe"}],
        }))
        .await;
    let told = |report: &Value| report["answers"]["1"] == 2 && count(report, "delivered") >= 1;
    api.until(&id, "two answered, one delivered", SOON, told).await;
    let hooks = receiver.hooks();
    assert_eq!(hooks.len(), paths.len(), "{hooks:?}");
    assert!(receiver.events("unsigned").is_empty());
    for hook in &hooks {
        let message = &hook["message"];
        assert_eq!((&message["headline"], &message["alert"]), (&json!("Fire"), &json!(id)));
        assert_eq!(message["id"], hook["id"]);
        let name = message["text"].as_str().unwrap().strip_prefix("Leave the harbour, ").unwrap();
        assert_eq!(hook["path"], name);
    }
    let states: BTreeMap<String, String> = api
        .deliveries(&id)
        .await
        .iter()
        .map(|delivery| {
            let name = delivery["recipients"][0]["name"].as_str().unwrap().to_owned();
            (name, delivery["state"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected = [
        ("/answer", "answered"),
        ("/deliver", "delivered"),
        ("/later", "answered"),
        ("/quiet/secret", "accepted"),
    ];
    assert_eq!(states, expected.map(|(name, state)| (name.to_owned(), state.to_owned())).into());
    // What may be a secret in a URL is in no report and in no log.
    for delivery in api.deliveries(&id).await {
        let address = delivery["address"].as_str().unwrap();
        assert!(address.starts_with("http://127.0.0.1:") && !address.contains("secret"), "{address}");
    }
    assert!(!server.whole_log().contains("quiet/secret"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_gone_is_told_in_words_and_who_is_busy_is_sent_it_again_once() {
    let (receiver, server) = (PythonReceiver::start().await, Server::start(&route("")).await);
    let api = server.api();
    let urls = ["/gone", "/busy", "/moved"].map(|path| receiver.url(path));
    let id = api.submit(&json!({"text": "Leave", "audience": audience(&urls)})).await;
    let report = api.done(&id, LATER).await;
    assert_eq!((count(&report, "failed"), count(&report, "accepted")), (2, 1), "{report}");
    let deliveries = api.deliveries(&id).await;
    let reasons: Vec<&str> = deliveries.iter().filter_map(|one| one["reason"].as_str()).collect();
    for words in ["410 (gone)", "redirects elsewhere"] {
        assert!(reasons.iter().any(|reason| reason.contains(words)), "{reasons:?}");
    }
    let paths = |path: &str| receiver.hooks().iter().filter(|hook| hook["path"] == path).count();
    assert_eq!((paths("/gone"), paths("/busy"), paths("/moved")), (1, 2, 1));
    let ids: BTreeSet<String> = receiver
        .hooks()
        .into_iter()
        .filter(|hook| hook["path"] == "/busy")
        .map(|hook| hook["id"].to_string())
        .collect();
    assert_eq!(ids.len(), 1, "a repeat has the same webhook-id");
}

/// A certificate that signs itself, and its key, as files.
fn certificate(folder: &Path) -> (PathBuf, PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (cert, key)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_nobody_trusts_is_refused_until_a_reload_trusts_it() {
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = certificate(folder.path());
    let receiver = PythonReceiver::start_with_tls(&cert, &key).await;
    let config = route("") + "[engine]\nretry_after = [\"1s\"]\n";
    let server = Server::start(&config).await;
    let api = server.api();
    let alert = json!({"text": "Leave", "audience": audience(&[receiver.url("/deliver")])});
    let id = api.submit(&alert).await;
    let report = api.done(&id, LATER).await;
    assert_eq!(count(&report, "failed"), 1, "{report}");
    let reason = api.deliveries(&id).await[0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("certificate"), "{reason}");
    assert!(receiver.hooks().is_empty());

    let text = std::fs::read_to_string(server.config()).unwrap();
    let trusting = format!("secret = \"{WEBHOOK_SECRET}\"\nca_file = \"{}\"", cert.display());
    let text = text.replace(&format!("secret = \"{WEBHOOK_SECRET}\""), &trusting);
    std::fs::write(server.config(), text).unwrap();
    api.post("/api/v1/reload", &json!({})).await.expect(200);
    let id = api.submit(&alert).await;
    api.until(&id, "it is delivered", SOON, |report| count(report, "delivered") == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_in_mid_alert_leaves_nobody_out_and_no_second_copy_by_the_webhook_id() {
    const DEVICES: usize = 400;
    const KILLS: usize = 3;
    let receiver = PythonReceiver::start().await;
    let mut server = Server::start(&route("rate = 100.0\nconnections = 16")).await;
    let people: Vec<Value> = (0..DEVICES)
        .map(|number| json!({"id": format!("d{number}"), "webhook": receiver.url(&format!("/quiet/{number}"))}))
        .collect();
    server.api().add_recipients(&json!(people)).await;
    let id = server.api().submit(&json!({"text": "Leave", "audience": ["all"]})).await;
    for kill in 1..=KILLS {
        let wanted = kill * DEVICES / (KILLS + 1);
        eventually("messages arrive", LATER, async || match receiver.hooks().len() {
            arrived if arrived >= wanted => Ok(()),
            arrived => Err(format!("{arrived} of {wanted}")),
        })
        .await;
        server.kill9();
        server.restart().await;
    }
    let report = server.api().done(&id, LATER).await;
    assert_eq!((count(&report, "accepted"), count(&report, "unknown")), (DEVICES as u64, 0), "{report}");
    let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for hook in receiver.hooks() {
        let text = |name: &str| hook[name].as_str().unwrap().to_owned();
        ids.entry(text("path")).or_default().insert(text("id"));
    }
    assert_eq!(ids.len(), DEVICES, "nobody is left out");
    let twice: Vec<_> = ids.iter().filter(|(_, ids)| ids.len() > 1).collect();
    assert!(twice.is_empty(), "what came twice came with another id: {twice:?}");
}

fn sms_by_http(carrier: &HttpCarrier) -> String {
    format!(
        r#"[[route]]
name = "carrier"
channel = "sms"
protocol = "http"
mode = "live"
source = {{addr = "71700"}}
[route.request]
url = "{}"
headers = {{Authorization = "Bearer sesame"}}
body = '{{"to": "{{{{ to }}}}", "from": "{{{{ from }}}}", "text": "{{{{ text }}}}", "ref": "{{{{ id }}}}", "receipts": "{{{{ receipt_url }}}}", "inbound": "{{{{ inbound_url }}}}"}}'
[route.response]
id = "/messages/0/id"
state = "/messages/0/status"
text = "/messages/0/error"
accepted = ["queued"]
refused = ["invalid_number"]
[route.receipt]
id = "messageId"
state = "status"
[route.inbound]
from = "msisdn"
text = "message"
"#,
        carrier.url()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_messages_go_by_http_with_receipts_answers_and_a_stop() {
    let carrier = HttpCarrier::start().await;
    let server = Server::start(&sms_by_http(&carrier)).await;
    let api = server.api();
    let people = [("ann", "1"), ("bo", "2"), ("cy", "3"), ("di", "9")];
    let people: Vec<Value> =
        people.iter().map(|(id, end)| json!({"id": id, "sms": format!("+4670174000{end}")})).collect();
    api.add_recipients(&json!(people)).await;
    let alert = json!({
        "text": "Are you \"safe\" & well?",
        "audience": ["all"],
        "require_answer": true,
        "choices": [{"key": "1", "label": "Yes"}],
        "terminal": "delivered",
    });
    let id = api.submit(&alert).await;
    let received = |report: &Value| count(report, "delivered") == 2 && count(report, "failed") == 2;
    api.until(&id, "receipts came", LATER, received).await;
    let messages = carrier.messages();
    assert_eq!(messages.len(), 3, "{messages:?}");
    for message in &messages {
        let message = &message["message"];
        assert_eq!(message["from"], "71700");
        assert!(message["text"].as_str().unwrap().starts_with("Are you \"safe\" & well?"), "{message}");
    }
    let reasons: Vec<Value> =
        api.deliveries(&id).await.into_iter().map(|delivery| delivery["reason"].clone()).collect();
    assert!(format!("{reasons:?}").contains("no such number"), "{reasons:?}");

    carrier.say("46701740001", "1");
    api.until(&id, "an answer", SOON, |report| report["answers"]["1"] == 1).await;
    carrier.say("+46701740002", "STOP");
    eventually("bo is opted out", SOON, async || {
        let bo = api.get("/api/v1/recipients/bo").await.json();
        if bo["devices"][0]["opted_out"] == true { Ok(()) } else { Err(bo) }
    })
    .await;
}
