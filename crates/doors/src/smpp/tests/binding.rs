//! Tests of binds, and of the ends of sessions.

use super::super::{AllowedIp, SmppClient, SmppConfig};
use super::client::{DeliverResult, Esme, Raw, message, pdu};
use super::test_door::{LONG, TestDoor, client_a, quick, until};
use crate::guessing::{Attempt, GuessVerdict};
use ::smpp::Status;
use ::smpp::pdu::{Address, Bind, BindMode, Command, EnquireLink, SubmitSm, Version};
use ::smpp::session::{Config, Reason};
use net::{TlsClient, TlsClientSettings, TlsServerSettings};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn client_b() -> SmppClient {
    SmppClient { system_id: "client-b".into(), password: "secret-b".into(), ..client_a() }
}

fn bind() -> Bind<'static> {
    Bind { system_id: b"client-a", password: b"secret-a", ..Bind::default() }
}

#[tokio::test]
async fn every_mode_binds_in_every_version() {
    let test_door = TestDoor::new().await;
    for version in [Version::V3_3, Version::V3_4, Version::V5_0] {
        for mode in [BindMode::Transmitter, BindMode::Receiver, BindMode::Transceiver] {
            let config = Config { version, ..Config::default() };
            let mut esme = Esme::connect(test_door.address(), config).await;
            assert_eq!(esme.bind(&Bind { mode, ..bind() }).await, Ok(version), "{mode:?}");
            if mode.transmits() {
                assert_eq!(esme.ask(&message()).await.0, Status::ROK);
            }
            assert_eq!(esme.unbind().await, Reason::Unbound);
        }
    }
    test_door.sessions(0).await;
}

#[tokio::test]
async fn an_unknown_name_a_wrong_password_and_a_wrong_place_are_refused_alike_and_may_try_again() {
    let elsewhere: AllowedIp = "192.0.2.0/24".parse().unwrap();
    let fenced = SmppClient { allowed_ips: vec![elsewhere], ..client_b() };
    let test_door = TestDoor::with(quick(), vec![client_a(), fenced]).await;
    let cases = [
        Bind { system_id: b"client-c", ..bind() },
        Bind { password: b"secret-b", ..bind() },
        Bind { password: b"", ..bind() },
        Bind { system_id: b"client-c", password: b"01234567", ..bind() },
        Bind { system_id: b"client-b", password: b"secret-b", ..bind() },
    ];
    for wrong in cases {
        let mut esme = Esme::connect(test_door.address(), Config::default()).await;
        assert_eq!(esme.bind(&wrong).await, Err(Status::RINVPASWD), "{wrong:?}");
        assert_eq!(esme.bind(&bind()).await, Ok(Version::V3_4));
    }
}

#[tokio::test]
async fn guesses_wait_however_many_connections_there_are_and_the_right_one_does_not() {
    let test_door = TestDoor::new().await;
    test_door.bound(BindMode::Transceiver).await;
    let wrong = pdu(&Bind { system_id: b"client-b", password: b"guess", ..bind() }, 1);
    let mut guessing = Vec::new();
    for _ in 0..60 {
        let mut raw = Raw::connect(test_door.address()).await;
        raw.send(&wrong).await;
        guessing.push(raw);
    }
    // Those within the budget are refused; the others wait, and the right one overtakes them.
    for raw in &mut guessing[..10] {
        assert_eq!(raw.heads().await, Some((Command::BIND_TRANSCEIVER_RESP, Status::RINVPASWD, 1)));
    }
    test_door.bound(BindMode::Transceiver).await;
    let ip = [127, 0, 0, 1].into();
    let another = Attempt { door: "smpp", name: b"client-b", ip, is_known: false };
    assert_ne!(test_door.gatekeeper.guessing.judge(another, Instant::now()), GuessVerdict::Now);
    let last = guessing.last_mut().unwrap();
    assert_eq!(last.heads().await, Some((Command::BIND_TRANSCEIVER_RESP, Status::RINVPASWD, 1)));
    let mut esme = Esme::connect(test_door.address(), Config::default()).await;
    for _ in 0..3 {
        assert_eq!(esme.bind(&Bind { password: b"guess", ..bind() }).await, Err(Status::RINVPASWD));
    }
    assert_eq!(esme.closed().await, Reason::ConnectionLost, "three guesses a connection");
}

#[tokio::test]
async fn no_more_sessions_bind_than_may() {
    let test_door = TestDoor::of(SmppClient { connections: 2, ..client_a() }).await;
    let _first = test_door.bound(BindMode::Transmitter).await;
    let mut second = test_door.bound(BindMode::Receiver).await;
    let mut third = Esme::connect(test_door.address(), Config::default()).await;
    assert_eq!(third.bind(&bind()).await, Err(Status::RALYBND));
    second.unbind().await;
    test_door.sessions(1).await;
    assert_eq!(third.bind(&bind()).await, Ok(Version::V3_4));
}

#[tokio::test]
async fn a_second_bind_of_a_session_is_refused() {
    let test_door = TestDoor::new().await;
    let mut raw = Raw::bound(test_door.address()).await;
    raw.send(&pdu(&bind(), 2)).await;
    assert_eq!(raw.heads().await, Some((Command::BIND_TRANSCEIVER_RESP, Status::RALYBND, 2)));
    raw.send(&pdu(&message(), 3)).await;
    assert_eq!(raw.heads().await, Some((Command::SUBMIT_SM_RESP, Status::ROK, 3)));
}

#[tokio::test]
async fn a_reload_unbinds_whom_it_changes_and_nobody_else() {
    let test_door = TestDoor::with(quick(), vec![client_a(), client_b()]).await;
    let mut a = test_door.bound(BindMode::Transceiver).await;
    let mut b = test_door.bound_as(BindMode::Transceiver, "client-b", Config::default()).await;
    let changed = SmppClient { rate: 100.0, ..client_b() };
    let changes = test_door.clients.replace(vec![client_a(), changed.clone()]).unwrap();
    assert_eq!(changes.changed, ["client-b"]);
    assert_eq!(b.closed().await, Reason::PeerUnbound);
    assert_eq!(a.ask(&message()).await.0, Status::ROK);
    let mut b = test_door.bound_as(BindMode::Transceiver, "client-b", Config::default()).await;
    test_door.clients.replace(vec![changed]).unwrap();
    assert_eq!(a.closed().await, Reason::PeerUnbound);
    assert_eq!(b.ask(&message()).await.0, Status::ROK);
    let mut a = Esme::connect(test_door.address(), Config::default()).await;
    assert_eq!(a.bind(&bind()).await, Err(Status::RINVPASWD));
}

#[tokio::test]
async fn an_operator_sees_whom_is_bound_and_unbinds_them_in_order() {
    let test_door = TestDoor::with(quick(), vec![client_a(), client_b()]).await;
    let mut a = test_door.bound(BindMode::Transceiver).await;
    let mut b = test_door.bound_as(BindMode::Receiver, "client-b", Config::default()).await;
    assert_eq!(a.ask(&message()).await.0, Status::ROK);
    let far = SubmitSm { destination: Address::international(b"9912345678"), ..message() };
    assert_ne!(a.ask(&far).await.0, Status::ROK);
    let shown = |name: &str| {
        let all = test_door.clients.shown(Instant::now());
        all.into_iter().find(|one| one.settings.system_id == name).unwrap().activity
    };
    // What a wake-up brought is counted after its answer was written.
    until(|| shown("client-a").refusal.is_some()).await;
    let of_a = shown("client-a");
    assert_eq!((of_a.submitted, of_a.sessions.len()), (1, 1));
    assert_eq!((of_a.sessions[0].mode, of_a.sessions[0].version.as_str()), ("transceiver", "3.4"));
    assert_eq!(of_a.refusal.unwrap().request, "submit");
    assert_eq!(shown("client-b").sessions[0].mode, "receiver");
    assert_eq!(test_door.clients.unbind("client-a"), Some(1));
    assert_eq!(a.closed().await, Reason::PeerUnbound);
    let mut again = test_door.bound(BindMode::Transceiver).await;
    assert_eq!(again.ask(&message()).await.0, Status::ROK);
    until(|| shown("client-a").submitted == 2 && shown("client-a").sessions.len() == 1).await;
    assert_eq!(b.unbind().await, Reason::Unbound);
    let mut esme = Esme::connect(test_door.address(), Config::default()).await;
    let wrong = Bind { password: b"wrong", ..bind() };
    assert_eq!(esme.bind(&wrong).await, Err(Status::RINVPASWD));
    let refusal = shown("client-a").refusal.unwrap();
    assert_eq!((refusal.request, refusal.why), ("bind", "the password is wrong"));
}

#[tokio::test]
async fn a_door_that_closes_answers_what_it_took_and_unbinds() {
    let test_door = TestDoor::new().await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    let mut idle = Raw::connect(test_door.address()).await;
    test_door.memory.slow.store(true, Ordering::SeqCst);
    esme.try_request(&message(), 7).unwrap();
    esme.flush().await;
    until(|| test_door.memory.batches().len() == 1).await;
    let memory = test_door.memory.clone();
    let stopping = tokio::spawn(test_door.running.stop());
    idle.hung_up().await;
    memory.become_durable();
    match esme.next().await {
        DeliverResult::Answer { token: 7, status: Status::ROK, .. } => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(esme.closed().await, Reason::PeerUnbound);
    tokio::time::timeout(LONG, stopping).await.unwrap().unwrap();
}

#[tokio::test]
async fn who_does_not_bind_in_time_is_hung_up_on() {
    let config = SmppConfig { session_init: Duration::from_millis(100), ..quick() };
    let test_door = TestDoor::with(config, vec![client_a()]).await;
    let mut raw = Raw::connect(test_door.address()).await;
    // An enquire_link is answered, and is no bind.
    raw.send(&pdu(&EnquireLink::default(), 1)).await;
    assert_eq!(raw.heads().await, Some((Command::ENQUIRE_LINK_RESP, Status::ROK, 1)));
    raw.hung_up().await;
}

#[tokio::test]
async fn a_silent_client_is_asked_and_then_given_up() {
    let times = Duration::from_millis(100);
    let config = SmppConfig { enquire_link: times, response: times, ..quick() };
    let test_door = TestDoor::with(config, vec![client_a()]).await;
    let mut raw = Raw::bound(test_door.address()).await;
    assert_eq!(raw.heads().await.map(|(command, ..)| command), Some(Command::ENQUIRE_LINK));
    raw.hung_up().await;
    test_door.sessions(0).await;
}

#[tokio::test]
async fn a_client_without_messages_is_unbound() {
    let config = SmppConfig { inactivity: Some(Duration::from_millis(150)), ..quick() };
    let test_door = TestDoor::with(config, vec![client_a()]).await;
    let mut esme = test_door.bound(BindMode::Transceiver).await;
    assert_eq!(esme.ask(&message()).await.0, Status::ROK);
    assert_eq!(esme.closed().await, Reason::PeerUnbound);
}

#[tokio::test]
async fn a_client_binds_by_tls() {
    let dir = tempfile::tempdir().unwrap();
    let (cert_file, key_file) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    let made = rcgen::generate_simple_self_signed(vec!["smsc.test".to_owned()]).unwrap();
    std::fs::write(&cert_file, made.cert.pem()).unwrap();
    std::fs::write(&key_file, made.signing_key.serialize_pem()).unwrap();
    let config = SmppConfig {
        listen: None,
        tls_listen: Some("127.0.0.1:0".into()),
        tls: Some(TlsServerSettings { cert_file: cert_file.clone(), key_file }),
        ..SmppConfig::default()
    };
    let test_door = TestDoor::with(config, vec![client_a()]).await;
    let trust = TlsClientSettings { ca_file: Some(cert_file), server_name: Some("smsc.test".into()) };
    let tls = TlsClient::new(&trust).unwrap();
    let address = test_door.running.tls_address().unwrap().to_string();
    let mut stream = net::connect(&address, Some(&tls), LONG).await.unwrap();
    stream.write_all(&pdu(&bind(), 1)).await.unwrap();
    let mut answer = [0; 16];
    tokio::time::timeout(LONG, stream.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer[4..12], [0x80, 0, 0, 9, 0, 0, 0, 0]);
    test_door.sessions(1).await;
}
