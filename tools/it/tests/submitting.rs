//! Submitting: what a client may rely on once it has an id.

use crate::fixtures::{SOON, assert_counts_add_up, carrier, count, mail_server, number, phone_owner};
use it::{Server, mail_route, sms_route};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn the_same_key_is_the_same_alert_and_another_body_under_it_is_refused() {
    let carrier = carrier().await;
    let mut server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    let body = json!({"text": "once", "audience": [format!("sms:{}", number(0))]});
    let send = async |body: &serde_json::Value| {
        api.send(api.request(Method::POST, "/api/v1/alerts").header("idempotency-key", "k-1").json(body))
            .await
    };
    let first = send(&body).await.expect(202);
    let again = send(&body).await;
    assert_eq!(again.json()["id"], first["id"]);
    assert!(matches!(again.status, 200..=202), "{}", again.status);
    // The same document, its members in another order.
    let turned = json!({"audience": body["audience"], "text": "once"});
    assert_eq!(send(&turned).await.json()["id"], first["id"]);
    let other = json!({"text": "twice", "audience": body["audience"]});
    send(&other).await.expect_problem(422, "Idempotency-Key");
    api.done(first["id"].as_str().unwrap(), SOON).await;
    server.kill9();
    server.restart().await;
    assert_eq!(send(&body).await.json()["id"], first["id"], "also after a kill");
    assert_eq!(carrier.stats().messages, 1);
}

#[tokio::test]
async fn an_alert_that_got_its_id_survives_a_kill_in_the_same_moment() {
    let carrier = carrier().await;
    let mut server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let mut ids = Vec::new();
    for place in 0..8 {
        let body = json!({"text": format!("alert {place}"), "audience": [format!("sms:{}", number(place))], "on_unknown": "resend"});
        ids.push(server.api().submit(&body).await);
        server.kill9();
        server.restart().await;
    }
    for (place, id) in (0..).zip(&ids) {
        let report = server.api().done(id, SOON).await;
        assert_eq!(count(&report, "endpoints"), 1);
        let copies = carrier.accepted(&number(place), &format!("alert {place}"));
        assert!(copies >= 1, "nobody is left out: {report}");
    }
}

#[tokio::test]
async fn sync_tells_how_many_endpoints_and_where_the_alert_is() {
    let (carrier, mails) = (carrier().await, mail_server().await);
    let config = sms_route("carrier", carrier.address(), "") + &mail_route("relay", mails.address(), "");
    let server = Server::start(&config).await;
    let api = server.api();
    let mut ann = phone_owner("ann", 0);
    ann["devices"].as_array_mut().unwrap().push(json!({"channel": "mail", "address": "ann@town.test"}));
    api.add_recipients(&json!([ann, phone_owner("bo", 1)])).await;
    let reply = api.post("/api/v1/alerts?mode=sync", &json!({"text": "hello", "audience": ["all"]})).await;
    let body = reply.expect(201);
    assert_eq!(body["endpoints"], 3, "{body}");
    let location = reply.header("location").unwrap().to_owned();
    assert_eq!(location, format!("/api/v1/alerts/{}", body["id"].as_str().unwrap()));
    assert_eq!(api.get(&location).await.expect(200)["id"], body["id"]);
    let id = body["id"].as_str().unwrap();
    let report = api.done(id, SOON).await;
    assert_counts_add_up(&report);
    assert_eq!(count(&report, "endpoints"), 3);
    assert_eq!(report["channels"]["mail"]["accepted"], 1, "{report}");
    assert_eq!(api.pages("/api/v1/alerts?limit=1").await.len(), 1);
}

#[tokio::test]
async fn compressed_bodies_are_read_as_they_come() {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    // {"text":"hello","audience":["sms:+46701740605"]}, as `gzip -n` and `zstd` write it.
    for (encoding, octets) in [("gzip", GZIP), ("zstd", ZSTD)] {
        let request = api.request(Method::POST, "/api/v1/alerts").header("content-type", "application/json");
        let reply = api.send(request.header("content-encoding", encoding).body(octets)).await.expect(202);
        api.done(reply["id"].as_str().unwrap(), SOON).await;
    }
    assert_eq!(carrier.accepted(&number(0), "hello"), 2);
    let request = api.request(Method::POST, "/api/v1/alerts").header("content-type", "application/json");
    let reply = api.send(request.header("content-encoding", "br").body(GZIP)).await;
    assert_eq!(reply.status, 415, "{}", reply.text);
}

#[tokio::test]
async fn one_body_may_name_tens_of_thousands() {
    const NAMED: u64 = 50_000;
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    let audience: Vec<String> = crate::fixtures::phones(NAMED)
        .people()
        .flat_map(|person| person.devices)
        .map(|device| format!("sms:{}", device.address))
        .collect();
    let body = serde_json::to_vec(&json!({"text": "x", "audience": audience})).unwrap();
    let reply = api.post_as("/api/v1/alerts?mode=sync", "application/json", body).await.expect(201);
    assert_eq!(reply["endpoints"], NAMED);
    let report = api.done(reply["id"].as_str().unwrap(), SOON).await;
    assert_eq!(count(&report, "endpoints"), NAMED, "{report}");
    assert_eq!((carrier.stats().messages, carrier.stats().repeats), (NAMED, 0));
    let too_many = vec!["all"; 100_001];
    api.post("/api/v1/alerts", &json!({"text": "x", "audience": too_many}))
        .await
        .expect_problem(422, "audience");
}

#[tokio::test]
async fn the_api_describes_itself() {
    let server = Server::start("").await;
    let document = server.api().get("/openapi.json").await.expect(200);
    assert!(document["openapi"].as_str().unwrap().starts_with("3."), "{}", document["openapi"]);
    let paths = document["paths"].as_object().unwrap();
    for path in
        ["/api/v1/alerts", "/api/v1/recipients:import", "/api/v1/alerts/{id}:retry-failed", "/api/v1/cap"]
    {
        assert!(paths.contains_key(path), "{path} is not described");
    }
}

const GZIP: &[u8] = &[
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0x2a, 0x49, 0xad, 0x28, 0x51,
    0xb2, 0x52, 0xca, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xd2, 0x51, 0x4a, 0x2c, 0x4d, 0xc9, 0x4c, 0xcd, 0x4b,
    0x4e, 0x55, 0xb2, 0x8a, 0x56, 0x2a, 0xce, 0x2d, 0xb6, 0xd2, 0x36, 0x31, 0x33, 0x37, 0x30, 0x34, 0x37,
    0x31, 0x30, 0x33, 0x30, 0x55, 0x8a, 0xad, 0x05, 0x00, 0x22, 0xc1, 0xd1, 0xdb, 0x30, 0x00, 0x00, 0x00,
];
const ZSTD: &[u8] = &[
    0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x81, 0x01, 0x00, 0x7b, 0x22, 0x74, 0x65, 0x78, 0x74, 0x22, 0x3a,
    0x22, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x22, 0x2c, 0x22, 0x61, 0x75, 0x64, 0x69, 0x65, 0x6e, 0x63, 0x65,
    0x22, 0x3a, 0x5b, 0x22, 0x73, 0x6d, 0x73, 0x3a, 0x2b, 0x34, 0x36, 0x37, 0x30, 0x31, 0x37, 0x34, 0x30,
    0x36, 0x30, 0x35, 0x22, 0x5d, 0x7d, 0x1d, 0xb4, 0x90, 0x03,
];
