//! Tests of a store for several processes alone.

use super::super::link::lend;
use super::super::{Postgres, SharedStore};
use super::{PostgresOptions, PostgresServer, fresh, open};
use crate::conformance::alerts::accept;
use crate::conformance::audit;
use crate::conformance::leases::{holder, taken_when_over};
use crate::conformance::recipients::{members, scan};
use crate::conformance::{ACCOUNT, alert, deliveries, member, person};
use crate::{Fence, Groups, LeaseTaken, Leases, Recipients, Store, StoreError};
use records::{Recipient, Timestamp};
use std::time::{Duration, Instant};

const NOW: Timestamp = Timestamp(1);
/// Outlasts any test.
const LONG: Duration = Duration::from_secs(3_600);
/// Is over at once.
const SHORT: Duration = Duration::from_micros(1);
/// What does not come true within this never will.
const WITHIN: Duration = Duration::from_secs(180);

/// The name of a database, out of its URL.
pub(super) fn name_of(url: &str) -> &str {
    url.rsplit_once('/').unwrap().1
}

/// Asks the server until it says so.
async fn until(url: &str, sql: &str, expected: &str) {
    let begin = Instant::now();
    loop {
        let found = PostgresServer::shared().sql(name_of(url), sql);
        if found == expected {
            return;
        }
        assert!(begin.elapsed() < WITHIN, "{sql}: {found}, expected {expected}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn people(count: usize, name: &str) -> Vec<Recipient> {
    (0..count)
        .map(|n| Recipient { groups: vec!["g".to_owned()], ..person(&format!("{n:06}"), name) })
        .collect()
}

async fn import(store: &dyn Store, rows: Vec<Recipient>) -> Result<u64, StoreError> {
    let import = store.begin_import(ACCOUNT, NOW).await?;
    store.stage(import, rows).await?;
    store.publish_import(import).await
}

#[tokio::test]
async fn several_processes_append_to_one_chain_of_the_audit_trail() {
    let url = PostgresServer::shared().create_database();
    let stores: Vec<SharedStore> = (0..3).map(|_| open(&url, &PostgresOptions::default()).unwrap()).collect();
    let person = Some("ann".to_owned());
    let about = crate::Act { object: "ann".to_owned(), person, ..audit::act(1, ACCOUNT) };
    let noting = (0..240_i64).zip(stores.iter().cycle()).map(|(n, store)| {
        let about = about.clone();
        async move {
            match n % 40 {
                0 => store.forget_person(ACCOUNT, "ann", NOW).await.map(drop).unwrap(),
                39 => store.retain_acts(Timestamp(i64::MAX), NOW, audit::KEY).await.map(drop).unwrap(),
                _ => store.note_act(about).await.map(drop).unwrap(),
            }
        }
    });
    futures_util::future::join_all(noting).await;
    let verdict = crate::audit::verify(&*stores[0], &audit::KEY, None).await.unwrap();
    assert!(verdict.holds(), "{verdict:?}");
    let head = stores[2].audit_head().await.unwrap();
    assert_eq!(verdict.head, head.text());
    assert!(head.seq >= 1 + 228 + 6, "each act, and each dropping, has a link of its own: {head:?}");
}

#[tokio::test]
async fn entries_from_before_the_chain_are_its_first_links() {
    let url = PostgresServer::shared().create_database();
    for sql in [
        include_str!("../../../migrations/postgres/0001_first.sql"),
        include_str!("../../../migrations/postgres/0002_ledger.sql"),
        "CREATE TABLE campanile (form INTEGER NOT NULL); INSERT INTO campanile VALUES (2); \
         INSERT INTO accounts (id) VALUES ('a'); \
         INSERT INTO acts (at, account, token, verb, object, detail) \
         SELECT n, 1, 't', 'recipient.put', 'ann', '' FROM generate_series(1, 2500) AS n",
    ] {
        PostgresServer::shared().sql(name_of(&url), sql);
    }
    let store = open(&url, &PostgresOptions::default()).unwrap();
    assert_eq!(store.audit_head().await.unwrap().seq, 2_501);
    assert_eq!(store.forget_person("a", "ann", NOW).await.unwrap(), 2_500);
    let verdict = crate::audit::verify(&*store, &audit::KEY, None).await.unwrap();
    assert!(verdict.holds() && verdict.erased == 2_500, "{verdict:?}");
}

#[tokio::test]
async fn several_who_open_a_new_database_at_once_make_it_once() {
    let url = PostgresServer::shared().create_database();
    let opening: Vec<_> = (0..6)
        .map(|_| {
            let url = url.clone();
            std::thread::spawn(move || open(&url, &PostgresOptions::default()).unwrap())
        })
        .collect();
    let stores: Vec<SharedStore> = opening.into_iter().map(|opening| opening.join().unwrap()).collect();
    let house = stores[0].house().await.unwrap();
    for (n, store) in (1..).zip(&stores) {
        assert_eq!(store.house().await.unwrap(), house);
        assert_eq!(accept(&**store, n).await.0, n as u64);
    }
    let tokens = (1..=6_u8).zip(&stores).map(|(n, store)| {
        store.put_first_token(crate::conformance::others::token(&n.to_string(), n, ACCOUNT))
    });
    let first = futures_util::future::join_all(tokens).await;
    assert_eq!(first.iter().filter(|put| **put == Ok(true)).count(), 1, "{first:?}");
    assert_ne!(fresh(&PostgresOptions::default()).house().await.unwrap(), house);
}

#[tokio::test]
async fn a_database_that_is_not_ours_is_refused_in_words() {
    let server = PostgresServer::shared();
    let (other, newer) = (server.create_database(), server.create_database());
    server.sql(name_of(&other), "CREATE TABLE recipients (id TEXT)");
    drop(open(&newer, &PostgresOptions::default()).unwrap());
    server.sql(name_of(&newer), "UPDATE campanile SET form = 4711");
    server.sql("postgres", "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0");
    let cases = [
        (other, "the database belongs to another program"),
        (
            newer,
            "the database was written by a newer version of campanile: its form is 4711, this one reads forms up to",
        ),
        (server.url("ascii"), "the database's encoding is SQL_ASCII"),
    ];
    for (url, expected) in cases {
        match open(&url, &PostgresOptions::default()).err() {
            Some(StoreError::Conflict { why }) => assert!(why.starts_with(expected), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    let absent = open(&server.url("absent"), &PostgresOptions::default()).err();
    assert!(matches!(absent, Some(StoreError::Database { .. })), "{absent:?}");
}

#[tokio::test]
async fn every_row_has_its_account() {
    let url = PostgresServer::shared().create_database();
    let _store = open(&url, &PostgresOptions::default()).unwrap();
    let without = "SELECT string_agg(tablename, ' ' ORDER BY tablename COLLATE \"C\") FROM pg_tables \
         WHERE schemaname = 'public' AND NOT EXISTS (SELECT FROM information_schema.columns \
         WHERE table_name = tablename AND column_name = 'account')";
    // The accounts themselves, and what belongs to the server: the ledger's blocks are each shard's, of all
    // its accounts.
    let expected = "accounts audit_head campanile counters folds house leases \
         ledger ledger_blocks ledger_shards ledger_snapshots names";
    assert_eq!(PostgresServer::shared().sql(name_of(&url), without), expected);
}

/// A writer that has begun and does not go on, under a lease.
#[tokio::test]
async fn a_lease_is_renewed_beside_a_writer_and_changes_hands_after_it() {
    let url = PostgresServer::shared().create_database();
    let store =
        Postgres::open(&url, &PostgresOptions { patience: WITHIN, ..PostgresOptions::default() }).unwrap();
    let LeaseTaken::Ours { epoch } = store.take_lease("engine", &holder("a"), LONG).await.unwrap() else {
        panic!("nobody else has it");
    };
    let fence = Fence { lease: "engine".to_owned(), epoch };
    let writer = lend(&store.pools.general).await.unwrap();
    writer.begin("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0", Some(&fence)).await.unwrap();
    for lasts in [LONG, SHORT] {
        let renewed = store.take_lease("engine", &holder("a"), lasts).await.unwrap();
        assert_eq!(renewed, LeaseTaken::Ours { epoch });
    }
    let taking = taken_when_over(&store, "b");
    let writing = async {
        let waits = "SELECT count(*) > 0 FROM pg_stat_activity \
             WHERE datname = current_database() AND wait_event_type = 'Lock'";
        until(&url, waits, "t").await;
        writer.simple("INSERT INTO folds VALUES ('x', 7); COMMIT").await.unwrap();
    };
    let (later, ()) = futures_util::future::join(taking, writing).await;
    assert!(later > epoch);
    assert_eq!(PostgresServer::shared().sql(name_of(&url), "SELECT folded_to FROM folds"), "7");
    let refused = writer.begin("BEGIN", Some(&fence)).await;
    assert!(refused.is_err(), "the lease is another's");
    writer.spend();
}

#[tokio::test]
async fn a_writer_that_stands_still_does_not_keep_its_lease_for_ever() {
    let url = PostgresServer::shared().create_database();
    let store =
        Postgres::open(&url, &PostgresOptions { patience: WITHIN, ..PostgresOptions::default() }).unwrap();
    let LeaseTaken::Ours { epoch } = store.take_lease("engine", &holder("a"), SHORT).await.unwrap() else {
        panic!("nobody else has it");
    };
    let fence = Fence { lease: "engine".to_owned(), epoch };
    let still = lend(&store.pools.general).await.unwrap();
    still.begin("BEGIN", Some(&fence)).await.unwrap();
    still.simple("INSERT INTO folds VALUES ('x', 7)").await.unwrap();
    assert!(taken_when_over(&store, "b").await > epoch);
    assert!(still.simple("COMMIT").await.is_err(), "the server ended it");
    assert_eq!(PostgresServer::shared().sql(name_of(&url), "SELECT count(*) FROM folds"), "0");
}

#[tokio::test]
async fn of_many_puts_of_one_recipient_by_several_processes_one_stands_whole() {
    let url = PostgresServer::shared().create_database();
    let stores: Vec<SharedStore> = (0..3).map(|_| open(&url, &PostgresOptions::default()).unwrap()).collect();
    let groups: Vec<String> = (0..30).map(|n| format!("g{n}")).collect();
    let puts = groups.iter().zip(stores.iter().cycle()).map(|(group, store)| async move {
        store
            .put_recipients(ACCOUNT, vec![member("1", &[group, "all"]), member("2", &[group])])
            .await
            .unwrap();
        import(&**store, vec![member("3", &[group])]).await.unwrap();
        store.delete_recipient(ACCOUNT, "4").await.unwrap();
    });
    futures_util::future::join_all(puts).await;
    for id in ["1", "2", "3"] {
        let (stands, _) = stores[0].recipient(ACCOUNT, id).await.unwrap().unwrap();
        for group in &groups {
            let named = members(&*stores[1], &[group.as_str()]).await.contains(&id.to_owned());
            assert_eq!(named, stands.groups.contains(group), "{id} in {group}");
        }
    }
    assert_eq!(scan(&*stores[2], ACCOUNT), ["1", "2", "3"]);
}

#[tokio::test]
async fn numbers_of_alerts_are_dense_over_several_processes() {
    let url = PostgresServer::shared().create_database();
    let stores: Vec<SharedStore> = (0..3).map(|_| open(&url, &PostgresOptions::default()).unwrap()).collect();
    // Every third has an id that is taken.
    let ids = (0..90_u128).map(|n| if n % 3 == 0 { 1 } else { 100 + n });
    let accepted = ids.zip(stores.iter().cycle()).map(|(n, store)| store.accept_alert(alert(n), None));
    let accepted = futures_util::future::join_all(accepted).await;
    assert_eq!(accepted.iter().filter(|accepted| accepted.is_ok()).count(), 61);
    let listed = stores[0].alerts_before(ACCOUNT, None, 100).await.unwrap();
    let numbers: Vec<u64> = listed.iter().map(|alert| alert.no.0).rev().collect();
    assert_eq!(numbers, (1..=61).collect::<Vec<u64>>());
}

#[tokio::test]
async fn the_sweep_leaves_one_version_of_each_recipient() {
    let url = PostgresServer::shared().create_database();
    let store = open(&url, &PostgresOptions::default()).unwrap();
    store.put_recipients(ACCOUNT, vec![member("000001", &["old"]), member("x", &["old"])]).await.unwrap();
    for round in ["1", "2", "3"] {
        import(&*store, people(9_000, round)).await.unwrap();
    }
    let staged = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(staged, people(1, "staged")).await.unwrap();
    let left = "SELECT (SELECT count(*) FROM recipients), (SELECT count(*) FROM memberships), \
         (SELECT count(*) FROM imports)";
    until(&url, left, "9001|27002|1").await;
    assert_eq!(store.recipient(ACCOUNT, "000001").await.unwrap().unwrap().0.name, "3");
    assert_eq!(members(&*store, &["old"]).await, ["x"]);
    assert_eq!(store.publish_import(staged).await.unwrap(), 1);
    until(&url, left, "9001|27002|0").await;
    assert_eq!(store.recipient(ACCOUNT, "000000").await.unwrap().unwrap().0.name, "staged");
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 9_001);
}

#[tokio::test]
async fn an_import_whose_process_is_gone_is_swept_up_by_another() {
    let url = PostgresServer::shared().create_database();
    let gone = open(&url, &PostgresOptions { sweep: false, ..PostgresOptions::default() }).unwrap();
    gone.put_recipients(ACCOUNT, vec![person("1", "put")]).await.unwrap();
    let import = gone.begin_import(ACCOUNT, NOW).await.unwrap();
    drop(gone);
    // As it would be if the process had ended while it wrote.
    let server = PostgresServer::shared();
    server.sql(
        name_of(&url),
        "INSERT INTO recipients SELECT account, '2', generation, 1, '{g}', '' FROM imports; \
         INSERT INTO memberships SELECT account, 'g', '2', generation FROM imports",
    );
    let store = open(&url, &PostgresOptions::default()).unwrap();
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 1);
    assert!(!store.group_exists(ACCOUNT, "g").await.unwrap());
    server.sql(name_of(&url), "UPDATE imports SET seen = now() - interval '11 minutes'");
    let other = open(&url, &PostgresOptions::default()).unwrap(); // which looks at once
    let left = "SELECT (SELECT count(*) FROM recipients), (SELECT count(*) FROM memberships), \
         (SELECT count(*) FROM imports)";
    until(&url, left, "1|2|0").await;
    let refused = other.publish_import(import).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
}

#[tokio::test]
async fn who_goes_through_many_rows_does_not_hold_up_an_alert() {
    let store = fresh(&PostgresOptions { connections: 2, ..PostgresOptions::default() });
    store.put_recipients(ACCOUNT, people(300, "")).await.unwrap();
    let no = accept(&*store, 1).await;
    store.fold(deliveries::some(no, 0..20_000), 1).await.unwrap();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
    let reading = SharedStore::clone(&store);
    let reader = std::thread::spawn(move || {
        let (mut begun, mut seen) = (Some(begun), 0);
        let each = &mut |slice: &[records::Delivery]| {
            if let Some(begun) = begun.take() {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
            }
            seen += slice.len();
            true
        };
        reading.scan_deliveries(no, each).unwrap();
        seen
    });
    has_begun.await.unwrap();
    accept(&*store, 2).await;
    assert_eq!(store.put_recipients(ACCOUNT, people(10, "new")).await.unwrap().len(), 10);
    go_on.send(()).unwrap();
    assert_eq!(reader.join().unwrap(), 20_000);
    let none = Recipients::recipient_count(&*store, "nobody").await.unwrap();
    assert_eq!((none, Groups::group(&*store, "nobody", "g").await.unwrap()), (0, None));
}

#[tokio::test]
async fn a_callback_that_panics_takes_nothing_with_it() {
    let store = fresh(&PostgresOptions { connections: 2, ..PostgresOptions::default() });
    store.put_recipients(ACCOUNT, people(300, "")).await.unwrap();
    for _ in 0..4 {
        let reading = SharedStore::clone(&store);
        let reader =
            std::thread::spawn(move || reading.scan_recipients(ACCOUNT, &mut |_| panic!("on purpose")));
        assert!(reader.join().is_err());
    }
    assert_eq!(scan(&*store, ACCOUNT).len(), 300);
}

#[tokio::test]
async fn what_was_asked_before_closing_is_answered_truly() {
    let url = PostgresServer::shared().create_database();
    let store = open(&url, &PostgresOptions::default()).unwrap();
    let asked: Vec<_> = (1..100)
        .map(|n| {
            let store = SharedStore::clone(&store);
            tokio::spawn(async move { store.accept_alert(alert(n), None).await })
        })
        .collect();
    tokio::task::yield_now().await;
    store.close().await.unwrap();
    store.close().await.unwrap();
    let mut accepted = 0;
    for answer in asked {
        match answer.await.unwrap() {
            Ok(_) => accepted += 1,
            Err(error) => assert_eq!(error, StoreError::Closed),
        }
    }
    assert_eq!(store.folded_to().await, Err(StoreError::Closed));
    assert_eq!(store.scan_recipients(ACCOUNT, &mut |_| true), Err(StoreError::Closed));
    drop(store);
    let store = open(&url, &PostgresOptions::default()).unwrap();
    assert_eq!(store.alerts_before(ACCOUNT, None, 1_000).await.unwrap().len(), accepted);
}

#[tokio::test]
async fn a_damaged_row_is_named_and_the_others_are_read() {
    let url = PostgresServer::shared().create_database();
    let store = open(&url, &PostgresOptions::default()).unwrap();
    store.put_recipients(ACCOUNT, people(3, "")).await.unwrap();
    let no = accept(&*store, 1).await;
    let damage =
        "UPDATE recipients SET body = '\\xff00' WHERE id = '000001'; UPDATE alerts SET state = 'nowhere'";
    PostgresServer::shared().sql(name_of(&url), damage);
    assert!(store.recipient(ACCOUNT, "000002").await.unwrap().is_some());
    let damaged = [
        store.recipient(ACCOUNT, "000001").await.map(|_| ()),
        store.scan_recipients(ACCOUNT, &mut |_| true),
        store.alert_by_no(no).await.map(|_| ()),
    ];
    for damaged in damaged {
        assert!(matches!(damaged, Err(StoreError::Damaged { .. })), "{damaged:?}");
    }
}

#[tokio::test]
async fn what_postgresql_cannot_keep_is_kept_otherwise() {
    let store = fresh(&PostgresOptions::default());
    let no = accept(&*store, 1).await;
    let mut rows = deliveries::some(no, 0..1);
    rows[0].detail = "a\0b".to_owned();
    store.fold(rows, 1).await.unwrap();
    assert_eq!(deliveries::scan(&*store, no)[0].detail, "a\u{fffd}b");
}
