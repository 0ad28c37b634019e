//! The platforms' old way over sockets: the short cut, the other road, and from one to the other.

use crate::http::tests::TestServer;
use crate::kannel::{PlatformSettings, Platforms};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const GOOD: &str = "/cgi-bin/sendsms?username=tester&password=secret&to=%2B46701234567&text=Hello";
const ACCEPTED: (u16, &str) = (202, "0: Accepted for delivery");
/// An answer on loopback comes sooner.
const PATIENCE: Duration = Duration::from_secs(10);

fn platform(password: &str) -> Platforms {
    let platform = PlatformSettings {
        username: "tester".into(),
        password: password.into(),
        ..PlatformSettings::default()
    };
    Platforms::new(vec![platform]).unwrap()
}

async fn server() -> TestServer {
    let server = TestServer::open().await;
    server.policies.platforms.store(Arc::new(platform("secret")));
    server
}

/// A connection that reads answers one by one.
struct Line {
    stream: TcpStream,
    unread: Vec<u8>,
    /// The last request was HEAD: its answer has no body, whatever its length says.
    is_head: bool,
}

impl Line {
    async fn to(server: &TestServer) -> Line {
        Line {
            stream: TcpStream::connect(server.door.address()).await.unwrap(),
            unread: Vec::new(),
            is_head: false,
        }
    }

    async fn send(&mut self, octets: impl AsRef<[u8]>) {
        self.is_head = octets.as_ref().starts_with(b"HEAD ");
        self.stream.write_all(octets.as_ref()).await.unwrap();
    }

    /// The next answer: its head and its body.
    async fn answer(&mut self) -> (String, String) {
        loop {
            if let Some(end) = self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8(self.unread[..end + 4].to_vec()).unwrap().to_lowercase();
                let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
                let length = length.filter(|_| !self.is_head);
                let whole = end + 4 + length.map_or(0, |length| length.parse::<usize>().unwrap());
                if self.unread.len() >= whole {
                    let body = String::from_utf8(self.unread[end + 4..whole].to_vec()).unwrap();
                    self.unread.drain(..whole);
                    return (head, body);
                }
            }
            let mut more = [0; 4096];
            let read = tokio::time::timeout(PATIENCE, self.stream.read(&mut more)).await.expect("an answer");
            match read.unwrap() {
                0 => panic!("closed behind {:?}", String::from_utf8_lossy(&self.unread)),
                octets => self.unread.extend_from_slice(&more[..octets]),
            }
        }
    }

    async fn said(&mut self) -> (u16, String) {
        let (head, body) = self.answer().await;
        (head[9..12].parse().unwrap(), body)
    }

    async fn closed(mut self) {
        let mut rest = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.stream.read_to_end(&mut rest)).await.expect("an end");
        assert_eq!((read.unwrap_or(0), self.unread.len()), (0, 0));
    }
}

fn get(target: &str, more: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n")
}

fn post(content_type: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /cgi-bin/sendsms HTTP/1.1\r\nHost: localhost\r\nContent-Type: {content_type}\r\n{more}Content-Length: {length}\r\n\r\n{body}"
    )
}

fn is(said: (u16, String), expected: (u16, &str)) {
    assert_eq!((said.0, said.1.as_str()), expected);
}

#[tokio::test]
async fn a_connection_goes_from_the_short_cut_to_the_other_road_and_stays_there() {
    let server = server().await;
    let mut line = Line::to(&server).await;
    for _ in 0..3 {
        line.send(get(GOOD, "")).await;
        is(line.said().await, ACCEPTED);
    }
    line.send(get("/healthz", "")).await;
    assert_eq!(line.said().await.0, 200);
    line.send(get(GOOD, "")).await;
    is(line.said().await, ACCEPTED);
    // Requests sent at a time, for either road, are answered in their order.
    let wrong = GOOD.replace("secret", "wrong");
    let mut line = Line::to(&server).await;
    line.send([get(GOOD, ""), get(&wrong, ""), get("/healthz", ""), get(GOOD, "")].concat()).await;
    is(line.said().await, ACCEPTED);
    is(line.said().await, (403, "Authorization failed for sendsms"));
    assert_eq!(line.said().await.0, 200);
    is(line.said().await, ACCEPTED);
    server.close().await;
}

#[tokio::test]
async fn a_request_may_come_in_pieces() {
    let server = server().await;
    let request = post("application/x-www-form-urlencoded", "", GOOD.split_once('?').unwrap().1);
    let mut line = Line::to(&server).await;
    for _ in 0..2 {
        for piece in request.as_bytes().chunks(7) {
            line.send(piece).await;
            tokio::task::yield_now().await;
        }
        is(line.said().await, ACCEPTED);
    }
    server.close().await;
}

#[tokio::test]
async fn both_roads_answer_alike() {
    let server = server().await;
    let form = GOOD.split_once('?').unwrap().1;
    let who = "X-Kannel-Username: tester\r\nX-Kannel-Password: secret\r\n";
    let requests = [
        get(GOOD, ""),
        get("/cgi-bin/sendsms", ""),
        get(&GOOD.replace("to=", "too="), ""),
        post("text/plain", &format!("{who}x-kannel-to: 111\r\n"), "Hello"),
        post("text/plain", who, "Hello"),
        post("application/x-www-form-urlencoded", "", form),
        post("application/json", "", "{}"),
        post("text/html", &format!("{who}X-Kannel-To: 111\r\n"), "<p>"),
    ];
    let mut short_cut = Line::to(&server).await;
    for request in requests {
        short_cut.send(&request).await;
        let (head, body) = short_cut.answer().await;
        let mut other = Line::to(&server).await;
        // What begins with another path never sees the short cut.
        other.send([get("/healthz", ""), request].concat()).await;
        other.answer().await;
        let (others_head, others_body) = other.answer().await;
        assert_eq!(body, others_body);
        let lines = |head: &str| {
            let mut lines: Vec<_> =
                head.lines().filter(|line| !line.starts_with("date: ")).map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&head), lines(&others_head));
    }
    server.close().await;
}

#[tokio::test]
async fn what_the_short_cut_does_not_do_the_other_road_does() {
    let server = server().await;
    let form = GOOD.split_once('?').unwrap().1;
    let chunked = format!(
        "POST /cgi-bin/sendsms HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{form}\r\n0\r\n\r\n",
        form.len()
    );
    let long = GOOD.to_owned() + "&meta-data=" + &"x".repeat(62 << 10);
    let cases = [
        (chunked, 202),
        (get(GOOD, "Connection: keep-alive, Upgrade\r\n"), 202),
        (format!("GET {GOOD} HTTP/1.0\r\n\r\n"), 202),
        (get(&format!("http://localhost{GOOD}"), ""), 202),
        (get(GOOD, "").replace("GET", "HEAD"), 202),
        (get(GOOD, "").replace("GET", "PUT"), 405),
        (get(&long, ""), 202),
        (post("application/x-www-form-urlencoded", "", &"x".repeat(2 << 20)), 413),
        (get(GOOD, "Content-Length: 1\r\nContent-Length: 2\r\n"), 400),
        (get(GOOD, "no header\r\n"), 400),
        (get("/cgi-bin/sendsms/?a=b", ""), 404),
        (get("/cgi-bin/send%73ms?a=b", ""), 404),
    ];
    for (request, status) in cases {
        let mut line = Line::to(&server).await;
        line.send(&request).await;
        assert_eq!(line.said().await.0, status, "{}", request.chars().take(300).collect::<String>());
    }
    server.close().await;
}

#[tokio::test]
async fn a_platform_that_wants_the_connection_closed_has_it_closed() {
    let server = server().await;
    let mut line = Line::to(&server).await;
    line.send(get(GOOD, "Connection: close\r\n")).await;
    let (head, _) = line.answer().await;
    assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
    line.closed().await;
    server.close().await;
}

#[tokio::test]
async fn a_reload_holds_from_the_next_request_on() {
    let server = server().await;
    let mut line = Line::to(&server).await;
    line.send(get(GOOD, "")).await;
    is(line.said().await, ACCEPTED);
    server.policies.platforms.store(Arc::new(platform("changed").after(&server.policies.platforms.load())));
    line.send(get(GOOD, "")).await;
    assert_eq!(line.said().await.0, 403);
    line.send(get(&GOOD.replace("secret", "changed"), "")).await;
    is(line.said().await, ACCEPTED);
    server.close().await;
}

#[tokio::test]
async fn idle_platforms_do_not_hold_up_a_stop() {
    let server = server().await;
    let mut line = Line::to(&server).await;
    line.send(get(GOOD, "")).await;
    is(line.said().await, ACCEPTED);
    let silent = Line::to(&server).await;
    let began = tokio::time::Instant::now();
    server.close().await;
    assert!(began.elapsed() < Duration::from_secs(5));
    line.closed().await;
    silent.closed().await;
}
