//! The server as operators see it.

use super::*;
use crate::http::tests::*;
use futures_util::future::BoxFuture;
use records::text_topic_on_bus;

/// A config of one section.
pub(crate) struct TestConfig;

impl ConfigAccess for TestConfig {
    fn shown(&self) -> BoxFuture<'_, Result<ShownConfig, String>> {
        let key =
            ConfigKey { name: "password".into(), is_set: true, is_secret: true, ..ConfigKey::default() };
        let section = ConfigSection { path: "route[0]".into(), line: Some(3), keys: vec![key] };
        let shown = ShownConfig { file: Some("campanile.toml".into()), sections: vec![section] };
        Box::pin(async move { Ok(shown) })
    }

    fn check(&self, text: String) -> BoxFuture<'_, CheckedConfig> {
        let problem =
            ConfigProblem { place: "campanile.toml:1:1".into(), line: Some(1), ..ConfigProblem::default() };
        let problems = if text.contains("rout ") { vec![problem] } else { Vec::new() };
        Box::pin(async move { CheckedConfig { ok: problems.is_empty(), problems, warnings: Vec::new() } })
    }
}

#[tokio::test]
async fn the_server_says_how_it_stands() {
    let server = TestServer::open().await;
    let (status, state) = server.get("/api/v1/server").await;
    assert_eq!(status, 200, "{state}");
    assert_eq!(state["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(state["leader"], json!({"is_here": true, "address": null}));
    assert_eq!((&state["node"], &state["nodes"]), (&json!(null), &json!([])), "{state}");
    assert_eq!(state["store"], json!({"kind": "sqlite", "is_well": true, "trouble": null}));
    assert!(state["disk"]["free"].as_u64().unwrap() > 0, "{state}");
    assert_eq!(state["backlog"], json!({"outcomes": 0, "intake": 0, "notices": 0}), "{state}");
    let routes = json!({"live": 1, "live_simulated": 0, "drill": 1, "up": 0, "is_demo": false});
    assert_eq!((&state["routes"], &state["channels"]), (&routes, &json!(["sms"])), "{state}");
    assert_eq!((&state["organisation"], &state["doors"]), (&json!("Town"), &json!(["http"])));
    server.clock.fetch_add(5_000_000, Ordering::Relaxed);
    let state = server.get("/api/v1/server").await.1;
    assert_eq!((&state["uptime_s"], &state["started"]), (&json!(5), &json!(rfc3339(NOW))), "{state}");
    server.close().await;
}

#[test]
fn a_server_whose_live_routes_are_all_simulated_is_a_demo() {
    let health = |simulated: &[bool]| Health {
        routes: simulated
            .iter()
            .map(|simulated| (Route { simulated: *simulated, ..route("a", Mode::Live) }, None))
            .collect(),
        ..Health::default()
    };
    for (simulated, is_demo) in [(&[true, true][..], true), (&[true, false][..], false), (&[][..], false)] {
        assert_eq!(routes_view(&health(simulated))["is_demo"], is_demo, "{simulated:?}");
    }
}

#[tokio::test]
async fn setup_counts_what_of_the_first_run_is_done() {
    let server = TestServer::open().await;
    let step = |count: u64| json!({"done": count > 0, "count": count});
    let before = server.get("/api/v1/setup").await.1;
    for name in ["administrator", "people", "alert", "drill"] {
        assert_eq!(before[name], step(0), "{name}: {before}");
    }
    assert_eq!((&before["organisation"], &before["live_route"]), (&step(1), &step(1)), "{before}");
    server.people().await;
    server.submit(json!({"text": "x", "audience": ["all"], "mode": "drill"})).await;
    server.signed_in("eva", json!({"roles": ["administrator"]})).await;
    server.signed_in("bo", json!({"roles": ["viewer"]})).await;
    let after = server.get("/api/v1/setup").await.1;
    for (name, count) in [("administrator", 1), ("people", 2), ("alert", 0), ("drill", 1)] {
        assert_eq!(after[name], step(count), "{name}: {after}");
    }
    server.close().await;
}

#[tokio::test]
async fn the_config_is_shown_and_another_one_checked() {
    let server = TestServer::open().await;
    let (status, shown) = server.get("/api/v1/config").await;
    assert_eq!((status.as_u16(), &shown["sections"][0]["line"]), (200, &json!(3)), "{shown}");
    assert_eq!(shown["sections"][0]["keys"][0]["value"], json!(null), "{shown}");
    for (text, ok) in [("[http]", true), ("rout = 1", false)] {
        let (status, checked) = server.post("/api/v1/config:check", json!({"text": text})).await;
        assert_eq!((status.as_u16(), &checked["ok"]), (200, &json!(ok)), "{checked}");
    }
    let (status, refused) = server.post("/api/v1/config:check", json!({"toml": ""})).await;
    assert_eq!(status, 422, "{refused}");
    let long = "#".repeat((1 << 20) + 1);
    let (status, refused) = server.post("/api/v1/config:check", json!({"text": long})).await;
    assert_eq!(status, 422, "{refused}");
    assert!(reason(&refused, "text").contains("1048576"), "{refused}");
    server.close().await;
}

#[tokio::test]
async fn text_topics_are_read_from_a_number_on_and_not_made_by_reading() {
    let server = TestServer::open().await;
    let topic = server.bus.topic(&text_topic_on_bus("@Möte/1".as_bytes())).unwrap();
    topic.append(&[b"one", "två".as_bytes(), b"three"]).await.unwrap();
    server.bus.topic(&text_topic_on_bus(b"@empty")).unwrap();
    let list = server.get("/api/v1/topics").await.1;
    let expected = json!([
        {"name": "Möte/1", "first": 0, "next": 3, "messages": 3},
        {"name": "empty", "first": 0, "next": 0, "messages": 0},
    ]);
    assert_eq!(list["items"], expected, "{list}");
    let page = server.get("/api/v1/topics?limit=1").await.1;
    let rest = server.get(&format!("/api/v1/topics?cursor={}", page["next"].as_str().unwrap())).await.1;
    assert_eq!((&rest["items"][0]["name"], &rest["next"]), (&json!("empty"), &json!(null)), "{rest}");
    let path = "/api/v1/topics/M%C3%B6te%2F1/messages";
    let first = server.get(&format!("{path}?limit=2")).await.1;
    assert_eq!(first["items"], json!([{"index": 0, "text": "one"}, {"index": 1, "text": "två"}]), "{first}");
    let rest = server.get(&format!("{path}?from={}", first["next"])).await.1;
    assert_eq!(rest["items"], json!([{"index": 2, "text": "three"}]), "{rest}");
    assert_eq!(rest["next"], json!(null));
    for (path, status) in [("/api/v1/topics/none/messages", 404), (&format!("{path}?from=x"), 400)] {
        assert_eq!(server.get(path).await.0, status, "{path}");
    }
    assert_eq!(server.get("/api/v1/topics").await.1["items"].as_array().unwrap().len(), 2);
    server.close().await;
}

#[tokio::test]
async fn edge_sites_are_those_of_the_config() {
    let server = TestServer::open().await;
    let site = EdgeSiteFacts {
        name: "north".into(),
        address: "192.0.2.7:4810".into(),
        has_key: true,
        routes: vec!["sites".into()],
    };
    let facts = ServerFacts { edge_sites: vec![site], ..ServerFacts::default() };
    server.policies.server.facts.store(Arc::new(facts));
    let list = server.get("/api/v1/edge-sites").await.1;
    let expected =
        json!({"name": "north", "address": "192.0.2.7:4810", "has_key": true, "routes": ["sites"]});
    assert_eq!(list["items"], json!([expected]), "{list}");
    server.close().await;
}

#[tokio::test]
async fn the_first_run_names_the_zone_and_the_organisation_where_the_config_does_not() {
    let server = TestServer::open().await;
    let change = |body: Value| said(server.call(Method::PATCH, "/api/v1/setup").json(&body));
    let (status, setup) = change(json!({"time_zone": "europe/stockholm"})).await;
    let zone = json!({"value": "Europe/Stockholm", "from": "setup"});
    assert_eq!((status.as_u16(), &setup["settings"]["time_zone"]), (200, &zone), "{setup}");
    assert_eq!(setup["settings"]["organisation"], json!({"value": "Town", "from": "config"}), "{setup}");
    assert_eq!(server.get("/api/v1/server").await.1["time_zone"], "Europe/Stockholm");
    let (status, problem) = change(json!({"organisation": "City of Lindvik"})).await;
    assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"), "{problem}");
    for (body, field) in [
        (json!({"time_zone": "Europe/Almvik"}), "time_zone"),
        (json!({"time_zone": 1}), "time_zone"),
        (json!({"organization": "x"}), "organization"),
        (json!({"organisation": "x".repeat(201)}), "organisation"),
    ] {
        let (status, problem) = change(body).await;
        assert_eq!(status, 422, "{problem}");
        assert!(!reason(&problem, field).is_empty(), "{problem}");
    }
    server.policies.server.facts.store(Arc::default());
    let (status, setup) = change(json!({"organisation": "City of Lindvik", "time_zone": null})).await;
    assert_eq!((status.as_u16(), &setup["organisation"]["done"]), (200, &json!(true)), "{setup}");
    assert_eq!(setup["settings"]["organisation"], json!({"value": "City of Lindvik", "from": "setup"}));
    assert_eq!(setup["settings"]["time_zone"]["from"], "system", "{setup}");
    // It holds in every process.
    let mut eva = server.signed_in("eva", json!({"roles": ["viewer"]})).await;
    let another = server.another_door().await;
    eva.at = another.address();
    assert_eq!(eva.get("/api/v1/session").await.1["organisation"], "City of Lindvik");
    another.stop().await;
    server.close().await;
}
