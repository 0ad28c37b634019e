//! Stories of people who sign in: a session outlives the server, spaces and rights hold over its end.

use it::{Browser, Server, new_user, sms_route};
use serde_json::json;

#[tokio::test]
async fn a_session_outlives_the_server_that_it_began_at_and_ends_with_its_user() {
    let drill = "[[route]]\nname = \"range\"\nchannel = \"sms\"\nmode = \"drill\"\nsim = true\n";
    let live = sms_route("carrier", "127.0.0.1:9", "");
    let mut server = Server::start(&format!("{live}{drill}")).await;
    let api = server.api();
    api.add_recipients(&json!([{"id": "ann", "participant": true, "sms": "+46701000001"}])).await;
    let eva = new_user(&api, &json!({"name": "eva", "roles": ["author", "operator"]})).await;
    let browser = Browser::signed_in(&api, "eva", "drill").await;
    let alert = json!({"text": "Practice", "audience": ["recipient:ann"]});
    let first = browser.post("/api/v1/alerts?mode=sync", &alert).await.expect(201);

    server.kill9();
    server.restart().await;
    let shown = browser.get(&format!("/api/v1/alerts/{}", first["id"].as_str().unwrap())).await.expect(200);
    assert_eq!(shown["request"]["mode"], "drill", "{shown}");
    browser.post("/api/v1/alerts", &alert).await.expect(202);
    let real = json!({"text": "Real", "audience": ["recipient:ann"], "mode": "live"});
    assert_eq!(browser.post("/api/v1/alerts", &real).await.status, 403, "the drill space sends nothing live");

    let api = server.api();
    api.patch(&format!("/api/v1/users/{eva}"), &json!({"active": false})).await.expect(200);
    assert_eq!(browser.post("/api/v1/alerts", &alert).await.status, 401);
    assert_eq!(browser.get("/api/v1/alerts").await.status, 401);
}
