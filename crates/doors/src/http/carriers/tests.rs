//! Tests of routes and test messages as clients see them.

use crate::http::tests::*;
use records::{ROUTES, RouteHealth, Timestamp};

/// A route's gateway says how it stands.
async fn publish(server: &TestServer, name: &str, up: bool, note: &str) {
    let since = Timestamp(server.clock.load(Ordering::Relaxed));
    let health = RouteHealth { up, since, sessions: u32::from(up), rate_now: 0.0, note: note.into() };
    server.bus.retained(ROUTES).unwrap().set(name, &health.encode()).await.unwrap();
}

/// The route once it is as wanted.
async fn route_until(server: &TestServer, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..2_000 {
        let (status, route) = server.get(&format!("/api/v1/routes/{name}")).await;
        assert_eq!(status, 200, "{route}");
        if wanted(&route) {
            return route;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("{name} does not come to stand as wanted");
}

#[tokio::test]
async fn routes_say_how_they_stand_and_what_to_do_about_their_trouble() {
    let server = TestServer::open().await;
    let (status, fresh) = server.get("/api/v1/routes").await;
    assert_eq!(status, 200, "{fresh}");
    let names: Vec<&Value> = fresh["items"].as_array().unwrap().iter().map(|route| &route["name"]).collect();
    assert_eq!(names, ["carrier", "range"]);
    assert_eq!((&fresh["items"][0]["state"], &fresh["items"][0]["since"]), (&json!("unknown"), &Value::Null));
    assert_eq!(fresh["items"][1]["simulated"], true);
    publish(&server, "carrier", true, "").await;
    route_until(&server, "carrier", |route| route["state"] == "up").await;
    publish(&server, "carrier", false, "the carrier refused the bind: invalid password").await;
    let down = route_until(&server, "carrier", |route| route["state"] == "down").await;
    assert_eq!(down["since"], "2026-11-18T06:26:40Z", "{down}");
    assert_eq!(
        (&down["errors"][0]["code"], &down["errors"][0]["advice"]["key"]),
        (&json!("down"), &json!("password"))
    );
    let (_, page) = server.get("/api/v1/routes?limit=1").await;
    let next = page["next"].as_str().unwrap();
    let (_, rest) = server.get(&format!("/api/v1/routes?cursor={next}")).await;
    assert_eq!((&rest["items"][0]["name"], &rest["next"]), (&json!("range"), &Value::Null));
    let (status, history) = server.get("/api/v1/routes/carrier/history").await;
    assert_eq!(status, 200, "{history}");
    assert!(history["items"].as_array().unwrap().iter().all(|point| point["refused"] == 0), "{history}");
    for path in ["/api/v1/routes/none", "/api/v1/routes/none/history"] {
        assert_eq!(server.get(path).await.0, 404, "{path}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_route_is_held_by_somebody_for_a_reason_until_it_is_released_once() {
    let server = TestServer::open().await;
    publish(&server, "carrier", true, "").await;
    let hold =
        async |reason: &str| server.post("/api/v1/routes/carrier:hold", json!({"reason": reason})).await;
    let release = async || said(server.call(Method::POST, "/api/v1/routes/carrier:release")).await;
    assert_eq!(release().await.0, 409, "it is not held");
    let (status, problem) = server.post("/api/v1/routes/carrier:hold", json!({})).await;
    assert_eq!((status.as_u16(), reason(&problem, "reason")), (422, "is needed"));
    let (status, held) = hold("it loses messages").await;
    assert_eq!(status, 200, "{held}");
    assert_eq!((&held["by"], &held["reason"]), (&json!("first admin token"), &json!("it loses messages")));
    let route = route_until(&server, "carrier", |route| route["state"] == "held").await;
    assert_eq!(route["hold"], held);
    assert_eq!(hold("again").await.0, 409);
    let test = server.post("/api/v1/routes/carrier:test", json!({"to": "+46701000001"})).await;
    assert_eq!(test.0, 409, "{}", test.1);
    // Another door, as of another process or after a restart, finds it as well.
    let server = server.reopened().await;
    route_until(&server, "carrier", |route| route["hold"] == held).await;
    assert_eq!(said(server.call(Method::POST, "/api/v1/routes/carrier:release")).await.0, 204);
    route_until(&server, "carrier", |route| route["state"] == "up").await;
    assert_eq!(server.post("/api/v1/routes/none:hold", json!({"reason": "x"})).await.0, 404);
    server.close().await;
}

#[tokio::test]
async fn a_test_is_marked_limited_and_in_no_list_of_alerts() {
    let server = TestServer::open().await;
    server.people().await;
    for body in [json!({}), json!({"to": "nonsense"}), json!({"to": "+46701000001", "text": ""})] {
        let (status, problem) = server.post("/api/v1/routes/carrier:test", body.clone()).await;
        assert_eq!(status, 422, "{body}: {problem}");
    }
    let (status, sent) = server.post("/api/v1/routes/range:test", json!({"to": "+46701000007"})).await;
    assert_eq!(status, 202, "{sent}");
    let (status, test) = server.get(&format!("/api/v1/tests/{}", sent["id"].as_str().unwrap())).await;
    assert_eq!(status, 200, "{test}");
    assert_eq!((&test["to"], &test["wanted_route"]), (&json!("sms:+46701000007"), &json!("range")));
    assert_eq!(
        (&test["mode"], &test["delivered"], &test["failed"]),
        (&json!("drill"), &Value::Null, &json!(false))
    );
    let (_, alert) = server.get(&format!("/api/v1/alerts/{}", sent["id"].as_str().unwrap())).await;
    assert!(alert["request"]["text"].as_str().unwrap().starts_with("TEST: "), "{alert}");
    let device = "/api/v1/recipients/bo/devices/1:test";
    for _ in 0..5 {
        let (status, sent) = server.post(device, json!({"text": "Do you see this?"})).await;
        assert_eq!(status, 202, "{sent}");
    }
    let refused = server.call(Method::POST, device).json(&json!({})).send().await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (429, "600"));
    for path in ["bo/devices/3:test", "bo/devices/0:test", "bo/devices/x:test", "nobody/devices/1:test"] {
        assert_eq!(server.post(&format!("/api/v1/recipients/{path}"), json!({})).await.0, 404, "{path}");
    }
    let alert = server.submit(json!({"text": "Fire", "audience": ["recipient:ann"]})).await;
    let (_, list) = server.get("/api/v1/alerts").await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(server.get(&format!("/api/v1/tests/{alert}")).await.0, 404, "it is no test");
    server.close().await;
}
