//! Peers: who is let in, who is not, watchdogs, goodbyes.

use super::{ANN, Ocs, PATIENCE};
use diameter::avp::{Address, AvpName};
use diameter::dictionary::{application, avp, command};
use diameter::frame::next_frame;
use diameter::header::MESSAGE_OCTETS_MAX;
use it::credit::{
    CreditClient, Draft, ReceivedMessage, SERVER_HOST, SERVER_REALM, answer_to, bare_cer, cer, dpr, dwr,
};
use net::{TlsClient, TlsClientSettings};
use std::io::Write;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

const WATCHDOG: &str = "watchdog = \"6s\"";

/// The answer to a CER on a connection of its own, and whether the connection ends behind it.
#[track_caller]
fn refused(ocs: &Ocs, cer: &Draft) -> ReceivedMessage {
    let mut client = CreditClient::connect(ocs.port, "refused.test");
    let answer = client.ask(cer);
    assert!(client.is_closed().is_empty(), "nothing follows");
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_credit_control_or_a_relay_is_let_in_and_told_who_we_are() {
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 10).await;
    let relay = bare_cer("relay.test").with(|writer| writer.u32(avp::AUTH_APPLICATION_ID, 0xFFFF_FFFF));
    let vendor = bare_cer("vendor.test").with(|writer| {
        writer.group(avp::VENDOR_SPECIFIC_APPLICATION_ID, |group| {
            group.u32(avp::VENDOR_ID, 10_415);
            group.u32(avp::AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        });
    });
    for (name, cer) in [("plain.test", cer("plain.test")), ("relay.test", relay), ("vendor.test", vendor)] {
        let mut client = CreditClient::connect(ocs.port, name);
        let answer = client.ask(&cer);
        assert_eq!(answer.code(), 2001, "{name}");
        let address = answer.find(avp::HOST_IP_ADDRESS).unwrap();
        assert_eq!(address.address(), Ok(Address::Ip(Ipv4Addr::LOCALHOST.into())));
        assert_eq!(answer.find(avp::PRODUCT_NAME).unwrap().utf8(), Ok("campanile"));
        assert!(answer.find(avp::VENDOR_ID).is_some());
        assert_eq!(answer.find(avp::AUTH_APPLICATION_ID).unwrap().u32(), Ok(application::CREDIT_CONTROL));
        client.works(ANN);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_be_let_in_is_told_why_and_the_connection_ends() {
    let ocs =
        Ocs::start("[[diameter.peer]]\norigin_host = \"*.known.test\"\nrealm = \"client.test\"\n", "").await;
    ocs.fund(ANN, 10).await;
    let name = "a.known.test";
    let other = bare_cer(name).with(|writer| writer.u32(avp::AUTH_APPLICATION_ID, 16_777_238));
    let tls_only = cer(name).with(|writer| writer.u32(avp::INBAND_SECURITY_ID, 1));
    for (what, cer, code, failed) in [
        ("no application", bare_cer(name), 5010, None),
        ("no common application", other, 5010, None),
        ("an unknown peer", cer("a.unknown.test"), 3010, None),
        ("no common security", tls_only, 5017, None),
        ("no Origin-Host", cer(name).without(avp::ORIGIN_HOST), 5005, Some(avp::ORIGIN_HOST)),
        ("no Origin-Realm", cer(name).without(avp::ORIGIN_REALM), 5005, Some(avp::ORIGIN_REALM)),
        ("no address", cer(name).without(avp::HOST_IP_ADDRESS), 5005, Some(avp::HOST_IP_ADDRESS)),
        ("no product", cer(name).without(avp::PRODUCT_NAME), 5005, Some(avp::PRODUCT_NAME)),
    ] {
        let answer = refused(&ocs, &cer);
        assert_eq!(answer.code(), code, "{what}");
        let names: Vec<AvpName> = answer.failed().iter().map(|avp| avp.name).collect();
        assert_eq!(names, Vec::from_iter(failed), "{what}");
    }
    let both = cer(name).with(|writer| {
        writer.u32(avp::INBAND_SECURITY_ID, 1);
        writer.u32(avp::INBAND_SECURITY_ID, 0);
    });
    let mut client = CreditClient::connect(ocs.port, name);
    assert_eq!(client.ask(&both).code(), 2001);
    client.works(ANN);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_connection_of_a_name_is_refused_and_the_first_stays() {
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 100).await;
    let mut first = ocs.client("twin.client.test");
    for name in ["twin.client.test", "TWIN.client.TEST"] {
        assert_eq!(refused(&ocs, &cer(name)).code(), 4003);
        first.works(ANN);
    }
    drop(first);
    ocs.client("twin.client.test").works(ANN);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_says_anything_but_a_cer_first_is_cut_off_without_a_word() {
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 100).await;
    let mut client = CreditClient::connect(ocs.port, "early.test");
    let firsts = [client.debit(ANN, 1), dwr("early.test"), dpr("early.test", 0)];
    let cea = answer_to(&client_cer(&ocs), "early.test");
    for first in firsts.iter().map(Draft::octets).chain([cea]) {
        let mut client = CreditClient::connect(ocs.port, "early.test");
        client.send(&first);
        // What was not read ends with a reset.
        let _ = client.stream().write(&cer("early.test").octets());
        assert!(client.is_closed().is_empty());
    }
    assert_eq!(ocs.money(ANN).await, (100, 0, 0));
    ocs.client("early.test").works(ANN);
}

/// What a CER is answered with.
fn client_cer(ocs: &Ocs) -> ReceivedMessage {
    CreditClient::connect(ocs.port, "x.test").ask(&cer("x.test"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_is_asked_about_and_who_never_introduces_itself_is_cut_off() {
    let ocs = Ocs::start(WATCHDOG, "").await;
    ocs.fund(ANN, 100).await;
    let began = Instant::now();
    let mut silent = CreditClient::connect(ocs.port, "silent.test");
    let never = std::thread::spawn(move || silent.is_closed().is_empty());
    let mut client = ocs.client("quiet.client.test");
    // Tw less its jitter of 2 s (RFC 3539, section 3.4.1).
    let asked = client.try_hear().unwrap();
    assert!(began.elapsed() >= Duration::from_secs(4), "asked after {:?}", began.elapsed());
    let header = asked.message().header;
    assert!(
        header.flags.is_request()
            && !header.flags.is_proxiable()
            && header.command == command::DEVICE_WATCHDOG
    );
    assert_eq!(asked.find(avp::ORIGIN_HOST).unwrap().data, SERVER_HOST.as_bytes());
    assert_eq!(asked.find(avp::ORIGIN_REALM).unwrap().data, SERVER_REALM.as_bytes());
    let answer = answer_to(&asked, client.name());
    client.send(&answer);
    client.works(ANN);
    assert!(never.join().unwrap(), "nothing is said to who says nothing");
    client.works(ANN);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watchdog_is_answered_whatever_stands_before_it() {
    const REQUESTS: usize = 2_000;
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 100_000).await;
    let mut client = ocs.client("busy.client.test");
    let ask = client.numbered(dwr("busy.client.test"));
    let answer = client.ask(&ask);
    assert_eq!(answer.code(), 2001);
    let bad = client.numbered(dwr("busy.client.test").without(avp::ORIGIN_HOST));
    assert_eq!(client.ask(&bad).code(), 5005);
    let mut octets: Vec<u8> = (0..REQUESTS).flat_map(|_| client.debit(ANN, 1).octets()).collect();
    let ask = client.numbered(dwr("busy.client.test"));
    octets.extend_from_slice(&ask.octets());
    client.send(&octets);
    let (mut debits, mut watchdogs) = (0, 0);
    for _ in 0..=REQUESTS {
        let answer = client.answer();
        assert_eq!(answer.code(), 2001);
        match answer.message().header.command {
            command::DEVICE_WATCHDOG => watchdogs += 1,
            _ => debits += 1,
        }
    }
    assert_eq!((debits, watchdogs), (REQUESTS, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_goodbye_is_answered_last_and_closes_the_connection() {
    const REQUESTS: usize = 200;
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 10_000).await;
    for cause in [0, 1, 2] {
        let mut client = ocs.client("leaving.client.test");
        let mut octets: Vec<u8> = (0..REQUESTS).flat_map(|_| client.debit(ANN, 1).octets()).collect();
        let goodbye = client.numbered(dpr("leaving.client.test", cause));
        octets.extend_from_slice(&goodbye.octets());
        client.send(&octets);
        for _ in 0..REQUESTS {
            let answer = client.answer();
            assert_eq!((answer.message().header.command, answer.code()), (command::CREDIT_CONTROL, 2001));
        }
        let answer = client.answer();
        answer.assert_answers(&goodbye.octets());
        assert_eq!((answer.message().header.command, answer.code()), (command::DISCONNECT_PEER, 2001));
        // What comes behind it is not heard any more, and whoever receives the DPA closes.
        let late = client.debit(ANN, 1);
        client.send(&late.octets());
        drop(client);
    }
    assert_eq!(ocs.money(ANN).await.0, 10_000 - 3 * REQUESTS as i64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_says_goodbye_to_each_peer_as_it_stops() {
    let mut ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 100).await;
    let mut clients: Vec<CreditClient> = (0..3).map(|n| ocs.client(&format!("c{n}.client.test"))).collect();
    clients.iter_mut().for_each(|client| client.works(ANN));
    let hearing = std::thread::spawn(move || {
        for mut client in clients {
            let asked = client.try_hear().unwrap();
            assert_eq!(asked.message().header.command, command::DISCONNECT_PEER);
            assert_eq!(asked.find(avp::DISCONNECT_CAUSE).unwrap().u32(), Ok(0), "REBOOTING");
            // Requests that crossed the goodbye go elsewhere.
            let crossed = client.debit(ANN, 1);
            client.send(&crossed.octets());
            assert_eq!(client.answer().code(), 3002);
            let answer = answer_to(&asked, client.name());
            client.send(&answer);
            assert!(client.is_closed().is_empty());
        }
    });
    let status = ocs.server.stop().await;
    hearing.join().unwrap();
    assert!(status.success(), "{status}");
    ocs.server.restart().await;
    ocs.listens().await;
    assert_eq!(ocs.money(ANN).await, (97, 0, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_nobody_waits_for_is_dropped() {
    let ocs = Ocs::start("", "").await;
    ocs.fund(ANN, 100).await;
    let mut client = ocs.client("late.client.test");
    let request = client.debit(ANN, 1);
    let answer = client.ask(&request);
    client.send(answer.octets());
    client.send(&answer_to(&client_cer(&ocs), "late.client.test"));
    client.works(ANN);
}

/// The next whole message of a stream.
async fn next(stream: &mut (impl AsyncRead + Unpin), heard: &mut Vec<u8>) -> Vec<u8> {
    loop {
        if let Some(frame) = next_frame(heard, MESSAGE_OCTETS_MAX).unwrap() {
            let octets = frame.to_vec();
            heard.drain(..octets.len());
            return octets;
        }
        assert_ne!(stream.read_buf(heard).await.unwrap(), 0, "the connection ended");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_tls_the_same_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&cert, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let port = it::free_port();
    let tls = format!("listen_tls = \"127.0.0.1:{port}\"\ntls_cert = {cert:?}\ntls_key = {key:?}");
    let ocs = Ocs::start(&tls, "").await;
    ocs.fund(ANN, 10).await;
    let settings = TlsClientSettings { ca_file: Some(cert), server_name: Some("localhost".to_owned()) };
    let trust = TlsClient::new(&settings).unwrap();
    // It writes what is said, and says nothing itself.
    let mut scribe = CreditClient::connect(ocs.port, "tls.client.test");
    // Security inside the connection means nothing where it has begun already (RFC 6733, section 13.1).
    let greeting = cer("tls.client.test").with(|writer| writer.u32(avp::INBAND_SECURITY_ID, 1));
    let goodbye = scribe.numbered(dpr("tls.client.test", 0));
    let requests = [greeting, scribe.debit(ANN, 4), scribe.debit(ANN, 7), goodbye];
    let codes = it::within("TLS", PATIENCE, async {
        let mut stream = net::connect(&format!("127.0.0.1:{port}"), Some(&trust), PATIENCE).await.unwrap();
        let mut heard = Vec::new();
        let mut codes = Vec::new();
        for request in &requests {
            stream.write_all(&request.octets()).await.unwrap();
            stream.flush().await.unwrap();
            let answer = ReceivedMessage::from(next(&mut stream, &mut heard).await);
            answer.assert_answers(&request.octets());
            codes.push(answer.code());
        }
        codes
    })
    .await;
    assert_eq!(codes, [2001, 2001, 4012, 2001]);
    assert_eq!(ocs.money(ANN).await, (6, 0, 4));
}
