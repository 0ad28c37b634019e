//! Documents of people and sessions.

use super::ACCOUNT;
use crate::{
    Document, DocumentKind, DocumentWritten, Expected, NewDocument, Store, StoreError, StoredSession,
};
use records::Timestamp;

const NOW: Timestamp = Timestamp(10);

fn draft(id: &str, body: &str) -> NewDocument {
    NewDocument { id: id.to_owned(), lookup: None, due: None, body: body.to_owned() }
}

async fn put(
    store: &dyn Store,
    kind: DocumentKind,
    document: NewDocument,
    expected: Expected,
) -> DocumentWritten {
    store.put_document(ACCOUNT, kind, document, expected, NOW).await.unwrap()
}

pub(crate) async fn a_document_is_written_over_what_was_seen_alone(store: &dyn Store) {
    let kind = DocumentKind::Draft;
    assert_eq!(
        put(store, kind, draft("1", "{}"), Expected::Version(1)).await,
        DocumentWritten::Conflict(None),
        "what is not there has no version"
    );
    assert_eq!(put(store, kind, draft("1", "{}"), Expected::Absent).await, DocumentWritten::Done(1));
    let stands = Document {
        id: "1".to_owned(),
        version: 1,
        changed: NOW,
        lookup: None,
        due: None,
        body: "{}".to_owned(),
    };
    let conflict = DocumentWritten::Conflict(Some(Box::new(stands.clone())));
    assert_eq!(put(store, kind, draft("1", "[1]"), Expected::Absent).await, conflict);
    assert_eq!(put(store, kind, draft("1", "[2]"), Expected::Version(2)).await, conflict);
    assert_eq!(store.document(ACCOUNT, kind, "1").await.unwrap(), Some(stands));
    assert_eq!(put(store, kind, draft("1", "[3]"), Expected::Version(1)).await, DocumentWritten::Done(2));
    assert_eq!(put(store, kind, draft("1", "[4]"), Expected::Any).await, DocumentWritten::Done(3));
    let now = store.document(ACCOUNT, kind, "1").await.unwrap().unwrap();
    assert_eq!((now.version, now.body.as_str()), (3, "[4]"));
    assert_eq!(store.document("b", kind, "1").await.unwrap(), None);
    assert_eq!(store.document(ACCOUNT, DocumentKind::Template, "1").await.unwrap(), None);
}

pub(crate) async fn a_document_is_removed_as_it_was_seen_alone(store: &dyn Store) {
    let kind = DocumentKind::Area;
    put(store, kind, draft("1", "{}"), Expected::Absent).await;
    assert!(!store.delete_document(ACCOUNT, kind, "1", Expected::Version(2)).await.unwrap());
    assert!(!store.delete_document("b", kind, "1", Expected::Any).await.unwrap());
    assert!(store.delete_document(ACCOUNT, kind, "1", Expected::Version(1)).await.unwrap());
    assert!(!store.delete_document(ACCOUNT, kind, "1", Expected::Any).await.unwrap());
    assert_eq!(put(store, kind, draft("1", "{}"), Expected::Absent).await, DocumentWritten::Done(1));
}

pub(crate) async fn a_lookup_is_one_documents(store: &dyn Store) {
    let kind = DocumentKind::User;
    let named = |id: &str, name: &str| NewDocument { lookup: Some(name.to_owned()), ..draft(id, "{}") };
    assert_eq!(put(store, kind, named("1", "ann"), Expected::Absent).await, DocumentWritten::Done(1));
    assert_eq!(put(store, kind, named("2", "ann"), Expected::Absent).await, DocumentWritten::LookupTaken);
    assert_eq!(put(store, kind, named("2", "bo"), Expected::Absent).await, DocumentWritten::Done(1));
    assert_eq!(put(store, kind, named("2", "ann"), Expected::Version(1)).await, DocumentWritten::LookupTaken);
    assert_eq!(put(store, kind, named("1", "ann"), Expected::Version(1)).await, DocumentWritten::Done(2));
    assert_eq!(put(store, kind, named("1", "anna"), Expected::Version(2)).await, DocumentWritten::Done(3));
    assert_eq!(store.document_by(ACCOUNT, kind, "ann").await.unwrap(), None);
    let found = store.document_by(ACCOUNT, kind, "anna").await.unwrap().unwrap();
    assert_eq!(found.id, "1");
    let elsewhere = store.put_document("b", kind, named("9", "anna"), Expected::Absent, NOW).await.unwrap();
    assert_eq!(elsewhere, DocumentWritten::Done(1));
    assert_eq!(store.document_by("b", kind, "anna").await.unwrap().unwrap().id, "9");
}

pub(crate) async fn documents_come_in_order_and_those_due_first(store: &dyn Store) {
    let kind = DocumentKind::Schedule;
    let due = |id: &str, at: Option<i64>| NewDocument { due: at.map(Timestamp), ..draft(id, "{}") };
    for (id, at) in [("c", Some(30)), ("a", Some(50)), ("b", None), ("d", Some(70))] {
        put(store, kind, due(id, at), Expected::Absent).await;
    }
    store.put_document("b", kind, due("x", Some(40)), Expected::Absent, NOW).await.unwrap();
    let ids = |page: Vec<Document>| page.into_iter().map(|one| one.id).collect::<Vec<_>>();
    assert_eq!(ids(store.documents_after(ACCOUNT, kind, "", 3).await.unwrap()), ["a", "b", "c"]);
    assert_eq!(ids(store.documents_after(ACCOUNT, kind, "c", 3).await.unwrap()), ["d"]);
    assert_eq!(store.count_documents(ACCOUNT, kind).await.unwrap(), 4);
    assert_eq!(store.count_documents("nobody", kind).await.unwrap(), 0);
    let ripe = |found: Vec<(String, Document)>| {
        found.into_iter().map(|(account, one)| format!("{account}/{}", one.id)).collect::<Vec<_>>()
    };
    assert_eq!(
        ripe(store.due_documents(kind, Timestamp(50), 9).await.unwrap()),
        [format!("{ACCOUNT}/c"), "b/x".to_owned(), format!("{ACCOUNT}/a")]
    );
    assert_eq!(ripe(store.due_documents(kind, Timestamp(99), 1).await.unwrap()), [format!("{ACCOUNT}/c")]);
    put(store, kind, due("c", None), Expected::Version(1)).await;
    assert_eq!(ripe(store.due_documents(kind, Timestamp(30), 9).await.unwrap()), [] as [String; 0]);
}

pub(crate) async fn what_is_too_long_for_a_document_is_refused(store: &dyn Store) {
    let long = "x".repeat(257);
    let documents = [
        draft(&long, "{}"),
        draft("", "{}"),
        NewDocument { lookup: Some(long.clone()), ..draft("1", "{}") },
        draft("1", &"x".repeat((1 << 20) + 1)),
    ];
    for document in documents {
        let refused =
            store.put_document(ACCOUNT, DocumentKind::Draft, document, Expected::Any, NOW).await.unwrap_err();
        assert!(matches!(refused, StoreError::Conflict { .. }), "{refused:?}");
    }
}

fn session(n: u8, user: &str, used: i64, until: i64) -> StoredSession {
    StoredSession {
        hash: [n; 32],
        account: ACCOUNT.to_owned(),
        user: user.to_owned(),
        used: Timestamp(used),
        until: Timestamp(until),
        body: format!("{{\"n\":{n}}}"),
    }
}

pub(crate) async fn a_session_holds_until_its_end(store: &dyn Store) {
    let one = session(1, "ann", 10, 100);
    store.put_session(one.clone(), None, NOW).await.unwrap();
    assert_eq!(store.session([1; 32], Timestamp(99)).await.unwrap(), Some(one.clone()));
    assert_eq!(store.session([1; 32], Timestamp(100)).await.unwrap(), None);
    assert_eq!(store.session([2; 32], NOW).await.unwrap(), None);
    let used = StoredSession { used: Timestamp(50), until: Timestamp(150), ..one };
    assert!(store.update_session(used.clone()).await.unwrap());
    assert_eq!(store.session([1; 32], Timestamp(100)).await.unwrap(), Some(used.clone()));
    assert!(store.end_session([1; 32]).await.unwrap());
    assert!(!store.end_session([1; 32]).await.unwrap());
    assert!(!store.update_session(used).await.unwrap(), "an ended session stays ended");
    assert_eq!(store.session([1; 32], NOW).await.unwrap(), None);
}

pub(crate) async fn a_new_session_ends_the_one_it_replaces(store: &dyn Store) {
    store.put_session(session(1, "ann", 10, 100), None, NOW).await.unwrap();
    store.put_session(session(2, "ann", 20, 100), Some([1; 32]), NOW).await.unwrap();
    assert_eq!(store.session([1; 32], NOW).await.unwrap(), None);
    assert!(store.session([2; 32], NOW).await.unwrap().is_some());
}

pub(crate) async fn sessions_of_a_user_end_together_but_for_one(store: &dyn Store) {
    for (n, user, used, until) in
        [(1, "ann", 10, 100), (2, "ann", 30, 100), (3, "ann", 20, 15), (4, "bo", 10, 100)]
    {
        store.put_session(session(n, user, used, until), None, NOW).await.unwrap();
    }
    let of = |found: Vec<StoredSession>| found.into_iter().map(|one| one.hash[0]).collect::<Vec<_>>();
    let now = Timestamp(20);
    assert_eq!(of(store.sessions_of(ACCOUNT, "ann", now).await.unwrap()), [2, 1]);
    assert_eq!(store.end_sessions_of(ACCOUNT, "ann", Some([1; 32])).await.unwrap(), 2);
    assert_eq!(of(store.sessions_of(ACCOUNT, "ann", now).await.unwrap()), [1]);
    let hashes = vec![[1; 32], [2; 32], [4; 32], [9; 32]];
    let mut live = store.live_sessions(hashes, now).await.unwrap();
    live.sort_unstable();
    assert_eq!(live, [[1; 32], [4; 32]]);
    assert_eq!(store.end_sessions_of(ACCOUNT, "ann", None).await.unwrap(), 1);
    assert_eq!(store.end_sessions_of("nobody", "ann", None).await.unwrap(), 0);
}
