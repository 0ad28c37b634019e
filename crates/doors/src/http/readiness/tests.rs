//! Readiness as each role sees it.

use super::*;
use crate::http::tests::*;

/// Looks at an alert until it is over.
const LOOKS_MAX: usize = 10_000;

#[tokio::test]
async fn a_server_on_its_first_day_knows_what_it_does_not_know() {
    let server = TestServer::open().await;
    let (status, ready) = server.get("/api/v1/readiness").await;
    assert_eq!(status, 200, "{ready}");
    assert_eq!((&ready["last_drill"], &ready["money"]), (&json!(null), &json!(null)), "{ready}");
    assert_eq!(ready["people"], json!({"total": 0, "without_device": 0}), "{ready}");
    // Nothing is known of the routes yet: they are not said to be down.
    assert_eq!(ready["routes"], json!({"total": 2, "down": []}), "{ready}");
    server.close().await;
}

#[tokio::test]
async fn people_are_counted_again_when_they_change() {
    let server = TestServer::open().await;
    server.people().await;
    let people = async || server.get("/api/v1/readiness").await.1["people"].clone();
    assert_eq!(people().await, json!({"total": 2, "without_device": 0}));
    let switched_off = json!([{"channel": "sms", "address": "+46701000003", "enabled": false}]);
    for person in [json!({"id": "cy"}), json!({"id": "di", "devices": switched_off})] {
        assert_eq!(server.post("/api/v1/recipients", person).await.0, 201);
    }
    assert_eq!(people().await, json!({"total": 4, "without_device": 2}));
    let found = server.get("/api/v1/recipients?health=no_device").await.1;
    assert_eq!(found["total"], 2, "as the list that the number leads to: {found}");
    server.close().await;
}

#[tokio::test]
async fn the_last_drill_is_one_that_is_over_and_the_callers_to_see() {
    let server = TestServer::open().await;
    assert_eq!(server.post("/api/v1/recipients", json!({"id": "cy"})).await.0, 201);
    let drill = |headline: &str, audience: &str| json!({"headline": headline, "text": "x", "audience": [audience], "mode": "drill"});
    // Nobody waits for the answer of how many it reaches: nobody.
    let (_, submitted) = server.post("/api/v1/alerts", drill("Siren test", "recipient:cy")).await;
    let over = submitted["id"].as_str().unwrap().to_owned();
    let mut looks = 0;
    while server.get(&format!("/api/v1/alerts/{over}")).await.1["state"] != "done" {
        looks += 1;
        assert!(looks < LOOKS_MAX, "nobody can be reached, and it is not over");
    }
    server.people().await;
    server.submit(drill("It goes on", "all")).await;
    let last = server.get("/api/v1/readiness").await.1["last_drill"].clone();
    assert_eq!((&last["id"], &last["headline"]), (&json!(over), &json!("Siren test")), "{last}");
    assert_eq!((&last["met"], &last["people"]), (&json!(false), &json!(0)), "{last}");
    assert_eq!(last["target"], json!({"people": 0.95, "seconds": 300.0}), "{last}");
    let verdict = server.get(&format!("/api/v1/alerts/{over}/verdict")).await.1;
    assert_eq!((&verdict["met"], &verdict["seconds"]), (&last["met"], &last["seconds"]), "{verdict}");
    let limited = json!({"roles": ["viewer"], "groups": ["fire"]});
    for (name, rights) in [("eva", limited), ("bo", json!({"roles": ["viewer"], "spaces": ["live"]}))] {
        let mut browser = server.signed_in(name, rights).await;
        assert_eq!(browser.get("/api/v1/readiness").await.1["last_drill"], json!(null), "{name}");
    }
    server.close().await;
}

#[tokio::test]
async fn money_pays_for_a_number_of_alerts_and_each_role_sees_its_part() {
    let server = TestServer::whole().await;
    assert_eq!(
        server.post("/api/v1/accounts", json!({"id": "default", "balance": 1000, "limit": 50})).await.0,
        201
    );
    let ready = server.get("/api/v1/readiness").await.1;
    let money = json!({"account": "default", "balance": 1000, "left": 1050, "last_alert": null, "alerts_like_last": null});
    assert_eq!(ready["money"], money, "{ready}");
    for (role, sees) in [
        ("viewer", [true, true, true]),
        ("approver", [true, false, false]),
        ("accounts", [false, true, false]),
        ("administrator", [true, false, true]),
    ] {
        let mut browser = server.signed_in(role, json!({"roles": [role]})).await;
        let (status, ready) = browser.get("/api/v1/readiness").await;
        assert_eq!(status, 200, "{role}: {ready}");
        assert_eq!(["people", "money", "routes"].map(|part| !ready[part].is_null()), sees, "{role}: {ready}");
    }
    let submit = server.token(Role::Submit).await;
    let ready = said(server.anon(Method::GET, "/api/v1/readiness").bearer_auth(submit)).await.1;
    assert_eq!(ready, json!({"last_drill": null, "people": null, "money": null, "routes": null}));
    server.close().await;
}

#[tokio::test]
async fn what_takes_long_is_found_out_once_however_many_ask_and_again_after_a_failure() {
    let findings: Arc<Findings<u8, u8>> = Arc::default();
    let (go, runs) = (Arc::new(Notify::new()), Arc::new(AtomicI64::new(0)));
    let slow = || {
        let (go, runs) = (go.clone(), runs.clone());
        async move {
            runs.fetch_add(1, Ordering::Relaxed);
            go.notified().await;
            Some(7)
        }
    };
    let (one, other) = (findings.find("a", 1, slow()), findings.find("a", 1, slow()));
    let (one, other, ()) = tokio::join!(one, other, async { go.notify_one() });
    assert_eq!((one, other, runs.load(Ordering::Relaxed)), (Some(7), Some(7), 1));
    assert_eq!(findings.find("a", 2, async { None }).await, None);
    assert_eq!(findings.find("a", 2, async { Some(8) }).await, Some(8), "the failure is not kept");
}
