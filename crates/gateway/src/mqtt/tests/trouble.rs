//! Brokers that cut connections, refuse us, or are not who they should be.

use super::*;
use crate::mail::TlsMode;
use mqtt::client::{MqttClient, MqttClientEvent, MqttClientOptions, MqttMessage};
use mqtt::packet::Qos;
use mqtt::{Properties, Property};
use net::{Stream, TlsServer, TlsServerSettings};
use settings::Secret;
use sim::broker::BrokerLogin;
use sim::chance::Delay;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Longer than any test.
const NEVER: Delay = Delay::Fixed(Duration::from_secs(3_600));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_before_the_connection_broke_is_sent_again_under_the_same_id() {
    let silent = BrokerOptions { latency: NEVER, ..with_devices() };
    let (test_route, broker) = (TestRoute::new(), Broker::start(silent).await.unwrap());
    test_route.append(&segment(7, 40, 3_600)).await;
    let running = test_route.start(MqttRoute { window: 40, ..route(&broker) });
    test_route.until_health("up", |health| health.up).await;
    while broker.stats().accepted < 40 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    broker.change(with_devices()).unwrap();
    broker.disconnect();
    let ended = test_route.until_ended(40).await;
    running.stop().await;
    let other = ended.values().find(|result| !matches!(result, AttemptResult::Accepted { .. }));
    assert_eq!(other, None, "nothing is unknown");
    let stats = broker.stats();
    assert_eq!(
        (stats.accepted, stats.distinct, stats.repeats),
        (80, 40, 40),
        "a device knows them by their id"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_no_connection_survives_is_unknown_in_the_end() {
    let silent = BrokerOptions { latency: NEVER, ..with_devices() };
    let (test_route, broker) = (TestRoute::new(), Broker::start(silent).await.unwrap());
    test_route.append(&segment(7, 1, 3_600)).await;
    let running = test_route.start(route(&broker));
    for times in 1..=3 {
        while broker.stats().accepted < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        broker.disconnect();
    }
    let ended = test_route.until_ended(1).await;
    running.stop().await;
    let text = "the connection was lost 3 times before it was acknowledged".to_owned();
    assert_eq!(ended[&0], AttemptResult::Unknown { text });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_the_broker_refuses_is_told_in_words_and_never_shown() {
    let login = BrokerLogin { username: "campanile".to_owned(), password: "right".to_owned() };
    let options = BrokerOptions { login: Some(login), ..with_devices() };
    let (test_route, broker) = (TestRoute::new(), Broker::start(options).await.unwrap());
    let with = |password: &str| MqttRoute {
        username: Some("campanile".to_owned()),
        password: Some(Secret::from(password)),
        ..route(&broker)
    };
    let running = test_route.start(with("hunter2"));
    let health = test_route.until_health("refused", |health| health.note.contains("0x86")).await;
    assert_eq!(health.note, "the server refused the connection: Bad User Name or Password (0x86)");
    assert_eq!(running.change(with("right")).await, Ok(Changed::Rebound));
    test_route.until_health("up", |health| health.up).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_with_the_wrong_certificate_is_refused_and_told_in_words() {
    let (test_route, broker) = (TestRoute::new(), Broker::start(with_devices()).await.unwrap());
    let (tls, ca_file) = certificate(test_route.dir.path());
    let address = secured(&broker, tls).await;
    let route = |server_name: &str, ca_file: Option<&std::path::PathBuf>| MqttRoute {
        address: address.clone(),
        tls: TlsMode::Implicit,
        ca_file: ca_file.cloned(),
        server_name: Some(server_name.to_owned()),
        ..route(&broker)
    };
    test_route.append(&segment(7, 1, 3_600)).await;
    let running = test_route.start(route("localhost", None));
    for wrong in [route("broker.test", Some(&ca_file)), route("localhost", None)] {
        running.change(wrong).await.unwrap();
        test_route.until_health("refused", |health| !health.up && health.note.contains("certificate")).await;
    }
    assert_eq!(broker.stats().accepted, 0);
    assert_eq!(running.change(route("localhost", Some(&ca_file))).await, Ok(Changed::Rebound));
    assert_eq!(test_route.until_ended(1).await[&0], accepted(7, 0, "city/site/0"));
    running.stop().await;
}

/// A certificate of our own making for `localhost`: the server, and the file to trust.
fn certificate(dir: &std::path::Path) -> (TlsServer, std::path::PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (cert_file, key_file) = (dir.join("cert.pem"), dir.join("key.pem"));
    std::fs::write(&cert_file, made.cert.pem()).unwrap();
    std::fs::write(&key_file, made.signing_key.serialize_pem()).unwrap();
    let settings = TlsServerSettings { cert_file: cert_file.clone(), key_file };
    (TlsServer::new(&settings).unwrap(), cert_file)
}

/// A listener with TLS before the broker.
async fn secured(broker: &Broker, tls: TlsServer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, behind) = (listener.local_addr().unwrap().to_string(), broker.address());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let tls = tls.clone();
            tokio::spawn(async move {
                let Ok(mut secure) = Stream::plain(stream).unwrap().into_tls_server(&tls).await else {
                    return;
                };
                let mut plain = TcpStream::connect(behind).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut secure, &mut plain).await;
            });
        }
    });
    address
}

/// A client of somebody else's that says these things on the response topic.
async fn say(broker: &Broker, said: Vec<(Option<Vec<u8>>, &str)>) {
    let mut stream = TcpStream::connect(broker.address()).await.unwrap();
    let mut client = MqttClient::new(MqttClientOptions::default(), Instant::now()).unwrap();
    let mut open = said.len();
    while open > 0 {
        let mut out = Vec::new();
        client.poll_transmit(&mut out);
        stream.write_all(&out).await.unwrap();
        let mut octets = [0; 1_024];
        let read = stream.read(&mut octets).await.unwrap();
        client.handle_input(Instant::now(), &octets[..read]);
        while let Some(event) = client.poll_event() {
            match event {
                MqttClientEvent::Connected(_) => {
                    for (tag, payload) in &said {
                        let tag = tag.clone().map(Property::CorrelationData);
                        let message = MqttMessage {
                            qos: Qos::AtLeastOnce,
                            topic: "answers".to_owned(),
                            properties: tag.into_iter().collect::<Properties>(),
                            payload: payload.as_bytes().to_vec(),
                            ..MqttMessage::default()
                        };
                        client.publish(Instant::now(), message).unwrap();
                    }
                }
                MqttClientEvent::Acknowledged { .. } => open -= 1,
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_answers_for_another_and_words_without_a_tag_are_nobodys() {
    let (test_route, broker) = (TestRoute::new(), Broker::start(with_devices()).await.unwrap());
    let running = test_route.start(route(&broker));
    test_route.until_health("up", |health| health.up).await;
    let tags = super::super::CorrelationTags::new(SECRET);
    let good = tags.tag(AlertNo(7), EndpointNo(3), "site/3");
    let mut forged = good.clone();
    forged[2] = b'4';
    let others = super::super::CorrelationTags::new(b"another secret of octets");
    let foreign = others.tag(AlertNo(7), EndpointNo(3), "site/3");
    say(
        &broker,
        vec![
            (None, "{\"answer\":\"1\"}"),
            (Some(forged), "{\"answer\":\"1\"}"),
            (Some(foreign), "{\"answer\":\"1\"}"),
            (Some(good.clone()), "{\"temperature\":7}"),
            (Some(good), "{\"answer\":\"2\"}"),
        ],
    )
    .await;
    let is_answer = |outcome: &Outcome| matches!(outcome, Outcome::Inbound(_) | Outcome::Receipt(_));
    let outcomes = test_route.until("an answer", |outcomes| outcomes.iter().any(is_answer)).await;
    running.stop().await;
    let said: Vec<&Outcome> = outcomes.iter().filter(|outcome| is_answer(outcome)).collect();
    let [Outcome::Inbound(inbound)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!((inbound.of, inbound.text.as_str()), (Some((AlertNo(7), EndpointNo(3))), "2"));
}
