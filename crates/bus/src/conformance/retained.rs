//! Retained topics.

use super::{TestBus, soon, until};
use std::collections::BTreeMap;

pub(crate) async fn the_last_value_of_each_key_is_seen_by_all_and_survives_a_crash(ground: &dyn TestBus) {
    let (bus, other) = (ground.bus(), ground.bus());
    let (control, seen) = (bus.retained("control").unwrap(), other.retained("control").unwrap());
    assert!(control.all().is_empty());
    for (key, value) in [("1", "run"), ("2", "run"), ("1", "stop"), ("2", ""), ("3", "pause")] {
        soon("a value", control.set(key, value.as_bytes())).await.unwrap();
        let now = control.value(key).unwrap_or_default();
        assert_eq!(now, value, "who sets it sees it at once");
    }
    until("the other sees the last", || seen.value("3").is_some()).await;
    let expected = BTreeMap::from([("1".to_owned(), "stop".into()), ("3".to_owned(), "pause".into())]);
    let sorted = |all: Vec<(String, bytes::Bytes)>| all.into_iter().collect::<BTreeMap<_, bytes::Bytes>>();
    assert_eq!(sorted(seen.all()), expected);
    assert_eq!(seen.value("2"), None);
    assert!(bus.topics("control").unwrap().is_empty(), "a retained topic is none of the topics");
    drop((control, seen, bus, other));
    ground.crash();
    let again = ground.bus().retained("control").unwrap();
    assert_eq!(sorted(again.all()), expected);
}

pub(crate) async fn who_waits_for_a_change_is_woken(ground: &dyn TestBus) {
    let (bus, other) = (ground.bus(), ground.bus());
    let (control, watcher) = (bus.retained("control").unwrap(), other.retained("control").unwrap());
    for n in 0..5u8 {
        let seen = watcher.version();
        let changed = tokio::spawn(watcher.changed(seen));
        soon("a value", control.set("key", &[n + 1])).await.unwrap();
        soon("the change", changed).await.unwrap();
        assert_ne!(watcher.version(), seen);
        until("it is seen", || watcher.value("key").is_some_and(|value| value[..] == [n + 1])).await;
    }
}

pub(crate) async fn keys_of_any_text_are_kept_apart(ground: &dyn TestBus) {
    let bus = ground.bus();
    let routes = bus.retained("routes").unwrap();
    let keys = ["a", "A", "a/b", "a.b", "a b", "a*", ">", "å", "%", "a%2Fb", "node/route", "."];
    for (n, key) in keys.iter().enumerate() {
        soon("a value", routes.set(key, &[n as u8])).await.unwrap();
    }
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(routes.value(key).unwrap()[..], [n as u8], "{key:?}");
    }
    assert_eq!(routes.all().len(), keys.len());
    let elsewhere = bus.retained("control").unwrap();
    assert!(elsewhere.all().is_empty());
}
