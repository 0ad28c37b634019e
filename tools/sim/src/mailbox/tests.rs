use super::*;
use crate::chance::Delay;
use crate::town::{CarrierRefusal, Conduct, Habits, MailHabits};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// Nothing that is awaited may take longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client that writes what it is told and reads replies.
struct Client<S> {
    stream: S,
    input: Vec<u8>,
}

impl Client<TcpStream> {
    async fn connect(mailbox: &Mailbox) -> Client<TcpStream> {
        let stream = TcpStream::connect(mailbox.address()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, input: Vec::new() }
    }

    /// Past the greeting and EHLO.
    async fn greeted(mailbox: &Mailbox) -> Client<TcpStream> {
        let mut client = Client::connect(mailbox).await;
        assert!(client.reply().await.unwrap().starts_with("220 "));
        assert!(client.ask("EHLO client.test\r\n").await.contains("PIPELINING"));
        client
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    async fn write(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// A whole reply, its lines joined; nothing at the connection's end.
    async fn reply(&mut self) -> Option<String> {
        let mut reply = String::new();
        loop {
            while let Some(end) = self.input.iter().position(|&octet| octet == b'\n') {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                reply.push_str(std::str::from_utf8(&line).unwrap().trim_end());
                if line.get(3) != Some(&b'-') {
                    return Some(reply);
                }
                reply.push('\n');
            }
            let read = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.input)).await;
            if read.expect("a reply in time").unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    async fn ask(&mut self, text: &str) -> String {
        self.write(text).await;
        self.reply().await.unwrap_or_default()
    }

    /// A mail in one write; the replies to MAIL, RCPT, DATA and the mail itself.
    async fn send(&mut self, to: &str, content: &str) -> [String; 4] {
        let from = "MAIL FROM:<bounces@campanile.test>\r\n";
        self.write(&format!("{from}RCPT TO:<{to}>\r\nDATA\r\n")).await;
        let mut replies: [String; 4] = Default::default();
        for reply in &mut replies[..3] {
            *reply = self.reply().await.unwrap_or_default();
        }
        if replies[2].starts_with('3') {
            replies[3] = self.ask(&format!("{content}\r\n.\r\n")).await;
        } else {
            self.ask("RSET\r\n").await;
        }
        replies
    }
}

const CONTENT: &str = "From: alerts@campanile.test\r\nReply-To: <answers@campanile.test>\r\nSubject: Fire\r\n\
                       Message-ID: <1.2@campanile.test>\r\n\r\nClose your windows.";

fn address_that(habits: &Habits, does: impl Fn(&Conduct) -> bool) -> String {
    (0..100_000u32)
        .map(|n| format!("p{n}@town.example"))
        .find(|a| does(&habits.mailbox(a)))
        .expect("somebody")
}

async fn stats_when(mailbox: &Mailbox, are: impl Fn(&Stats) -> bool) -> Stats {
    let begin = Instant::now();
    loop {
        let stats = mailbox.stats();
        if are(&stats) {
            return stats;
        }
        assert!(begin.elapsed() < PATIENCE, "{stats:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn pipelined_mails_are_taken_counted_and_kept_as_they_came() {
    let mailbox = Mailbox::start(MailboxOptions::default()).await.unwrap();
    let mut client = Client::greeted(&mailbox).await;
    let mail = |to: &str, text: &str| {
        format!(
            "MAIL FROM:<bounces@campanile.test> BODY=8BITMIME\r\nRCPT TO:<{to}>\r\nRCPT TO:<two@town.example>\r\nDATA\r\n\
             {CONTENT}\r\n{text}\r\n.\r\n"
        )
    };
    let whole = mail("one@town.example", "..dots\r\nÅska") + &mail("One@town.example", "again") + "QUIT\r\n";
    // In pieces of any size, so that every border is crossed somewhere.
    for piece in whole.as_bytes().chunks(7) {
        client.stream.write_all(piece).await.unwrap();
    }
    let mut replies = String::new();
    while let Some(reply) = client.reply().await {
        replies.push_str(&reply[..4]);
    }
    assert_eq!(replies, "250 250 250 354 250 250 250 250 354 250 221 ");
    let stats = stats_when(&mailbox, |stats| stats.sessions == 0).await;
    assert_eq!((stats.mails, stats.accepted, stats.connections, stats.peak_accepted), (2, 4, 1, 4));
    assert_eq!((stats.distinct, stats.repeats, stats.most), (2, 2, 2));
    assert_eq!(mailbox.accepted("ONE@town.example", "<1.2@campanile.test>"), 2);
    let words = mailbox.mails(9)[0].words();
    assert_eq!((words.subject.as_str(), words.message_id.as_str()), ("Fire", "1.2@campanile.test"));
    assert_eq!(words.reply_to, "answers@campanile.test");
    assert_eq!(words.to, ["one@town.example", "two@town.example"]);
    assert!(words.text.contains("\n.dots\r\nÅska"), "{:?}", words.text);
    assert_eq!(words.html, None);
}

#[tokio::test]
async fn recipients_are_refused_as_their_address_says() {
    let mut people = Habits::silent(1);
    people.mail = MailHabits { unknown: 0.2, full: 0.2, greylisted: 0.2, ..people.mail };
    let mailbox =
        Mailbox::start(MailboxOptions { people: Some(people.clone()), ..MailboxOptions::default() })
            .await
            .unwrap();
    let mut client = Client::greeted(&mailbox).await;
    for (refusal, first, second) in [
        (CarrierRefusal::UnknownUser, "550 5.1.1", "550 5.1.1"),
        (CarrierRefusal::MailboxFull, "452 4.2.2", "452 4.2.2"),
        (CarrierRefusal::Greylisted, "451 4.7.1", "250 2.1.5"),
    ] {
        let to = address_that(&people, |conduct| *conduct == Conduct::Refuses(refusal));
        for expected in [first, second] {
            let replies = client.send(&to, CONTENT).await;
            assert!(replies[1].starts_with(expected), "{replies:?}");
            assert_eq!(replies[3].starts_with("250"), expected == "250 2.1.5");
        }
    }
    let stats = mailbox.stats();
    assert_eq!((stats.accepted, stats.refused["550 5.1.1"], stats.refused["451 4.7.1"]), (1, 2, 1));
    assert_eq!(stats.refused["503 5.5.1"], 5, "DATA without a recipient");
}

#[tokio::test]
async fn the_error_mix_hits_its_stages() {
    let error = |at, reply: &str| ErrorShare { at, reply: reply.to_owned(), share: 1.0 };
    for (at, reply, place) in [
        (Stage::Mail, "451 4.3.0 later", 0),
        (Stage::Rcpt, "450 4.2.1 busy", 1),
        (Stage::Data, "554 5.7.1 not this", 3),
    ] {
        let mailbox =
            Mailbox::start(MailboxOptions { errors: vec![error(at, reply)], ..MailboxOptions::default() })
                .await
                .unwrap();
        let replies = Client::greeted(&mailbox).await.send("a@town.example", CONTENT).await;
        assert_eq!(replies[place], reply);
        assert_eq!(mailbox.stats().accepted, 0);
    }
    let errors = vec![error(Stage::Connect, "421 4.3.2 closed")];
    let mailbox = Mailbox::start(MailboxOptions { errors, ..MailboxOptions::default() }).await.unwrap();
    let mut client = Client::connect(&mailbox).await;
    assert_eq!(client.reply().await.as_deref(), Some("421 4.3.2 closed"));
    assert_eq!(client.reply().await, None);
}

#[tokio::test]
async fn answers_bounces_and_machines_come_to_the_door() {
    let door = Mailbox::start(MailboxOptions::default()).await.unwrap();
    let mut people = Habits { answer_after: Delay::NONE, ..Habits::silent(3) };
    people.mail = MailHabits { lost: 0.2, answering: 0.2, stopping: 0.2, away: 0.2, ..people.mail };
    let options = MailboxOptions {
        people: Some(people.clone()),
        door: Some(door.address().to_string()),
        bounce_after: Delay::NONE,
        ..MailboxOptions::default()
    };
    let mailbox = Mailbox::start(options).await.unwrap();
    let mut client = Client::greeted(&mailbox).await;
    let answering = address_that(&people, |conduct| matches!(conduct, Conduct::Answers { .. }));
    let Conduct::Answers { text, .. } = people.mailbox(&answering) else { panic!() };
    let stopping = address_that(&people, |conduct| matches!(conduct, Conduct::Stops { .. }));
    let lost = address_that(&people, |conduct| *conduct == Conduct::Lost);
    let away = address_that(&people, |conduct| *conduct == Conduct::Away);
    let silent = address_that(&people, |conduct| *conduct == Conduct::Silent);
    for to in [&answering, &stopping, &lost, &away, &silent] {
        assert!(client.send(to, CONTENT).await[3].starts_with("250"));
    }
    let letters = stats_when(&mailbox, |stats| stats.letters.delivered == 4).await.letters;
    assert_eq!((letters.answers, letters.bounces, letters.automatic, letters.waiting), (2, 1, 1, 0));
    let words: Vec<MailText> = door.mails(9).iter().map(ReceivedMail::words).collect();
    let of = |to: &str, from: &str| words.iter().find(|w| w.to == [to] && w.from == from).expect(from);
    assert!(of("answers@campanile.test", &answering).text.starts_with(&text));
    assert_eq!(of("answers@campanile.test", &answering).subject, "Re: Fire");
    assert!(of("answers@campanile.test", &stopping).text.starts_with("STOP"));
    let from_nobody: Vec<&MailText> = words.iter().filter(|w| w.from.is_empty()).collect();
    assert!(from_nobody.iter().all(|w| w.to == ["bounces@campanile.test"]) && from_nobody.len() == 2);
}

#[tokio::test]
async fn a_door_may_refuse_some_for_now_and_some_for_good_and_need_not_pipeline() {
    for pipelining in [true, false] {
        let error = |at, reply: &str, share| ErrorShare { at, reply: reply.to_owned(), share };
        let errors =
            vec![error(Stage::Rcpt, "550 5.1.1 not here", 0.3), error(Stage::Data, "451 4.3.0 later", 0.3)];
        let door =
            Mailbox::start(MailboxOptions { errors, pipelining, ..MailboxOptions::default() }).await.unwrap();
        let people = Habits { answer_after: Delay::NONE, ..Habits::answering(3) };
        let address = door.address().to_string();
        let options =
            MailboxOptions { people: Some(people), door: Some(address), ..MailboxOptions::default() };
        let mailbox = Mailbox::start(options).await.unwrap();
        let mut client = Client::greeted(&mailbox).await;
        for place in 0..100 {
            assert!(client.send(&format!("p{place}@town.example"), CONTENT).await[3].starts_with("250"));
        }
        let is_over = |stats: &Stats| stats.letters.waiting == 0;
        let letters = stats_when(&mailbox, is_over).await.letters;
        assert_eq!(letters.delivered, door.stats().mails, "{letters:?}");
        assert_eq!(letters.failed, door.stats().refused["550 5.1.1"], "{letters:?}");
        assert!(letters.failed > 5 && letters.delivered > 20, "{letters:?}");
        assert!(door.mails(200).iter().all(|mail| mail.words().subject == "Re: Fire"));
    }
}

#[tokio::test]
async fn what_the_door_does_not_take_is_brought_again() {
    let closed = Mailbox::start(MailboxOptions::default()).await.unwrap();
    let address = closed.address().to_string();
    drop(closed);
    let people = Habits { answer_after: Delay::NONE, ..Habits::answering(3) };
    let options =
        MailboxOptions { people: Some(people), door: Some(address.clone()), ..MailboxOptions::default() };
    let mailbox = Mailbox::start(options).await.unwrap();
    let mut client = Client::greeted(&mailbox).await;
    assert!(client.send("a@town.example", CONTENT).await[3].starts_with("250"));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(mailbox.stats().letters.waiting, 1);
    let door = Mailbox::start(MailboxOptions { listen: address, ..MailboxOptions::default() }).await.unwrap();
    stats_when(&mailbox, |stats| stats.letters.delivered == 1).await;
    assert_eq!(door.stats().accepted, 1);
}

#[tokio::test]
async fn limits_are_answered_by_their_codes() {
    let options = MailboxOptions {
        connections_max: 1,
        recipients_max: 2,
        octets_max: 1_000,
        ..MailboxOptions::default()
    };
    let mailbox = Mailbox::start(options).await.unwrap();
    let mut client = Client::greeted(&mailbox).await;
    assert!(Client::connect(&mailbox).await.reply().await.unwrap().starts_with("421"));
    for (command, code) in [
        ("DATA\r\n", "503"),
        ("RCPT TO:<a@town.example>\r\n", "503"),
        ("MAIL FROM:bare@campanile.test\r\n", "501"),
        ("MAIL FROM:<a@campanile.test> SIZE=1001\r\n", "552"),
        ("MAIL FROM:<a@campanile.test> SIZE=1000\r\n", "250"),
        ("MAIL FROM:<a@campanile.test>\r\n", "503"),
        ("RCPT TO:<nowhere>\r\n", "501"),
        ("RCPT TO:<a@town.example>\r\n", "250"),
        ("RCPT TO:<b@town.example>\r\n", "250"),
        ("RCPT TO:<c@town.example>\r\n", "452 4.5.3"),
        ("NOOP\r\n", "250"),
        ("HELP\r\n", "500"),
        ("DATA\r\n", "354"),
        (&format!("{}\r\n.\r\n", "x".repeat(1_001)), "552"),
        ("MAIL FROM:<a@campanile.test>\r\n", "250"),
        ("RSET\r\n", "250"),
        ("STARTTLS\r\n", "500"),
        ("AUTH PLAIN AAA=\r\n", "502"),
    ] {
        let reply = client.ask(command).await;
        assert!(reply.starts_with(code), "{command:?}: {reply}");
    }
    client.write(&"x".repeat(3_000)).await;
    assert!(client.reply().await.unwrap().starts_with("500 5.5.2"));
    assert_eq!(client.reply().await, None);
    assert_eq!(mailbox.stats().accepted, 0);
}

#[tokio::test]
async fn tls_and_a_login_are_offered_and_asked_for() {
    let login = Login { username: "town".to_owned(), password: "secret".to_owned() };
    let options = MailboxOptions { starttls: true, login: Some(login), ..MailboxOptions::default() };
    let mailbox = Mailbox::start(options).await.unwrap();
    let mut client = Client::greeted(&mailbox).await;
    // What comes in plain behind STARTTLS must be forgotten.
    assert!(client.ask("STARTTLS\r\nNOOP\r\n").await.starts_with("220"));
    let mut roots = rustls::RootCertStore::empty();
    let pem = mailbox.certificate().unwrap().as_bytes();
    for certificate in
        <rustls::pki_types::CertificateDer<'_> as rustls::pki_types::pem::PemObject>::pem_slice_iter(pem)
    {
        roots.add(certificate.unwrap()).unwrap();
    }
    let config =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let stream = connector.connect("localhost".try_into().unwrap(), client.stream).await.unwrap();
    let mut client = Client { stream, input: Vec::new() };
    assert!(
        client.ask("MAIL FROM:<a@campanile.test>\r\n").await.starts_with("503"),
        "greetings are forgotten"
    );
    let hello = client.ask("EHLO client.test\r\n").await;
    assert!(hello.contains("AUTH PLAIN") && !hello.contains("STARTTLS"), "{hello}");
    assert!(client.ask("MAIL FROM:<a@campanile.test>\r\n").await.starts_with("530"));
    assert!(client.ask("AUTH PLAIN AHRvd24Ad3Jvbmc=\r\n").await.starts_with("535"));
    assert!(client.ask("AUTH PLAIN AHRvd24Ac2VjcmV0\r\n").await.starts_with("235"));
    assert!(client.send("a@town.example", CONTENT).await[3].starts_with("250"));
    assert_eq!((mailbox.stats().tls, mailbox.stats().accepted), (1, 1));
}

#[tokio::test]
async fn a_folder_keeps_all_mail_as_files() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        MailboxOptions { folder: Some(folder.path().to_owned()), keep: 1, ..MailboxOptions::default() };
    let mailbox = Mailbox::start(options).await.unwrap();
    let mut client = Client::greeted(&mailbox).await;
    for to in ["a@town.example", "b@town.example"] {
        assert!(client.send(to, CONTENT).await[3].starts_with("250"));
    }
    let mut files: Vec<String> = std::fs::read_dir(folder.path().join("new"))
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    files.sort();
    assert_eq!(files.len(), 2);
    assert!(
        files[0]
            .starts_with("Return-Path: <bounces@campanile.test>\r\nDelivered-To: a@town.example\r\nFrom: ")
    );
    assert!(files[1].ends_with("\r\n\r\nClose your windows.\r\n"));
    assert_eq!(mailbox.mails(9).len(), 1, "memory holds what it was told to");
}

#[tokio::test]
async fn answers_take_their_latency_and_keep_their_order() {
    let latency = Delay::Fixed(Duration::from_millis(20));
    let mailbox = Mailbox::start(MailboxOptions { latency, ..MailboxOptions::sink() }).await.unwrap();
    let mut client = Client::greeted(&mailbox).await;
    let begin = Instant::now();
    let mail = format!("MAIL FROM:<>\r\nRCPT TO:<a@town.example>\r\nDATA\r\n{CONTENT}\r\n.\r\n");
    client.write(&mail.repeat(3)).await;
    let mut replies = String::new();
    for _ in 0..12 {
        replies.push_str(&client.reply().await.unwrap()[..4]);
    }
    assert_eq!(replies, "250 250 354 250 ".repeat(3));
    assert!(begin.elapsed() >= Duration::from_millis(60));
}

#[tokio::test]
async fn connections_are_cut_with_the_mail_taken_or_not() {
    for (disconnect_accepts, accepted) in [(0.0, 0), (1.0, 1)] {
        let mailbox = Mailbox::start(MailboxOptions {
            disconnect: 1.0,
            disconnect_accepts,
            ..MailboxOptions::default()
        })
        .await
        .unwrap();
        let mut client = Client::greeted(&mailbox).await;
        assert_eq!(client.send("a@town.example", CONTENT).await[3], "");
        let stats = stats_when(&mailbox, |stats| stats.sessions == 0).await;
        assert_eq!((stats.cut, stats.accepted), (1, accepted));
    }
    let mailbox = Mailbox::start(MailboxOptions::default()).await.unwrap();
    let mut client = Client::greeted(&mailbox).await;
    mailbox.disconnect();
    assert_eq!(client.reply().await, None);
}

#[tokio::test]
async fn the_page_tells_counts_and_mails() {
    let options = MailboxOptions { control: Some("127.0.0.1:0".to_owned()), ..MailboxOptions::default() };
    let mailbox = Mailbox::start(options).await.unwrap();
    Client::greeted(&mailbox).await.send("a@town.example", CONTENT).await;
    let get = async |target: &str| {
        let mut stream = TcpStream::connect(mailbox.page().unwrap()).await.unwrap();
        stream.write_all(format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    };
    let stats: serde_json::Value = serde_json::from_str(&get("/stats").await).unwrap();
    assert_eq!((&stats["accepted"], &stats["letters"]["waiting"]), (&1.into(), &0.into()));
    let words: Vec<MailText> = serde_json::from_str(&get("/messages").await).unwrap();
    assert_eq!(words[0].subject, "Fire");
    assert!(get("/").await.contains("Close your windows."));
    assert!(get("/count?to=a@town.example&message_id=%3C1.2@campanile.test%3E").await.contains("1"));
}

#[test]
#[ignore = "measures: cargo test --profile perf -p sim -- --ignored --nocapture"]
fn a_sink_takes_twenty_thousand_mails_a_second() {
    const MAILS: usize = 400_000;
    const CONNECTIONS: usize = 4;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mailbox = runtime
        .block_on(async { runtime.spawn(Mailbox::start(MailboxOptions::sink())).await.unwrap().unwrap() });
    let body = "x".repeat(70) + "\r\n";
    let mail = format!(
        "MAIL FROM:<a@b.test>\r\nRCPT TO:<a@town.example>\r\nDATA\r\n{CONTENT}\r\n{}.\r\n",
        body.repeat(7)
    );
    let begin = Instant::now();
    let senders: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (address, batch) = (mailbox.address(), mail.repeat(20));
            std::thread::spawn(move || {
                use std::io::{Read, Write};
                let mut stream = std::net::TcpStream::connect(address).unwrap();
                stream.write_all(b"EHLO x\r\n").unwrap();
                let (mut replies, mut lines, mut taken) = ([0; 65_536], 0, Vec::new());
                for _ in 0..MAILS / CONNECTIONS / 20 {
                    stream.write_all(batch.as_bytes()).unwrap();
                    // Four replies a mail, and at first those to the greeting and EHLO.
                    while lines < 80 {
                        let octets = stream.read(&mut replies).unwrap();
                        taken.extend_from_slice(&replies[..octets]);
                        lines += replies[..octets].iter().filter(|&&octet| octet == b'\n').count();
                    }
                    lines -= 80;
                }
            })
        })
        .collect();
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    while mailbox.stats().accepted < MAILS as u64 {
        assert!(begin.elapsed() < PATIENCE);
    }
    let rate = MAILS as f64 / begin.elapsed().as_secs_f64();
    println!("{rate:.0} mails/s of {} octets", mail.len());
    assert!(rate >= 20_000.0);
}
