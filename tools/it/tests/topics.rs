//! The topic protocol of the real program: what CONTRACT.md's table says, over sockets, and over kill -9.

use crate::crash::seed;
use it::{Server, eventually, free_port};
use net::{TlsClient, TlsClientSettings};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// What never takes so long unless it never comes.
const PATIENCE: Duration = Duration::from_secs(180);
/// Connections that post while the server is killed: more than have threads of their own.
const POSTERS: usize = 24;
const KILLS: usize = 4;
/// Before a kill so many messages were acknowledged at least.
const ACKNOWLEDGED_MIN: u64 = 500;
/// Requests in flight on each of them.
const DEPTH: usize = 8;

/// A client that blocks.
struct Client {
    stream: TcpStream,
    heard: Vec<u8>,
    end: u8,
}

impl Client {
    /// Connects once the door is open: it opens after the HTTP door.
    async fn connect(port: u16) -> Client {
        let stream = eventually("the topic door opens", PATIENCE, async || {
            TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())
        })
        .await;
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { stream, heard: Vec::new(), end: 0 }
    }

    fn hear(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.heard.iter().position(|octet| *octet == self.end) {
                let reply: Vec<u8> = self.heard.drain(..=end).collect();
                return Ok(String::from_utf8(reply[..end].to_vec()).unwrap());
            }
            let mut buffer = [0; 4096];
            let read = self.stream.read(&mut buffer)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.heard.extend_from_slice(&buffer[..read]);
        }
    }

    fn send(&mut self, octets: &[u8]) {
        self.stream.write_all(octets).unwrap();
    }

    fn ask(&mut self, request: &str) -> String {
        let end = self.end;
        self.send(&[request.as_bytes(), &[end]].concat());
        self.hear().unwrap_or_else(|error| panic!("{request:?}: {error}"))
    }
}

fn section(port: u16, more: &str) -> String {
    format!("[topics]\nlisten = \"127.0.0.1:{port}\"\n{more}\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_topic_door_answers_as_the_table_says() {
    let port = free_port();
    let server = Server::start(&section(port, "")).await;
    let mut client = Client::connect(port).await;
    let (long, many) = (format!("{}\u{e5}rest", "m".repeat(139)), "9".repeat(30));
    for (request, reply) in [
        ("LIST", ""),
        ("COUNT@board", "0"),
        ("READ@board#0", ""),
        ("POST@board#a # b @ c", "0"),
        ("READ@board#0", "a # b @ c"),
        (&format!("POST@board#{long}"), "1"),
        ("READ@board#1", &"m".repeat(139)),
        ("POST@#nameless", "0"),
        ("COUNT@board", "2"),
        ("READ@board#18446744073709551616", ""),
        (&format!("READ@board#{many}"), ""),
        ("nonsense", ""),
        ("POST@board#two\nlines", ""),
        (&"x".repeat(16 * 1024), ""),
        ("COUNT@board", "2"),
        ("AUTH@nobody", "DENIED"),
        (&format!("AUTH@{}", server.token()), "OK"),
    ] {
        assert_eq!(client.ask(request), reply, "{request:?}");
    }
    assert_eq!(client.ask("LIST").split('#').collect::<BTreeSet<_>>(), BTreeSet::from(["@board", "@"]));
    // In pieces, and many at once; a bare terminator says nothing.
    for piece in [&b"POS"[..], b"T@board#pie", b"ces\0\0READ@bo", b"ard#2\0COUNT@board\0LI", b"ST\0"] {
        client.send(piece);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(
        [client.hear().unwrap(), client.hear().unwrap(), client.hear().unwrap()],
        ["2", "pieces", "3"]
    );
    assert_eq!(client.hear().unwrap().len(), "@board#@".len());
    assert_eq!(client.ask("EXIT"), "EXIT");
    assert!(client.hear().is_err(), "the connection ends");
    // People with nc.
    let mut person = Client { end: b'\n', ..Client::connect(port).await };
    assert_eq!(
        (person.ask("READ@board#2"), person.ask("COUNT@board")),
        ("pieces".to_owned(), "3".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alert_is_read_by_whoever_reads_its_topic() {
    let port = free_port();
    let route = "[[route]]\nname = \"boards\"\nchannel = \"topic\"\nmode = \"live\"\n";
    let server = Server::start(&format!("{}{route}", section(port, ""))).await;
    let api = server.api();
    api.add_recipients(&json!([{"id": "hall", "devices": [{"channel": "topic", "address": "hall"}]}])).await;
    let alert = json!({"text": "The dam has burst.\nGo up the hill.",
        "audience": ["topic:lobby", "recipient:hall"], "priority": "emergency"});
    let id = api.submit(&alert).await;
    let report = api.done(&id, PATIENCE).await;
    assert_eq!(
        (&report["counts"]["endpoints"], &report["counts"]["accepted"]),
        (&2.into(), &2.into()),
        "{report}"
    );
    let mut client = Client::connect(port).await;
    for topic in ["lobby", "hall"] {
        // The door hears of a topic that it did not make within a second.
        let text = eventually("the alert stands there", PATIENCE, async || {
            let text = client.ask(&format!("READ@{topic}#0"));
            if text.is_empty() { Err("nothing") } else { Ok(text) }
        })
        .await;
        assert_eq!(text, "The dam has burst. Go up the hill.");
        assert_eq!(client.ask(&format!("COUNT@{topic}")), "1");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_loopback_and_by_tls_a_token_opens_the_door() {
    let (port, tls_port) = (free_port(), free_port());
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let config = format!(
        "[topics]\nlisten = \"0.0.0.0:{port}\"\nlisten_tls = \"127.0.0.1:{tls_port}\"\ntls_cert = {cert:?}\ntls_key = {key:?}\n"
    );
    let server = Server::start(&config).await;
    let mut client = Client::connect(port).await;
    assert_eq!((client.ask("LIST"), client.ask("POST@t#x")), ("DENIED".to_owned(), "DENIED".to_owned()));
    assert_eq!(client.ask("AUTH@cmp_wrong"), "DENIED");
    assert_eq!(client.ask(&format!("AUTH@{}", server.token())), "OK");
    assert_eq!(client.ask("POST@t#x"), "0");
    let token = server.api().post("/api/v1/tokens", &json!({"role": "viewer", "name": "display"})).await;
    let token = token.expect(201)["token"].as_str().unwrap().to_owned();
    let mut display = Client::connect(port).await;
    assert_eq!(display.ask(&format!("AUTH@{token}")), "OK");
    assert_eq!((display.ask("READ@t#0"), display.ask("POST@t#y")), ("x".to_owned(), "DENIED".to_owned()));

    let settings = TlsClientSettings { ca_file: Some(cert), server_name: Some("localhost".to_owned()) };
    let trust = TlsClient::new(&settings).unwrap();
    let talk = async {
        let mut stream =
            net::connect(&format!("127.0.0.1:{tls_port}"), Some(&trust), PATIENCE).await.unwrap();
        stream.write_all(b"READ@t#0\0POST@t#by TLS\0EXIT\0").await.unwrap();
        stream.flush().await.unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).await.unwrap();
        heard
    };
    assert_eq!(it::within("TLS", PATIENCE, talk).await, b"x\x001\0EXIT\0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_stops_the_server_where_it_is_configured_to() {
    let port = free_port();
    let mut server = Server::start(&section(port, "exit = \"stop\"")).await;
    assert_eq!(Client::connect(port).await.ask("EXIT"), "EXIT");
    eventually("the server ends", PATIENCE, async || if server.is_alive() { Err("it runs") } else { Ok(()) })
        .await;
    server.restart_after_its_end().await;
    assert_eq!(Client::connect(port).await.ask("LIST"), "");
}

/// What one poster was told: index and text, by topic.
type ClientEvent = Vec<(usize, u64, String)>;

/// Posts until the server is gone, and counts what was acknowledged.
fn post(
    mut client: Client,
    poster: usize,
    round: usize,
    pipelined: bool,
    acknowledged: &AtomicU64,
) -> ClientEvent {
    let mut told = Vec::new();
    for number in 0.. {
        let depth = if pipelined { DEPTH } else { 1 };
        let texts: Vec<(usize, String)> = (0..depth)
            .map(|place| ((poster + place) % 3, format!("{round}.{poster}.{number}.{place}")))
            .collect();
        let wire: String = texts.iter().map(|(topic, text)| format!("POST@t{topic}#{text}\0")).collect();
        if client.stream.write_all(wire.as_bytes()).is_err() {
            return told;
        }
        for (topic, text) in texts {
            match client.hear() {
                Ok(reply) => {
                    told.push((topic, reply.parse().unwrap_or_else(|_| panic!("{reply:?}")), text));
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
                Err(_) => return told,
            }
        }
    }
    told
}

async fn kills_lose_nothing(durability: &str) {
    let seed = seed();
    println!("IT_SEED={seed}");
    let mut chance = StdRng::seed_from_u64(seed);
    let port = free_port();
    let mut server = Server::start(&section(port, &format!("durability = \"{durability}\""))).await;
    // Every index that was ever told, and whose it was.
    let mut all: BTreeMap<(usize, u64), String> = BTreeMap::new();
    for round in 0..KILLS {
        let acknowledged = Arc::new(AtomicU64::new(0));
        let mut posting = Vec::new();
        for poster in 0..POSTERS {
            let (client, count) = (Client::connect(port).await, Arc::clone(&acknowledged));
            posting.push(std::thread::spawn(move || post(client, poster, round, poster % 2 == 0, &count)));
        }
        eventually("messages are acknowledged", PATIENCE, async || {
            match acknowledged.load(Ordering::Relaxed) {
                enough if enough >= ACKNOWLEDGED_MIN => Ok(()),
                few => Err(few),
            }
        })
        .await;
        tokio::time::sleep(Duration::from_millis(chance.random_range(0..500))).await;
        server.kill9();
        let mut fresh = 0;
        for told in posting {
            for (topic, index, text) in told.join().unwrap() {
                fresh += 1;
                let before = all.insert((topic, index), text.clone());
                assert_eq!(
                    before, None,
                    "index {index} of t{topic} was told twice, the second time for {text}, seed {seed}"
                );
            }
        }
        println!("kill {round}: {fresh} messages were acknowledged");
        server.restart().await;
        if durability != "memory" {
            look(port, &all, seed).await;
        }
    }
    let mut client = Client::connect(port).await;
    for topic in 0..3 {
        let index: u64 = client.ask(&format!("POST@t{topic}#after")).parse().unwrap();
        assert!(
            !all.contains_key(&(topic, index)),
            "index {index} of t{topic} was given out again, seed {seed}"
        );
        assert_eq!(client.ask(&format!("READ@t{topic}#{index}")), "after");
    }
}

/// Everything that was acknowledged stands where it was said to.
async fn look(port: u16, all: &BTreeMap<(usize, u64), String>, seed: u64) {
    let mut client = Client::connect(port).await;
    let entries: Vec<(&(usize, u64), &String)> = all.iter().collect();
    for some in entries.chunks(200) {
        let wire: String =
            some.iter().map(|((topic, index), _)| format!("READ@t{topic}#{index}\0")).collect();
        client.send(wire.as_bytes());
        for ((topic, index), text) in some {
            assert_eq!(&&client.hear().unwrap(), text, "index {index} of t{topic}, seed {seed}");
        }
    }
    for topic in 0..3 {
        let last = all.keys().filter(|(of, _)| *of == topic).map(|(_, index)| *index).max();
        let count: u64 = client.ask(&format!("COUNT@t{topic}")).parse().unwrap();
        assert!(
            last.is_none_or(|last| count > last),
            "t{topic} counts {count}, {last:?} was told, seed {seed}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_during_posting_lose_no_acknowledged_message() {
    kills_lose_nothing("os").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_give_no_index_of_a_topic_in_memory_twice() {
    kills_lose_nothing("memory").await;
}
