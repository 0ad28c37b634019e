//! Tests of the door's places: silent, half and never-reading connections of one address, balancers, hosts,
//! and guesses.

use super::*;
use crate::http::HttpLimits;
use crate::kannel::PlatformSettings;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Each answer is there well before this.
const PATIENCE: Duration = Duration::from_secs(20);
const PLACES: usize = 12;

fn few_places() -> HttpConfig {
    let limits =
        HttpLimits { connections_max: PLACES, connections_per_address_max: PLACES, ..HttpLimits::default() };
    HttpConfig { limits, ..HttpConfig::plain(([127, 0, 0, 1], 0).into(), None) }
}

/// A connection from this loopback address that has written these octets, and takes hardly any itself.
async fn held(door: SocketAddr, from: [u8; 4], octets: &[u8]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(2_048).unwrap();
    socket.bind((from, 0).into()).unwrap();
    let mut stream = socket.connect(door).await.unwrap();
    // What is sent to a door that does not read it any more may fail.
    let _ = tokio::time::timeout(Duration::from_millis(200), stream.write_all(octets)).await;
    stream
}

async fn is_healthy(door: SocketAddr, from: [u8; 4]) -> bool {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from, 0).into()).unwrap();
    let asked = async {
        let mut stream = socket.connect(door).await?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let answer = tokio::time::timeout(PATIENCE, asked).await.expect("an answer, or the end");
    answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

#[tokio::test]
async fn connections_without_a_whole_request_leave_room_for_the_next_one() {
    let server = TestServer::at(few_places(), None, None).await;
    let door = server.door.address();
    let upload = b"POST /api/v1/recipients HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{".as_slice();
    for octets in [b"".as_slice(), b"GET /healthz HTTP/1.1\r\n", upload, b"GET /cgi-bin/sendsms?username=a"] {
        let mut crowd = Vec::new();
        for _ in 0..2 * PLACES {
            crowd.push(held(door, [127, 0, 0, 1], octets).await);
        }
        assert!(is_healthy(door, [127, 0, 0, 1]).await, "from the same address");
        assert!(is_healthy(door, [127, 0, 0, 2]).await, "from another one");
    }
    server.close().await;
}

#[tokio::test]
async fn connections_that_do_not_read_their_answers_leave_room_for_the_next_one() {
    let server = TestServer::at(few_places(), None, None).await;
    let door = server.door.address();
    let mut crowd = Vec::new();
    for _ in 0..2 * PLACES {
        let requests = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100);
        crowd.push(held(door, [127, 0, 0, 1], &requests).await);
    }
    let begun = Instant::now();
    while !is_healthy(door, [127, 0, 0, 2]).await {
        assert!(begun.elapsed() < PATIENCE, "the door is shut");
    }
    server.close().await;
}

#[tokio::test]
async fn a_balancer_names_the_client_and_connections_without_its_header_are_closed() {
    let balancers = net::Balancers::new(vec!["127.0.0.9".parse().unwrap()]);
    let config = HttpConfig { balancers, ..few_places() };
    let server = TestServer::at(config, None, None).await;
    let allowed_ips = vec!["203.0.113.0/24".to_owned()];
    let platform = PlatformSettings {
        username: "a".into(),
        password: "b".into(),
        allowed_ips,
        ..PlatformSettings::default()
    };
    server.policies.platforms.store(Arc::new(Platforms::new(vec![platform]).unwrap()));
    let door = server.door.address();
    let request = b"GET /cgi-bin/sendsms?username=a&password=b&to=%2B46701000001&text=x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for (client, status) in [("203.0.113.7:999", "202"), ("198.51.100.7:999", "403")] {
        let mut octets = Vec::new();
        proxy_protocol::write(client.parse().unwrap(), door, &mut octets);
        octets.extend_from_slice(request);
        let mut stream = held(door, [127, 0, 0, 9], &octets).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{client}: {answer}");
    }
    assert!(!is_healthy(door, [127, 0, 0, 9]).await, "a balancer without its header is closed");
    assert!(is_healthy(door, [127, 0, 0, 1]).await, "others need none");
    server.close().await;
}

#[tokio::test]
async fn guesses_of_a_password_are_slow_and_whoever_knows_it_gets_in() {
    let server = TestServer::at(few_places(), None, None).await;
    let platform = PlatformSettings {
        username: "water".into(),
        password: "right".into(),
        ..PlatformSettings::default()
    };
    server.policies.platforms.store(Arc::new(Platforms::new(vec![platform]).unwrap()));
    let path = |name: &str, word: &str| {
        format!("/cgi-bin/sendsms?username={name}&password={word}&to=%2B46701000001&text=x")
    };
    assert_eq!(server.anon(Method::GET, &path("water", "right")).send().await.unwrap().status(), 202);
    let begun = Instant::now();
    let mut answers = Vec::new();
    for n in 0..24 {
        let name = if n % 2 == 0 { "water" } else { "nobody" };
        let response = server.anon(Method::GET, &path(name, &format!("guess{n}"))).send().await.unwrap();
        answers.push((response.status(), response.text().await.unwrap()));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(answers[0].0, 403);
    // The name is known from here, and has a budget of its own beside that of the address.
    assert_eq!(server.anon(Method::GET, &path("water", "right")).send().await.unwrap().status(), 202);
    let mut refused = 0;
    while begun.elapsed() < Duration::from_secs(3) {
        let response = server.anon(Method::GET, &path("nobody", "guess")).send().await.unwrap();
        assert_eq!(response.status(), 403);
        refused += 1;
        if refused > 5_000 {
            break;
        }
    }
    let guard = &server.guessing;
    let verdict = guard.judge(
        crate::guessing::Attempt {
            door: "sendsms",
            name: b"nobody",
            ip: [127, 0, 0, 1].into(),
            is_known: false,
        },
        Instant::now(),
    );
    assert_ne!(verdict, crate::guessing::GuessVerdict::Now, "the budget of guesses is used up");
    server.close().await;
}

/// Everything that a door says to these octets, which end with the connection.
async fn answer_to(door: SocketAddr, octets: &[u8]) -> String {
    let mut stream = TcpStream::connect(door).await.unwrap();
    stream.write_all(octets).await.unwrap();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("it ends");
    assert!(read.is_ok() || !answer.is_empty(), "{read:?}");
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn http_1_1_needs_exactly_one_valid_host() {
    let server = TestServer::at(few_places(), None, None).await;
    let door = server.door.address();
    for (version, hosts, is_wrong) in [
        ("1.1", "Host: alerts.example:8080\r\n", false),
        ("1.1", "Host:\r\n", false),
        ("1.1", "", true),
        ("1.1", "Host: a\r\nHost: a\r\n", true),
        ("1.1", "Host: a/b\r\n", true),
        ("1.0", "", false),
        ("1.0", "Host: a\r\nHost: b\r\n", true),
    ] {
        for (path, status) in [("/healthz", "200"), ("/cgi-bin/sendsms?username=a&password=b&to=1", "403")] {
            let request = format!("GET {path} HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n");
            let answer = answer_to(door, request.as_bytes()).await;
            let expected = if is_wrong { "400" } else { status };
            assert_eq!(answer.split(' ').nth(1), Some(expected), "{request:?}: {answer}");
        }
    }
    server.close().await;
}

#[tokio::test]
async fn a_head_that_comes_octet_by_octet_is_given_up_on_both_paths() {
    let limits = HttpLimits { head_timeout: Duration::from_secs(1), ..HttpLimits::default() };
    let config = HttpConfig { limits, ..HttpConfig::plain(([127, 0, 0, 1], 0).into(), None) };
    let server = TestServer::at(config, None, None).await;
    for beginning in ["GET /healthz HTTP/1.1\r\nX: ", "GET /cgi-bin/sendsms?username="] {
        let mut stream = TcpStream::connect(server.door.address()).await.unwrap();
        stream.write_all(beginning.as_bytes()).await.unwrap();
        let dripping = async {
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, dripping).await.expect(beginning);
    }
    server.close().await;
}

#[tokio::test]
async fn wrong_tokens_wait_at_every_door_and_a_right_one_that_is_known_does_not() {
    let server = TestServer::at(HttpConfig::plain(([127, 0, 0, 1], 0).into(), None), None, None).await;
    let known = server.token(records::Role::Viewer).await;
    let ask = |token: String| server.anon(Method::GET, "/api/v1/alerts").bearer_auth(token);
    assert_eq!(ask(known.clone()).send().await.unwrap().status(), 200);
    // Those of one network, however many at a time: some are looked at at once, others later, or not at all.
    let guesses = (0..22).map(|n| said(ask(format!("cmp_guess{n}"))));
    let answers = futures_util::future::join_all(guesses).await;
    assert!(answers.iter().all(|answer| answer == &answers[0]), "{answers:?}");
    assert_eq!(answers[0].0, 401);
    let attempt =
        |door| crate::guessing::Attempt { door, name: b"", ip: [127, 0, 0, 1].into(), is_known: false };
    assert_ne!(
        server.guessing.judge(attempt("login"), Instant::now()),
        crate::guessing::GuessVerdict::Now,
        "the budget is that of all doors"
    );
    assert_eq!(ask(known).send().await.unwrap().status(), 200);
    server.close().await;
}
