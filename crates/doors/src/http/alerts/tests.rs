use crate::http::tests::*;
use records::Role;

const ALERTS: &str = "/api/v1/alerts";

fn fire() -> Value {
    json!({"headline": "Fire", "text": "Fire in hall 2", "audience": ["group:staff"], "channels": ["sms"],
           "choices": [{"key": "1", "label": "I am safe"}, {"key": "2", "label": "I need help"}]})
}

#[tokio::test]
async fn an_alert_in_xml_is_submitted_and_its_mistakes_are_named_as_in_json() {
    let server = TestServer::open().await;
    server.people().await;
    let sent = |xml: &'static str| {
        let request = server.call(Method::POST, "/api/v1/alerts").header("content-type", "application/xml");
        said(request.body(xml))
    };
    let (status, done) =
        sent("<alert><text>Fire</text><audience><to>group:staff</to></audience></alert>").await;
    assert_eq!(status, 202, "{done}");
    let (status, problem) =
        sent("<alert><txt>Fire</txt><audience><to>group:staff</to></audience></alert>").await;
    assert_eq!(status, 422);
    assert!(reason(&problem, "txt").contains("did you mean \"text\""), "{problem}");
    assert_eq!(sent("<alert><text>Fire").await.0, 400);
    server.close().await;
}

#[tokio::test]
async fn an_alert_is_accepted_solved_shown_and_listed() {
    let server = TestServer::open().await;
    server.people().await;
    let response = server.call(Method::POST, ALERTS).json(&fire()).send().await.unwrap();
    assert_eq!(response.status(), 202);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let accepted: Value = response.json().await.unwrap();
    assert_eq!(location, format!("{ALERTS}/{}", accepted["id"].as_str().unwrap()));
    assert_eq!((&accepted["state"], &accepted["problems"]), (&json!("accepted"), &json!([])));

    let (status, solved) = server.post(&format!("{ALERTS}?mode=sync"), fire()).await;
    assert_eq!((status.as_u16(), &solved["endpoints"]), (201, &json!(2)), "{solved}");
    let id = solved["id"].as_str().unwrap();
    let (_, shown) = server.get(&format!("{ALERTS}/{id}")).await;
    assert_eq!(
        (&shown["id"], &shown["request"]["choices"][1]["label"], &shown["request"]["require_answer"]),
        (&json!(id), &json!("I need help"), &json!(true))
    );
    assert_eq!(
        (&shown["created"], &shown["request"]["expires"]),
        (&json!("2026-11-18T06:26:40Z"), &json!("2026-11-19T06:26:40Z"))
    );
    let (_, list) = server.get(&format!("{ALERTS}?limit=1")).await;
    assert_eq!((&list["items"][0]["id"], &list["items"][0]["headline"]), (&json!(id), &json!("Fire")));
    let (_, older) = server.get(&format!("{ALERTS}?limit=1&cursor={}", list["next"].as_str().unwrap())).await;
    assert_eq!(older["items"][0]["id"], accepted["id"]);
    server.close().await;
}

#[tokio::test]
async fn the_same_key_means_the_same_alert() {
    let server = TestServer::open().await;
    server.people().await;
    let send = |key: &str, body: String| {
        let request = server.call(Method::POST, ALERTS).header("idempotency-key", key.to_owned());
        request.header("content-type", "application/json").body(body).send()
    };
    let first = send("k1", fire().to_string()).await.unwrap();
    assert_eq!((first.status().as_u16(), first.headers().get("idempotency-replayed")), (202, None));
    let first: Value = first.json().await.unwrap();
    // Another order of members and other space mean the same.
    let reordered = r#"{"choices": [{"label": "I am safe", "key": "1"}, {"key": "2", "label": "I need help"}], "channels":["sms"],
        "text": "Fire in hall 2", "audience": ["group:staff"], "headline": "Fire"}"#;
    let again = send("k1", reordered.to_owned()).await.unwrap();
    assert_eq!(
        (again.status().as_u16(), again.headers()["idempotency-replayed"].to_str().unwrap()),
        (202, "true")
    );
    assert_eq!(again.json::<Value>().await.unwrap()["id"], first["id"]);
    let mut other = fire();
    other["text"] = "Something else".into();
    let taken = send("k1", other.to_string()).await.unwrap();
    assert_eq!(taken.status(), 422);
    assert_eq!(slug(&taken.json::<Value>().await.unwrap()), "key-taken");
    let long = send(&"k".repeat(256), fire().to_string()).await.unwrap();
    assert_eq!(long.status(), 400);
    let (_, list) = server.get(ALERTS).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    server.close().await;
}

#[tokio::test]
async fn a_forecast_sends_nothing() {
    let server = TestServer::open().await;
    server.people().await;
    let (status, forecast) = server.post(&format!("{ALERTS}:forecast"), fire()).await;
    assert_eq!((status.as_u16(), &forecast["endpoints"]), (200, &json!(2)), "{forecast}");
    assert_eq!(server.get(ALERTS).await.1["items"], json!([]));
    server.close().await;
}

#[tokio::test]
async fn an_alert_has_its_forecast_and_a_verdict_and_is_replayed() {
    let server = TestServer::open().await;
    server.people().await;
    let id = server.submit(fire()).await;
    let (status, found) = server.get(&format!("{ALERTS}/{id}/forecast")).await;
    assert_eq!(status, 200, "{found}");
    assert_eq!((&found["fact"]["people"], &found["causes"]), (&json!(0), &json!([])), "{found}");
    let (status, problem) = server.get(&format!("{ALERTS}/{id}/verdict?target=soon")).await;
    assert_eq!((status.as_u16(), &problem["problems"][0]["field"]), (400, &json!("target")), "{problem}");
    let (status, verdict) = server.get(&format!("{ALERTS}/{id}/verdict?target=50%25/1h")).await;
    assert_eq!((status.as_u16(), &verdict["met"]), (200, &json!(null)), "{verdict}");
    assert_eq!(verdict["target"], json!({"percent": 50.0, "seconds": 3600.0}));
    let replay = |without: Value| json!({"alert": id, "without": without, "seed": 3});
    let (status, replayed) = server.post("/api/v1/drills:replay", replay(json!([]))).await;
    assert_eq!((status.as_u16(), &replayed["audience"], &replayed["seed"]), (200, &json!(2), &json!(3)));
    let (status, problem) = server.post("/api/v1/drills:replay", replay(json!(["nowhere"]))).await;
    assert_eq!((status.as_u16(), &problem["problems"][0]["field"]), (422, &json!("without")), "{problem}");
    server.close().await;
}

#[tokio::test]
async fn an_alert_is_steered_by_verbs() {
    let server = TestServer::open().await;
    server.people().await;
    let id = server.submit(fire()).await;
    for (verb, status, state) in
        [("pause", 200, "paused"), ("resume", 200, "running"), ("cancel", 200, "cancelled")]
    {
        let (found, view) = said(server.call(Method::POST, &format!("{ALERTS}/{id}:{verb}"))).await;
        assert_eq!((found.as_u16(), view["state"].as_str()), (status, Some(state)), "{verb}: {view}");
    }
    let (status, problem) = said(server.call(Method::POST, &format!("{ALERTS}/{id}:pause"))).await;
    assert_eq!((status.as_u16(), slug(&problem)), (409, "wrong-state"));
    let (_, trail) = server.get("/api/v1/audit?limit=3").await;
    let [failed, pause, cancel] = &trail["items"].as_array().unwrap()[..] else { panic!("{trail}") };
    assert_eq!((&cancel["verb"], &cancel["object"]), (&json!("alert.cancel"), &json!(id)));
    assert_eq!((&pause["verb"], &pause["failed"]), (&json!("alert.pause"), &json!(null)));
    assert_eq!((&failed["verb"], &failed["failed"]), (&json!("alert.pause"), &pause["seq"]), "{failed}");
    assert!(failed["detail"].as_str().unwrap().starts_with("wrong-state: "), "{failed}");
    server.close().await;
}

#[tokio::test]
async fn reports_come_as_json_csv_and_xml_and_deliveries_by_state() {
    let server = TestServer::open().await;
    server.people().await;
    let id = server.submit(fire()).await;
    let report = |accept: &'static str| {
        let request = server.call(Method::GET, &format!("{ALERTS}/{id}/report")).header("accept", accept);
        async move { request.send().await.unwrap() }
    };
    let json: Value = report("*/*").await.json().await.unwrap();
    assert_eq!((&json["id"], &json["counts"]["endpoints"]), (&json!(id), &json!(2)), "{json}");
    let csv = report("text/csv").await;
    assert_eq!(csv.headers()["content-type"], "text/csv; charset=utf-8");
    let csv = csv.text().await.unwrap();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.contains("+46701000001") && csv.contains("Bo"), "{csv}");
    let xml = report("text/xml").await.text().await.unwrap();
    assert!(xml.starts_with("<?xml") && xml.contains("<endpoints>2</endpoints>"), "{xml}");
    let (_, page) = server.get(&format!("{ALERTS}/{id}/deliveries?limit=1")).await;
    assert_eq!(page["items"][0]["recipients"][0]["name"], "Ann", "{page}");
    let (_, rest) = server
        .get(&format!("{ALERTS}/{id}/deliveries?limit=1&cursor={}", page["next"].as_str().unwrap()))
        .await;
    assert_eq!(
        (&rest["items"][0]["address"], &rest["next"]),
        (&json!("+46701000002"), &Value::Null),
        "{rest}"
    );
    let (_, none) = server.get(&format!("{ALERTS}/{id}/deliveries?state=delivered")).await;
    assert_eq!(none["items"], json!([]));
    server.close().await;
}

#[tokio::test]
async fn a_token_that_submits_sees_only_its_own() {
    let server = TestServer::open().await;
    server.people().await;
    let others = server.submit(fire()).await;
    let token = server.token(Role::Submit).await;
    let as_platform = |method: Method, path: String| server.anon(method, &path).bearer_auth(&token);
    let (status, own) = said(as_platform(Method::POST, ALERTS.to_owned()).json(&fire())).await;
    assert_eq!(status, 202);
    let own = own["id"].as_str().unwrap().to_owned();
    let (_, list) = said(as_platform(Method::GET, ALERTS.to_owned())).await;
    let ids: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [own.as_str()]);
    for part in ["", "/deliveries", "/report", "/cap", "/events"] {
        let (status, _) = said(as_platform(Method::GET, format!("{ALERTS}/{others}{part}"))).await;
        assert_eq!(status, 404, "{part} of another's alert");
        if part != "/events" {
            let response = as_platform(Method::GET, format!("{ALERTS}/{own}{part}")).send().await.unwrap();
            assert_eq!(response.status(), 200, "{part} of its own");
        }
    }
    server.close().await;
}

#[tokio::test]
async fn observers_come_and_go() {
    let server = TestServer::open().await;
    server.people().await;
    let id = server.submit(fire()).await;
    let path = format!("{ALERTS}/{id}/observers");
    let body = json!({"url": "https://x.example/hook", "every": "1m", "format": "xml", "events": ["done"]});
    let (status, made) = server.post(&path, body.clone()).await;
    assert_eq!(status, 201);
    let (_, list) = server.get(&path).await;
    assert_eq!(list["items"], json!([made]));
    assert_eq!(
        (&made["url"], &made["every"], &made["events"]),
        (&body["url"], &body["every"], &body["events"])
    );
    let (status, problem) = server.post(&path, json!({"url": "mailto:x"})).await;
    assert_eq!((status.as_u16(), reason(&problem, "url").contains("http")), (422, true));
    let one = format!("{path}/{}", made["id"].as_str().unwrap());
    assert_eq!(said(server.call(Method::DELETE, &one)).await.0, 204);
    assert_eq!(said(server.call(Method::DELETE, &one)).await.0, 404);
    server.close().await;
}

/// Reads server-sent events until `until` is among them.
async fn events(response: &mut reqwest::Response, seen: &mut String, until: &str) {
    while !seen.contains(until) {
        let piece = tokio::time::timeout(std::time::Duration::from_secs(10), response.chunk()).await;
        let piece = piece.unwrap_or_else(|_| panic!("no {until:?} in {seen}")).unwrap();
        match piece {
            Some(piece) => seen.push_str(&String::from_utf8_lossy(&piece)),
            None => panic!("the stream ended without {until:?}: {seen}"),
        }
    }
}

#[tokio::test]
async fn events_tell_progress_answers_and_the_end() {
    let server = TestServer::open().await;
    server.people().await;
    let id = server.submit(fire()).await;
    let request = server.call(Method::GET, &format!("{ALERTS}/{id}/events")).header("last-event-id", "7");
    let mut stream = request.send().await.unwrap();
    assert_eq!(
        (stream.status().as_u16(), stream.headers()["content-type"].to_str().unwrap()),
        (200, "text/event-stream")
    );
    let mut seen = String::new();
    events(&mut stream, &mut seen, "event: progress").await;
    let answer = json!({"alert": id, "recipient": "ann", "text": "1"});
    let (status, said_of_it) = server.post("/api/v1/answers", answer).await;
    assert_eq!(status, 204, "{said_of_it}");
    events(&mut stream, &mut seen, "event: answer").await;
    assert_eq!(said(server.call(Method::POST, &format!("{ALERTS}/{id}:cancel"))).await.0, 200);
    events(&mut stream, &mut seen, "event: done").await;
    assert_eq!(stream.chunk().await.unwrap(), None, "the stream ends with the alert");
    let late = server
        .call(Method::GET, &format!("{ALERTS}/{id}/events"))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(late.starts_with("event: done"), "{late}");
    server.close().await;
}

#[tokio::test]
async fn a_stop_ends_streams_and_lets_requests_end() {
    let server = TestServer::open().await;
    server.people().await;
    let id = server.submit(fire()).await;
    let mut stream = server.call(Method::GET, &format!("{ALERTS}/{id}/events")).send().await.unwrap();
    let mut seen = String::new();
    events(&mut stream, &mut seen, "event: progress").await;
    let TestServer { door, engine, store, dir, .. } = server;
    let address = door.address();
    door.stop().await;
    while let Some(piece) = stream.chunk().await.unwrap() {
        seen.push_str(&String::from_utf8_lossy(&piece));
    }
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
    engine.stop().await;
    store.close().await.unwrap();
    drop(dir);
}

#[tokio::test]
async fn a_callback_to_an_inner_address_is_refused_at_the_door_by_field_and_key() {
    let server = TestServer::open().await;
    server.people().await;
    let id = server.submit(fire()).await;
    let observers = format!("{ALERTS}/{id}/observers");
    let inner =
        ["http://127.0.0.1:9/in", "http://[::ffff:127.0.0.1]/", "http://2130706433/", "http://localhost./"];
    for url in inner {
        let mut alert = fire();
        alert["callback"] = json!({"url": url});
        for path in [ALERTS, "/api/v1/alerts:forecast"] {
            let (status, problem) = server.post(path, alert.clone()).await;
            assert_eq!(status, 422, "{path} {url}: {problem}");
            assert!(reason(&problem, "callback.url").contains("[outbound] allow"), "{problem}");
        }
        let (status, problem) = server.post(&observers, json!({"url": url, "events": ["done"]})).await;
        assert_eq!(status, 422, "{url}: {problem}");
        assert!(reason(&problem, "url").contains("[outbound] allow"), "{problem}");
    }
    let allowed = net::OutboundPolicy::new(&["127.0.0.0/8".to_owned()]).unwrap();
    server.policies.outbound.store(Arc::new(allowed));
    for url in inner {
        let (status, said) = server.post(&observers, json!({"url": url, "events": ["done"]})).await;
        assert_eq!(status, 201, "{url}: {said}");
    }
    server.close().await;
}
