//! Stories of doors under attack. One address is silent, slow, deaf, half and guesses at every door, and
//! meanwhile an emergency goes out and is answered, and whoever comes from elsewhere is served; ten thousand
//! guesses of passwords shut nobody out and keep nobody waiting.

use crate::fixtures::{LATER, SOON, carrier_with, count, everybody_answers, number};
use it::credit::cer;
use it::{
    Browser, Caller, Server, Setup, eventually, free_port, new_user, platform, smpp_client, sms_route, wire,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
/// Places of one address at each door: fewer than the attacker wants.
const PLACES: usize = 8;
/// Connections of each way at each door.
const WIDTH: usize = 4;
/// The attacker's pace.
const PACE: Duration = Duration::from_millis(20);
/// Connections of each way that are made before anything is asked, and again meanwhile.
const ROUND: u64 = 10;
/// `/healthz` answers within this, at the best of some tries: others use this machine too.
const HEALTH_MAX: Duration = Duration::from_secs(1);
const HEALTH_TRIES: usize = 10;
const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

/// Result-Code 2001, mandatory: what a Diameter peer is told whose capabilities are taken (RFC 6733, 7.1.2).
const SUCCESS: [u8; 12] = [0, 0, 1, 12, 0x40, 0, 0, 12, 0, 0, 0x07, 0xD1];

/// What the attacker does once it has said its first octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// Nothing, until it is sent away.
    Hold,
    /// One octet after the other.
    Drip,
    /// The same again, hearing nothing.
    Flood,
    /// It hears the answer, and comes again.
    Hear,
}

/// A way to attack a door.
struct Way {
    name: &'static str,
    port: u16,
    octets: Vec<u8>,
    then: Then,
    /// Connections that were made.
    made: Arc<AtomicU64>,
}

/// Ports of the doors.
#[derive(Clone, Copy)]
struct Doors {
    http: u16,
    smtp: u16,
    smpp: u16,
    topics: u16,
    diameter: u16,
}

impl Doors {
    fn config(&self) -> String {
        let limits = format!("connections_per_address_max = {PLACES}\nconnections_max = 50");
        let door = |name: &str, port: u16, more: &str| {
            format!("[{name}]\nlisten = \"127.0.0.1:{port}\"\n{limits}\n{more}\n")
        };
        [
            door("smtp", self.smtp, "domain = \"in.city.test\""),
            door("smpp", self.smpp, ""),
            smpp_client("platform", ""),
            // Beyond loopback a token is needed.
            format!("[topics]\nlisten = \"0.0.0.0:{}\"\n{limits}\n", self.topics),
            door("diameter", self.diameter, "origin_host = \"ocs.test\"\norigin_realm = \"test\""),
            "[charging]\ndefault_account = {balance = 1000000}\n".to_owned(),
            platform("water", ""),
        ]
        .concat()
    }

    fn ways(&self) -> Vec<Way> {
        let way = |port: u16, name, octets: &[u8], then| Way {
            name,
            port,
            octets: octets.to_vec(),
            then,
            made: Arc::default(),
        };
        let bind = wire::Pdu::bind(wire::BIND_TRANSCEIVER, "platform").encode();
        let guess = String::from_utf8_lossy(&bind).replace("secret", "guess1").into_bytes();
        let enquiry = wire::Pdu::request(wire::ENQUIRE_LINK, 1, Vec::new()).encode();
        let openapi = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
        let upload = b"POST /api/v1/alerts HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{";
        let sendsms =
            b"GET /cgi-bin/sendsms?username=water&password=guess&to=1&text=x HTTP/1.1\r\nHost: x\r\n\r\n";
        let bearer = b"GET /api/v1/alerts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer cmp_guess\r\n\r\n";
        let mail = b"EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<postmaster>\r\nDATA\r\nSubject: x\r\n";
        // A head of Diameter that announces more than comes.
        let cer = [1, 0, 1, 0, 0x80, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
        let mut ways = vec![
            way(self.http, "http half head", b"GET /healthz HTTP/1.1\r\n", Then::Hold),
            way(self.http, "http slow head", b"GET /healthz HTTP/1.1\r\nX: ", Then::Drip),
            way(self.http, "http half body", upload, Then::Hold),
            way(self.http, "http slow body", upload, Then::Drip),
            way(self.http, "http deaf", openapi, Then::Flood),
            way(self.http, "sendsms slow", &sendsms[..40], Then::Drip),
            way(self.http, "sendsms guesses", sendsms, Then::Hear),
            way(self.http, "token guesses", bearer, Then::Hear),
            way(self.smtp, "smtp slow", b"EH", Then::Drip),
            way(self.smtp, "smtp half mail", mail, Then::Hold),
            way(self.smtp, "smtp deaf", b"EHLO x\r\n", Then::Flood),
            way(self.smpp, "smpp half", &bind[..20], Then::Hold),
            way(self.smpp, "smpp slow", &[0, 0, 1, 0], Then::Drip),
            way(self.smpp, "smpp deaf", &enquiry, Then::Flood),
            way(self.smpp, "smpp guesses", &guess, Then::Hear),
            way(self.topics, "topics half", b"COUNT@b", Then::Hold),
            way(self.topics, "topics slow", b"COUNT@", Then::Drip),
            way(self.topics, "topics deaf", b"LIST\0", Then::Flood),
            way(self.topics, "topics guesses", b"AUTH@cmp_guess\0", Then::Hear),
            way(self.diameter, "diameter half", &cer, Then::Hold),
            way(self.diameter, "diameter slow", &cer[..4], Then::Drip),
        ];
        for (name, port) in [
            ("http silent", self.http),
            ("smtp silent", self.smtp),
            ("smpp silent", self.smpp),
            ("topics silent", self.topics),
            ("diameter silent", self.diameter),
        ] {
            ways.push(way(port, name, b"", Then::Hold));
        }
        ways
    }
}

impl Way {
    /// Attacks for ever.
    async fn attack(port: u16, octets: Vec<u8>, then: Then, made: Arc<AtomicU64>) {
        loop {
            tokio::time::sleep(PACE).await;
            let Ok(mut caller) = Caller::connect_deaf(ATTACKER, port).await else { continue };
            made.fetch_add(1, Ordering::Relaxed);
            if caller.say(&octets).await.is_err() {
                continue;
            }
            match then {
                Then::Hold => caller.outlast().await,
                Then::Drip => {
                    while caller.say(b"x").await.is_ok() {
                        tokio::time::sleep(PACE).await;
                    }
                }
                Then::Flood => while caller.say(&octets).await.is_ok() {},
                Then::Hear => _ = caller.hear_octets(1).await,
            }
        }
    }
}

/// Answers of doors to somebody from elsewhere.
async fn others_are_served(doors: Doors, token: &str, gateway: &str) {
    let mut mail = Caller::connect(OTHER, doors.smtp).await.unwrap();
    mail.hear(b"\r\n").await.unwrap();
    assert!(mail.ask(b"NOOP\r\n", b"\r\n").await.unwrap().starts_with("250"));
    let mut platform = Caller::connect(OTHER, doors.smpp).await.unwrap();
    platform.say(&wire::Pdu::bind(wire::BIND_TRANSCEIVER, "platform").encode()).await.unwrap();
    assert_eq!(platform.hear_octets(16).await.unwrap()[8..12], [0; 4], "it is bound");
    let mut display = Caller::connect(OTHER, doors.topics).await.unwrap();
    assert_eq!(display.ask(format!("AUTH@{token}\0").as_bytes(), b"\0").await.unwrap(), "OK\0");
    assert_eq!(display.ask(b"COUNT@board\0", b"\0").await.unwrap(), "0\0");
    let mut charged = Caller::connect(OTHER, doors.diameter).await.unwrap();
    charged.say(&cer(gateway).octets()).await.unwrap();
    let head = charged.hear_octets(20).await.unwrap();
    let octets = u32::from_be_bytes([0, head[1], head[2], head[3]]) as usize;
    let answer = charged.hear_octets(octets - 20).await.unwrap();
    assert!(answer.windows(SUCCESS.len()).any(|found| found == SUCCESS), "{answer:?}");
}

/// The best of some tries.
async fn health_takes(port: u16) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..HEALTH_TRIES {
        let begun = Instant::now();
        let mut caller = Caller::connect(OTHER, port).await.unwrap();
        let answer = caller.ask(HEALTH, b"}").await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        best = best.min(begun.elapsed());
    }
    best
}

/// Each way has made one more round of connections.
async fn one_more_round(ways: &[Way]) {
    let before: Vec<u64> = ways.iter().map(|way| way.made.load(Ordering::Relaxed)).collect();
    eventually("the attack goes on", LATER, async || {
        let behind =
            ways.iter().zip(&before).find(|(way, before)| way.made.load(Ordering::Relaxed) < *before + ROUND);
        behind.map_or(Ok(()), |(way, before)| {
            Err(format!("{}: {before} and now {}", way.name, way.made.load(Ordering::Relaxed)))
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_emergency_goes_out_and_is_answered_while_one_address_attacks_every_door() {
    let carrier = carrier_with(everybody_answers("1")).await;
    let [http, smtp, smpp, topics, diameter] = [(); 5].map(|()| free_port());
    let doors = Doors { http, smtp, smpp, topics, diameter };
    let config = doors.config() + &sms_route("carrier", carrier.address(), "");
    let limits = format!("connections_per_address_max = {PLACES}\nconnections_max = 50\n");
    let setup = Setup { config, http: limits, port: Some(http), ..Setup::default() };
    let mut server = Server::start_with(setup).await;
    let api = server.api();

    // From where a name signed in before, nobody's guesses shut it out.
    others_are_served(doors, server.token(), "before.client.test").await;
    let ways = doors.ways();
    let mut attack = tokio::task::JoinSet::new();
    for way in ways.iter().flat_map(|way| std::iter::repeat_n(way, WIDTH)) {
        attack.spawn(Way::attack(way.port, way.octets.clone(), way.then, way.made.clone()));
    }
    one_more_round(&ways).await;
    let id = api
        .submit(&json!({
            "text": "Are you safe?", "priority": "emergency", "audience": [format!("sms:{}", number(0))],
            "require_answer": true, "choices": [{"key": "1", "label": "I am safe"}],
        }))
        .await;
    api.until(&id, "it is answered", SOON, |report| count(report, "answered") == 1).await;
    let health = health_takes(http).await;
    assert!(health < HEALTH_MAX, "/healthz took {health:?}");
    others_are_served(doors, server.token(), "meanwhile.client.test").await;
    one_more_round(&ways).await;
    attack.shutdown().await;
    assert!(server.is_alive());
    assert!(server.log().contains("wrong name"), "guesses are in the log:\n{}", server.log());
}

/// Guesses of passwords, from so many addresses, so many at a time.
const GUESSES: u64 = 10_000;
const GUESSING_ADDRESSES: u64 = 20;
const GUESSING_AT_ONCE: u64 = 16;
/// Passwords of one address that are looked at in a minute; further ones cost no hash.
const LOOKED_AT_MAX: u64 = 30;

/// Guesses until all guesses are made; how often each status was answered.
async fn guess_passwords(browsers: Vec<Browser>, next: Arc<AtomicU64>) -> BTreeMap<u16, u64> {
    let mut answers = BTreeMap::new();
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        if n >= GUESSES {
            return answers;
        }
        // Every other one is at somebody's name, the rest at names that nobody has.
        let name = if n.is_multiple_of(2) { "eva".to_owned() } else { format!("nobody{n}") };
        let browser = &browsers[(n / 2 % GUESSING_ADDRESSES) as usize];
        let reply = browser.guess(&name, &format!("guess number {n}")).await;
        *answers.entry(reply.status).or_insert(0) += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_guesses_of_passwords_shut_nobody_out_and_keep_nobody_waiting() {
    let server = Server::start("").await;
    let api = server.api();
    new_user(&api, &json!({"name": "eva", "roles": ["viewer"]})).await;
    // She is known from where she signed in before.
    let mut eva = Browser::at(OTHER, &api, "drill");
    eva.sign_in("eva").await.expect(200);
    let addresses = (1..=GUESSING_ADDRESSES).map(|n| Ipv4Addr::new(127, 0, 1, n as u8));
    let browsers: Vec<Browser> = addresses.map(|address| Browser::at(address, &api, "drill")).collect();
    let next: Arc<AtomicU64> = Arc::default();
    let mut guessing = tokio::task::JoinSet::new();
    for _ in 0..GUESSING_AT_ONCE {
        guessing.spawn(guess_passwords(browsers.clone(), Arc::clone(&next)));
    }
    let (mut asked, mut worst) = (0, Duration::ZERO);
    let (mut answers, mut signed_in) = (BTreeMap::<u16, u64>::new(), 0);
    while next.load(Ordering::Relaxed) < GUESSES {
        let begun = Instant::now();
        Caller::connect(OTHER, server.port()).await.unwrap().ask(HEALTH, b"}").await.unwrap();
        worst = worst.max(begun.elapsed());
        asked += 1;
        if asked % HEALTH_TRIES == 0 {
            eva.sign_in("eva").await.expect(200);
            signed_in += 1;
        }
    }
    while let Some(seen) = guessing.join_next().await {
        seen.unwrap().into_iter().for_each(|(status, count)| *answers.entry(status).or_insert(0) += count);
    }
    println!("/healthz {asked} times, {worst:?} at worst; eva signed in {signed_in} times; {answers:?}");
    assert!(signed_in > 0 && worst < HEALTH_MAX, "/healthz took {worst:?}");
    assert_eq!(answers.keys().copied().collect::<Vec<_>>(), [401, 429], "{answers:?}");
    // Two minutes at most: the guesses take seconds.
    assert!(answers[&401] <= 2 * GUESSING_ADDRESSES * LOOKED_AT_MAX, "{answers:?}");
    eva.get("/api/v1/me").await.expect(200);
    let log = server.whole_log();
    assert!(log.contains("wrong name") && !log.contains("guess number"), "{log}");
}
