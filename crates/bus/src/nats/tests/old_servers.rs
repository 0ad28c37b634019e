//! Tests of versions of nats-server, of its logins, and of several processes that open one server at once.

use super::*;
use crate::conformance::{LONG, all_from, append_each, indexes, soon, take, texts, until};
use crate::{BusError, GroupSettings};

fn refused(url: &str, options: NatsOptions) -> BusError {
    match open(url, options) {
        Ok(_) => panic!("{url} was taken"),
        Err(error) => error,
    }
}

fn quick(credentials: Credentials) -> NatsOptions {
    NatsOptions { credentials, ..options(1) }
}

#[test]
fn a_server_that_is_too_old_is_refused_with_its_version_and_what_is_needed() {
    let old = NatsServer::start_with(&servers::nats::old_program(), "");
    let error = refused(&old.url(), options(1));
    assert!(matches!(error, BusError::Unfit { .. }), "{error:?}");
    let words = error.to_string();
    assert!(words.contains("nats-server 2.12 or newer is needed") && words.contains("is 2.9.10"), "{words}");
}

#[test]
fn a_server_without_jetstream_is_refused() {
    let program = servers::nats::program();
    let off = NatsServer::start_with(&program, "jetstream: disabled\n");
    let error = refused(&off.url(), options(1));
    assert!(matches!(&error, BusError::Unfit { why } if why.contains("JetStream")), "{error:?}");
}

#[test]
fn more_replicas_than_there_are_servers_are_refused_in_words() {
    let server = NatsServer::start();
    let bus = open(&server.url(), options(3)).expect("a bus");
    let error = bus.topic("t").map(drop).expect_err("one server has no three replicas");
    assert!(matches!(error, BusError::Unfit { .. }), "{error:?}");
    assert!(error.to_string().contains("replicas"), "{error}");
}

#[test]
fn a_stream_that_somebody_else_made_otherwise_is_refused_with_the_field() {
    let server = NatsServer::start();
    let url = server.url();
    let made = server.ask(
        "$JS.API.STREAM.CREATE.campanile-t-t",
        r#"{"name":"campanile-t-t","subjects":["campanile.t.t"],"storage":"memory","num_replicas":1}"#,
    );
    assert!(made.is_some_and(|made| !made.contains("error")));
    let bus = open(&url, options(1)).expect("a bus");
    let error = bus.topic("t").map(drop).expect_err("in memory, without batches");
    assert!(matches!(&error, BusError::Unfit { why } if why.contains("needs a stream with")), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_who_has_the_secret_is_let_in_and_no_error_tells_it() {
    let rules = "authorization { user: campanile, password: \"bell tower\" }\n";
    let server = NatsServer::start_with(&servers::nats::program(), rules);
    let user = |password: &str| Credentials::User { name: "campanile".into(), password: password.into() };
    let url = server.url();
    let bus = tokio::task::spawn_blocking(move || {
        for wrong in [Credentials::Address, user("bell-tower"), Credentials::Token("bell tower".into())] {
            let error = refused(&url, quick(wrong));
            let words = format!("{error} {error:?}");
            assert!(matches!(error, BusError::Unreachable { .. }), "{words}");
            assert!(!words.contains("bell"), "{words}");
        }
        open(&url, quick(user("bell tower"))).expect("let in")
    });
    let bus = bus.await.expect("no panic");
    assert_eq!(append_each(&*bus.topic("t").unwrap(), &["a"]).await, 0);
    let url = server.url().replace("nats://", "nats://campanile:bell%20tower@");
    let other = tokio::task::spawn_blocking(move || open(&url, options(1)).expect("let in by the address"));
    assert_eq!(append_each(&*other.await.expect("no panic").topic("t").unwrap(), &["b"]).await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_only_a_server_that_a_trusted_authority_vouches_for_is_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).expect("written");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    let rules = format!("tls {{ cert_file: {:?}, key_file: {:?} }}\n", certificate, key);
    let server = NatsServer::start_with(&servers::nats::program(), &rules);
    let url = server.url();
    let opened = tokio::task::spawn_blocking(move || {
        let tls = |roots| NatsTls { required: true, roots, identity: None };
        let briefly = Duration::from_secs(1);
        let unknown = NatsOptions { tls: tls(None), connected_within: briefly, ..options(1) };
        assert!(matches!(refused(&url, unknown), BusError::Unreachable { .. }));
        open(&url, NatsOptions { tls: tls(Some(certificate)), ..options(1) }).expect("trusted")
    });
    let bus = opened.await.expect("no panic");
    assert_eq!(append_each(&*bus.topic("t").unwrap(), &["a"]).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_over_a_batch_is_refused_and_the_largest_is_one() {
    let ground = OneServer::new();
    let topic = ground.bus().topic("t").unwrap();
    let records = vec![&b"r"[..]; APPEND_RECORDS_MAX + 1];
    let error = soon("an append", topic.append(&records)).await.expect_err("too many");
    assert!(matches!(error, BusError::TooLarge { limit: APPEND_RECORDS_MAX, .. }), "{error:?}");
    assert_eq!(soon("an append", topic.append(&records[1..])).await.unwrap(), 0);
    assert_eq!((topic.head(), all_from(&*topic, 0).len()), (1_000, 1_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_with_other_leases_share_a_group() {
    let server = NatsServer::start();
    let with = |lease| open(&server.url(), NatsOptions { lease, ..options(1) }).expect("a bus");
    let (short, long) = (with(TEST_LEASE), with(TEST_LEASE * 3));
    let topic = short.topic("t").unwrap();
    append_each(&*topic, &["a", "b", "c", "d"]).await;
    let larger = GroupSettings { out_of_order_max: 100_000, ..GroupSettings::default() };
    let groups = [long.group("t", "g").unwrap(), short.group_with("t", "g", &larger).unwrap()];
    let one = take(&*groups[0], 2, LONG).await;
    let other = take(&*groups[1], 2, LONG).await;
    let mut all = [indexes(&one), indexes(&other)].concat();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3]);
    for (group, taken) in groups.iter().zip([one, other]) {
        for leased in taken {
            group.ack(leased.record.index).unwrap();
        }
        soon("a flush", group.flush()).await.unwrap();
    }
    until("all is acknowledged", || groups.iter().all(|group| group.low_water() == 4)).await;
}

/// A lease that is renewed lasts although the servers wait for a much shorter time. Expiry by the clock is
/// what this is about; should the machine stand still for longer than the servers wait, the record comes a
/// second time, which is then not held against it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_longer_than_the_servers_wait_stays_held_and_goes_on_when_its_process_ends() {
    let server = NatsServer::start();
    let wait = Duration::from_secs(15);
    let with = || open(&server.url(), NatsOptions { lease: wait, ..options(1) }).expect("a bus");
    let (holder, other) = (with(), with());
    append_each(&*holder.topic("t").unwrap(), &["a"]).await;
    let (held, waits) = (holder.group("t", "g").unwrap(), other.group("t", "g").unwrap());
    assert_eq!(indexes(&take(&*held, 1, LONG).await), [0]);
    let early = tokio::time::timeout(wait * 2, take(&*waits, 1, LONG)).await;
    let still_held = held.renew(0, LONG).is_ok();
    assert!(early.is_err() || !still_held, "given to two at once");
    if early.is_ok() {
        return;
    }
    // Its process ends: what it held is given on.
    drop((held, holder));
    let taken = take(&*waits, 1, LONG).await;
    assert_eq!(taken[0].record.octets, "a");
    assert!(taken[0].redelivered >= 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_whose_answer_is_late_stands_there_once() {
    let server = NatsServer::start();
    let bus = open(&server.url(), options(1)).expect("a bus");
    let topic = bus.topic("t").unwrap();
    append_each(&*topic, &["before"]).await;
    let mut appends = Vec::new();
    server.pause();
    for n in 0..20u32 {
        let topic = topic.clone();
        let text = n.to_string();
        appends.push(tokio::spawn(async move {
            let texts = vec![text.as_bytes(); 1 + n as usize % 3];
            (n, texts.len(), topic.append(&texts).await)
        }));
    }
    until("the servers count as gone", || !bus.is_reachable()).await;
    // Longer than a connection is trusted: they are sent again over another.
    tokio::time::sleep(Duration::from_secs(8)).await;
    server.resume();
    for append in appends {
        let (n, count, first) = soon("an append", append).await.expect("no panic");
        let first = first.expect("appended");
        let found = topic.read(first, count, usize::MAX).unwrap();
        assert_eq!(texts(&found), vec![n.to_string(); count]);
    }
    assert_eq!(all_from(&*topic, 0).len(), 1 + (0..20).map(|n| 1 + n % 3).sum::<usize>(), "each once");
    until("the servers are there again", || bus.is_reachable()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_one_installation_are_not_seen_by_another() {
    let server = NatsServer::start();
    let with = |prefix: &str| {
        open(&server.url(), NatsOptions { prefix: prefix.to_owned(), ..options(1) }).expect("a bus")
    };
    let (one, other) = (with("one"), with("one-t"));
    append_each(&*one.topic("t").unwrap(), &["a"]).await;
    append_each(&*other.topic("t").unwrap(), &["b", "c"]).await;
    assert_eq!((one.topics("").unwrap(), other.topics("").unwrap()), (vec!["t".into()], vec!["t".into()]));
    assert_eq!(texts(&all_from(&*other.topic("t").unwrap(), 0)), ["b", "c"]);
}
