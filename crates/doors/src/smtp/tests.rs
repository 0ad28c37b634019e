use super::*;
use bus::embedded::{Fsync, Options};
use records::{AlertNo, EndpointNo, OUTCOMES, Outcome, ReceiptState, Timestamp, decode_outcomes, mail_key};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

struct Door {
    _dir: tempfile::TempDir,
    bus: Arc<dyn Bus>,
    running: SmtpRunning,
}

async fn door() -> Door {
    let dir = tempfile::tempdir().unwrap();
    let bus = bus::embedded::open(dir.path(), Options { fsync: Fsync::Os, ..Options::default() }).unwrap();
    let tags = |_: TagKind, tag: &str| (tag == "7.42").then_some((AlertNo(7), EndpointNo(42)));
    let deps = SmtpDeps {
        bus: Arc::clone(&bus),
        tags: Arc::new(tags),
        clock: Arc::new(|| Timestamp(5)),
        cores: Arc::new(Cores::new(1).unwrap()),
    };
    let config = SmtpConfig { listen: "127.0.0.1:0".to_owned(), domain: "in.test".to_owned() };
    Door { _dir: dir, bus, running: serve(config, deps).await.unwrap() }
}

impl Door {
    fn outcomes(&self) -> Vec<Outcome> {
        let records = self.bus.topic(OUTCOMES).unwrap().read(0, 1_000, 1_000_000).unwrap();
        records.iter().flat_map(|record| decode_outcomes(&record.octets).unwrap()).collect()
    }

    async fn connect(&self) -> Caller {
        let mut caller = Caller {
            stream: TcpStream::connect(self.running.address()).await.unwrap(),
            heard: String::new(),
        };
        assert_eq!(caller.reply().await, "220 in.test ESMTP Campanile");
        caller
    }
}

struct Caller {
    stream: TcpStream,
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
            let read = self.stream.read(&mut buffer).await.unwrap();
            if read == 0 {
                return String::new();
            }
            self.heard.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
        }
    }

    async fn say(&mut self, octets: &str) -> String {
        self.stream.write_all(octets.as_bytes()).await.unwrap();
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
        clock: Arc::new(|| Timestamp(0)),
        cores: Arc::new(Cores::new(1).unwrap()),
    };
    let listen = first.running.address().to_string();
    for (listen, domain, field) in [
        (listen.as_str(), "in.test", "listen"),
        ("127.0.0.1:0", "in test", "domain"),
        ("127.0.0.1:0", "", "domain"),
    ] {
        let config = SmtpConfig { listen: listen.to_owned(), domain: domain.to_owned() };
        assert_eq!(
            serve(config, deps(&first.bus)).await.map(|_| ()).map_err(|error| error.field),
            Err(field)
        );
    }
    first.running.stop().await;
}
