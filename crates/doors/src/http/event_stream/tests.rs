//! The stream as browsers read it: what comes first, what follows, who sees what, and what ends it.

use super::*;
use crate::http::tests::browser::Browser;
use crate::http::tests::*;
use engine::{ApprovalPolicy, ApprovalRule};
use records::ApprovalNeed;

/// An event comes, or the stream ends, well before this.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open stream.
struct Follower {
    response: reqwest::Response,
    text: String,
}

impl Follower {
    async fn of(request: RequestBuilder) -> Follower {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Follower { response, text: String::new() }
    }

    /// The next event, its name and data; nothing once the stream has ended.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                if event == ":" {
                    continue;
                }
                let (name, data) = event.split_once('\n').unwrap();
                let name = name.strip_prefix("event: ").unwrap().to_owned();
                let data = data.strip_prefix("data: ").unwrap();
                return Some((name, serde_json::from_str(data).unwrap()));
            }
            let piece = tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("an event");
            let piece = piece.ok().flatten()?;
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    async fn hello(&mut self) -> Value {
        let (name, hello) = self.next().await.unwrap();
        assert_eq!(name, "hello");
        hello
    }

    /// The next event of this name, and those before it.
    async fn until(&mut self, wanted: &str) -> (Value, Vec<(String, Value)>) {
        let mut before = Vec::new();
        loop {
            let (name, data) = self.next().await.expect("the stream goes on");
            if name == wanted {
                return (data, before);
            }
            before.push((name, data));
        }
    }

    /// The next event of this name about an alert.
    async fn about(&mut self, wanted: &str, alert: &str) -> Value {
        loop {
            let (data, _) = self.until(wanted).await;
            if data["id"] == alert {
                return data;
            }
        }
    }

    async fn has_ended(mut self) {
        while self.next().await.is_some() {}
    }
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

const EVENTS: &str = "/api/v1/events";

#[tokio::test]
async fn the_whole_state_comes_first_and_then_what_changes() {
    let server = TestServer::open().await;
    server.people().await;
    let first = server.submit(json!({"headline": "First", "text": "x", "audience": ["all"]})).await;
    let mut stream = Follower::of(server.call(Method::GET, EVENTS)).await;
    let hello = stream.hello().await;
    assert_eq!(hello["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&hello["who"]["role"], &hello["space"]), (&json!("admin"), &Value::Null));
    assert_eq!((ids(&hello["running"]), ids(&hello["alerts"])), (vec![first.as_str()], vec![first.as_str()]));
    assert_eq!(hello["alerts"][0]["counts"]["endpoints"], 3);
    let routes: Vec<&str> =
        hello["routes"].as_array().unwrap().iter().map(|route| route["name"].as_str().unwrap()).collect();
    assert_eq!(routes, ["carrier", "range"]);
    for empty in ["approvals", "notices"] {
        assert_eq!(hello[empty], json!([]), "{empty}");
    }

    let second = server.submit(json!({"text": "Second", "audience": ["all"]})).await;
    let came = stream.about("alerts", &second).await;
    assert_eq!(came["state"], "running");
    assert_eq!((&came["headline"], &came["mode"]), (&json!("Second"), &json!("live")));
    let report = stream.about("alert", &second).await;
    assert_eq!((&report["state"], &report["counts"]["endpoints"]), (&json!("running"), &json!(3)));
    assert_eq!(server.post(&format!("/api/v1/alerts/{first}:cancel"), json!({})).await.0, 200);
    assert_eq!(stream.about("alerts", &first).await["state"], "cancelled");
    assert_eq!(stream.about("alert", &first).await["state"], "cancelled");
    // Who comes now begins with what is under way.
    let hello = Follower::of(server.call(Method::GET, EVENTS)).await.hello().await;
    assert_eq!(ids(&hello["running"]), [second.as_str()]);
    server.close().await;
}

#[tokio::test]
async fn a_gateways_word_of_its_route_comes_as_an_event() {
    let server = TestServer::open().await;
    let mut stream = Follower::of(server.call(Method::GET, EVENTS)).await;
    let hello = stream.hello().await;
    assert_eq!(hello["routes"][0]["state"], "unknown");
    let health = server.bus.retained(records::ROUTES).unwrap();
    for (up, note, state) in [(true, "", "up"), (false, "the password is wrong", "down")] {
        let word = records::RouteHealth { up, since: NOW, sessions: 1, rate_now: 5.0, note: note.to_owned() };
        health.set("carrier", &word.encode()).await.unwrap();
        let (route, _) = stream.until("route").await;
        assert_eq!((&route["name"], &route["state"]), (&json!("carrier"), &json!(state)));
        assert_eq!((&route["note"], &route["rate_now"]), (&json!(note), &json!(5.0)));
    }
    server.close().await;
}

#[tokio::test]
async fn a_stream_may_name_the_alerts_that_it_follows() {
    let server = TestServer::open().await;
    server.people().await;
    let alert = json!({"text": "x", "audience": ["all"]});
    let (one, other) = (server.submit(alert.clone()).await, server.submit(alert).await);
    assert_eq!(server.post(&format!("/api/v1/alerts/{one}:cancel"), json!({})).await.0, 200);
    let named = format!("{EVENTS}?alerts={one},{other}");
    let hello = Follower::of(server.call(Method::GET, &named)).await.hello().await;
    let mut found = ids(&hello["alerts"]);
    found.sort_unstable();
    assert_eq!((found, ids(&hello["running"])), (vec![one.as_str(), other.as_str()], vec![other.as_str()]));
    // Of the others it hears that they end, and not how far they are.
    let mut stream = Follower::of(server.call(Method::GET, &format!("{EVENTS}?alerts={one}"))).await;
    stream.hello().await;
    assert_eq!(server.post(&format!("/api/v1/alerts/{other}:cancel"), json!({})).await.0, 200);
    let another = server.submit(json!({"text": "y", "audience": ["all"]})).await;
    let mut heard = Vec::new();
    for _ in 0..2 {
        let (change, before) = stream.until("alerts").await;
        heard.push((change["id"].as_str().unwrap().to_owned(), change["state"].clone()));
        assert!(before.iter().all(|(name, data)| name == "route" || data["id"] == *one), "{before:?}");
    }
    assert_eq!(heard, [(other, json!("cancelled")), (another, json!("running"))]);
    for (query, status) in [
        (format!("alerts={}", uuid::Uuid::from_u128(7)), 404),
        ("alerts=7".to_owned(), 400),
        (format!("alerts={}", vec![one.as_str(); NAMED_MAX + 1].join(",")), 400),
        ("alert=running".to_owned(), 400),
        ("space=both".to_owned(), 400),
    ] {
        let (found, problem) = server.get(&format!("{EVENTS}?{query}")).await;
        assert_eq!(found, status, "{query}: {problem}");
    }
    let submit = server.token(Role::Submit).await;
    assert_eq!(said(server.anon(Method::GET, EVENTS).bearer_auth(submit)).await.0, 403);
    server.close().await;
}

#[tokio::test]
async fn a_user_sees_what_the_list_of_alerts_shows_and_nothing_else() {
    let server = TestServer::open().await;
    server.people().await;
    let limits = json!({"roles": ["viewer"], "groups": ["staff"], "spaces": ["live"]});
    let mut eva = server.signed_in("eva", limits).await;
    let seen = server.submit(json!({"text": "seen", "audience": ["group:staff"]})).await;
    server.submit(json!({"text": "too wide", "audience": ["all"]})).await;
    server.submit(json!({"text": "a drill", "audience": ["group:staff"], "mode": "drill"})).await;
    assert_eq!(said(eva.request(Method::GET, EVENTS)).await.0, 400, "a session names its space");
    let drill = eva.request(Method::GET, &format!("{EVENTS}?space=drill"));
    assert_eq!(said(drill).await.0, 403, "which is one of its own");
    let live = format!("{EVENTS}?space=live");
    let mut stream = Follower::of(eva.request(Method::GET, &live)).await;
    let hello = stream.hello().await;
    assert_eq!((&hello["space"], &hello["who"]["name"]), (&json!("live"), &json!("eva")));
    assert_eq!((ids(&hello["running"]), ids(&hello["alerts"])), (vec![seen.as_str()], vec![seen.as_str()]));
    assert_eq!(hello["routes"].as_array().unwrap().len(), 1, "those of live alerts");
    for body in [
        json!({"text": "too wide", "audience": ["all"]}),
        json!({"text": "a drill", "audience": ["group:staff"], "mode": "drill"}),
    ] {
        server.submit(body).await;
    }
    let second = server.submit(json!({"text": "seen too", "audience": ["group:staff"]})).await;
    let (came, before) = stream.until("alerts").await;
    assert_eq!(came["id"], json!(second));
    let is_seen = |(name, data): &(String, Value)| name == "route" || data["id"] == *seen;
    assert!(before.iter().all(is_seen), "{before:?}");
    eva.space = Some("live");
    let (_, list) = eva.get("/api/v1/alerts").await;
    assert_eq!(ids(&list["items"]), [second.as_str(), seen.as_str()]);
    server.close().await;
}

#[tokio::test]
async fn readers_of_the_same_account_space_and_limits_share_a_board() {
    let server = TestServer::open().await;
    let user = json!({"roles": ["viewer"], "spaces": ["live"]});
    let eva = server.signed_in("eva", user.clone()).await;
    let bob = server.signed_in("bob", user).await;
    let live = format!("{EVENTS}?space=live");
    let mut streams = Vec::new();
    for request in [
        server.call(Method::GET, EVENTS),
        server.call(Method::GET, EVENTS),
        eva.request(Method::GET, &live),
        bob.request(Method::GET, &live),
        server.call(Method::GET, &live),
    ] {
        let mut stream = Follower::of(request).await;
        stream.hello().await;
        streams.push(stream);
    }
    let app = server.app();
    let boards = || {
        let boards = app.alerts.event_boards.lock();
        boards.values().filter(|board| board.strong_count() > 0).count()
    };
    assert_eq!(boards(), 2);
    drop(streams);
    // Where nobody reads nothing is kept.
    while boards() > 0 {
        tokio::task::yield_now().await;
    }
    drop(app);
    server.close().await;
}

#[tokio::test]
async fn what_waits_for_approval_is_in_the_first_event_of_who_may_give_it() {
    let server = TestServer::open().await;
    server.people().await;
    let rule = ApprovalRule { needs: ApprovalNeed::One, ..ApprovalRule::default() };
    server.engine.change_approval_policy(ApprovalPolicy { rules: vec![rule] }).await.unwrap();
    let mut mia = server.signed_in("mia", json!({"roles": ["approver"], "spaces": ["live"]})).await;
    mia.space = Some("live");
    let mut stream = Follower::of(mia.request(Method::GET, EVENTS)).await;
    assert_eq!(stream.hello().await["approvals"], json!([]));
    let alert = server.submit(json!({"text": "Leave", "audience": ["group:staff"]})).await;
    let (waits, _) = stream.until("approval").await;
    assert_eq!((&waits["alert"], &waits["state"]), (&json!(alert), &json!("waiting")));
    let hello = Follower::of(mia.request(Method::GET, EVENTS)).await.hello().await;
    assert_eq!(ids(&hello["approvals"]), [alert.as_str()]);
    let version = mia.request(Method::GET, &format!("/api/v1/alerts/{alert}")).send().await.unwrap();
    let version = version.headers()["etag"].clone();
    let reject = mia.request(Method::POST, &format!("/api/v1/alerts/{alert}:reject"));
    let reject = reject.header("if-match", version).json(&json!({"reason": "it is a mistake"}));
    let (status, rejected) = mia.send(reject).await;
    assert_eq!(status, 200, "{rejected}");
    let (decided, _) = stream.until("approval").await;
    assert_eq!((&decided["state"], &decided["alert_state"]), (&json!("decided"), &json!("cancelled")));
    server.close().await;
}

#[tokio::test]
async fn a_stream_ends_with_the_session_or_the_token_that_opened_it() {
    let server = TestServer::open().await;
    let mut eva: Browser = server.signed_in("eva", json!({"roles": ["viewer"], "spaces": ["live"]})).await;
    let mut of_session = Follower::of(eva.request(Method::GET, &format!("{EVENTS}?space=live"))).await;
    of_session.hello().await;
    let (_, made) = server.post("/api/v1/tokens", json!({"role": "viewer"})).await;
    let token = server.anon(Method::GET, EVENTS).bearer_auth(made["token"].as_str().unwrap());
    let mut of_token = Follower::of(token).await;
    of_token.hello().await;
    assert_eq!(eva.delete("/api/v1/session").await.0, 204);
    of_session.has_ended().await;
    let revoke = format!("/api/v1/tokens/{}", made["id"].as_str().unwrap());
    assert_eq!(said(server.call(Method::DELETE, &revoke)).await.0, 204);
    of_token.has_ended().await;
    server.close().await;
}

#[tokio::test]
async fn a_process_that_leads_no_more_says_so_and_ends_the_stream() {
    let server = TestServer::open().await;
    let mut stream = Follower::of(server.call(Method::GET, EVENTS)).await;
    stream.hello().await;
    server.engine.stop().await;
    let (notice, _) = stream.until("notice").await;
    assert_eq!((&notice["kind"], &notice["is_over"]), (&json!("leader"), &json!(false)));
    stream.has_ended().await;
    let (status, problem) = server.get(EVENTS).await;
    assert_eq!((status.as_u16(), slug(&problem)), (503, "busy"));
    server.close().await;
}

#[tokio::test]
async fn a_door_that_stops_ends_its_streams_at_once() {
    let server = TestServer::open().await;
    let mut stream = Follower::of(server.call(Method::GET, EVENTS)).await;
    stream.hello().await;
    tokio::join!(server.close(), stream.has_ended());
}
