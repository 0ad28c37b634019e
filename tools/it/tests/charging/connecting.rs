//! Peers that the server connects to: one that nobody here wrote, and by the octet what the standard says of
//! elections, of connections that end, and of goodbyes.

use super::{ANN, Ocs, PATIENCE};
use diameter::dictionary::{avp, command};
use it::credit::{CreditClient, ReceivedMessage, SERVER_HOST, answer_to, cea, cer, diameter_door, dpr};
use it::{CreditPeer, eventually, free_port};
use serde_json::{Value, json};
use std::io;
use std::net::TcpListener;
use std::time::{Duration, Instant};

const EVENTS: &str = "46701740601";
const SESSIONS: &str = "46701740602";
/// Short, so that nobody waits long: Tw at its least, Tc at its.
const SOON: &str = "watchdog = \"6s\"\nreconnect = \"2s\"";

fn peer_at(name: &str, port: u16, more: &str) -> String {
    format!(
        "[[diameter.peer]]\norigin_host = \"{name}\"\nrealm = \"client.test\"\naddress = \"127.0.0.1:{port}\"\n{more}\n"
    )
}

/// A peer by the octet to which the server connects.
pub struct Listener {
    listener: TcpListener,
    /// Its Origin-Host.
    pub name: &'static str,
}

impl Listener {
    /// One of this name, and its port.
    pub fn open(name: &'static str) -> (Listener, u16) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        (Listener { listener, name }, port)
    }

    /// The server's next connection and its CER.
    pub(crate) fn accept(&self) -> (CreditClient, ReceivedMessage) {
        let (stream, _) = self.listener.accept().unwrap();
        let mut line = CreditClient::over(stream, self.name).unwrap();
        let asked = line.try_hear().unwrap();
        assert_eq!(asked.message().header.command, command::CAPABILITIES_EXCHANGE);
        (line, asked)
    }

    /// The server's next connection, open.
    pub fn open_next(&self) -> CreditClient {
        let (mut line, asked) = self.accept();
        line.send(&cea(&asked, self.name));
        line
    }

    /// Nobody connects for so long.
    fn nobody_comes(&self, within: Duration) {
        self.listener.set_nonblocking(true).unwrap();
        let began = Instant::now();
        while began.elapsed() < within {
            match self.listener.accept() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                other => panic!("{other:?}"),
            }
        }
        self.listener.set_nonblocking(false).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn freediameter_is_connected_to_and_served_on_that_connection() {
    let port = free_port();
    let peer = CreditPeer::listen(port);
    peer.peer.first(&["started"]).await;
    let config = format!("{SOON}\n{}", peer_at("freediameter.client.test", port, ""));
    let mut ocs = Ocs::start(&config, "").await;
    ocs.fund(EVENTS, 100).await;
    ocs.fund(SESSIONS, 100).await;
    let seen = |sent: bool, command: u32, request: bool| {
        let messages = peer.peer.events("message");
        messages.iter().any(|message| {
            message["sent"] == sent && message["command"] == command && message["request"] == request
        })
    };
    eventually("capabilities are exchanged", PATIENCE, async || {
        let is_open = seen(false, command::CAPABILITIES_EXCHANGE, true)
            && seen(true, command::CAPABILITIES_EXCHANGE, false);
        if is_open { Ok(()) } else { Err(format!("{:?}", peer.peer.all())) }
    })
    .await;
    for (verb, answers) in [("event", 1), ("nobody", 2), ("session", 5)] {
        peer.peer.tell(verb, &[]);
        eventually("it has its answers", PATIENCE, async || {
            let count = peer.peer.events("answer").len();
            if count >= answers { Ok(()) } else { Err(format!("{:?}", peer.peer.all())) }
        })
        .await;
    }
    let answers = peer.peer.events("answer");
    let said =
        answers.iter().map(|answer| ["type", "number", "code"].map(|name| answer[name].as_i64().unwrap()));
    let expected = [[4, 0, 2001], [4, 0, 5030], [1, 0, 2001], [2, 1, 2001], [3, 2, 2001]];
    assert_eq!(said.collect::<Vec<_>>(), expected);
    assert!(answers.iter().all(|answer| answer["sound"] == true), "{answers:?}");
    assert_eq!(ocs.money(EVENTS).await, (97, 0, 3));
    assert_eq!(ocs.money(SESSIONS).await, (78, 0, 22));
    eventually("each asks whether the other lives", PATIENCE, async || {
        let dwr = command::DEVICE_WATCHDOG;
        let both =
            [seen(false, dwr, true), seen(true, dwr, false), seen(true, dwr, true), seen(false, dwr, false)];
        if both == [true; 4] { Ok(()) } else { Err(format!("{both:?}")) }
    })
    .await;
    assert!(ocs.server.stop().await.success());
    eventually("our goodbye is heard and answered", PATIENCE, async || {
        let dpr = command::DISCONNECT_PEER;
        if seen(false, dpr, true) && seen(true, dpr, false) { Ok(()) } else { Err("no DPR") }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_lost_is_begun_again_and_proves_itself_before_it_is_used() {
    let (peer, port) = Listener::open("lost.client.test");
    let ocs = Ocs::start(&format!("{SOON}\n{}", peer_at(peer.name, port, "")), "").await;
    ocs.fund(ANN, 100).await;
    let (mut line, asked) = peer.accept();
    assert_eq!(asked.find(avp::ORIGIN_HOST).unwrap().data, SERVER_HOST.as_bytes());
    line.send(&cea(&asked, peer.name));
    line.works(ANN);
    drop(line);
    let lost = Instant::now();
    // Its Origin-Host is not the one that is meant: it is left, and tried again.
    let (mut wrong, asked) = peer.accept();
    assert!(lost.elapsed() <= Duration::from_secs(5), "Tc and its jitter are over");
    wrong.send(&cea(&asked, "other.client.test"));
    assert!(wrong.is_closed().is_empty());
    let mut line = peer.open_next();
    // RFC 3539, section 3.4.1: three answers to its DWR, and until then nothing that comes is looked at.
    for _ in 0..3 {
        let asked = line.try_hear().unwrap();
        assert_eq!(asked.message().header.command, command::DEVICE_WATCHDOG);
        line.send(&answer_to(&asked, peer.name));
    }
    line.works(ANN);
    assert_eq!(ocs.money(ANN).await.2, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_busy_or_does_not_want_to_talk_is_left_alone_and_may_come_by_itself() {
    for cause in [1, 2] {
        let (peer, port) = Listener::open("alone.client.test");
        let ocs = Ocs::start(&format!("{SOON}\n{}", peer_at(peer.name, port, "")), "").await;
        ocs.fund(ANN, 100).await;
        let mut line = peer.open_next();
        let goodbye = line.numbered(dpr(peer.name, cause));
        assert_eq!(line.ask(&goodbye).code(), 2001);
        drop(line);
        // Tc is 2 s with a jitter of 2 s.
        peer.nobody_comes(Duration::from_secs(6));
        CreditClient::open(ocs.port, peer.name).works(ANN);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_connections_the_one_stays_whose_initiator_has_the_greater_name() {
    // We are ocs.charging.test. Who has the smaller name keeps the connection that it began.
    let (smaller, port) = Listener::open("aaa.client.test");
    let ocs = Ocs::start(&format!("{SOON}\n{}", peer_at(smaller.name, port, "")), "").await;
    ocs.fund(ANN, 100).await;
    let (mut ours, _) = smaller.accept();
    let mut theirs = CreditClient::connect(ocs.port, smaller.name);
    assert_eq!(theirs.ask(&cer(smaller.name)).code(), 2001);
    assert!(ours.is_closed().is_empty(), "ours is given up");
    theirs.works(ANN);
    assert_eq!(CreditClient::connect(ocs.port, smaller.name).ask(&cer(smaller.name)).code(), 4003);
    theirs.works(ANN);
    drop(theirs);
    smaller.open_next();

    let (greater, port) = Listener::open("zzz.client.test");
    let ocs = Ocs::start(&format!("{SOON}\n{}", peer_at(greater.name, port, "")), "").await;
    ocs.fund(ANN, 100).await;
    let (mut ours, asked) = greater.accept();
    let mut theirs = CreditClient::connect(ocs.port, greater.name);
    let request = cer(greater.name);
    theirs.send(&request.octets());
    ours.send(&cea(&asked, greater.name));
    ours.works(ANN);
    // Whichever of the two came first.
    assert!(theirs.is_closed().iter().all(|said| said.code() == 4003), "theirs is given up");
    ours.works(ANN);
    assert_eq!(ocs.money(ANN).await.2, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_connects_to_who_is_new_and_leaves_who_is_gone() {
    let (one, one_port) = Listener::open("one.client.test");
    let (two, two_port) = Listener::open("two.client.test");
    let ocs = Ocs::start(&format!("{SOON}\n{}", peer_at(one.name, one_port, "")), "").await;
    ocs.fund(ANN, 100).await;
    let mut first = one.open_next();
    first.works(ANN);
    let reload = async |peers: &str| {
        let http = format!(
            "[http]\nlisten = \"127.0.0.1:{}\"\npublic_url = \"{}\"\n",
            ocs.server.port(),
            ocs.server.url()
        );
        let config = format!("{http}{}[charging]\n", diameter_door(ocs.port, &format!("{SOON}\n{peers}")));
        std::fs::write(ocs.server.config(), config).unwrap();
        let told: Value = ocs.server.api().post("/api/v1/reload", &json!({})).await.expect(200);
        assert!(told.to_string().contains("diameter peers changed"), "{told}");
        assert!(!told.to_string().contains("restart"), "{told}");
    };
    let both = format!("{}{}", peer_at(one.name, one_port, ""), peer_at(two.name, two_port, ""));
    reload(&both).await;
    let mut second = two.open_next();
    second.works(ANN);
    first.works(ANN);
    reload(&peer_at(two.name, two_port, "")).await;
    let asked = first.try_hear().unwrap();
    assert_eq!(asked.message().header.command, command::DISCONNECT_PEER);
    assert_eq!(asked.find(avp::DISCONNECT_CAUSE).unwrap().u32(), Ok(2), "DO_NOT_WANT_TO_TALK_TO_YOU");
    first.send(&answer_to(&asked, one.name));
    assert!(first.is_closed().is_empty());
    one.nobody_comes(Duration::from_secs(5));
    second.works(ANN);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_tls_the_peer_must_show_the_name_that_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["peer.client.test".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    // Another server of ours is the peer: it knows who came by what.
    let tls_port = free_port();
    let door = format!("listen_tls = \"127.0.0.1:{tls_port}\"\ntls_cert = {cert:?}\ntls_key = {key:?}\n");
    let theirs = Ocs::start(&door, "[log]\nfilter = \"info\"").await;
    let tls = format!("tls = true\nca_file = {cert:?}\nserver_name = \"peer.client.test\"");
    let to = |name: &str| {
        format!(
            "[diameter]\nlisten = \"127.0.0.1:{}\"\norigin_host = \"{name}\"\norigin_realm = \"client.test\"\nreconnect = \"2s\"\n\
             [[diameter.peer]]\norigin_host = \"{SERVER_HOST}\"\naddress = \"127.0.0.1:{tls_port}\"\n",
            free_port()
        )
    };
    let wrong =
        it::Server::start(&format!("{}tls = true\nca_file = {cert:?}\n", to("wrong.client.test"))).await;
    eventually("the certificate's name is wrong", PATIENCE, async || {
        let log = wrong.log();
        if log.contains("cannot be connected to") && log.contains("certificate") { Ok(()) } else { Err(log) }
    })
    .await;
    let right = it::Server::start(&format!("{}{tls}\n", to("right.client.test"))).await;
    eventually("it is let in", PATIENCE, async || {
        let (ours, log) = (right.log(), theirs.server.log());
        if ours.contains("Connected to a Diameter peer") && log.contains("right.client.test") {
            Ok(())
        } else {
            Err(ours)
        }
    })
    .await;
    assert!(!theirs.server.log().contains("wrong.client.test"));
}
