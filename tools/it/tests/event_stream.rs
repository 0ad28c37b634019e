//! The one stream of a browser: two alerts and a route that goes down, a server that is killed, a session
//! that ends, and the same over HTTP/2, by curl.

use crate::fixtures::{SOON, carrier, count, phones_csv};
use it::{Browser, Server, Setup, eventually, free_port, new_user, sms_route, within};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// People of an alert.
const PEOPLE: u64 = 60;

/// An open stream, and what was read of it.
struct EventStream {
    answer: reqwest::Response,
    text: String,
}

impl EventStream {
    /// Opens one; gives its first event beside it.
    async fn open(request: RequestBuilder) -> (EventStream, Value) {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let mut stream = EventStream { answer, text: String::new() };
        let (name, hello) = stream.next().await.expect("a first event");
        assert_eq!(name, "hello");
        (stream, hello)
    }

    /// The next event; nothing once the stream has ended, in order or not.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
                    return Some((name.to_owned(), serde_json::from_str(data).unwrap()));
                }
                continue;
            }
            let piece = within("the stream goes on or ends", SOON, self.answer.chunk()).await;
            self.text.push_str(std::str::from_utf8(&piece.ok()??).unwrap());
        }
    }

    /// Reads until an event is as it should be.
    async fn until(&mut self, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let found = async {
            loop {
                let (event, data) = self.next().await.expect("the stream goes on");
                assert!(data.to_string().len() < 4_096, "{data}");
                if event == name && is_so(&data) {
                    return data;
                }
            }
        };
        within(&format!("the event {name}"), SOON, found).await
    }

    async fn ends(mut self) {
        within("the stream ends", SOON, async { while self.next().await.is_some() {} }).await;
    }
}

#[tokio::test]
async fn one_stream_shows_two_alerts_and_a_route_that_goes_down_and_begins_anew_after_a_kill() {
    let smsc = carrier().await;
    let mut server = Server::start(&sms_route("carrier", smsc.address(), "rate = 20.0")).await;
    let api = server.api();
    api.import_csv(phones_csv(PEOPLE)).await;
    let (mut stream, hello) = EventStream::open(api.request(Method::GET, "/api/v1/events")).await;
    assert_eq!((&hello["running"], &hello["alerts"]), (&json!([]), &json!([])));
    let audience = json!({"text": "Stay inside", "audience": ["all"]});
    let (one, other) = (api.submit(&audience).await, api.submit(&audience).await);
    for id in [&one, &other] {
        stream.until("alerts", |data| data["id"] == **id && data["state"] == "running").await;
    }
    let half = |data: &Value| data["id"] == *one && count(data, "planned") < PEOPLE / 2;
    stream.until("alert", half).await;
    for id in [&one, &other] {
        let last = stream.until("alert", |data| data["id"] == **id && data["state"] == "done").await;
        assert_eq!(last["counts"], api.report(id).await["counts"]);
    }
    drop(smsc);
    let down = stream.until("route", |data| data["state"] == "down").await;
    assert_eq!(down["name"], "carrier");
    let waiting = api.submit(&audience).await;
    stream.until("alerts", |data| data["id"] == *waiting).await;

    server.kill9();
    stream.ends().await;
    server.restart().await;
    let (_, hello) = EventStream::open(api.request(Method::GET, "/api/v1/events")).await;
    assert_eq!(hello["running"][0]["id"], json!(waiting), "{hello}");
    assert_eq!(count(&hello["alerts"][0], "endpoints"), PEOPLE);
}

#[tokio::test]
async fn a_browsers_stream_ends_when_somebody_signs_out() {
    let server = Server::start(&sms_route("carrier", "127.0.0.1:9", "")).await;
    let api = server.api();
    new_user(&api, &json!({"name": "eva", "roles": ["viewer"], "spaces": ["live"]})).await;
    let browser = Browser::signed_in(&api, "eva", "live").await;
    // As EventSource opens it: the space is in the query.
    let request = browser.request(Method::GET, "/api/v1/events?space=live&alerts=running");
    let (stream, hello) = EventStream::open(request).await;
    assert_eq!((&hello["space"], &hello["who"]["name"]), (&json!("live"), &json!("eva")));
    let signed_out = browser.send(browser.request(Method::DELETE, "/api/v1/session")).await;
    assert_eq!(signed_out.status, 204, "{}", signed_out.text);
    stream.ends().await;
}

/// What curl says of a request to the server; an error with its words if it fails.
fn curl(certificate: &Path, port: u16, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "20", "--cacert"])
        .arg(certificate)
        .args(["--resolve", &format!("localhost:{port}:127.0.0.1")])
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // 28: a stream without an end was read for as long as it was asked for.
    match output.status.code() {
        Some(0 | 28) => Ok(said),
        _ => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[tokio::test]
async fn curl_speaks_http_2_to_a_door_with_tls_and_http_1_1_if_it_is_told_to() {
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let http = format!("tls_cert = {cert:?}\ntls_key = {key:?}");
    let server = Server::spawned(Setup { http, port: Some(port), ..Setup::default() });
    let url = |path: &str| format!("https://localhost:{port}{path}");
    let shown = ["--output", "/dev/null", "--write-out", "%{http_version} %{http_code}"];
    for (option, expected) in [("--http2", "2 200"), ("--http1.1", "1.1 200")] {
        let ready = url("/readyz");
        let arguments = [&[option][..], &shown, &[ready.as_str()]].concat();
        eventually("the server is ready", SOON, async || match curl(&cert, port, &arguments) {
            Ok(said) if said == expected => Ok(()),
            other => Err(format!("{other:?}")),
        })
        .await;
    }
    let token = server.said()[0].strip_prefix("admin token: ").unwrap().trim().to_owned();
    let bearer = format!("authorization: Bearer {token}");
    let events = url("/api/v1/events");
    let arguments = ["--http2", "--no-buffer", "--max-time", "7", "--header", &bearer, &events];
    let said = curl(&cert, port, &arguments).unwrap();
    assert!(said.starts_with("event: hello\ndata: {"), "{said}");
    assert!(said.contains("\n\n:\n\n"), "a comment within seven seconds: {said}");
}
