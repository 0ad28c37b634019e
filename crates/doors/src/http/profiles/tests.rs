use crate::http::tests::*;
use records::Role;

/// A token of a role: its secret, and its id.
async fn made(server: &TestServer, role: &str) -> (String, String) {
    let (status, token) = server.post("/api/v1/tokens", json!({"role": role, "name": "bell"})).await;
    assert_eq!(status, 201, "{token}");
    let text = |name: &str| token[name].as_str().unwrap().to_owned();
    (text("token"), text("id"))
}

async fn put(server: &TestServer, id: &str, defaults: Value) -> (u16, Value) {
    let path = format!("/api/v1/profiles/{id}");
    let (status, said) = said(server.call(Method::PUT, &path).json(&json!({"defaults": defaults}))).await;
    (status.as_u16(), said)
}

/// Submits an alert with a token; gives the request as it was taken.
async fn request_of(server: &TestServer, token: &str, body: Value) -> Value {
    let (status, sent) =
        said(server.anon(Method::POST, "/api/v1/alerts").bearer_auth(token).json(&body)).await;
    assert_eq!(status, 202, "{sent}");
    let path = format!("/api/v1/alerts/{}", sent["id"].as_str().unwrap());
    server.get(&path).await.1["request"].clone()
}

#[tokio::test]
async fn what_a_request_leaves_out_comes_from_its_token_then_from_the_account() {
    let server = TestServer::open().await;
    server.people().await;
    let (bell, id) = made(&server, "submit").await;
    let account = json!({"priority": "urgent", "sender": "CITY", "expires_after": "2h"});
    assert_eq!(put(&server, "account", account).await.0, 201);
    let own = json!({"priority": "emergency", "audience": ["group:staff"], "channels": ["sms"]});
    assert_eq!(put(&server, &id, own).await.0, 201);
    let found = request_of(&server, &bell, json!({"text": "Bell", "priority": null})).await;
    assert_eq!((&found["priority"], &found["sender"]), (&json!("emergency"), &json!("CITY")));
    assert_eq!((&found["audience"], &found["channels"]), (&json!(["group:staff"]), &json!(["sms"])));
    assert_eq!(found["on_unknown"], "resend", "as of an emergency that was asked for");
    assert_eq!(found["expires"], "2026-11-18T08:26:40Z");
    let said_all = json!({"text": "Bell", "audience": ["recipient:ann"], "priority": "routine", "channels": [],
        "sender": "BELL", "expires": "2026-11-18T09:00:00Z"});
    let found = request_of(&server, &bell, said_all).await;
    assert_eq!((&found["priority"], &found["sender"]), (&json!("routine"), &json!("BELL")));
    assert_eq!((&found["audience"], &found["channels"]), (&json!(["recipient:ann"]), &json!([])));
    assert_eq!(found["expires"], "2026-11-18T09:00:00Z");
    // Another token of the account has the account's alone.
    let other = server.token(Role::Operator).await;
    let found = request_of(&server, &other, json!({"text": "x", "audience": ["all"]})).await;
    assert_eq!((&found["priority"], &found["channels"]), (&json!("urgent"), &json!([])));
    server.close().await;
}

#[tokio::test]
async fn a_profile_is_read_changed_under_its_version_and_removed() {
    let server = TestServer::open().await;
    let (_, id) = made(&server, "submit").await;
    let path = format!("/api/v1/profiles/{id}");
    assert_eq!(server.get(&path).await.0, 404, "it has none yet");
    assert_eq!(put(&server, &id, json!({"priority": "urgent"})).await.0, 201);
    let (status, profile) = server.get(&path).await;
    assert_eq!((status.as_u16(), &profile["defaults"]), (200, &json!({"priority": "urgent"})));
    let change = |version: &str| {
        let request = server.call(Method::PUT, &path).header("if-match", version);
        said(request.json(&json!({"defaults": {"strategy": "first-reachable"}})))
    };
    assert_eq!(change("\"7\"").await.0, 412);
    assert_eq!(change("\"1\"").await.0, 200);
    let (_, list) = server.get("/api/v1/profiles").await;
    assert_eq!(list["items"][0]["defaults"], json!({"strategy": "first-reachable"}), "the whole is replaced");
    let (_, trail) = server.get("/api/v1/audit?verb=profile.put").await;
    assert_eq!(
        (&trail["items"][0]["object"], &trail["items"][0]["detail"]),
        (&json!(id), &json!("strategy"))
    );
    assert_eq!(said(server.call(Method::DELETE, &path)).await.0, 204);
    assert_eq!(said(server.call(Method::DELETE, &path)).await.0, 404);
    server.close().await;
}

#[tokio::test]
async fn a_profile_goes_with_its_token_and_is_an_admins_alone() {
    let server = TestServer::open().await;
    let (bell, id) = made(&server, "submit").await;
    assert_eq!(put(&server, &id, json!({"priority": "urgent"})).await.0, 201);
    for role in [Role::Operator, Role::Viewer] {
        let token = server.token(role).await;
        let refused = said(server.anon(Method::GET, "/api/v1/profiles").bearer_auth(token)).await;
        assert_eq!(refused.0, 403, "{role:?}");
    }
    let own = server.anon(Method::PUT, &format!("/api/v1/profiles/{id}")).bearer_auth(bell);
    assert_eq!(said(own.json(&json!({"defaults": {}}))).await.0, 403);
    let (_, viewer) = made(&server, "viewer").await;
    let (status, problem) = put(&server, &viewer, json!({})).await;
    assert_eq!(status, 409, "it submits nothing: {problem}");
    assert_eq!(said(server.call(Method::DELETE, &format!("/api/v1/tokens/{id}"))).await.0, 204);
    assert_eq!(server.get(&format!("/api/v1/profiles/{id}")).await.0, 404);
    assert_eq!(server.get("/api/v1/profiles").await.1["items"], json!([]));
    server.close().await;
}

#[tokio::test]
async fn a_default_is_judged_as_in_an_alert() {
    let server = TestServer::open().await;
    for (defaults, field, says) in [
        (json!({"priorty": "urgent"}), "defaults.priorty", "did you mean \"priority\""),
        (json!({"text": "x"}), "defaults.text", "is no default of alerts"),
        (json!({"mode": "drill"}), "defaults.mode", "is no default of alerts"),
        (json!({"priority": "high"}), "defaults.priority", "must be one of"),
        (json!({"channels": ["carrier"]}), "defaults.channels[0]", ""),
        (json!({"audience": ["nobody"]}), "defaults.audience[0]", "is not an audience"),
        (json!({"expires_after": "41d"}), "defaults.expires_after", "more than 40 days"),
        (json!({"expires_after": "soon"}), "defaults.expires_after", "is not a duration"),
        (json!({"expires_after": 4}), "defaults.expires_after", "a duration such as"),
        (json!([]), "defaults", "an object is needed"),
    ] {
        let (status, problem) = put(&server, "account", defaults.clone()).await;
        assert_eq!(status, 422, "{defaults}");
        assert!(reason(&problem, field).contains(says), "{defaults}: {problem}");
    }
    server.close().await;
}
