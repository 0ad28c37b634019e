//! Too much at once, peers that fall silent, and memory that is given back.

use super::{ANN, Ocs, PATIENCE};
use diameter::dictionary::{avp, command};
use it::credit::{CreditClient, TERMINATION, UPDATE, requested, used};
use it::eventually;
use std::io;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_beyond_the_window_is_told_3004_and_takes_nothing_and_may_be_sent_again() {
    const WINDOW: usize = 8;
    const AT_ONCE: usize = 500;
    let ocs = Ocs::start(&format!("window = {WINDOW}"), "").await;
    ocs.fund(ANN, 10_000).await;
    let mut client = ocs.client("eager.client.test");
    let mut unanswered: Vec<_> = (0..AT_ONCE).map(|_| client.debit(ANN, 1)).collect();
    let (mut busy, mut rounds) = (0, 0);
    while !unanswered.is_empty() {
        rounds += 1;
        assert!(rounds < 10_000, "{} are refused each time", unanswered.len());
        let octets: Vec<u8> = unanswered.iter().flat_map(|draft| draft.octets()).collect();
        client.send(&octets);
        let mut again = Vec::new();
        for _ in 0..unanswered.len() {
            let answer = client.answer();
            let hop_by_hop = answer.message().header.hop_by_hop;
            let place = unanswered.iter().position(|draft| draft.header.hop_by_hop == hop_by_hop).unwrap();
            answer.assert_answers(&unanswered[place].octets());
            match answer.code() {
                2001 => {}
                3004 => {
                    busy += 1;
                    again.push(unanswered[place].clone());
                }
                code => panic!("{code}: {answer:?}"),
            }
        }
        unanswered = again;
    }
    assert!(busy > 0, "{AT_ONCE} at once fit into a window of {WINDOW}");
    assert_eq!(ocs.money(ANN).await, (10_000 - AT_ONCE as i64, 0, AT_ONCE as i64));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_falls_silent_loses_its_connection_and_nothing_else() {
    let ocs = Ocs::start("watchdog = \"6s\"", "validity = \"10m\"").await;
    ocs.fund(ANN, 100).await;
    let name = "silent.client.test";
    let mut client = ocs.client(name);
    let session = client.fresh_session();
    let initial = client.initial(&session, ANN, 20);
    assert_eq!(client.ask(&initial).code(), 2001);
    let last = client.credit(&session, UPDATE, 1).with(|writer| {
        used(writer, 5);
        requested(writer, 20);
    });
    // It is carried out, and the answer is never read.
    client.send(&last.octets());
    let began = Instant::now();
    let (mut asked, mut answers) = (0, Vec::new());
    let end = loop {
        match client.try_hear() {
            Ok(heard) if !heard.message().header.flags.is_request() => answers.push(heard),
            Ok(heard) => {
                assert_eq!(heard.message().header.command, command::DEVICE_WATCHDOG);
                asked += 1;
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(end.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset), "{end:?}");
    // Twice Tw, less and more by its jitter (RFC 3539).
    assert!((Duration::from_secs(7)..Duration::from_secs(60)).contains(&began.elapsed()), "{began:?}");
    assert!(asked >= 1);
    assert_eq!((answers.len(), answers[0].code()), (1, 2001));
    // It comes back, asks the same again, and goes on.
    let mut client = ocs.client(name);
    let again = client.ask(&last);
    assert_eq!((again.code(), again.lasting()), (2001, answers[0].lasting()));
    assert_eq!(ocs.money(ANN).await, (95, 20, 5));
    let end = client.credit(&session, TERMINATION, 2).with(|writer| used(writer, 1));
    assert_eq!(client.ask(&end).code(), 2001);
    assert_eq!(ocs.money(ANN).await, (94, 0, 6));
}

/// Octets of memory that a process has.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1_024
}

/// Begins so many sessions that nobody ends, and waits until what they held is free.
async fn abandon(ocs: &Ocs, client: &mut CreditClient, sessions: usize) {
    const DEPTH: usize = 500;
    for _ in 0..sessions / DEPTH {
        let mut octets = Vec::new();
        for _ in 0..DEPTH {
            let session = client.fresh_session();
            octets.extend_from_slice(&client.initial(&session, ANN, 1).octets());
        }
        client.send(&octets);
        for _ in 0..DEPTH {
            let answer = client.answer();
            assert_eq!((answer.code(), answer.find(avp::VALIDITY_TIME).unwrap().u32()), (2001, Ok(1)));
        }
    }
    eventually("all is given back", PATIENCE, async || match ocs.money(ANN).await {
        (_, 0, 0) => Ok(()),
        money => Err(format!("{money:?}")),
    })
    .await;
    let page = ocs.server.api().get(&format!("/api/v1/credit-sessions?account=e164:{ANN}")).await.expect(200);
    assert_eq!(page["items"], serde_json::json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_of_ten_thousand_abandoned_sessions_is_used_again() {
    const SESSIONS: usize = 10_000;
    const ROUNDS: usize = 4;
    // What a session, its names and its place in the tables of duplicates may take, with room for an
    // allocator's habits.
    const EACH_MAX: u64 = 1_000;
    let ocs = Ocs::start("", "validity = \"1s\"").await;
    ocs.fund(ANN, 1_000_000).await;
    let mut client = ocs.client("forgetful.client.test");
    let pid = ocs.server.pid().unwrap();
    // The first round makes what stays: tables, buffers, threads' stacks.
    abandon(&ocs, &mut client, SESSIONS).await;
    let after_one = memory(pid);
    for _ in 1..ROUNDS {
        abandon(&ocs, &mut client, SESSIONS).await;
    }
    let grown = memory(pid).saturating_sub(after_one);
    println!("after {SESSIONS} sessions {after_one} octets, {grown} more after {ROUNDS} times as many");
    // A leak of the sessions themselves would show as three times theirs.
    assert!(grown < SESSIONS as u64 * EACH_MAX, "{grown} octets more");
    client.works(ANN);
}
