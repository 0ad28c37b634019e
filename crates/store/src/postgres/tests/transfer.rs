//! Transfer of a SQLite database: everything is found in PostgreSQL as it was, and numbers go on.

use super::{PostgresOptions, PostgresServer, open};
use crate::conformance::alerts::accept;
use crate::conformance::deliveries::some;
use crate::conformance::others::token;
use crate::conformance::{ACCOUNT, alert, member, person};
use crate::postgres::transfer::{LedgerSource, Target, TargetState};
use crate::sqlite::{self, SqliteOptions};
use crate::{
    Accepted, Act, IdempotencyKey, KeyOwner, LedgerIdentity, NewLedgerBlock, SharedStore, StoreError,
};
use records::{AlertNo, EndpointNo, Group, Timestamp};
use std::path::Path;
use tokio::task::block_in_place;

/// A ledger of two logs with a block each.
struct TwoLogs(u32);

impl LedgerSource for TwoLogs {
    fn identity(&self) -> LedgerIdentity {
        LedgerIdentity { key: [1, u64::MAX], shards: 2 }
    }
    fn first(&self) -> u64 {
        4_096
    }
    fn next(&mut self, shard: u32, _: usize) -> Result<Vec<NewLedgerBlock>, String> {
        let is_new = self.0 == shard;
        self.0 += u32::from(is_new);
        let octets = vec![shard as u8; 100];
        let block = NewLedgerBlock { shard, position: 4_096, at_us: 7, mark: 0, octets };
        Ok(if is_new { vec![block] } else { Vec::new() })
    }
}

fn key() -> IdempotencyKey {
    IdempotencyKey { key: "k".to_owned(), body_hash: [3; 32], of: KeyOwner::Token }
}

/// Something in every table that a server fills by itself.
async fn filled(path: &Path) -> SharedStore {
    let store = sqlite::open(path, &SqliteOptions::default()).unwrap();
    store.put_recipients(ACCOUNT, vec![member("1", &["b", "a", "b"]), person("2", "Bo")]).await.unwrap();
    let import = store.begin_import("other", Timestamp(1)).await.unwrap();
    store.stage(import, vec![person("9", "Eve")]).await.unwrap();
    store.publish_import(import).await.unwrap();
    let group = Group { id: "g".to_owned(), members: vec!["1".to_owned()], ..Group::default() };
    store.put_group(ACCOUNT, group).await.unwrap();
    store.set_opt_out(ACCOUNT, channels::SMS, "+461", true, Timestamp(3)).await.unwrap();
    store.set_sender_opt_out(ACCOUNT, channels::SMS, "+461", "+4699", true, Timestamp(4)).await.unwrap();
    accept(&*store, 1).await;
    store.accept_alert(alert(2), Some(key())).await.unwrap();
    store.tie_cap(AlertNo(2), ACCOUNT, "s", "i", "t").await.unwrap();
    store.fold(some(AlertNo(1), 0..20), 42).await.unwrap();
    store.put_token(token("t", 5, ACCOUNT)).await.unwrap();
    let act = Act {
        at: Timestamp(1),
        account: ACCOUNT.to_owned(),
        token: "t".to_owned(),
        verb: "v".to_owned(),
        object: "o".to_owned(),
        ..Act::default()
    };
    store.note_act(act).await.unwrap();
    store.put_erasure(ACCOUNT, "{}", Timestamp(2)).await.unwrap();
    store
}

/// What is asked of both sides.
async fn shown(store: &SharedStore) -> String {
    let again = store.accept_alert(alert(2), Some(key())).await.unwrap();
    assert!(matches!(again, Accepted::Before(_)), "{again:?}");
    let people = (
        store.recipients_after(ACCOUNT, "", 9).await.unwrap(),
        store.members_after(ACCOUNT, &["a".to_owned()], "", 9).await.unwrap(),
        store.recipients_after("other", "", 9).await.unwrap(),
        store.groups_after(ACCOUNT, "", 9).await.unwrap(),
        store.all_opt_outs(ACCOUNT).await.unwrap(),
    );
    let alerts = (
        store.alerts_after(ACCOUNT, AlertNo(0), 9).await.unwrap(),
        store.alerts_of_cap(ACCOUNT, "s", "i").await.unwrap(),
        store.deliveries_from(AlertNo(1), EndpointNo(0), None, 99).await.unwrap(),
        store.folded_to().await.unwrap(),
    );
    let rest = (
        store.tokens(None).await.unwrap(),
        store.audit_links(0, 9).await.unwrap(),
        store.erasures().await.unwrap(),
    );
    format!("{people:?} {alerts:?} {rest:?}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_is_found_as_it_was_and_numbers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let from = filled(&path).await;
    let url = PostgresServer::shared().create_database();
    let options = PostgresOptions::default();
    // The first one does not come to its end.
    for state in [TargetState::Empty, TargetState::Unfinished] {
        let target = Target::open(&url, &options).await.unwrap();
        assert_eq!(target.state().await.unwrap(), state);
        target.begin().await.unwrap();
        let counts = target.fill(&path, Some(&mut TwoLogs(0)), &mut |_, _| {}).await.unwrap();
        let rows = |table: &str| counts.iter().find(|count| count.table == table).map(|count| count.to);
        assert_eq!([rows("recipients"), rows("opt_outs"), rows("deliveries")], [Some(3), Some(2), Some(20)]);
        let refused = block_in_place(|| open(&url, &options)).err();
        assert!(matches!(refused, Some(StoreError::Conflict { why }) if why.contains("campanile migrate")));
        if state == TargetState::Unfinished {
            target.finish().await.unwrap();
        }
    }
    let to = block_in_place(|| open(&url, &options)).unwrap();
    assert_eq!(shown(&to).await, shown(&from).await);
    let Accepted::New(next) = to.accept_alert(alert(9), None).await.unwrap() else { panic!("it is new") };
    assert_eq!(next.no, AlertNo(3));
    to.put_recipients(ACCOUNT, vec![person("3", "Cy")]).await.unwrap();
    to.put_erasure(ACCOUNT, "{}", Timestamp(2)).await.unwrap();
    let ledger = to.ledger_log().unwrap();
    let read = || (ledger.identity().unwrap(), ledger.head(1).unwrap(), ledger.read(1, 4_096, 0).unwrap());
    let (identity, head, blocks) = block_in_place(read);
    assert_eq!((identity.map(|identity| identity.key), head), (Some([1, u64::MAX]), 4_196));
    assert_eq!(blocks[0].octets, vec![1; 100]);
    let target = Target::open(&url, &options).await.unwrap();
    assert!(matches!(target.state().await.unwrap(), TargetState::Taken(_)));
    from.close().await.unwrap();
}
