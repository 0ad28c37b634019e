//! Bad input: a clear answer that names the field, and a server that goes on.

use crate::fixtures::{SOON, carrier, number, phone_owner};
use it::{Api, Reply, Server, sms_route};
use reqwest::Method;
use serde_json::{Value, json};
use sim::smsc::Smsc;

async fn server() -> (Smsc, Server, Api) {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let api = server.api();
    api.add_recipients(&json!([phone_owner("ann", 0)])).await;
    api.add_group(&json!({"id": "empty"})).await;
    (carrier, server, api)
}

/// The server is as good as before.
async fn goes_on(server: &mut Server, carrier: &Smsc) {
    assert!(server.is_alive());
    let api = server.api();
    let id = api.submit(&json!({"text": "still here", "audience": ["recipient:ann"]})).await;
    api.done(&id, SOON).await;
    assert_eq!(carrier.accepted(&number(0), "still here"), 1);
}

fn sms(more: Value) -> Value {
    let mut alert = json!({"text": "x", "audience": [format!("sms:{}", number(0))]});
    alert.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    alert
}

#[tokio::test]
async fn every_wrong_field_of_an_alert_is_named() {
    let (carrier, mut server, api) = server().await;
    let past = "2020-01-01T00:00:00Z";
    let cases = [
        (json!({"audience": ["all"]}), "text"),
        (json!({"text": "x"}), "audience"),
        (sms(json!({"audience": []})), "audience"),
        (sms(json!({"audience": ["group:nobody-knows"]})), "audience[0]"),
        (sms(json!({"audience": ["all", "group:nobody-knows"]})), "audience[1]"),
        (sms(json!({"audience": ["sms:12"]})), "audience[0]"),
        (sms(json!({"audience": ["sms:+4670x"]})), "audience[0]"),
        (sms(json!({"audience": ["sms:0701740605"]})), "audience[0]"),
        (sms(json!({"audience": ["sms:+4612345678901234"]})), "audience[0]"),
        (sms(json!({"audience": ["mail:nobody@"]})), "audience[0]"),
        (sms(json!({"audience": ["everybody"]})), "audience[0]"),
        (sms(json!({"audience": ["fax:1"]})), "audience[0]"),
        (sms(json!({"audience": [{"to": "all", "expires": past}]})), "audience[0].expires"),
        (sms(json!({"exclude": ["group:nobody-knows"]})), "exclude[0]"),
        (sms(json!({"expires": past})), "expires"),
        (sms(json!({"expires": "tomorrow"})), "expires"),
        (sms(json!({"not_before": "2099-01-01T00:00:00Z"})), "not_before"),
        (sms(json!({"priority": "high"})), "priority"),
        (sms(json!({"channels": ["fax"]})), "channels"),
        (sms(json!({"channels": ["mail"]})), "channels"),
        (sms(json!({"mode": "drill"})), "channels"),
        (sms(json!({"strategy": {"escalate_after": "-1m"}})), "strategy"),
        (sms(json!({"choices": [{"key": "1", "label": "a"}, {"key": "1", "label": "b"}]})), "choices"),
        (sms(json!({"callback": {"url": "ftp://x"}})), "callback.url"),
        (sms(json!({"text": "Hello {{name"})), "text"),
        (sms(json!({"txt": "y"})), "txt"),
        (sms(json!({"flash": "yes"})), "flash"),
        (sms(json!({"text": 5})), "text"),
    ];
    for (alert, field) in &cases {
        let reply = api.post("/api/v1/alerts", alert).await;
        assert_eq!(reply.status, 422, "{alert}: {}", reply.text);
        reply.expect_problem(422, field);
    }
    assert!(api.pages("/api/v1/alerts?limit=10").await.is_empty(), "nothing of it was accepted");
    assert_eq!(carrier.stats().submits, 0);
    goes_on(&mut server, &carrier).await;
}

#[tokio::test]
async fn an_audience_that_turns_out_to_be_nobody_is_told_at_once_in_sync_and_by_the_report_otherwise() {
    let (carrier, mut server, api) = server().await;
    let alert = json!({"text": "x", "audience": ["group:empty"]});
    api.post("/api/v1/alerts?mode=sync", &alert).await.expect_problem(422, "audience");
    let id = api.submit(&alert).await;
    let report = api.done(&id, SOON).await;
    assert_eq!(report["counts"]["endpoints"], 0, "{report}");
    let id = api.submit(&json!({"text": "x", "audience": ["recipient:nobody", "recipient:ann"]})).await;
    let report = api.done(&id, SOON).await;
    assert_eq!(report["counts"]["excluded"], 1, "{report}");
    assert!(report["reasons"].to_string().contains("nobody is known by this name"), "{report}");
    goes_on(&mut server, &carrier).await;
}

#[tokio::test]
async fn what_is_no_json_is_told_with_its_line_and_column() {
    let (carrier, mut server, api) = server().await;
    let deep = "[".repeat(100_000);
    let cases: [(&[u8], &str); 6] = [
        (b"{\"text\": \"x\",\n \"audience\": [", "line 2"),
        (b"", "empty"),
        (b"text=x", "line 1"),
        (b"{\"text\": \"\xff\"}", "line 1"),
        (b"{} {}", "line 1"),
        (deep.as_bytes(), ""),
    ];
    for (body, words) in cases {
        let reply = api.post_as("/api/v1/alerts", "application/json", body.to_vec()).await;
        let problem = reply.expect(400);
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    }
    let reply = api.post_as("/api/v1/alerts", "text/plain", "{}").await;
    assert_eq!(reply.status, 415, "{}", reply.text);
    goes_on(&mut server, &carrier).await;
}

#[tokio::test]
async fn xml_with_a_document_type_or_entities_is_refused() {
    let (carrier, mut server, api) = server().await;
    let bomb = "<?xml version=\"1.0\"?><!DOCTYPE alert [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\
                <alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>&b;</identifier></alert>";
    let outside = "<!DOCTYPE alert SYSTEM \"http://127.0.0.1:1/x.dtd\"><alert/>";
    let entity =
        "<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>&who;</identifier></alert>";
    let cases = [bomb, outside, entity, "<alert", "", "<html/>"];
    for xml in cases {
        let reply = api.post_as("/api/v1/cap?audience=all", "application/cap+xml", xml).await;
        assert!(matches!(reply.status, 400 | 422), "{xml}: {} {}", reply.status, reply.text);
        assert!(reply.json()["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{}", reply.text);
    }
    let reply = api.post_as("/api/v1/cap?audience=all", "application/cap+xml", bomb).await;
    reply.expect_problem(reply.status, "alert");
    goes_on(&mut server, &carrier).await;
}

#[tokio::test]
async fn a_body_of_100_megabytes_is_refused_however_it_comes() {
    let (carrier, mut server, api) = server().await;
    let large = vec![b' '; 100 << 20];
    let declared = api
        .request(Method::POST, "/api/v1/alerts")
        .header("content-type", "application/json")
        .body(large.clone());
    refused_as_too_large(api.try_send(declared).await);
    // In chunks of no declared length.
    let chunks = (0..100).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
    let chunked =
        api.request(Method::POST, "/api/v1/alerts").header("content-type", "application/json").body(body);
    refused_as_too_large(api.try_send(chunked).await);
    // Small on the wire, large once it is decompressed: 100 MiB of spaces.
    let squeezed = squeezed(&large);
    assert!(squeezed.len() < 1 << 20);
    let request = api.request(Method::POST, "/api/v1/alerts").header("content-type", "application/json");
    let reply = api.send(request.header("content-encoding", "gzip").body(squeezed)).await;
    assert_eq!(reply.status, 413, "{}", reply.text);
    assert!(reply.text.contains("64"), "the limit is named: {}", reply.text);
    goes_on(&mut server, &carrier).await;
}

/// A server may answer and hang up while the client still sends; both are a clear no.
fn refused_as_too_large(reply: Result<Reply, String>) {
    match reply {
        Ok(reply) => assert_eq!(reply.status, 413, "{}", reply.text),
        Err(error) => assert!(
            error.contains("reset") || error.contains("closed") || error.contains("Broken pipe"),
            "{error}"
        ),
    }
}

fn squeezed(octets: &[u8]) -> Vec<u8> {
    use std::io::{Read, Write};
    let mut child = std::process::Command::new("gzip")
        .arg("-1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut squeezed = Vec::new();
        output.read_to_end(&mut squeezed).unwrap();
        squeezed
    });
    input.write_all(octets).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    reader.join().unwrap()
}

#[tokio::test]
async fn tokens_open_what_their_role_may_and_nothing_else() {
    let (carrier, mut server, api) = server().await;
    let alert = json!({"text": "x", "audience": ["recipient:ann"]});
    for wrong in ["", "cmp_wrong", "Bearer", &server.token()[1..]] {
        let reply = api.with_token(wrong).post("/api/v1/alerts", &alert).await;
        assert_eq!(reply.status, 401, "{wrong:?}: {}", reply.text);
        assert!(reply.header("www-authenticate").is_some());
        assert!(!reply.text.contains(server.token()));
    }
    let mut tokens = Vec::new();
    for role in ["operator", "viewer", "submit"] {
        let made = api.post("/api/v1/tokens", &json!({"role": role, "name": role})).await.expect(201);
        tokens.push((
            role,
            made["token"].as_str().unwrap().to_owned(),
            made["id"].as_str().unwrap().to_owned(),
        ));
    }
    let allowed = [("operator", 202, 200, 403), ("viewer", 403, 200, 403), ("submit", 202, 403, 403)];
    for ((role, token, _), (name, submits, lists, makes)) in tokens.iter().zip(allowed) {
        assert_eq!(*role, name);
        let api = api.with_token(token);
        assert_eq!(api.post("/api/v1/alerts", &alert).await.status, submits, "{role}");
        assert_eq!(api.get("/api/v1/recipients").await.status, lists, "{role}");
        assert_eq!(api.post("/api/v1/tokens", &json!({"role": "admin"})).await.status, makes, "{role}");
    }
    let (_, token, id) = &tokens[0];
    assert_eq!(api.delete(&format!("/api/v1/tokens/{id}")).await.status, 204);
    assert_eq!(api.with_token(token).get("/api/v1/recipients").await.status, 401, "a revoked token is none");
    goes_on(&mut server, &carrier).await;
}

#[tokio::test]
async fn wrong_paths_methods_and_ids_are_told_apart() {
    let (carrier, mut server, api) = server().await;
    let nobody = "/api/v1/alerts/018f0000-0000-7000-8000-000000000000";
    let cases = [
        (Method::GET, "/api/v1/alert", 404),
        (Method::GET, nobody, 404),
        (Method::GET, "/api/v1/alerts/not-an-id", 404),
        (Method::PUT, "/api/v1/alerts", 405),
        (Method::GET, "/api/v1/recipients/nobody", 404),
        (Method::DELETE, "/api/v1/groups/nobody", 404),
        (Method::GET, "/api/v1/alerts?limit=many", 400),
        (Method::GET, "/api/v1/recipients?cursor=%FF", 400),
    ];
    for (method, path, status) in cases {
        let reply = api.send(api.request(method.clone(), path)).await;
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.text);
        assert_eq!(reply.json()["status"], status);
    }
    goes_on(&mut server, &carrier).await;
}

#[tokio::test]
async fn an_etag_guards_a_change_against_another() {
    let (_carrier, _server, api) = server().await;
    let path = "/api/v1/recipients/ann";
    let read = api.get(path).await;
    let etag = read.header("etag").unwrap().to_owned();
    let patch = async |name: &str, etag: &str| {
        let request = api.request(Method::PATCH, path).header("if-match", etag);
        api.send(request.json(&json!({"name": name}))).await
    };
    assert_eq!(patch("Anna", &etag).await.status, 200);
    assert_eq!(patch("Anne", &etag).await.status, 412, "somebody was faster");
    assert_eq!(api.get(path).await.json()["name"], "Anna");
}
