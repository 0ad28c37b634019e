use super::recipients::{members, scan};
use super::{ACCOUNT, member, person};
use crate::{Store, StoreError};
use records::{Recipient, Timestamp};

const NOW: Timestamp = Timestamp(1);

pub(crate) async fn nobody_sees_a_staged_row(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![member("2", &["old"])]).await.unwrap();
    let import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(import, vec![member("1", &["new"]), member("2", &["new"])]).await.unwrap();
    assert_eq!(scan(store, ACCOUNT), ["2"]);
    assert_eq!(store.recipient(ACCOUNT, "1").await.unwrap(), None);
    assert_eq!(store.recipient(ACCOUNT, "2").await.unwrap().unwrap().0, member("2", &["old"]));
    assert_eq!(members(store, &["new"]).await, [""; 0]);
    assert!(!store.group_exists(ACCOUNT, "new").await.unwrap());
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 1);
    assert_eq!(store.recipients_after(ACCOUNT, "", 10).await.unwrap().len(), 1);
}

pub(crate) async fn publishing_shows_all_rows_at_once(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![member("2", &["old"]), member("3", &["old"])]).await.unwrap();
    let import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(import, vec![member("1", &["new"]), member("2", &["new"])]).await.unwrap();
    assert_eq!(store.publish_import(import).await.unwrap(), 2);
    assert_eq!(scan(store, ACCOUNT), ["1", "2", "3"]);
    assert_eq!(members(store, &["new"]).await, ["1", "2"]);
    assert_eq!(members(store, &["old"]).await, ["3"]);
    assert!(store.group_exists(ACCOUNT, "new").await.unwrap());
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 3);
    let (second, _) = store.recipient(ACCOUNT, "2").await.unwrap().unwrap();
    assert_eq!(second, member("2", &["new"]));
    assert_eq!(store.recipients_after(ACCOUNT, "1", 1).await.unwrap(), [member("2", &["new"])]);
}

pub(crate) async fn the_import_published_last_wins(store: &dyn Store) {
    let first = store.begin_import(ACCOUNT, NOW).await.unwrap();
    let second = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(first, vec![person("1", "first"), person("2", "first")]).await.unwrap();
    store.stage(second, vec![person("2", "second"), person("3", "second")]).await.unwrap();
    store.publish_import(second).await.unwrap();
    store.publish_import(first).await.unwrap();
    let names = ["1", "2", "3"].map(|id| name_of(store, id));
    let [one, two, three] = names;
    assert_eq!([one.await, two.await, three.await], ["first", "first", "second"]);
}

pub(crate) async fn an_import_replaces_what_was_put_while_it_was_staged(store: &dyn Store) {
    let import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(import, vec![person("1", "import"), person("2", "import")]).await.unwrap();
    store.put_recipients(ACCOUNT, vec![person("1", "put")]).await.unwrap();
    assert!(!store.delete_recipient(ACCOUNT, "2").await.unwrap());
    assert_eq!(name_of(store, "1").await, "put");
    store.publish_import(import).await.unwrap();
    assert_eq!(name_of(store, "1").await, "import");
    assert_eq!(name_of(store, "2").await, "import");
}

pub(crate) async fn what_is_put_or_deleted_after_a_publication_stands(store: &dyn Store) {
    let import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(import, vec![member("1", &["g"]), member("2", &["g"])]).await.unwrap();
    store.publish_import(import).await.unwrap();
    let (_, version) = store.recipient(ACCOUNT, "1").await.unwrap().unwrap();
    let put = store.put_recipients(ACCOUNT, vec![member("1", &["h"])]).await.unwrap()[0];
    assert!(put > version);
    assert!(store.delete_recipient(ACCOUNT, "2").await.unwrap());
    assert_eq!(scan(store, ACCOUNT), ["1"]);
    assert_eq!(members(store, &["g"]).await, [""; 0]);
    assert_eq!(members(store, &["h"]).await, ["1"]);
}

pub(crate) async fn an_abandoned_import_leaves_nothing(store: &dyn Store) {
    let import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(import, vec![member("1", &["g"])]).await.unwrap();
    store.abandon_import(import).await.unwrap();
    assert_eq!(scan(store, ACCOUNT), [""; 0]);
    assert_eq!(members(store, &["g"]).await, [""; 0]);
    for refused in
        [store.publish_import(import).await.map(|_| ()), store.stage(import, vec![person("2", "")]).await]
    {
        assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
    }
}

pub(crate) async fn an_import_is_published_once(store: &dyn Store) {
    let import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    assert_eq!(store.publish_import(import).await.unwrap(), 0);
    let again = store.publish_import(import).await;
    assert!(matches!(again, Err(StoreError::Conflict { .. })), "{again:?}");
}

pub(crate) async fn of_two_staged_rows_with_one_id_the_later_stays(store: &dyn Store) {
    let import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(import, vec![member("1", &["x"]), member("1", &["y"])]).await.unwrap();
    store.stage(import, vec![member("1", &["z"])]).await.unwrap();
    assert_eq!(store.publish_import(import).await.unwrap(), 1);
    assert_eq!(members(store, &["x", "y", "z"]).await, ["1"]);
    assert_eq!(members(store, &["x", "y"]).await, [""; 0]);
}

/// Every scan beside a publication sees all of it or nothing of it.
pub(crate) async fn a_reader_sees_an_import_whole_or_not_at_all(store: crate::SharedStore) {
    const PEOPLE: usize = 3_000;
    let people =
        |name: &str| -> Vec<Recipient> { (0..PEOPLE).map(|n| person(&format!("{n:05}"), name)).collect() };
    let mut import = store.begin_import(ACCOUNT, NOW).await.unwrap();
    store.stage(import, people("0")).await.unwrap();
    store.publish_import(import).await.unwrap();
    let reading = std::sync::Arc::clone(&store);
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let reader = std::thread::spawn(move || {
        let mut scans = 0;
        while stopped.try_recv() != Ok(()) {
            let mut names = std::collections::BTreeSet::new();
            let mut count = 0;
            let each = &mut |slice: &[Recipient]| {
                count += slice.len();
                names.extend(slice.iter().map(|person| person.name.clone()));
                true
            };
            reading.scan_recipients(ACCOUNT, each).unwrap();
            assert_eq!((count, names.len()), (PEOPLE, 1), "{names:?}");
            scans += 1;
        }
        scans
    });
    for round in 1..6 {
        import = store.begin_import(ACCOUNT, NOW).await.unwrap();
        for rows in people(&round.to_string()).chunks(500) {
            store.stage(import, rows.to_vec()).await.unwrap();
        }
        store.publish_import(import).await.unwrap();
    }
    stop.send(()).unwrap();
    assert!(reader.join().unwrap() > 0);
}

async fn name_of(store: &dyn Store, id: &str) -> String {
    store.recipient(ACCOUNT, id).await.unwrap().unwrap().0.name
}
