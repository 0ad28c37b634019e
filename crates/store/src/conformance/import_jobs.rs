use super::recipients::scan;
use super::{ACCOUNT, member, person};
use crate::{
    AbsentPeople, DocumentKind, DocumentWritten, Expected, ImportCounts, ImportDocument, ImportNo,
    ImportStep, NewDocument, Store, StoreError,
};
use records::{Recipient, Timestamp};

const NOW: Timestamp = Timestamp(1_000_000);
const UNTIL: Timestamp = Timestamp(9_000_000);
const COMMIT: ImportStep = ImportStep::Commit { undo_until: UNTIL };

fn document(body: &str, expected: Expected) -> ImportDocument {
    let document = NewDocument { id: "job".to_owned(), lookup: None, due: None, body: body.to_owned() };
    ImportDocument { account: ACCOUNT.to_owned(), document, expected, now: NOW }
}

async fn step(store: &dyn Store, import: ImportNo, step: ImportStep) -> Result<DocumentWritten, StoreError> {
    store.step_import(import, step, document("{}", Expected::Any)).await
}

/// An import that was read, prepared and waits.
async fn held(
    store: &dyn Store,
    rows: Vec<Recipient>,
    absent: Option<AbsentPeople>,
) -> (ImportNo, ImportCounts) {
    let import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(import, rows).await.unwrap();
    let counts = store.prepare_import(import, absent).await.unwrap();
    assert!(matches!(step(store, import, ImportStep::Hold).await, Ok(DocumentWritten::Done(_))));
    (import, counts)
}

async fn committed(store: &dyn Store, rows: Vec<Recipient>) -> ImportNo {
    let (import, _) = held(store, rows, None).await;
    step(store, import, COMMIT).await.unwrap();
    import
}

async fn name_of(store: &dyn Store, id: &str) -> Option<String> {
    store.recipient(ACCOUNT, id).await.unwrap().map(|(person, _)| person.name)
}

fn conflict<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    assert!(matches!(result, Err(StoreError::Conflict { .. })), "{result:?}");
}

pub(crate) async fn a_prepared_import_says_what_it_would_do_and_nobody_sees_it(store: &dyn Store) {
    let there = vec![person("1", "old"), person("2", "old"), person("4", "old")];
    store.put_recipients(ACCOUNT, there).await.unwrap();
    let rows = vec![person("3", "new"), person("2", "old"), person("1", "new")];
    let (import, counts) = held(store, rows, None).await;
    assert_eq!(counts, ImportCounts { new: 1, changed: 1, unchanged: 1, gone: 0 });
    assert!(!store.is_import_staged(import).await.unwrap());
    assert_eq!(scan(store, ACCOUNT), ["1", "2", "4"]);
    assert_eq!(name_of(store, "1").await.as_deref(), Some("old"));
    conflict(store.publish_import(import).await);
    conflict(step(store, import, ImportStep::Undo).await);
}

pub(crate) async fn a_commit_is_one_stroke_with_its_document(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![person("1", "old")]).await.unwrap();
    let (import, _) = held(store, vec![person("1", "new"), person("2", "new")], None).await;
    let refused = store.step_import(import, COMMIT, document("no", Expected::Version(7))).await.unwrap();
    assert!(matches!(refused, DocumentWritten::Conflict(Some(_))), "{refused:?}");
    assert_eq!(name_of(store, "1").await.as_deref(), Some("old"));
    let done = store.step_import(import, COMMIT, document("yes", Expected::Version(1))).await.unwrap();
    assert_eq!(done, DocumentWritten::Done(2));
    assert_eq!(name_of(store, "1").await.as_deref(), Some("new"));
    assert_eq!(scan(store, ACCOUNT), ["1", "2"]);
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 2);
    conflict(store.step_import(import, COMMIT, document("again", Expected::Any)).await);
    let kept = store.document(ACCOUNT, DocumentKind::Import, "job").await.unwrap().unwrap();
    assert_eq!((kept.body.as_str(), kept.version), ("yes", 2));
}

pub(crate) async fn an_undone_import_leaves_what_was_there(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![member("1", &["old"]), member("3", &["old"])]).await.unwrap();
    let version = store.recipient(ACCOUNT, "1").await.unwrap().unwrap().1;
    let import = committed(store, vec![member("1", &["new"]), member("2", &["new"])]).await;
    assert_eq!(scan(store, ACCOUNT), ["1", "2", "3"]);
    assert!(matches!(step(store, import, ImportStep::Undo).await, Ok(DocumentWritten::Done(_))));
    assert_eq!(scan(store, ACCOUNT), ["1", "3"]);
    assert_eq!(store.recipient(ACCOUNT, "1").await.unwrap().unwrap(), (member("1", &["old"]), version));
    let groups = ["old".to_owned(), "new".to_owned()];
    assert_eq!(store.members_after(ACCOUNT, &groups, "", 10).await.unwrap(), ["1", "3"]);
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 2);
    conflict(step(store, import, ImportStep::Undo).await);
}

pub(crate) async fn what_was_put_or_deleted_after_a_commit_stays_when_it_is_undone(store: &dyn Store) {
    let all = |name: &str| ["1", "2", "3"].map(|id| person(id, name)).to_vec();
    store.put_recipients(ACCOUNT, all("old")).await.unwrap();
    let import = committed(store, all("new")).await;
    store.put_recipients(ACCOUNT, vec![person("1", "put")]).await.unwrap();
    assert!(store.delete_recipient(ACCOUNT, "2").await.unwrap());
    step(store, import, ImportStep::Undo).await.unwrap();
    let names = [name_of(store, "1").await, name_of(store, "2").await, name_of(store, "3").await];
    assert_eq!(names, [Some("put".to_owned()), None, Some("old".to_owned())]);
}

pub(crate) async fn an_import_is_undone_until_its_time_is_over(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![person("1", "old")]).await.unwrap();
    let import = committed(store, vec![person("1", "new")]).await;
    assert_eq!(store.settle_imports(Timestamp(UNTIL.0 - 1)).await.unwrap(), 0);
    let late = ImportDocument { now: UNTIL, ..document("late", Expected::Any) };
    conflict(store.step_import(import, ImportStep::Undo, late).await);
    assert_eq!(store.settle_imports(UNTIL).await.unwrap(), 1);
    conflict(step(store, import, ImportStep::Undo).await);
    assert_eq!(name_of(store, "1").await.as_deref(), Some("new"));
}

pub(crate) async fn people_who_are_absent_go_and_come_back(store: &dyn Store) {
    let of = |id: &str, directory: &str| {
        let attributes = [("directory".to_owned(), directory.to_owned())].into();
        Recipient { attributes, ..member(id, &["staff"]) }
    };
    store.put_recipients(ACCOUNT, vec![of("1", "ad"), of("2", "ad"), of("3", "hr")]).await.unwrap();
    let absent = AbsentPeople { attribute: "directory".to_owned(), value: "ad".to_owned() };
    let (import, counts) = held(store, vec![of("1", "ad")], Some(absent)).await;
    assert_eq!(counts, ImportCounts { new: 0, changed: 0, unchanged: 1, gone: 1 });
    assert_eq!(scan(store, ACCOUNT), ["1", "2", "3"]);
    step(store, import, COMMIT).await.unwrap();
    assert_eq!(scan(store, ACCOUNT), ["1", "3"]);
    assert_eq!(store.recipient(ACCOUNT, "2").await.unwrap(), None);
    assert_eq!(store.recipients_by_ids(ACCOUNT, &["2".to_owned()]).await.unwrap(), []);
    assert_eq!(store.members_after(ACCOUNT, &["staff".to_owned()], "", 10).await.unwrap(), ["1", "3"]);
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 2);
    step(store, import, ImportStep::Undo).await.unwrap();
    assert_eq!(scan(store, ACCOUNT), ["1", "2", "3"]);
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 3);
}

pub(crate) async fn a_discarded_import_leaves_nothing(store: &dyn Store) {
    let (import, _) = held(store, vec![member("1", &["g"])], None).await;
    step(store, import, ImportStep::Discard).await.unwrap();
    assert_eq!(scan(store, ACCOUNT), [""; 0]);
    conflict(step(store, import, COMMIT).await);
    assert!(!store.group_exists(ACCOUNT, "g").await.unwrap());
}

pub(crate) async fn an_import_that_waits_forgets_a_person_who_is_erased(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![person("1", "old")]).await.unwrap();
    let (import, _) = held(store, vec![person("1", "new"), person("2", "new")], None).await;
    store.erase_recipient(ACCOUNT, "1").await.unwrap();
    step(store, import, COMMIT).await.unwrap();
    assert_eq!(scan(store, ACCOUNT), ["2"]);
    assert_eq!(store.people_by_term(ACCOUNT, "new", 10).await.unwrap(), ["2"]);
}

pub(crate) async fn an_import_below_another_is_undone_without_it(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![person("1", "old"), person("2", "old")]).await.unwrap();
    let first = committed(store, vec![person("1", "first"), person("2", "first")]).await;
    let second = committed(store, vec![person("2", "second")]).await;
    step(store, first, ImportStep::Undo).await.unwrap();
    let names = [name_of(store, "1").await, name_of(store, "2").await];
    assert_eq!(names, [Some("old".to_owned()), Some("second".to_owned())]);
    step(store, second, ImportStep::Undo).await.unwrap();
    assert_eq!(name_of(store, "2").await.as_deref(), Some("old"));
}

pub(crate) async fn people_are_found_by_terms_of_the_version_that_is_seen(store: &dyn Store) {
    let found = async |prefix: &str| store.people_by_term(ACCOUNT, prefix, 100).await.unwrap();
    store.put_recipients(ACCOUNT, vec![person("1", "Ann Ek"), person("2", "Anna Öst")]).await.unwrap();
    assert_eq!(found("ann").await, ["1", "2"]);
    assert_eq!(found("öst").await, ["2"]);
    assert_eq!(found("+4670").await, ["1", "2"]);
    let import = committed(store, vec![person("1", "Bo Ek")]).await;
    assert_eq!((found("ann").await, found("bo").await), (vec!["2".to_owned()], vec!["1".to_owned()]));
    step(store, import, ImportStep::Undo).await.unwrap();
    assert_eq!((found("ann").await.len(), found("bo").await.len()), (2, 0));
    assert!(store.delete_recipient(ACCOUNT, "1").await.unwrap());
    assert_eq!(found("a").await, ["2"]);
    assert_eq!(store.people_by_term("another", "a", 10).await.unwrap(), [""; 0]);
}
