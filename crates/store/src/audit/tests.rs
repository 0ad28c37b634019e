//! Tests of the chain: its published example, what tampering is found, and any history of appends, erasures
//! and retention.

use super::chain::{Hash, NOTHING, SALT_OCTETS, hex};
use super::*;
use crate::conformance::audit::{KEY, act};
use crate::sqlite::SqliteOptions;
use crate::{SharedStore, sqlite};
use proptest::prelude::*;
use rusqlite::Connection;

/// The example of docs/dev/audit.md.
fn example() -> (AuditLink, Vec<SaltedField>) {
    let field = |number, octet, value: &str| SaltedField {
        number,
        salt: vec![octet; SALT_OCTETS],
        value: value.to_owned(),
    };
    let fields = vec![field(2, 0x02, "192.0.2.7"), field(3, 0x03, "ann")];
    let commitments = fields
        .iter()
        .flat_map(|field| [&field.number.to_be_bytes()[..], &field.commitment()].concat())
        .collect();
    let mut link = AuditLink {
        seq: 2,
        version: 1,
        algorithm: 1,
        previous: [0x11; 32],
        at: Timestamp(1_794_983_200_000_000),
        account: "default".to_owned(),
        verb: "recipient.put".to_owned(),
        token: "t_Ab3dEf9h".to_owned(),
        extras: Vec::new(),
        commitments,
        hash: NOTHING,
    };
    link.hash = link.computed();
    (link, fields)
}

#[test]
fn the_example_of_the_documentation_is_what_this_program_writes() {
    let (link, fields) = example();
    let page = include_str!("../../../../docs/dev/audit.md").replace(['\n', ' '], "");
    for octets in
        [hex(&fields[0].commitment()), hex(&fields[1].commitment()), hex(&link.canonical()), hex(&link.hash)]
    {
        assert!(page.contains(&octets), "docs/dev/audit.md lacks {octets}");
    }
}

#[test]
fn a_head_is_read_as_it_was_written_and_nothing_else_is() {
    let head = ChainHead { seq: 42, hash: [0xab; 32] };
    assert_eq!(ChainHead::parse(&head.text()), Some(head));
    for wrong in ["", "42", "42:", ":ab", "42:abcd", &format!("x:{}", "ab".repeat(32)), &"å".repeat(33)] {
        assert_eq!(ChainHead::parse(wrong), None, "{wrong:?}");
    }
}

/// A store with ten acts, and its file opened a second time, as somebody would who tampers with it.
async fn ten() -> (tempfile::TempDir, SharedStore, Connection) {
    let (folder, store, file) = opened();
    store.note_acts((1..=10).map(|n| act(n, "a")).collect()).await.unwrap();
    (folder, store, file)
}

fn opened() -> (tempfile::TempDir, SharedStore, Connection) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("test.db");
    let store = sqlite::open(&path, &SqliteOptions { readers: 1, ..SqliteOptions::default() }).unwrap();
    let file = Connection::open(&path).unwrap();
    (folder, store, file)
}

async fn verdict(store: &SharedStore, anchor: Option<ChainHead>) -> AuditVerdict {
    verify(&**store, &KEY, anchor).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_changed_deleted_put_in_or_reordered_is_found() {
    for tampering in [
        "UPDATE audit_links SET verb = 'alert.pause' WHERE seq = 5",
        "UPDATE audit_links SET at = at + 1 WHERE seq = 5",
        "UPDATE audit_links SET token = 't_2' WHERE seq = 5",
        "UPDATE audit_links SET extras = x'0001000000080000000000000001' WHERE seq = 5",
        "UPDATE audit_links SET account = (SELECT no FROM accounts WHERE id = 'default') WHERE seq = 5",
        "UPDATE accounts SET id = 'b' WHERE id = 'a'",
        "UPDATE audit_links SET previous = zeroblob(32) WHERE seq = 5",
        "UPDATE audit_links SET version = 2 WHERE seq = 5",
        "UPDATE audit_links SET hash = zeroblob(32) WHERE seq = 5",
        "UPDATE audit_links SET commitments = x'' WHERE seq = 5",
        "UPDATE audit_fields SET value = 'Bo' WHERE link = 5 AND number = 1",
        "UPDATE audit_fields SET salt = zeroblob(16) WHERE link = 5 AND number = 1",
        "UPDATE audit_fields SET number = 4 WHERE link = 5 AND number = 3",
        "DELETE FROM audit_fields WHERE link = 5 AND number = 3",
        "INSERT INTO audit_fields VALUES (5, 4, 1, zeroblob(16), 'more', NULL)",
        "INSERT INTO audit_fields VALUES (99, 4, 1, zeroblob(16), 'of no link', NULL)",
        "DELETE FROM audit_links WHERE seq = 5",
        "DELETE FROM audit_links WHERE seq = 1",
        "DELETE FROM audit_links WHERE seq <= 5; DELETE FROM audit_fields WHERE link <= 5",
        "DELETE FROM audit_links WHERE seq = 11; DELETE FROM audit_fields WHERE link = 11",
        "DELETE FROM audit_links; DELETE FROM audit_fields",
        "UPDATE audit_links SET seq = 5000 WHERE seq = 5",
        "UPDATE audit_links SET seq = -1 WHERE seq = 5; UPDATE audit_links SET seq = 5 WHERE seq = 6; \
         UPDATE audit_links SET seq = 6 WHERE seq = -1",
        "INSERT INTO audit_links SELECT 12, version, algorithm, previous, at, account, verb, token, extras, commitments, \
         hash FROM audit_links WHERE seq = 11",
        "UPDATE audit_head SET seq = 10",
    ] {
        let (_folder, store, file) = ten().await;
        assert!(verdict(&store, None).await.holds(), "before");
        file.execute_batch(tampering).unwrap();
        let found = verdict(&store, None).await;
        assert!(!found.holds() && !found.problems.is_empty(), "{tampering}: {found:?}");
    }
}

/// Makes the chain whole again behind a change, as somebody can who writes the database and has no key.
fn rewritten(file: &Connection, from: i64) {
    let previous = |seq: i64| -> Hash {
        file.query_row("SELECT hash FROM audit_links WHERE seq = ?1", [seq - 1], |row| row.get(0)).unwrap()
    };
    let last: i64 = file.query_row("SELECT max(seq) FROM audit_links", [], |row| row.get(0)).unwrap();
    for seq in from..=last {
        let mut link = file
            .query_row(
                "SELECT at, accounts.id, verb, token, extras, commitments FROM audit_links \
                 JOIN accounts ON accounts.no = account WHERE seq = ?1",
                [seq],
                |row| {
                    Ok(AuditLink {
                        seq: seq as u64,
                        version: 1,
                        algorithm: 1,
                        previous: previous(seq),
                        at: Timestamp(row.get(0)?),
                        account: row.get(1)?,
                        verb: row.get(2)?,
                        token: row.get(3)?,
                        extras: row.get(4)?,
                        commitments: row.get(5)?,
                        hash: NOTHING,
                    })
                },
            )
            .unwrap();
        link.hash = link.computed();
        let sql = "UPDATE audit_links SET previous = ?2, hash = ?3 WHERE seq = ?1";
        file.execute(sql, (seq, link.previous, link.hash)).unwrap();
        file.execute("UPDATE audit_head SET seq = ?1, hash = ?2", (seq, link.hash)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_tail_and_a_rewritten_chain_are_found_by_a_head_noted_elsewhere() {
    let (_folder, store, file) = ten().await;
    let head = store.audit_head().await.unwrap();
    store.note_act(act(11, "a")).await.unwrap();
    let grown = verdict(&store, Some(head)).await;
    assert!(grown.holds() && grown.anchor_found == Some(true), "{grown:?}");
    file.execute("UPDATE audit_links SET verb = 'alert.pause' WHERE seq = 5", []).unwrap();
    rewritten(&file, 5);
    assert!(verdict(&store, None).await.holds(), "without a head nothing tells it from a chain");
    assert!(!verdict(&store, Some(head)).await.holds());
    let (_folder, store, file) = ten().await;
    let head = store.audit_head().await.unwrap();
    file.execute_batch("DELETE FROM audit_links WHERE seq > 8; DELETE FROM audit_fields WHERE link > 8")
        .unwrap();
    rewritten(&file, 8);
    assert!(verdict(&store, None).await.holds(), "the head beside the chain was moved too");
    assert!(!verdict(&store, Some(head)).await.holds());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_dropped_by_somebody_without_the_key_are_found() {
    let (_folder, store, file) = ten().await;
    let other = AuditKey([8; 32]);
    store.retain_acts(Timestamp(i64::MAX), Timestamp(20), other).await.unwrap();
    let found = verdict(&store, None).await;
    assert!(!found.holds() && found.problems[0].contains("not signed"), "{found:?}");
    drop(file);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_act_that_cannot_be_noted_says_so_and_takes_its_alert_with_it() {
    let (_folder, store, file) = ten().await;
    file.execute_batch(
        "CREATE TRIGGER refused BEFORE INSERT ON audit_links BEGIN SELECT RAISE(ABORT, 'no more'); END",
    )
    .unwrap();
    let refused = store.note_act(act(11, "a")).await;
    assert!(matches!(&refused, Err(StoreError::NotNoted { why }) if why.contains("no more")), "{refused:?}");
    let alert = crate::conformance::alert(1);
    let refused = store.accept_noted_alert(alert, None, act(11, "a")).await;
    assert!(matches!(refused, Err(StoreError::NotNoted { .. })), "{refused:?}");
    assert_eq!(store.alerts_before("a", None, 10).await.unwrap(), []);
    file.execute_batch("DROP TRIGGER refused").unwrap();
    assert_eq!(store.note_act(act(11, "a")).await, Ok(12), "without a gap");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_erased_is_not_in_the_files_any_more() {
    let (folder, store, file) = opened();
    let person = Some("annabella-of-the-test".to_owned());
    let about = Act { object: "annabella-of-the-test".into(), person, ..act(1, "a") };
    store.note_act(about).await.unwrap();
    store.forget_person("a", "annabella-of-the-test", Timestamp(2)).await.unwrap();
    drop(file);
    store.close().await.unwrap();
    let octets = std::fs::read(folder.path().join("test.db")).unwrap();
    assert!(!octets.windows(9).any(|window| window == b"annabella"), "it is still in the file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_from_before_the_chain_are_its_first_links() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let file = Connection::open(&path).unwrap();
    for sql in [
        include_str!("../../migrations/sqlite/0001_first.sql"),
        include_str!("../../migrations/sqlite/0002_messages.sql"),
        include_str!("../../migrations/sqlite/0003_house.sql"),
        "INSERT INTO accounts (no, id) VALUES (1, 'a'), (2, 'b');
         INSERT INTO acts (at, account, token, verb, object, detail) VALUES (1, 1, 't', 'recipient.put', 'ann', ''), \
         (2, 2, 't', 'token.create', 't_2', 'admin'), (3, 1, 't', 'answer', 'alert', 'ann');
         PRAGMA application_id = 1668116588; PRAGMA user_version = 3",
    ] {
        file.execute_batch(sql).unwrap();
    }
    drop(file);
    let store = sqlite::open(&path, &SqliteOptions::default()).unwrap();
    let found = store.audit_entries(AuditSearch::newest(None, 10)).await.unwrap();
    let said: Vec<(&str, &str, &str)> = found
        .iter()
        .map(|entry| (entry.act.account.as_str(), entry.act.verb.as_str(), entry.act.object.as_str()))
        .collect();
    let expected = [
        ("a", "answer", "alert"),
        ("b", "token.create", "t_2"),
        ("a", "recipient.put", "ann"),
        ("default", GENESIS, ""),
    ];
    assert_eq!(said, expected);
    assert_eq!(store.forget_person("a", "ann", Timestamp(9)).await.unwrap(), 3);
    assert!(verdict(&store, None).await.holds());
    store.close().await.unwrap();
    let again = sqlite::open(&path, &SqliteOptions::default()).unwrap();
    assert_eq!(again.audit_head().await.unwrap().seq, 5, "they are linked once");
    again.close().await.unwrap();
}

/// One thing that happens to a trail.
#[derive(Debug, Clone)]
enum Event {
    Note { person: u8 },
    Several { count: u8 },
    Forget { person: u8 },
    Retain { before: i64 },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..4_u8).prop_map(|person| Event::Note { person }),
        2 => (1..6_u8).prop_map(|count| Event::Several { count }),
        1 => (0..4_u8).prop_map(|person| Event::Forget { person }),
        1 => (0..40_i64).prop_map(|before| Event::Retain { before }),
    ]
}

async fn happen(store: &SharedStore, event: &Event, at: i64) {
    let now = Timestamp(at);
    match event {
        Event::Note { person } => {
            let person = format!("person {person}");
            let one = Act { object: person.clone(), person: Some(person), ..act(at, "a") };
            store.note_act(one).await.map(drop).unwrap();
        }
        Event::Several { count } => {
            store.note_acts((0..*count).map(|_| act(at, "b")).collect()).await.unwrap();
        }
        Event::Forget { person } => {
            store.forget_person("a", &format!("person {person}"), now).await.map(drop).unwrap();
        }
        // The genesis is as young as the test: what is older than it goes with it.
        Event::Retain { before } => {
            let before = if *before < 20 { Timestamp(*before) } else { Timestamp(i64::MAX) };
            store.retain_acts(before, now, KEY).await.map(drop).unwrap();
        }
    }
}

/// Changes of a database that no history makes, with a link's number for `?1`.
const TAMPERINGS: [&str; 5] = [
    "UPDATE audit_links SET token = 'x' WHERE seq = ?1",
    "UPDATE audit_links SET hash = zeroblob(32) WHERE seq = ?1",
    "DELETE FROM audit_links WHERE seq = ?1",
    "UPDATE audit_links SET seq = seq + 10000 WHERE seq = ?1",
    "INSERT OR REPLACE INTO audit_fields VALUES (?1, 3, 1, zeroblob(16), 'other', NULL)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_history_holds_and_any_change_to_it_is_found(
        events in proptest::collection::vec(event(), 1..25),
        place in 0.0..1.0_f64,
        tampering in 0..TAMPERINGS.len(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (_folder, store, file) = opened();
            let mut heads = vec![store.audit_head().await.unwrap()];
            for (at, event) in (1..).zip(&events) {
                happen(&store, event, at).await;
                heads.push(store.audit_head().await.unwrap());
            }
            for head in &heads {
                let found = verdict(&store, Some(*head)).await;
                assert!(found.holds() && found.anchor_found != Some(false), "{events:?}: {found:?}");
            }
            let found = verdict(&store, None).await;
            let victim = found.first + (place * found.links as f64) as u64;
            file.execute(TAMPERINGS[tampering], [victim as i64]).unwrap();
            let found = verdict(&store, None).await;
            assert!(!found.holds(), "{} of {victim} after {events:?}", TAMPERINGS[tampering]);
        });
    }
}
