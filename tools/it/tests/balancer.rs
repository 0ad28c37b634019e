//! Doors behind Debian's haproxy: a balancer is not taken for one client, and bounds, guards and the log go
//! by the client's address.

use it::{
    Balanced, Caller, Haproxy, Naming, Server, Setup, eventually, free_port, platform, smpp_client, wire,
};
use std::net::Ipv4Addr;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(30);
/// The balancer's addresses, one for each way to name a client.
const BY_HEADER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);
const BY_FORWARDING: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);
/// A client who fills the door, and another.
const CROWD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
/// Connections of one address at each door.
const PLACES: usize = 3;

/// A server with all doors, and haproxy before them.
struct Balance {
    server: Server,
    _haproxy: Haproxy,
    http: u16,
    forwarded: u16,
    smtp: u16,
    smpp: u16,
    topics: u16,
}

impl Balance {
    async fn start() -> Balance {
        let [http_door, smtp_door, smpp_door, topics_door] = [(); 4].map(|()| free_port());
        let limits = format!("connections_per_address_max = {PLACES}\nproxy_from = [\"{BY_HEADER}\"]");
        let door = |name: &str, port: u16, more: &str| {
            format!("[{name}]\nlisten = \"127.0.0.1:{port}\"\n{limits}\n{more}\n")
        };
        let config = [
            door("smtp", smtp_door, "domain = \"in.city.test\""),
            door("smpp", smpp_door, ""),
            smpp_client("platform", &format!("allowed_ips = [\"{OTHER}\"]")),
            door("topics", topics_door, ""),
            platform("water", &format!("allowed_ips = [\"{OTHER}\"]")),
            "[[route]]\nname = \"carrier\"\nchannel = \"sms\"\nmode = \"live\"\nsim = true\n".to_owned(),
        ]
        .concat();
        let http = format!("{limits}\ntrusted_proxies = [\"{BY_FORWARDING}\"]\n");
        let server =
            Server::start_with(Setup { config, http, port: Some(http_door), ..Setup::default() }).await;
        let [http, forwarded, smtp, smpp, topics] = [(); 5].map(|()| free_port());
        let by_header = |port, to| Balanced { port, to, from: BY_HEADER, naming: Naming::ProxyHeader };
        let haproxy = Haproxy::start(&[
            by_header(http, http_door),
            Balanced { port: forwarded, to: http_door, from: BY_FORWARDING, naming: Naming::ForwardedFor },
            by_header(smtp, smtp_door),
            by_header(smpp, smpp_door),
            by_header(topics, topics_door),
        ])
        .await;
        Balance { server, _haproxy: haproxy, http, forwarded, smtp, smpp, topics }
    }
}

fn sendsms(word: &str) -> Vec<u8> {
    format!(
        "GET /cgi-bin/sendsms?username=water&password={word}&to=%2B46701740605&text=x HTTP/1.1\r\nHost: x\r\n\
         Connection: close\r\n\r\n"
    )
    .into_bytes()
}

/// The status of an answer of HTTP, whose connection ends.
async fn status(from: Ipv4Addr, port: u16, request: &[u8]) -> String {
    let mut caller = Caller::connect(from, port).await.unwrap();
    caller.say(request).await.unwrap();
    let answer = caller.end().await;
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {answer:?}")).to_owned()
}

/// At one door: a crowd of one client loses its oldest connections, and another one's stays.
async fn a_crowd_makes_room_for_itself(port: u16, greets: Option<&[u8]>, ask: &[u8], end: &[u8]) {
    let connect = async |from| {
        let mut caller = Caller::connect(from, port).await.unwrap();
        if let Some(greeting) = greets {
            caller.hear(greeting).await.unwrap();
        }
        caller
    };
    let mut other = connect(OTHER).await;
    other.ask(ask, end).await.unwrap();
    let mut crowd = Vec::new();
    for _ in 0..PLACES + 2 {
        let mut caller = connect(CROWD).await;
        // Each is there before the next one comes.
        caller.ask(ask, end).await.unwrap();
        crowd.push(caller);
    }
    for gone in &mut crowd[..2] {
        gone.end().await;
    }
    for stays in &mut crowd[2..] {
        stays.ask(ask, end).await.unwrap();
    }
    other.ask(ask, end).await.unwrap();
}

#[tokio::test]
async fn at_each_door_a_balancer_is_not_one_client_and_a_crowd_of_one_disturbs_no_other() {
    let balance = Balance::start().await;
    let health = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    a_crowd_makes_room_for_itself(balance.http, None, health, b"}").await;
    a_crowd_makes_room_for_itself(balance.smtp, Some(b"\r\n"), b"NOOP\r\n", b"done\r\n").await;
    a_crowd_makes_room_for_itself(balance.topics, None, b"COUNT@board\0", b"0\0").await;
    // Of the SMPP door a client that is not bound may ask nothing but this.
    let enquiry = wire::Pdu::request(wire::ENQUIRE_LINK, 1, Vec::new()).encode();
    a_crowd_makes_room_for_itself(balance.smpp, None, &enquiry, &[0, 0, 0, 1]).await;
}

#[tokio::test]
async fn who_may_come_who_guessed_and_what_the_log_says_go_by_the_clients_address() {
    let balance = Balance::start().await;
    for port in [balance.http, balance.forwarded] {
        assert_eq!(status(OTHER, port, &sendsms("secret")).await, "202", "from where it may come");
        assert_eq!(status(CROWD, port, &sendsms("secret")).await, "403", "the right word from elsewhere");
    }
    let bind = wire::Pdu::bind(wire::BIND_TRANSCEIVER, "platform").encode();
    for (from, is_bound) in [(OTHER, true), (CROWD, false)] {
        let mut caller = Caller::connect(from, balance.smpp).await.unwrap();
        caller.say(&bind).await.unwrap();
        let head = caller.hear_octets(16).await.unwrap();
        assert_eq!(head[8..12] == [0; 4], is_bound, "{from}: {head:?}");
    }
    // Many guesses from one client are its own, not the balancer's.
    let guesses = (0..30).map(|n| {
        let request = sendsms(&format!("guess{n}"));
        async move { status(CROWD, balance.forwarded, &request).await }
    });
    let answers = futures_util::future::join_all(guesses).await;
    assert!(answers.iter().all(|status| status == "403"), "{answers:?}");
    assert_eq!(status(OTHER, balance.forwarded, &sendsms("secret")).await, "202");
    let line = eventually("the log says who guessed", SOON, async || {
        let log = balance.server.log();
        let line = log.lines().find(|line| line.contains("wrong name") && line.contains(&CROWD.to_string()));
        line.map(str::to_owned).ok_or(log)
    })
    .await;
    assert!(line.contains("water") && !line.contains("guess0"), "{line}");
    let log = balance.server.log();
    assert!(!log.lines().any(|line| line.contains("wrong name") && line.contains("127.0.0.8")), "{log}");
}
