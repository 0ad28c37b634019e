//! A server that is away.

use super::{PostgresOptions, PostgresServer, open};
use crate::conformance::alerts::accept;
use crate::conformance::{ACCOUNT, alert, person};
use crate::{Accepted, SharedStore, StoreError};
use records::{AlertState, EndpointNo, Timestamp};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};

/// A server that one test at a time may take away.
pub(super) async fn alone() -> MutexGuard<'static, PostgresServer> {
    static ALONE: OnceLock<Mutex<PostgresServer>> = OnceLock::new();
    ALONE.get_or_init(|| Mutex::new(PostgresServer::start())).lock().await
}

/// Of a store that is to say soon that the server is away.
fn impatient() -> PostgresOptions {
    let (answer_within, patience) = (Duration::from_secs(1), Duration::from_millis(200));
    PostgresOptions { answer_within, patience, ..PostgresOptions::default() }
}

async fn all_unreachable(store: &SharedStore, no: records::AlertNo) {
    let reading = SharedStore::clone(store);
    let read = tokio::task::spawn_blocking(move || {
        let each = &mut |_: &[records::Recipient]| true;
        [reading.scan_recipients(ACCOUNT, each), reading.roster_block(no, EndpointNo(0)).map(|_| ())]
    });
    let (accepted, found, moved, put, held) = tokio::join!(
        store.accept_alert(alert(99), None),
        store.alert_by_no(no),
        store.set_alert_state(no, AlertState::Running, 2, "", Timestamp(1)),
        store.put_recipients(ACCOUNT, vec![person("1", "")]),
        store.lease_holder("engine"),
    );
    let asked = [accepted.map(|_| ()), found.map(|_| ()), moved, put.map(|_| ()), held.map(|_| ())];
    for (n, away) in asked.into_iter().chain(read.await.unwrap()).enumerate() {
        assert!(matches!(away, Err(StoreError::Unreachable { .. })), "{n}: {away:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_gone_is_said_to_be_and_found_again() {
    let server = alone().await;
    let url = server.create_database();
    let store = open(&url, &PostgresOptions::default()).unwrap();
    let soon = open(&url, &impatient());
    let no = accept(&*store, 1).await;
    server.kill();
    // One that was open before; a machine that stalls may have kept it from opening.
    if let Ok(soon) = soon {
        all_unreachable(&soon, no).await;
    }
    assert!(matches!(open(&url, &impatient()).err(), Some(StoreError::Unreachable { .. })));
    server.restart();
    assert!(store.alert_by_no(no).await.unwrap().is_some());
    assert!(accept(&*store, 2).await > no);
}

#[tokio::test]
async fn a_server_that_stands_still_is_said_to_be_away_and_found_again() {
    let server = alone().await;
    let url = server.create_database();
    let store = open(&url, &PostgresOptions::default()).unwrap();
    let no = accept(&*store, 1).await;
    let soon = open(&url, &impatient());
    server.pause();
    if let Ok(soon) = &soon {
        all_unreachable(soon, no).await;
    }
    server.resume();
    assert_eq!(store.alert_by_no(no).await.unwrap().unwrap().no, no);
    let mut n = 2;
    while accept(&*store, n).await.0 < 5 {
        n += 1;
    }
}

/// Whatever was under way when the server went: an alert whose answer was lost is not accepted a second time.
#[tokio::test]
async fn alerts_that_come_while_the_server_restarts_are_accepted_once() {
    const ALERTS: u128 = 60;
    let server = alone().await;
    let url = server.create_database();
    let patient = PostgresOptions { patience: Duration::from_secs(300), ..PostgresOptions::default() };
    let store = open(&url, &patient).unwrap();
    let (asked, mut going) = tokio::sync::mpsc::channel::<()>(256);
    let asking: Vec<_> = (1..=ALERTS)
        .map(|n| {
            let (store, asked) = (SharedStore::clone(&store), asked.clone());
            tokio::spawn(async move {
                let key = crate::IdempotencyKey {
                    key: format!("k{n}"),
                    body_hash: [7; 32],
                    of: crate::KeyOwner::Token,
                };
                let accepted = store.accept_alert(alert(n), (n % 2 == 0).then_some(key)).await;
                asked.send(()).await.unwrap();
                accepted
            })
        })
        .collect();
    for _ in 0..3 {
        // Some have been answered since it was last there.
        for _ in 0..5 {
            going.recv().await.unwrap();
        }
        server.kill();
        server.restart();
    }
    drop(asked);
    while going.recv().await.is_some() {}
    for accepted in asking {
        let accepted = accepted.await.unwrap();
        assert!(matches!(accepted, Ok(Accepted::New(_))), "{accepted:?}");
    }
    let mut numbers: Vec<u64> =
        store.alerts_before(ACCOUNT, None, 1_000).await.unwrap().iter().map(|alert| alert.no.0).collect();
    numbers.reverse();
    assert_eq!(numbers, (1..=ALERTS as u64).collect::<Vec<u64>>());
}
