use super::*;
use bus::embedded::{Fsync, Options};
use net::{Balancers, Stream, TlsClient, TlsClientSettings};
use records::{AlertNo, EndpointNo, OUTCOMES, Outcome, ReceiptState, Timestamp, decode_outcomes, mail_key};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

struct Door {
    _dir: tempfile::TempDir,
    bus: Arc<dyn Bus>,
    running: SmtpRunning,
}

async fn door() -> Door {
    door_with(config()).await
}

async fn door_with(config: SmtpConfig) -> Door {
    let dir = tempfile::tempdir().unwrap();
    let bus = bus::embedded::open(dir.path(), Options { fsync: Fsync::Os, ..Options::default() }).unwrap();
    let tags = |_: TagKind, tag: &str| (tag == "7.42").then_some((AlertNo(7), EndpointNo(42)));
    let deps = SmtpDeps {
        bus: Arc::clone(&bus),
        tags: Arc::new(tags),
        address_of: Arc::new(|_, endpoint| (endpoint.0 == 42).then(|| "anna@people.test".to_owned())),
        clock: Arc::new(|| Timestamp(5)),
        cores: Arc::new(Cores::new(1).unwrap()),
        gatekeeper: Gatekeeper::default(),
    };
    Door { _dir: dir, bus, running: serve(config, deps).await.unwrap() }
}

impl Door {
    fn outcomes(&self) -> Vec<Outcome> {
        let records = self.bus.topic(OUTCOMES).unwrap().read(0, 1_000, 1_000_000).unwrap();
        records.iter().flat_map(|record| decode_outcomes(&record.octets).unwrap()).collect()
    }

    async fn connect(&self) -> Caller {
        let mut caller = self.connect_behind(b"").await;
        assert_eq!(caller.reply().await, "220 in.test ESMTP Campanile");
        caller
    }

    /// Somebody who says something before the greeting.
    async fn connect_behind(&self, header: &[u8]) -> Caller {
        let mut stream = TcpStream::connect(self.running.address()).await.unwrap();
        stream.write_all(header).await.unwrap();
        Caller { stream: Stream::plain(stream).unwrap(), heard: String::new() }
    }
}

fn config() -> SmtpConfig {
    SmtpConfig::new("127.0.0.1:0".to_owned(), "in.test".to_owned())
}

struct Caller {
    stream: Stream,
    heard: String,
}

impl Caller {
    /// The last line of the next reply; empty when the connection ends.
    async fn reply(&mut self) -> String {
        loop {
            while let Some((line, rest)) = self.heard.split_once("\r\n") {
                let (line, rest) = (line.to_owned(), rest.to_owned());
                self.heard = rest;
                if line.as_bytes().get(3) != Some(&b'-') {
                    return line;
                }
            }
            let mut buffer = [0; 4096];
            let read = self.stream.read(&mut buffer).await.unwrap_or(0);
            if read == 0 {
                return String::new();
            }
            self.heard.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        }
    }

    async fn say(&mut self, octets: &str) -> String {
        self.stream.write_all(octets.as_bytes()).await.unwrap();
        self.stream.flush().await.unwrap();
        self.reply().await
    }

    /// Hands over a mail; the reply to it.
    async fn send(&mut self, from: &str, to: &str, mail: &str) -> String {
        self.say(&format!("MAIL FROM:<{from}>\r\nRCPT TO:<{to}>\r\nDATA\r\n")).await;
        assert!(self.reply().await.starts_with("250"));
        assert!(self.reply().await.starts_with("354"));
        self.say(&format!("{}\r\n.\r\n", mail.replace('\n', "\r\n"))).await
    }
}

const BOUNCE: &str = include_str!("read/tests/samples/postfix_failed.eml");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_mail_says_is_on_the_bus_when_its_sender_hears_that_it_was_taken() {
    let door = door().await;
    let mut caller = door.connect().await;
    assert_eq!(caller.say("EHLO mx.test\r\n").await, "250 ENHANCEDSTATUSCODES");
    let reply = "From: anna@people.test\nSubject: Re: Storm\n\n1\n";
    assert_eq!(caller.send("anna@people.test", "answers+7.42@in.test", reply).await, "250 2.0.0 taken");
    let outcomes = door.outcomes();
    let [Outcome::Inbound(inbound)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert_eq!((inbound.channel, inbound.text.as_str(), inbound.at), (channels::MAIL, "1", Timestamp(5)));
    assert_eq!(inbound.of, Some((AlertNo(7), EndpointNo(42))));
    assert_eq!(caller.send("", "bounces+7.42@in.test", BOUNCE).await, "250 2.0.0 taken");
    let outcomes = door.outcomes();
    let [_, Outcome::Receipt(receipt)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert_eq!(
        (receipt.state, receipt.keys.as_slice()),
        (ReceiptState::Failed, &[mail_key(AlertNo(7), EndpointNo(42))][..])
    );
    let vacation = "From: anna@people.test\nAuto-Submitted: auto-replied\n\naway\n";
    assert_eq!(caller.send("anna@people.test", "answers+7.42@in.test", vacation).await, "250 2.0.0 taken");
    assert_eq!(door.outcomes().len(), 2, "automatic mail says nothing");
    assert_eq!(caller.say("QUIT\r\n").await, "221 2.0.0 goodbye");
    assert_eq!(caller.reply().await, "");
    door.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_door_that_closes_says_so_and_takes_nothing_more() {
    let door = door().await;
    let mut caller = door.connect().await;
    assert!(caller.say("HELO mx.test\r\n").await.starts_with("250"));
    let address = door.running.address();
    door.running.stop().await;
    assert_eq!(caller.reply().await, "421 4.3.2 the service is stopping");
    assert_eq!(caller.reply().await, "");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_opened_names_its_key() {
    let first = door().await;
    let deps = |bus: &Arc<dyn Bus>| SmtpDeps {
        bus: Arc::clone(bus),
        tags: Arc::new(|_: TagKind, _: &str| None),
        address_of: Arc::new(|_, _| None),
        clock: Arc::new(|| Timestamp(0)),
        cores: Arc::new(Cores::new(1).unwrap()),
        gatekeeper: Gatekeeper::default(),
    };
    let listen = first.running.address().to_string();
    for (listen, domain, field) in [
        (listen.as_str(), "in.test", "listen"),
        ("127.0.0.1:0", "in test", "domain"),
        ("127.0.0.1:0", "", "domain"),
    ] {
        let config = SmtpConfig::new(listen.to_owned(), domain.to_owned());
        assert_eq!(
            serve(config, deps(&first.bus)).await.map(|_| ()).map_err(|error| error.field),
            Err(field)
        );
    }
    first.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_is_taken_by_tls_that_begins_within_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["in.test".to_owned()]).unwrap();
    let (cert_file, key_file) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert_file, made.cert.pem()).unwrap();
    std::fs::write(&key_file, made.signing_key.serialize_pem()).unwrap();
    let trust = TlsClientSettings { ca_file: Some(cert_file.clone()), server_name: None };
    let trust = TlsClient::new(&trust).unwrap();
    let tls = Some(TlsServerSettings { cert_file, key_file });
    let door = door_with(SmtpConfig { tls, ..config() }).await;
    let mut caller = door.connect().await;
    caller.say("EHLO mx.test\r\n").await;
    assert_eq!(caller.say("STARTTLS\r\n").await, "220 2.0.0 begin TLS");
    let stream = caller.stream.into_tls_client(&trust, "in.test").await.unwrap();
    let mut caller = Caller { stream, heard: String::new() };
    assert!(caller.say("MAIL FROM:<a@b.test>\r\n").await.starts_with("503"), "it begins anew");
    caller.say("EHLO mx.test\r\n").await;
    let reply = "From: anna@people.test\nSubject: Re: Storm\n\n1\n";
    assert_eq!(caller.send("anna@people.test", "answers+7.42@in.test", reply).await, "250 2.0.0 taken");
    assert_eq!(door.outcomes().len(), 1);

    // What somebody between put behind the command is carried out by nobody.
    let mut caller = door.connect().await;
    caller.say("EHLO mx.test\r\n").await;
    assert!(caller.say("STARTTLS\r\nMAIL FROM:<evil@x.test>\r\n").await.starts_with("503 5.5.1 nothing"));
    assert_eq!(caller.reply().await, "", "the session ends");
    // Nor what comes in place of a handshake.
    let mut caller = door.connect().await;
    caller.say("EHLO mx.test\r\n").await;
    caller.say("STARTTLS\r\n").await;
    let heard = caller.say("MAIL FROM:<evil@x.test>\r\nRCPT TO:<answers+7.42@in.test>\r\nNOOP\r\n").await;
    assert!(!heard.starts_with("250"), "{heard}");
    door.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_to_postmaster_is_taken_and_wrong_tags_are_not() {
    let door = door().await;
    let mut caller = door.connect().await;
    caller.say("EHLO mx.test\r\n").await;
    for to in ["postmaster", "Postmaster@in.test"] {
        let mail = "From: abuse@isp.test\nSubject: your bounces\n\nPlease read this.\n";
        assert_eq!(caller.send("abuse@isp.test", to, mail).await, "250 2.0.0 taken");
    }
    assert!(door.outcomes().is_empty());
    caller.say("MAIL FROM:<a@b.test>\r\n").await;
    for to in ["postmaster@elsewhere.test", "answers+7.43@in.test", "root@in.test"] {
        assert_eq!(caller.say(&format!("RCPT TO:<{to}>\r\n")).await, "550 5.1.1 no such address here");
    }
    door.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_slow_and_half_clients_are_done_with() {
    let second = Duration::from_secs(1);
    let door = door_with(SmtpConfig { command: second, mail: second, ..config() }).await;
    let mut silent = door.connect().await;
    let mut half = door.connect().await;
    half.stream.write_all(b"EHLO mx.t").await.unwrap();
    let mut mail = door.connect().await;
    mail.say("EHLO mx.test\r\n").await;
    mail.say("MAIL FROM:<a@b.test>\r\n").await;
    mail.say("RCPT TO:<answers+7.42@in.test>\r\n").await;
    mail.say("DATA\r\n").await;
    mail.stream.write_all(b"Subject: x\r\n").await.unwrap();
    for caller in [&mut silent, &mut half, &mut mail] {
        assert_eq!(caller.reply().await, "421 4.4.2 nothing came for too long");
        assert_eq!(caller.reply().await, "");
    }
    door.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_is_done_with() {
    let door = door_with(SmtpConfig { write_stall: Duration::from_secs(1), ..config() }).await;
    let mut deaf = door.connect().await;
    let many = "NOOP\r\n".repeat(500);
    let given_up = async {
        // Sessions have a limit of commands; EHLO has the longest reply.
        while deaf.stream.write_all(many.replace("NOOP", "EHLO x").as_bytes()).await.is_ok() {}
    };
    tokio::time::timeout(Duration::from_secs(60), given_up).await.expect("it is given up");
    door.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_makes_room_for_its_own_next_connection() {
    let door = door_with(SmtpConfig { limits: DoorLimits::new(10, 3), ..config() }).await;
    let mut crowd = Vec::new();
    for _ in 0..3 {
        crowd.push(door.connect().await);
    }
    let mut next = door.connect().await;
    assert!(next.say("NOOP\r\n").await.starts_with("250"));
    assert_eq!(crowd[0].reply().await, "", "its oldest went");
    assert!(crowd[1].say("NOOP\r\n").await.starts_with("250"));
    door.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_a_balancer_count_each_for_themselves() {
    let balancers = Balancers::new(vec!["127.0.0.1".parse().unwrap()]);
    let limits = DoorLimits { balancers, ..DoorLimits::new(10, 1) };
    let door = door_with(SmtpConfig { limits, ..config() }).await;
    let header = |client: &str| {
        let mut octets = Vec::new();
        proxy_protocol::write(client.parse().unwrap(), door.running.address(), &mut octets);
        octets
    };
    let mut one = door.connect_behind(&header("203.0.113.1:9")).await;
    let mut other = door.connect_behind(&header("203.0.113.2:9")).await;
    assert!(one.reply().await.starts_with("220") && other.reply().await.starts_with("220"));
    let mut next = door.connect_behind(&header("203.0.113.1:10")).await;
    assert!(next.reply().await.starts_with("220"));
    assert_eq!(one.reply().await, "", "it made room");
    assert!(other.say("NOOP\r\n").await.starts_with("250"));
    let mut bare = door.connect_behind(b"EHLO mx.test\r\nNOOP\r\n").await;
    assert_eq!(bare.reply().await, "", "no header, no greeting");
    door.running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_report_on_several_recipients_the_one_with_the_deliverys_address_counts() {
    let door = door().await;
    let group = |address: &str, action: &str, status: &str| {
        format!("\nFinal-Recipient: rfc822; {address}\nAction: {action}\nStatus: {status}\n")
    };
    let report = format!(
        "From: MAILER-DAEMON@mx.test\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\n\n--b\n\
         Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.test\n{}{}\n--b--",
        group("bo@people.test", "failed", "5.1.1"),
        group("Anna@people.test", "delivered", "2.0.0"),
    );
    let mut caller = door.connect().await;
    caller.say("EHLO mx.test\r\n").await;
    assert_eq!(caller.send("", "bounces+7.42@in.test", &report).await, "250 2.0.0 taken");
    let outcomes = door.outcomes();
    let [Outcome::Receipt(receipt)] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(receipt.state, records::ReceiptState::Delivered);
}
