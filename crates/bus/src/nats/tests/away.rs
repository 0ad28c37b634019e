//! Servers that go, are full, or lose a stream: it is said which and why, and nobody waits for what does not
//! come.

use super::*;
use crate::conformance::{append_each, soon, until};

/// The words of the trouble there is.
fn trouble(bus: &Arc<dyn Bus>) -> String {
    bus.trouble().map(|trouble| trouble.why).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_to_a_server_that_is_known_to_be_away_fails_with_its_name_and_the_remedy() {
    let mut server = NatsServer::start();
    let bus = open(&server.url(), options(1)).expect("a bus");
    let topic = bus.topic("t").unwrap();
    assert_eq!(append_each(&*topic, &["a"]).await, 0);
    assert_eq!(bus.trouble(), None);
    server.kill();
    let waiting = soon("an append that was waiting", topic.append(&[b"b"])).await.unwrap_err();
    assert!(matches!(waiting, BusError::Unreachable { .. }), "{waiting}");
    let known = soon("an append", topic.append(&[b"c"])).await.unwrap_err().to_string();
    for part in [&format!("127.0.0.1:{}", server.port()), "nothing listens there", "start nats-server"] {
        assert!(known.contains(part), "{part}: {known}");
    }
    assert_eq!(bus.trouble().map(|trouble| trouble.server), Some(format!("127.0.0.1:{}", server.port())));
    server.restart();
    until("the trouble is over", || bus.trouble().is_none()).await;
    append_each(&*topic, &["d"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_was_deleted_is_said_to_be_gone() {
    let server = NatsServer::start();
    let bus = open(&server.url(), options(1)).expect("a bus");
    let (watched, other) = (bus.topic("watched").unwrap(), bus.topic("other").unwrap());
    append_each(&*watched, &["a"]).await;
    server.ask("$JS.API.STREAM.DELETE.campanile-t-watched", "").expect("an answer");
    until("it is said", || trouble(&bus).contains("campanile-t-watched is gone")).await;
    server.ask("$JS.API.STREAM.DELETE.campanile-t-other", "").expect("an answer");
    let gone = soon("an append", other.append(&[b"b"])).await.unwrap_err();
    assert!(matches!(&gone, BusError::Unfit { why } if why.contains("campanile-t-other is gone")), "{gone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_holds_as_much_as_it_may_is_full_at_once() {
    let server = NatsServer::start();
    let bus = open(&server.url(), options(1)).expect("a bus");
    let topic = bus.topic("t").unwrap();
    append_each(&*topic, &["a"]).await;
    // As its operator may edit it.
    let info = server.ask("$JS.API.STREAM.INFO.campanile-t-t", "").expect("an answer");
    let mut config = serde_json::from_str::<serde_json::Value>(&info).expect("JSON")["config"].take();
    (config["max_bytes"], config["discard"]) = (10_000.into(), "new".into());
    server.ask("$JS.API.STREAM.UPDATE.campanile-t-t", &config.to_string()).expect("an answer");
    let full = loop {
        if let Err(error) = soon("an append", topic.append(&[&[b'r'; 1_000]])).await {
            break error;
        }
    };
    assert!(matches!(full, BusError::DiskFull { .. }), "{full}");
    let why = trouble(&bus);
    assert!(why.contains("storage is full") && why.contains("campanile-t-t"), "{why}");
}
