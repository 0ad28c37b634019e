//! Against the simulated server: what is counted, repeated, refused and lost.

use super::super::{Ocs, Options as OcsOptions, Stats};
use super::{Options, Report, drill};
use std::collections::BTreeMap;
use std::time::Duration;

async fn server(change: impl FnOnce(&mut OcsOptions)) -> Ocs {
    let mut options = OcsOptions::default();
    change(&mut options);
    Ocs::start(options).await.unwrap()
}

async fn run(ocs: &Ocs, script: &str, change: impl FnOnce(&mut Options)) -> Report {
    let connect = ocs.address().to_string();
    let mut options = Options { connect, script: script.parse().unwrap(), ..Options::default() };
    change(&mut options);
    drill(options).await.unwrap()
}

fn codes(all: &[(u32, u64)]) -> BTreeMap<u32, u64> {
    all.iter().copied().collect()
}

#[tokio::test]
async fn many_sessions_at_once_follow_the_script_and_what_they_use_is_what_the_server_took() {
    let ocs = server(|_| {}).await;
    let report = run(&ocs, "I5 = U3/7 = T4 = E2 =", |options| {
        (options.sessions, options.at_once, options.subscribers) = (200, 16, 10);
    })
    .await;
    assert_eq!((report.sessions, report.requests, report.unanswered), (200, 1_600, 0));
    assert_eq!(report.answers, codes(&[(2001, 1_600)]));
    assert_eq!((report.alike, report.unlike, report.problem()), (800, 0, None));
    assert_eq!((report.granted, report.used), (200 * (5 + 7 + 2), 200 * (3 + 4 + 2)));
    let stats = ocs.stats();
    let expected = Stats { requests: 1_600, duplicates: 800, used: report.used, ..Stats::default() };
    assert_eq!(stats, expected);
}

#[tokio::test]
async fn nobody_uses_more_than_was_granted_and_who_is_refused_ends_the_session() {
    let ocs = server(|options| options.balance = 8).await;
    let report = run(&ocs, "I5 U5/5 U5/5 T5 E1", |_| {}).await;
    // 5 are granted and used, then the last 3, then none: the session is ended, and what stands behind it is not asked.
    assert_eq!(report.answers, codes(&[(2001, 3), (4012, 1)]));
    assert_eq!((report.granted, report.sessions), (8, 1));
    assert_eq!((ocs.stats().used, ocs.stats().reserved), (8, 0));
}

#[tokio::test]
async fn what_is_not_answered_is_counted_and_told() {
    let ocs = server(|options| options.lost = 1.0).await;
    let report = run(&ocs, "E1 =", |options| options.tx = Duration::from_millis(50)).await;
    assert_eq!((report.sessions, report.requests, report.unanswered), (1, 2, 2));
    assert!(report.problem().unwrap().contains("2 requests"), "{report:?}");
    assert_eq!(ocs.stats().used, 1, "it was asked again with the same words");
}

#[tokio::test]
async fn sessions_begin_no_faster_than_they_are_told_to() {
    let ocs = server(|_| {}).await;
    let report = run(&ocs, "E1", |options| {
        (options.sessions, options.at_once, options.rate) = (5, 5, Some(20.0));
    })
    .await;
    assert_eq!(report.answers, codes(&[(2001, 5)]));
    assert!(report.took >= Duration::from_millis(200), "{:?}", report.took);
}

#[tokio::test]
async fn options_that_cannot_be_are_named_and_who_is_not_there_is_told() {
    for (options, named) in [
        (Options { sessions: 0, ..Options::default() }, "sessions"),
        (Options { at_once: 0, ..Options::default() }, "at_once"),
        (Options { rate: Some(0.0), ..Options::default() }, "rate"),
        (Options { subscribers: 0, ..Options::default() }, "subscribers"),
        (Options { subscriber: u64::MAX, ..Options::default() }, "subscribers"),
        (Options { tx: Duration::ZERO, ..Options::default() }, "tx"),
        (Options { origin_realm: String::new(), ..Options::default() }, "origin_host"),
    ] {
        let error = options.check().unwrap_err();
        assert!(error.starts_with(named), "{error}");
    }
    let ocs = server(|_| {}).await;
    let connect = ocs.address().to_string();
    drop(ocs);
    tokio::task::yield_now().await;
    let error = drill(Options { connect: connect.clone(), ..Options::default() }).await.unwrap_err();
    assert!(error.to_string().contains(&connect), "{error}");
}
