//! Stories of accounts: nobody sees another's data.

use crate::fixtures::{SOON, carrier, count, number, phone_owner};
use it::{Server, sms_route};
use reqwest::Method;
use serde_json::json;

#[tokio::test]
async fn an_account_sees_and_reaches_nothing_of_another() {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "")).await;
    let ours = server.api();
    let made = ours.post("/api/v1/tokens", &json!({"role": "operator", "account": "b"})).await.expect(201);
    let theirs = ours.with_token(made["token"].as_str().unwrap());
    ours.add_recipients(&json!([phone_owner("ann", 0)])).await;
    ours.add_group(&json!({"id": "staff", "members": ["ann"]})).await;
    theirs.add_recipients(&json!([phone_owner("bo", 1), phone_owner("ann", 2)])).await;
    let alert = ours.submit(&json!({"text": "ours", "audience": ["all"]})).await;
    ours.done(&alert, SOON).await;

    for (method, path) in [
        (Method::GET, format!("/api/v1/alerts/{alert}")),
        (Method::GET, format!("/api/v1/alerts/{alert}/report")),
        (Method::GET, format!("/api/v1/alerts/{alert}/deliveries")),
        (Method::GET, format!("/api/v1/alerts/{alert}/events")),
        (Method::POST, format!("/api/v1/alerts/{alert}:cancel")),
        (Method::GET, "/api/v1/groups/staff".to_owned()),
        (Method::DELETE, "/api/v1/groups/staff".to_owned()),
    ] {
        let reply = theirs.send(theirs.request(method.clone(), &path)).await;
        assert_eq!(reply.status, 404, "{method} {path}: {}", reply.text);
    }
    assert!(theirs.pages("/api/v1/alerts?limit=10").await.is_empty());
    assert_eq!(theirs.pages("/api/v1/recipients?limit=10").await.len(), 2);
    let reply = theirs.post("/api/v1/alerts", &json!({"text": "x", "audience": ["group:staff"]})).await;
    reply.expect_problem(422, "audience[0]");
    let answer = json!({"alert": alert, "recipient": "ann", "text": "1"});
    assert_eq!(theirs.post("/api/v1/answers", &answer).await.status, 404);

    // The same id is another person, and the same key another alert.
    let id = theirs.submit(&json!({"text": "theirs", "audience": ["recipient:ann"]})).await;
    theirs.done(&id, SOON).await;
    assert_eq!((carrier.accepted(&number(2), "theirs"), carrier.accepted(&number(0), "theirs")), (1, 0));
    let mut ids = Vec::new();
    for api in [&ours, &theirs] {
        let request = api.request(Method::POST, "/api/v1/alerts").header("idempotency-key", "k");
        let reply =
            api.send(request.json(&json!({"text": "k", "audience": ["recipient:ann"]}))).await.expect(202);
        ids.push(reply["id"].clone());
    }
    assert_ne!(ids[0], ids[1]);
    let report = ours.report(&alert).await;
    assert_eq!(count(&report, "endpoints"), 1, "{report}");
}
