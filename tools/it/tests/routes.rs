//! Stories of routes: one is held while an alert runs, stays held over a kill, and test messages say when
//! they arrived.

use crate::fixtures::{SOON, assert_counts_add_up, carrier, count, phones_csv};
use it::{Api, Server, eventually, sms_route};
use serde_json::{Value, json};

const PEOPLE: u64 = 600;

/// The route once it is in this state.
async fn route_that_is(api: &Api, name: &str, state: &str) -> Value {
    eventually("the route is in this state", SOON, async || {
        let route = api.get(&format!("/api/v1/routes/{name}")).await.expect(200);
        if route["state"] == state { Ok(route) } else { Err(route) }
    })
    .await
}

/// A test by a route, once it has arrived.
async fn tested(api: &Api, route: &str, to: &str) -> Value {
    let sent = api.post(&format!("/api/v1/routes/{route}:test"), &json!({"to": to})).await.expect(202);
    let path = format!("/api/v1/tests/{}", sent["id"].as_str().unwrap());
    eventually("the test has arrived", SOON, async || {
        let test = api.get(&path).await.expect(200);
        if test["delivered"].is_string() { Ok(test) } else { Err(test) }
    })
    .await
}

#[tokio::test]
async fn a_held_route_leaves_its_alert_to_another_stays_held_over_a_kill_and_is_tested_once_released() {
    let (first, second) = (carrier().await, carrier().await);
    let config = [
        sms_route("first", first.address(), "rate = 100.0"),
        sms_route("second", second.address(), "cost = 5"),
    ];
    let mut server = Server::start(&config.concat()).await;
    let api = server.api();
    api.import_csv(phones_csv(PEOPLE)).await;
    let up = route_that_is(&api, "first", "up").await;
    assert_eq!(
        (&up["protocol"], &up["sessions"]["bound"]),
        (&json!("smpp"), &up["sessions"]["wanted"]),
        "{up}"
    );
    assert_eq!(up["substitutes"], json!([{"name": "second", "can_send": true, "takes_all": true}]));
    assert!(up["line"].is_u64(), "{up}");

    let id = api.submit(&json!({"text": "hello", "audience": ["all"]})).await;
    eventually("some of it is sent", SOON, async || {
        let accepted = first.stats().accepted;
        if accepted >= 50 { Ok(()) } else { Err(accepted) }
    })
    .await;
    let reason = json!({"reason": "it loses messages"});
    api.post("/api/v1/routes/first:hold", &reason).await.expect(200);
    let report = api.done(&id, SOON).await;
    assert_counts_add_up(&report);
    assert_eq!(count(&report, "accepted") + count(&report, "delivered"), PEOPLE, "{report}");
    let by_first = first.stats().messages;
    assert_eq!(by_first + second.stats().messages, PEOPLE, "nobody gets it twice");
    assert!(by_first < PEOPLE / 2, "the rest went by the other: {by_first}");
    assert_eq!((first.stats().repeats, second.stats().repeats), (0, 0));

    server.kill9();
    server.restart().await;
    let held = route_that_is(&api, "first", "held").await;
    assert_eq!(held["hold"]["reason"], "it loses messages", "{held}");
    route_that_is(&api, "second", "up").await;
    let to = "+46709999999".to_owned();
    let id = api.submit(&json!({"text": "again", "audience": [format!("sms:{to}")]})).await;
    let report = api.done(&id, SOON).await;
    assert_eq!(report["routes"]["second"]["counts"]["endpoints"], 1, "{report}");
    assert_eq!(first.stats().messages, by_first);
    assert_eq!(api.post("/api/v1/routes/first:test", &json!({"to": to})).await.status, 409);
    let test = tested(&api, "second", &to).await;
    assert!(test["delivered_after_ms"].is_u64() && test["route"] == "second", "{test}");

    assert_eq!(api.post("/api/v1/routes/first:release", &json!({})).await.status, 204);
    route_that_is(&api, "first", "up").await;
    let test = tested(&api, "first", &to).await;
    assert_eq!((&test["route"], &test["failed"]), (&json!("first"), &json!(false)), "{test}");
    assert_eq!(first.stats().messages, by_first + 1);
    let history = api.get("/api/v1/routes/first/history").await.expect(200);
    let is_sent = |point: &Value| point["sent_per_s"].as_f64().is_some_and(|sent| sent > 0.0);
    assert!(history["items"].as_array().unwrap().iter().any(is_sent), "{history}");
    let shown = api.get("/api/v1/routes/second").await.expect(200);
    assert!(shown["confirmation"]["p50_ms"].is_u64(), "{shown}");
}
