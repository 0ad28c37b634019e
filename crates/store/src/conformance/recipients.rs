use super::{ACCOUNT, member, person};
use crate::{DirectoryRevision, Store};
use records::{Recipient, Timestamp};

pub(crate) async fn a_put_recipient_is_found_with_its_version(store: &dyn Store) {
    let versions = store.put_recipients(ACCOUNT, vec![person("1", "Ann"), person("2", "Bo")]).await.unwrap();
    assert_eq!(store.recipient(ACCOUNT, "1").await.unwrap(), Some((person("1", "Ann"), versions[0])));
    assert_eq!(store.recipient(ACCOUNT, "2").await.unwrap(), Some((person("2", "Bo"), versions[1])));
    assert_eq!(store.recipient(ACCOUNT, "3").await.unwrap(), None);
}

pub(crate) async fn a_second_put_replaces_and_raises_the_version(store: &dyn Store) {
    let first = store.put_recipients(ACCOUNT, vec![member("1", &["x", "y"])]).await.unwrap()[0];
    let second = store.put_recipients(ACCOUNT, vec![member("1", &["y", "z"])]).await.unwrap()[0];
    assert!(second > first);
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 1);
    assert_eq!(members(store, &["x"]).await, [""; 0]);
    assert_eq!(members(store, &["y"]).await, ["1"]);
    assert_eq!(members(store, &["z"]).await, ["1"]);
}

pub(crate) async fn of_two_with_one_id_in_a_put_the_later_stays(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![person("1", "Ann"), person("1", "Bo")]).await.unwrap();
    assert_eq!(store.recipient(ACCOUNT, "1").await.unwrap().unwrap().0.name, "Bo");
    let many: Vec<Recipient> = (0..600).map(|n| person(&format!("{}", n % 300), &n.to_string())).collect();
    let versions = store.put_recipients(ACCOUNT, many).await.unwrap();
    assert_eq!(versions.len(), 600);
    let (last, version) = store.recipient(ACCOUNT, "299").await.unwrap().unwrap();
    assert_eq!((last.name.as_str(), version), ("599", versions[599]));
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 300);
}

pub(crate) async fn a_replace_needs_the_version_it_saw(store: &dyn Store) {
    assert_eq!(store.replace_recipient(ACCOUNT, person("1", "Ann"), 1).await.unwrap(), None);
    let first = store.put_recipients(ACCOUNT, vec![person("1", "Ann")]).await.unwrap()[0];
    let second = store.replace_recipient(ACCOUNT, person("1", "Bo"), first).await.unwrap().unwrap();
    assert_eq!(store.replace_recipient(ACCOUNT, person("1", "Cy"), first).await.unwrap(), None);
    assert_eq!(store.recipient(ACCOUNT, "1").await.unwrap(), Some((person("1", "Bo"), second)));
}

pub(crate) async fn accounts_do_not_see_each_other(store: &dyn Store) {
    store.put_recipients("a", vec![member("1", &["g"])]).await.unwrap();
    store.put_recipients("b", vec![member("2", &["g"])]).await.unwrap();
    assert_eq!(ids(&store.recipients_after("a", "", 10).await.unwrap()), ["1"]);
    assert_eq!(store.recipient("a", "2").await.unwrap(), None);
    assert_eq!(store.members_after("b", &["g".to_owned()], "", 10).await.unwrap(), ["2"]);
    assert_eq!(store.recipient_count("c").await.unwrap(), 0);
    assert!(!store.delete_recipient("a", "2").await.unwrap());
    assert_eq!(scan(store, "b"), ["2"]);
}

pub(crate) async fn pages_follow_each_other_in_key_order(store: &dyn Store) {
    let people = ["b", "a", "ä", "c", "B"].map(|id| member(id, &["g"]));
    store.put_recipients(ACCOUNT, people.to_vec()).await.unwrap();
    let first = store.recipients_after(ACCOUNT, "", 2).await.unwrap();
    assert_eq!(ids(&first), ["B", "a"]);
    assert_eq!(ids(&store.recipients_after(ACCOUNT, "a", 10).await.unwrap()), ["b", "c", "ä"]);
    assert_eq!(ids(&store.recipients_after(ACCOUNT, "ä", 10).await.unwrap()), [""; 0]);
    assert_eq!(store.recipients_after(ACCOUNT, "", 0).await.unwrap(), []);
    assert_eq!(store.members_after(ACCOUNT, &["g".to_owned()], "a", 2).await.unwrap(), ["b", "c"]);
    assert_eq!(scan(store, ACCOUNT), ["B", "a", "b", "c", "ä"]);
}

pub(crate) async fn asked_by_ids_they_come_in_the_order_asked(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![person("1", ""), person("2", ""), person("3", "")]).await.unwrap();
    let asked = ["3", "9", "1"].map(str::to_owned);
    assert_eq!(ids(&store.recipients_by_ids(ACCOUNT, &asked).await.unwrap()), ["3", "1"]);
}

pub(crate) async fn members_of_several_groups_are_named_once(store: &dyn Store) {
    let people =
        vec![member("1", &["x", "y"]), member("2", &["y"]), member("3", &["z"]), member("4", &["x", "x"])];
    store.put_recipients(ACCOUNT, people).await.unwrap();
    assert_eq!(members(store, &["x", "y"]).await, ["1", "2", "4"]);
    assert_eq!(store.members_after(ACCOUNT, &["x".to_owned(), "y".to_owned()], "1", 1).await.unwrap(), ["2"]);
}

pub(crate) async fn a_deleted_recipient_is_gone_from_everywhere(store: &dyn Store) {
    store.put_recipients(ACCOUNT, vec![member("1", &["g"]), member("2", &["g"])]).await.unwrap();
    assert!(store.delete_recipient(ACCOUNT, "1").await.unwrap());
    assert!(!store.delete_recipient(ACCOUNT, "1").await.unwrap());
    assert_eq!(store.recipient(ACCOUNT, "1").await.unwrap(), None);
    assert_eq!(members(store, &["g"]).await, ["2"]);
    assert_eq!(scan(store, ACCOUNT), ["2"]);
    assert_eq!(store.recipient_count(ACCOUNT).await.unwrap(), 1);
}

pub(crate) async fn a_scan_ends_when_told(store: &dyn Store) {
    let people: Vec<Recipient> = (0..5_000).map(|n| person(&format!("{n:05}"), "")).collect();
    store.put_recipients(ACCOUNT, people).await.unwrap();
    let mut seen = 0;
    store
        .scan_recipients(ACCOUNT, &mut |slice| {
            seen += slice.len();
            seen < 2_000
        })
        .unwrap();
    assert!((2_000..5_000).contains(&seen), "{seen}");
    assert_eq!(scan(store, ACCOUNT).len(), 5_000);
    let mut ids = Vec::new();
    store
        .scan_encoded_recipients(ACCOUNT, &mut |slice, encoded| {
            let decoded: Vec<Recipient> =
                encoded.records().map(|record| Recipient::decode(record).unwrap()).collect();
            assert_eq!(decoded, slice);
            ids.extend(decoded.into_iter().map(|person| person.id));
            true
        })
        .unwrap();
    assert_eq!(ids, scan(store, ACCOUNT));
}

pub(crate) async fn an_attribute_is_known_while_somebody_has_a_value(store: crate::SharedStore) {
    let with = |id: &str, attributes: &[(&str, &str)]| {
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Recipient { attributes: attributes.collect(), ..person(id, "") }
    };
    let unused = async |account: &str| {
        let names = ["floor", "ward"].map(str::to_owned);
        crate::unused_attributes(&store, account, &names).await.unwrap()
    };
    assert_eq!(unused(ACCOUNT).await, ["floor", "ward"]);
    let people = vec![with("1", &[("ward", "7"), ("floor", "")]), with("2", &[("ward", "8")])];
    store.put_recipients(ACCOUNT, people).await.unwrap();
    assert_eq!(unused(ACCOUNT).await, ["floor"], "an empty value is none");
    assert_eq!(unused("b").await, ["floor", "ward"], "of another account");
    assert!(store.delete_recipient(ACCOUNT, "1").await.unwrap());
    assert_eq!(unused(ACCOUNT).await, ["floor"], "another still has it");
    let (_, version) = store.recipient(ACCOUNT, "2").await.unwrap().unwrap();
    let replaced = store.replace_recipient(ACCOUNT, with("2", &[("floor", "1")]), version).await.unwrap();
    assert!(replaced.is_some());
    assert_eq!(unused(ACCOUNT).await, ["ward"]);
    store.put_recipients(ACCOUNT, vec![with("3", &[("ward", "9")])]).await.unwrap();
    assert_eq!(unused(ACCOUNT).await, [""; 0]);
    assert_eq!(store.attribute_names(ACCOUNT, 1).await.unwrap(), ["floor"]);
}

pub(crate) async fn attributes_of_an_import_are_known_once_it_is_published(store: crate::SharedStore) {
    let names = ["ward".to_owned()];
    let rows: Vec<Recipient> = (0..5_000)
        .map(|n| Recipient {
            attributes: [("ward".to_owned(), n.to_string())].into(),
            ..person(&format!("{n:05}"), "")
        })
        .collect();
    let import = store.begin_import(ACCOUNT, records::Timestamp(1)).await.unwrap();
    store.stage(import, rows).await.unwrap();
    assert_eq!(crate::unused_attributes(&store, ACCOUNT, &names).await.unwrap(), names);
    store.publish_import(import).await.unwrap();
    assert_eq!(crate::unused_attributes(&store, ACCOUNT, &names).await.unwrap(), [""; 0]);
    let again = store.begin_import(ACCOUNT, records::Timestamp(2)).await.unwrap();
    let without = (0..5_000).map(|n| person(&format!("{n:05}"), ""));
    store.stage(again, without.collect()).await.unwrap();
    store.publish_import(again).await.unwrap();
    assert_eq!(crate::unused_attributes(&store, ACCOUNT, &names).await.unwrap(), names);
}

pub(crate) async fn members(store: &dyn Store, groups: &[&str]) -> Vec<String> {
    let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
    store.members_after(ACCOUNT, &groups, "", 1_000).await.unwrap()
}

pub(crate) fn scan(store: &dyn Store, account: &str) -> Vec<String> {
    let mut all = Vec::new();
    store
        .scan_recipients(account, &mut |slice| {
            all.extend(ids(slice));
            true
        })
        .unwrap();
    all
}

fn ids(recipients: &[Recipient]) -> Vec<String> {
    recipients.iter().map(|recipient| recipient.id.clone()).collect()
}

pub(crate) async fn every_change_of_a_directory_is_counted(store: &dyn Store) {
    let mut before = store.directory_revision(ACCOUNT).await.unwrap();
    assert_eq!(before, DirectoryRevision::default(), "nothing was ever stored");
    let mut changed = async |people: bool, stops: bool, what: &str| {
        let now = store.directory_revision(ACCOUNT).await.unwrap();
        assert_eq!((now.people > before.people, now.stops > before.stops), (people, stops), "{what}");
        before = now;
    };
    let version = store.put_recipients(ACCOUNT, vec![person("1", "Ann")]).await.unwrap()[0];
    changed(true, false, "a put").await;
    store.replace_recipient(ACCOUNT, person("1", "Bo"), version).await.unwrap().unwrap();
    changed(true, false, "a replacement").await;
    store.put_recipients(ACCOUNT, (0..600).map(|n| person(&n.to_string(), "")).collect()).await.unwrap();
    changed(true, false, "a large put").await;
    let import = store.begin_import(ACCOUNT, Timestamp(0)).await.unwrap();
    store.stage(import, vec![person("9", "Cy")]).await.unwrap();
    changed(false, false, "a staged row").await;
    store.publish_import(import).await.unwrap();
    changed(true, false, "a publication").await;
    store.delete_recipient(ACCOUNT, "9").await.unwrap();
    changed(true, false, "a deletion").await;
    store.delete_recipient(ACCOUNT, "nobody").await.unwrap();
    changed(false, false, "nobody's deletion").await;
    store.erase_recipient(ACCOUNT, "1").await.unwrap();
    changed(true, false, "an erasure").await;
    let group = |name: &str| records::Group { id: "g".into(), name: name.into(), ..Default::default() };
    store.put_group(ACCOUNT, group("a")).await.unwrap();
    changed(false, true, "a group").await;
    store.put_group(ACCOUNT, group("b")).await.unwrap();
    changed(false, true, "the same group").await;
    store.delete_group(ACCOUNT, "g").await.unwrap();
    changed(false, true, "no group").await;
    for out in [true, false] {
        store.set_opt_out(ACCOUNT, channels::SMS, "+46701", out, Timestamp(1)).await.unwrap();
        changed(false, true, "a stop, and a start").await;
    }
    for out in [true, false] {
        store.set_sender_opt_out(ACCOUNT, channels::SMS, "+46701", "s", out, Timestamp(1)).await.unwrap();
        changed(false, true, "a stop of one sender, and a start").await;
    }
    store.put_recipients("other", vec![person("1", "Ann")]).await.unwrap();
    changed(false, false, "another account").await;
}
