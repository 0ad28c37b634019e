//! Alerts to devices at Debian's mosquitto: confirmed, answered, unheard, retained; a wrong certificate; and
//! kill -9 in the middle.

use crate::fixtures::{LATER, SOON, count};
use it::{Mosquitto, Server, eventually};
use serde_json::{Value, json};
use sim::broker::{Broker, BrokerOptions};
use std::collections::HashMap;

fn route(address: impl std::fmt::Display, more: &str) -> String {
    format!(
        "[[route]]\nname = \"sirens\"\nchannel = \"mqtt\"\nmode = \"live\"\naddress = \"{address}\"\n\
         topic = \"city/{{address}}\"\nresponse_topic = \"city/answers\"\n{more}\n"
    )
}

/// The one delivery of an alert, once it is in this state.
async fn delivery_in(server: &Server, id: &str, state: &str) -> Value {
    eventually(state, SOON, async || {
        let deliveries = server.api().deliveries(id).await;
        let found = deliveries.iter().find(|delivery| delivery["state"] == state).cloned();
        found.ok_or_else(|| format!("{deliveries:?}"))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_gets_an_alert_as_json_confirms_it_and_answers() {
    let mosquitto = Mosquitto::start().await;
    let mut siren = mosquitto.device("city/site/7").await;
    let server = Server::start(&route(mosquitto.address(), "")).await;
    let api = server.api();
    api.add_recipients(&json!([{"id": "siren", "name": "North siren", "mqtt": "site/7"}])).await;
    let id = api
        .submit(&json!({
            "headline": "Gas leak", "text": "Leave the harbour", "audience": ["recipient:siren"],
            "require_answer": true, "terminal": "answered",
            "choices": [{"key": "1", "label": "Sounding"}, {"key": "2", "label": "Out of order"}],
        }))
        .await;
    let message = siren.next().await;
    let payload: Value = serde_json::from_str(&message.payload).unwrap();
    assert_eq!((&payload["alert"], &payload["mode"]), (&json!(id), &json!("live")));
    assert_eq!((&payload["headline"], &payload["text"]), (&json!("Gas leak"), &json!("Leave the harbour")));
    assert_eq!(payload["choices"][1], json!({"key": "2", "label": "Out of order"}));
    assert!(message.expiry_s > 0 && !message.retained, "{message:?}");
    assert_eq!(message.response_topic, "city/answers");

    siren.say(&message, "{\"state\":\"delivered\"}").await;
    delivery_in(&server, &id, "delivered").await;
    let mut forged = message.clone();
    forged.correlation = message.correlation.replacen('.', "1.", 1);
    siren.say(&forged, "{\"answer\":\"2\"}").await;
    siren.say(&message, "{\"answer\":\"1\"}").await;
    let answered = delivery_in(&server, &id, "answered").await;
    assert_eq!(answered["answer"]["key"], "1", "{answered}");
    assert_eq!(answered["answer"]["via"], "mqtt", "{answered}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_on_which_nobody_listens_is_told() {
    let mosquitto = Mosquitto::start().await;
    let server = Server::start(&format!(
        "[engine]\nretry_after = [\"2s\", \"2s\", \"2s\", \"2s\"]\n{}",
        route(mosquitto.address(), "")
    ))
    .await;
    let alert = json!({"text": "Leave the harbour", "audience": ["mqtt:site/8"]});
    let id = server.api().submit(&alert).await;
    eventually("the reason is told", SOON, async || {
        let deliveries = server.api().deliveries(&id).await;
        let words = deliveries.first().map(ToString::to_string).unwrap_or_default();
        if words.contains("nobody listens on the topic") && words.contains("mqtt:10") {
            Ok(())
        } else {
            Err(words)
        }
    })
    .await;
    // The next try finds a device.
    let mut siren = mosquitto.device("city/site/8").await;
    assert!(siren.next().await.payload.contains("Leave the harbour"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_with_the_wrong_certificate_gets_nothing_and_is_told_in_words() {
    let made = rcgen::generate_simple_self_signed(vec!["broker.test".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let mosquitto = Mosquitto::with_certificate(&certificate, &key).await;
    let mut siren = mosquitto.device("city/site/7").await;
    let mut server = Server::start(&route(mosquitto.tls_address(), "tls = \"tls\"")).await;
    eventually("the certificate is refused", SOON, async || {
        let log = server.whole_log();
        if log.contains("not connected") && log.contains("certificate") { Ok(()) } else { Err(log) }
    })
    .await;
    assert!(!mosquitto.log().contains("as campanile-"), "nobody has connected");
    // A first token is told before it is on record: whoever shows it is waited for.
    server.api().get("/api/v1/alerts").await.expect(200);
    // With the certificate to trust, and its name, it works.
    let ca_file = server.data().join("broker.pem");
    std::fs::write(&ca_file, certificate).unwrap();
    let config = std::fs::read_to_string(server.config()).unwrap();
    let trusted = "tls = \"tls\"\nca_file = \"broker.pem\"\nserver_name = \"broker.test\"";
    std::fs::write(server.config(), config.replace("tls = \"tls\"", trusted)).unwrap();
    server.kill9();
    server.restart().await;
    let id = server.api().submit(&json!({"text": "Leave the harbour", "audience": ["mqtt:site/7"]})).await;
    assert!(siren.next().await.payload.contains(&id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retained_message_meets_a_device_that_comes_late_and_is_gone_at_the_end() {
    let mosquitto = Mosquitto::start().await;
    let mut server = Server::start(&route(mosquitto.address(), "retain = true")).await;
    let api = server.api();
    let ends = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(20);
    let alert = json!({
        "text": "Leave the harbour", "audience": ["mqtt:site/7"], "expires": ends.to_string(),
        "terminal": "accepted",
    });
    let id = api.submit(&alert).await;
    let report = api.done(&id, SOON).await;
    assert_eq!(count(&report, "accepted"), 1, "{report}");
    assert!(mosquitto.retained("city/site/7").await.is_some_and(|payload| payload.contains(&id)));
    let mut late = mosquitto.device("city/site/7").await;
    assert!(late.next().await.retained);
    // The process that must remove it is another than the one that wrote it.
    server.kill9();
    server.restart().await;
    let empty = late.next().await;
    assert_eq!(empty.payload, "", "an empty message at the end");
    assert_eq!(mosquitto.retained("city/site/7").await, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_in_mid_alert_leaves_no_device_out_and_no_second_copy() {
    const SITES: usize = 400;
    let devices = BrokerOptions {
        devices: Some("city/#".to_owned()),
        keep: 10_000,
        latency: "20ms".parse().unwrap(),
        ..BrokerOptions::default()
    };
    let broker = Broker::start(devices).await.unwrap();
    let mut server = Server::start(&route(broker.address(), "rate = 200.0")).await;
    let audience: Vec<String> = (0..SITES).map(|site| format!("mqtt:site/{site}")).collect();
    let id = server.api().submit(&json!({"text": "Leave the harbour", "audience": audience})).await;
    for share in [4, 2] {
        eventually("a part is written", SOON, async || {
            let accepted = broker.stats().accepted as usize;
            if accepted >= SITES / share { Ok(()) } else { Err(accepted) }
        })
        .await;
        server.kill9();
        server.restart().await;
    }
    let report = server.api().done(&id, LATER).await;
    assert_eq!((count(&report, "endpoints"), count(&report, "unknown")), (SITES as u64, 0), "{report}");
    assert_eq!(count(&report, "failed"), 0, "{report}");
    let mut ids: HashMap<String, Vec<String>> = HashMap::new();
    for taken in broker.messages(10_000) {
        ids.entry(taken.packet.topic.clone()).or_default().push(taken.id());
    }
    assert_eq!(ids.len(), SITES, "nobody is left out");
    for (topic, mut ids) in ids {
        ids.dedup();
        assert_eq!(ids.len(), 1, "{topic}: a device drops what it knows by its id");
    }
}
