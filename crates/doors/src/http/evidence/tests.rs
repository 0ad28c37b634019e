use crate::http::tests::*;
use ::evidence::{Checker, PublicKey, SigningKey};

fn signing_key() -> SigningKey {
    SigningKey::from_seed(&KEY).unwrap()
}

/// An alert that was cancelled, whose evidence is made.
async fn ended(server: &TestServer) -> String {
    let id = server.submit(json!({"text": "Fire", "audience": ["all"], "channels": ["sms"]})).await;
    let (status, said) = server.post(&format!("/api/v1/alerts/{id}:cancel"), json!({})).await;
    assert_eq!(status, 200, "{said}");
    let alert = server.engine.alert("default", id.parse().unwrap()).await.unwrap();
    // SQL hears of an alert's end a second late.
    while !engine::AlertEvidence::of(&server.engine).make(alert.no, &signing_key()).await.unwrap() {
        tokio::task::yield_now().await;
    }
    id
}

#[tokio::test]
async fn evidence_is_shown_and_exported_and_the_shown_key_verifies_it() {
    let server = TestServer::open().await;
    server.people().await;
    let id = ended(&server).await;
    let (status, shown) = server.get(&format!("/api/v1/alerts/{id}/evidence")).await;
    assert_eq!(
        (status.as_u16(), &shown["alert"], &shown["version"]),
        (200, &json!(id), &json!(1)),
        "{shown}"
    );
    assert_eq!(shown["timestamp"], Value::Null);
    let (_, key) = server.get("/api/v1/evidence-key").await;
    assert_eq!(key["id"], shown["key"]);
    let key = PublicKey::parse(key["pem"].as_str().unwrap()).unwrap();
    let path = format!("/api/v1/alerts/{id}/evidence/export");
    let answer = server.call(Method::GET, &path).send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/x-ndjson");
    let text = answer.text().await.unwrap();
    let mut lines = text.lines();
    let mut checker = Checker::new(lines.next().unwrap(), &key, None).unwrap();
    lines.try_for_each(|line| checker.line(line)).unwrap();
    let checked = checker.end().unwrap();
    assert_eq!(json!(checked.checked), shown["size"], "{text}");
    assert!(checked.checked > 1 && text.contains("\"kind\":\"alert\""), "{text}");
    assert_eq!(checked.header.signed(), shown["statement"].as_str().unwrap());
    let (_, trail) = server.get("/api/v1/audit?verb=evidence.sign").await;
    let entry = &trail["items"][0];
    assert_eq!((&entry["seq"], &entry["object"]), (&shown["audit"], &json!(id)), "{trail}");
    assert!(entry["detail"].as_str().unwrap().contains(shown["root"].as_str().unwrap()), "{trail}");
}

#[tokio::test]
async fn an_alert_that_has_not_ended_has_no_evidence_and_another_token_sees_none() {
    let server = TestServer::open().await;
    server.people().await;
    let running = server.submit(json!({"text": "Fire", "audience": ["all"], "channels": ["sms"]})).await;
    for path in ["evidence", "evidence/export"] {
        let (status, problem) = server.get(&format!("/api/v1/alerts/{running}/{path}")).await;
        assert_eq!(status, 409, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("after an alert has ended"), "{problem}");
    }
    let id = ended(&server).await;
    let (_, token) = server.post("/api/v1/tokens", json!({"role": "submit"})).await;
    let token = token["token"].as_str().unwrap();
    for path in ["evidence", "evidence/export"] {
        let path = format!("/api/v1/alerts/{id}/{path}");
        let (status, problem) = said(server.anon(Method::GET, &path).bearer_auth(token)).await;
        assert_eq!(status, 404, "{problem}");
    }
}
