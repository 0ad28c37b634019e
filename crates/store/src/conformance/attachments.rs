use super::{ACCOUNT, alert};
use crate::attachments::NAMED_KEPT_S;
use crate::{Accepted, ForgottenFiles, OwnedFile, Store, UploadRoom};
use futures_util::future::join_all;
use records::{Attachment, Timestamp};
use uuid::Uuid;

const NOW: Timestamp = Timestamp(1_000_000);

fn at(s: i64) -> Timestamp {
    NOW.plus_s(s)
}

fn room(upload: u128, account: &str, octets: u64, total_max: u64) -> UploadRoom {
    UploadRoom {
        upload: Uuid::from_u128(upload),
        account: account.to_owned(),
        at_least: octets,
        at_most: octets,
        total_max,
        now: NOW,
        until: at(100),
    }
}

fn file(id: &str, octets: u64, account: &str, token: &str) -> OwnedFile {
    OwnedFile { id: id.to_owned(), octets, account: account.to_owned(), token: token.to_owned() }
}

async fn put(store: &dyn Store, upload: u128, file: OwnedFile, until: Timestamp) {
    store.finish_upload(Uuid::from_u128(upload), file, until).await.unwrap();
}

async fn sizes(store: &dyn Store, account: &str, token: Option<&str>, ids: &[&str]) -> Vec<Option<u64>> {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    store.hold_attachments(account, token, ids, Timestamp(0)).await.unwrap()
}

pub(crate) async fn a_file_is_its_accounts_and_its_uploaders(store: &dyn Store) {
    put(store, 1, file("x", 7, ACCOUNT, "t1"), at(10)).await;
    put(store, 2, file("y", 8, ACCOUNT, "t2"), at(10)).await;
    put(store, 3, file("y", 8, "b", "t3"), at(10)).await;
    assert_eq!(sizes(store, ACCOUNT, None, &["x", "y", "z"]).await, [Some(7), Some(8), None]);
    assert_eq!(sizes(store, ACCOUNT, Some("t1"), &["x", "y"]).await, [Some(7), None]);
    assert_eq!(sizes(store, "b", None, &["x", "y"]).await, [None, Some(8)]);
    assert_eq!(sizes(store, "nobody", None, &["x"]).await, [None]);
}

pub(crate) async fn octets_of_an_account_are_bounded_whatever_comes_at_once(store: &dyn Store) {
    let reserved = join_all((1..=20).map(|n| store.reserve_upload(room(n, ACCOUNT, 100, 1_000)))).await;
    let granted = reserved.into_iter().filter(|one| one.as_ref().unwrap().is_some()).count();
    assert_eq!(granted, 10, "ten times 100 octets are 1,000");
    assert_eq!(store.reserve_upload(room(21, "b", 100, 1_000)).await.unwrap(), Some(100), "another account");
    // Nobody knows which ten: all are dropped, and one becomes a file.
    for n in 2..=20 {
        store.drop_upload(Uuid::from_u128(n)).await.unwrap();
    }
    put(store, 1, file("x", 300, ACCOUNT, "t1"), at(10)).await;
    put(store, 30, file("x", 300, ACCOUNT, "t2"), at(10)).await;
    assert_eq!(store.reserve_upload(room(40, ACCOUNT, 701, 1_000)).await.unwrap(), None);
    let some = UploadRoom { at_most: 5_000, ..room(40, ACCOUNT, 1, 1_000) };
    assert_eq!(
        store.reserve_upload(some).await.unwrap(),
        Some(700),
        "what is free, the same file counted once"
    );
    assert_eq!(
        store.reserve_upload(room(40, ACCOUNT, 700, 1_000)).await.unwrap(),
        Some(700),
        "its own again"
    );
    assert_eq!(store.reserve_upload(room(41, ACCOUNT, 1, 1_000)).await.unwrap(), None);
    let later = UploadRoom { now: at(100), ..room(41, ACCOUNT, 700, 1_000) };
    assert_eq!(store.reserve_upload(later).await.unwrap(), Some(700), "who reserved has died meanwhile");
}

pub(crate) async fn a_file_goes_when_nobody_has_it_and_no_alert_names_it(store: &dyn Store) {
    for (n, (id, account, token)) in
        [("both", ACCOUNT, "t1"), ("both", "b", "t2"), ("named", ACCOUNT, "t1"), ("held", ACCOUNT, "t1")]
            .iter()
            .enumerate()
    {
        put(store, n as u128, file(id, 1, account, token), at(if *account == "b" { 20 } else { 10 })).await;
    }
    let named = Attachment {
        name: "a".to_owned(),
        media_type: "a/b".to_owned(),
        size: 1,
        blake3: "named".to_owned(),
    };
    let created = alert(2).created;
    for (n, kept_s) in [(1, NAMED_KEPT_S), (2, 2 * NAMED_KEPT_S), (3, 1)] {
        store.keep_named_for(kept_s);
        let mut naming = alert(n);
        naming.request.attachments = vec![named.clone()];
        assert!(matches!(store.accept_alert(naming, None).await.unwrap(), Accepted::New(_)));
    }
    let held = store.hold_attachments(ACCOUNT, None, vec!["held".to_owned()], at(15)).await.unwrap();
    assert_eq!(held, [Some(1)]);
    let gone = |ids: &[&str]| ForgottenFiles {
        ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        is_more: false,
    };
    assert_eq!(store.forget_attachments(at(9), 10).await.unwrap(), gone(&[]));
    assert_eq!(store.forget_attachments(at(10), 10).await.unwrap(), gone(&[]), "the other account has it");
    assert_eq!(sizes(store, ACCOUNT, None, &["both"]).await, [None]);
    assert!(store.has_attachment("both").await.unwrap());
    assert_eq!(store.forget_attachments(at(15), 10).await.unwrap(), gone(&["held"]));
    let one = store.forget_attachments(at(20), 1).await.unwrap();
    assert_eq!(one, ForgottenFiles { is_more: true, ..gone(&["both"]) });
    assert!(!store.has_attachment("both").await.unwrap());
    let end = created.plus_s(2 * NAMED_KEPT_S);
    assert_eq!(store.forget_attachments(Timestamp(end.0 - 1), 10).await.unwrap(), gone(&[]));
    assert_eq!(store.forget_attachments(end, 10).await.unwrap(), gone(&["named"]));
}
