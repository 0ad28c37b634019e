//! Tests of SQLite alone: its file, its threads, its limits.

use super::super::{Sqlite, open};
use super::{folder, fresh};
use crate::conformance::alerts::accept;
use crate::conformance::recipients::{members, scan};
use crate::conformance::{ACCOUNT, alert, deliveries, member, person};
use crate::sqlite::SqliteOptions;
use crate::{Accepted, Recipients, SharedStore, Store, StoreError};
use records::{Alert, AlertState, Recipient, Timestamp};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Mutex;

const NOW: Timestamp = Timestamp(1);

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
async fn an_alert_is_not_queued_behind_an_import() {
    const ROWS: usize = 30_000;
    let (_folder, store) = fresh(&SqliteOptions::default());
    let import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(import, people(ROWS, "")).await.unwrap();
    let order = Mutex::new(Vec::new());
    let publish = async {
        store.publish_import(import).await.unwrap();
        order.lock().unwrap().push("import");
    };
    let alerts = async {
        while store.import_progress(import).is_some_and(|(_, written)| written == 0) {
            tokio::task::yield_now().await;
        }
        accept(&*store, 1).await;
        let (_, written) = store.import_progress(import).expect("the import goes on");
        assert!(written < ROWS as u64, "{written}");
        order.lock().unwrap().push("alert");
    };
    futures_util::future::join(publish, alerts).await;
    assert_eq!(*order.lock().unwrap(), ["alert", "import"]);
}

#[tokio::test]
async fn a_refused_change_does_not_touch_its_neighbours() {
    let (_folder, store) = fresh(&SqliteOptions::default());
    accept(&*store, 1).await;
    // All wait at once, so that they share a batch; every third has an id that is taken.
    let all = (0..90_u128).map(|n| store.accept_alert(alert(if n % 3 == 0 { 1 } else { 100 + n }), None));
    let results = futures_util::future::join_all(all).await;
    for (n, result) in results.iter().enumerate() {
        match result {
            Ok(Accepted::New(_)) => assert_ne!(n % 3, 0),
            Err(StoreError::Conflict { .. }) => assert_eq!(n % 3, 0),
            other => panic!("{other:?}"),
        }
    }
    let mut numbers: Vec<u64> =
        store.alerts_before(ACCOUNT, None, 100).await.unwrap().iter().map(|alert| alert.no.0).collect();
    numbers.reverse();
    assert_eq!(numbers, (1..=61).collect::<Vec<u64>>());
}

/// The files as they would be found after the machine stopped now. Nothing may be writing.
fn copy_of_files(from: &Path) -> tempfile::TempDir {
    let copy = folder();
    for name in ["test.db", "test.db-wal"] {
        std::fs::copy(from.join(name), copy.path().join(name)).unwrap();
    }
    copy
}

#[tokio::test]
async fn after_a_crash_all_that_was_answered_is_there_and_staged_rows_are_not() {
    let (folder, store) = fresh(&SqliteOptions { sweep: false, ..SqliteOptions::default() });
    store.put_recipients(ACCOUNT, people(10, "put")).await.unwrap();
    import(&*store, people(5, "first")).await.unwrap();
    let staged = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(staged, people(20, "staged")).await.unwrap();
    let no = accept(&*store, 1).await;
    store.fold(deliveries::some(no, 0..50), 7).await.unwrap();
    store.set_alert_state(no, AlertState::Running, 2, "", NOW).await.unwrap();

    let copy = copy_of_files(folder.path());
    let again = open(&copy.path().join("test.db"), &SqliteOptions::default()).unwrap();
    assert_eq!(scan(&*again, ACCOUNT).len(), 10);
    assert_eq!(again.recipient(ACCOUNT, "000004").await.unwrap().unwrap().0.name, "first");
    assert_eq!(again.recipient(ACCOUNT, "000005").await.unwrap().unwrap().0.name, "put");
    assert_eq!(again.alert_by_no(no).await.unwrap().unwrap().state, AlertState::Running);
    assert_eq!(deliveries::scan(&*again, no), deliveries::some(no, 0..50));
    assert_eq!(again.folded_to().await.unwrap(), 7);
    let refused = again.publish_import(staged).await;
    assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    assert_eq!(accept(&*again, 2).await.0, no.0 + 1);
}

#[tokio::test]
async fn an_import_cut_short_while_it_is_written_is_swept_up_at_the_next_start() {
    let folder = folder();
    let file = folder.path().join("test.db");
    let store = open(&file, &SqliteOptions::default()).unwrap();
    store.put_recipients(ACCOUNT, people(3, "put")).await.unwrap();
    let import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(import, people(30_000, "import")).await.unwrap();
    let publishing = tokio::spawn({
        let store = SharedStore::clone(&store);
        async move { store.publish_import(import).await }
    });
    while store.import_progress(import).is_some_and(|(_, written)| written == 0) {
        tokio::task::yield_now().await;
    }
    store.close().await.unwrap();
    assert_eq!(publishing.await.unwrap(), Err(StoreError::Closed));
    drop(store);
    assert!(count(&file, "recipients") > 3, "some rows were written");

    let store = Sqlite::open(&file, &SqliteOptions::default()).unwrap();
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 3);
    store.sweep.wait_until_done();
    assert_eq!([count(&file, "recipients"), count(&file, "memberships"), count(&file, "imports")], [3, 9, 0]);
}

#[tokio::test]
async fn the_sweep_leaves_one_version_of_each_recipient() {
    let folder = folder();
    let file = folder.path().join("test.db");
    let store = Sqlite::open(&file, &SqliteOptions::default()).unwrap();
    store.put_recipients(ACCOUNT, vec![member("000001", &["old"]), member("x", &["old"])]).await.unwrap();
    for round in ["1", "2", "3"] {
        import(&store, people(5_000, round)).await.unwrap();
    }
    let given_up = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(given_up, people(10, "no")).await.unwrap();
    store.abandon_import(given_up).await.unwrap();
    let staged = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(staged, people(1, "staged")).await.unwrap();
    store.sweep.wait_until_done();
    assert_eq!(
        [count(&file, "recipients"), count(&file, "memberships"), count(&file, "imports")],
        [5_001, 15_002, 1]
    );
    assert_eq!(store.recipient(ACCOUNT, "000001").await.unwrap().unwrap().0.name, "3");
    assert_eq!(members(&store, &["old"]).await, ["x"]);
    assert_eq!(store.publish_import(staged).await.unwrap(), 1);
    store.sweep.wait_until_done();
    assert_eq!(store.recipient(ACCOUNT, "000000").await.unwrap().unwrap().0.name, "staged");
    assert_eq!([count(&file, "recipients"), count(&file, "imports")], [5_001, 0]);
}

fn count(file: &Path, table: &str) -> i64 {
    let connection = Connection::open(file).unwrap();
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_full_disk_is_said_and_nothing_of_the_change_is_made() {
    let (folder, store) = fresh(&SqliteOptions { pages_max: Some(120), ..SqliteOptions::default() });
    let no = accept(&*store, 1).await;
    let mut put = 0;
    let full = loop {
        let people: Vec<Recipient> =
            (put..put + 50).map(|n| person(&format!("{n:04}"), &"x".repeat(100))).collect();
        match store.put_recipients(ACCOUNT, people).await {
            Ok(_) => put += 50,
            Err(error) => break error,
        }
        assert!(put < 10_000, "the disk never filled");
    };
    assert_eq!(full, StoreError::DiskFull);
    assert_eq!(scan(&*store, ACCOUNT).len(), put);
    // What needs much room fails, whole; what needs none goes on beside it.
    let large = import(&*store, people(2_000, "import"));
    let small = store.set_alert_state(no, AlertState::Running, 2, "", NOW);
    let (large, small) = futures_util::future::join(large, small).await;
    assert_eq!((large, small), (Err(StoreError::DiskFull), Ok(())));
    let many = (0..20).map(|n| {
        let alert = Alert { note: "y".repeat(60_000), ..alert(10 + n) };
        store.accept_alert(alert, None)
    });
    for refused in futures_util::future::join_all(many).await {
        assert_eq!(refused, Err(StoreError::DiskFull));
    }
    assert_eq!(scan(&*store, ACCOUNT).len(), put);
    assert_eq!(store.alerts_before(ACCOUNT, None, 10).await.unwrap().len(), 1);
    store.close().await.unwrap();
    drop(store);

    let store = open(&folder.path().join("test.db"), &SqliteOptions::default()).unwrap();
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), put as u64);
    assert_eq!(accept(&*store, 99).await.0, no.0 + 1);
}

#[tokio::test]
async fn a_long_read_does_not_hold_up_writers() {
    let (folder, store) = fresh(&SqliteOptions { log_pages: 160, ..SqliteOptions::default() });
    import(&*store, people(3_000, "0")).await.unwrap();
    let (reading, go_on) = (SharedStore::clone(&store), std::sync::mpsc::channel::<()>());
    let (began, begun) = tokio::sync::oneshot::channel();
    let reader = std::thread::spawn(move || {
        let (mut began, mut seen) = (Some(began), 0);
        let each = &mut |slice: &[Recipient]| {
            if let Some(began) = began.take() {
                began.send(()).unwrap();
                go_on.1.recv().unwrap();
            }
            assert!(slice.iter().all(|person| person.name == "0"));
            seen += slice.len();
            true
        };
        reading.scan_recipients(ACCOUNT, each).unwrap();
        seen
    });
    begun.await.unwrap();
    for round in 1..5 {
        assert_eq!(import(&*store, people(3_000, &round.to_string())).await, Ok(3_000));
        accept(&*store, round).await;
    }
    go_on.0.send(()).unwrap();
    assert_eq!(reader.join().unwrap(), 3_000);
    // With nobody reading the log begins again, however long it was.
    for round in 5..10 {
        import(&*store, people(3_000, &round.to_string())).await.unwrap();
    }
    store.close().await.unwrap();
    assert_eq!(std::fs::metadata(folder.path().join("test.db-wal")).map_or(0, |log| log.len()), 0);
}

#[tokio::test]
async fn what_was_asked_before_closing_is_answered_truly() {
    let (folder, store) = fresh(&SqliteOptions::default());
    let asked: Vec<_> = (1..200)
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
    let store = open(&folder.path().join("test.db"), &SqliteOptions::default()).unwrap();
    assert_eq!(store.alerts_before(ACCOUNT, None, 1_000).await.unwrap().len(), accepted);
}

#[tokio::test]
async fn one_process_has_a_database_open() {
    let (folder, store) = fresh(&SqliteOptions::default());
    let file = folder.path().join("test.db");
    match open(&file, &SqliteOptions::default()).err() {
        Some(StoreError::Conflict { why }) => assert!(why.starts_with("another process has "), "{why}"),
        other => panic!("{other:?}"),
    }
    store.close().await.unwrap();
    assert!(open(&file, &SqliteOptions::default()).is_ok());
}

#[test]
fn a_database_that_is_not_ours_is_refused_in_words() {
    let folder = folder();
    let file = |name: &str, sql: &str| {
        let path = folder.path().join(name);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        path
    };
    let ours = folder.path().join("ours.db");
    drop(open(&ours, &SqliteOptions::default()).unwrap());
    Connection::open(&ours).unwrap().pragma_update(None, "user_version", 4_711).unwrap();
    let newer = format!(
        "the database {} was written by a newer version of campanile: its form is 4711, this one reads forms up to",
        ours.display()
    );
    let another = || "the database belongs to another program".to_owned();
    let cases = [
        (ours, newer),
        (file("other.db", "PRAGMA application_id = 7"), another()),
        (file("plain.db", "CREATE TABLE recipients (id TEXT)"), another()),
    ];
    for (path, expected) in cases {
        match open(&path, &SqliteOptions::default()).err() {
            Some(StoreError::Conflict { why }) => assert!(why.starts_with(&expected), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    std::fs::write(folder.path().join("text.db"), "no database at all, only some text".repeat(100)).unwrap();
    let text = open(&folder.path().join("text.db"), &SqliteOptions::default()).err();
    assert!(matches!(text, Some(StoreError::Database { .. })), "{text:?}");
    assert!(open(&folder.path().join("no/such/folder.db"), &SqliteOptions::default()).is_err());
}

#[test]
fn every_row_has_its_account() {
    let (folder, store) = fresh(&SqliteOptions::default());
    drop(store);
    let connection = Connection::open(folder.path().join("test.db")).unwrap();
    let mut tables = connection
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )
        .unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(tables.len() > 12, "{tables:?}");
    for table in tables {
        // The accounts themselves, and what belongs to the server.
        if ["accounts", "audit_head", "counters", "folds", "house", "leases", "names"]
            .contains(&table.as_str())
        {
            continue;
        }
        connection
            .prepare(&format!("SELECT account FROM {table}"))
            .unwrap_or_else(|error| panic!("{table}: {error}"));
    }
}

#[tokio::test]
async fn a_damaged_row_is_named_and_the_others_are_read() {
    let (folder, store) = fresh(&SqliteOptions::default());
    store.put_recipients(ACCOUNT, people(3, "")).await.unwrap();
    let no = accept(&*store, 1).await;
    Connection::open(folder.path().join("test.db"))
        .unwrap()
        .execute_batch(
            "UPDATE recipients SET body = x'ff00' WHERE id = '000001'; UPDATE alerts SET state = 'nowhere'",
        )
        .unwrap();
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
async fn imports_at_a_time_are_bounded() {
    let (_folder, store) = fresh(&SqliteOptions::default());
    let mut begun = Vec::new();
    let refused = loop {
        match store.begin_import(ACCOUNT, NOW).await {
            Ok(import) => begun.push(import),
            Err(error) => break error,
        }
        assert!(begun.len() < 100);
    };
    assert!(matches!(refused, StoreError::Conflict { .. }), "{refused:?}");
    store.abandon_import(begun[0]).await.unwrap();
    store.publish_import(begun[1]).await.unwrap();
    store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.begin_import(ACCOUNT, NOW).await.unwrap();
    // Nobody forgets an import for good: what was begun long ago gives up its place.
    let later = store.begin_import(ACCOUNT, NOW.plus_s(7 * 60 * 60)).await.unwrap();
    let forgotten = store.stage(begun[2], people(1, "")).await;
    assert!(matches!(forgotten, Err(StoreError::Conflict { .. })), "{forgotten:?}");
    store.publish_import(later).await.unwrap();
}
