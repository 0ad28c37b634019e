//! Appending and reading.

use super::{TestBus, all_from, append_each, soon, take, texts};
use crate::{BusError, Durability, RECORD_OCTETS_MAX, TOPIC_NAME_OCTETS_MAX, TopicSettings};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) async fn what_was_appended_is_read_back_in_its_order(ground: &dyn TestBus) {
    let topic = ground.bus().topic("segments/a/routine").unwrap();
    assert_eq!((topic.low(), topic.head()), (0, 0));
    assert!(topic.read(0, 10, 1000).unwrap().is_empty());
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(soon("an append", topic.append(&[b"one", b"", &all])).await.unwrap(), 0);
    assert_eq!(soon("an append", topic.append(&[b"four"])).await.unwrap(), 3);
    assert_eq!(topic.head(), 4);
    let records = all_from(&*topic, 0);
    let expected: [&[u8]; 4] = [b"one", b"", &all, b"four"];
    assert!(records.iter().map(|record| (record.index, &record.octets[..])).eq((0..).zip(expected)));
    assert_eq!(soon("a fetch", topic.fetch(2, 10, 1 << 20)).await.unwrap(), records[2..]);
    assert!(soon("a fetch", topic.fetch(4, 10, 1 << 20)).await.unwrap().is_empty());
    assert!(topic.read(100, 10, 1000).unwrap().is_empty());
    assert_eq!(all_from(&*ground.bus().topic("segments/a/routine").unwrap(), 1), records[1..]);
}

pub(crate) async fn a_read_keeps_to_its_budget_and_gives_at_least_one_record(ground: &dyn TestBus) {
    let topic = ground.bus().topic("t").unwrap();
    let record = [b'r'; 100];
    soon("an append", topic.append(&[&record[..]; 50])).await.unwrap();
    assert_eq!(topic.read(0, 7, usize::MAX).unwrap().len(), 7);
    assert_eq!(topic.read(45, 7, usize::MAX).unwrap().len(), 5);
    assert_eq!(topic.read(3, usize::MAX, 1).unwrap().len(), 1, "one, however large");
    let some = topic.read(0, usize::MAX, 1000).unwrap();
    assert!((5..=10).contains(&some.len()), "about so many octets: {} records", some.len());
    assert!(topic.read(0, 0, 1000).unwrap().is_empty());
}

pub(crate) async fn a_glance_shows_what_a_read_gives_or_leaves_it_to_a_fetch(ground: &dyn TestBus) {
    let bus = ground.bus();
    let memory = TopicSettings { durability: Some(Durability::Memory), ..TopicSettings::default() };
    for topic in [bus.topic("t").unwrap(), bus.topic_with("m", &memory).unwrap()] {
        let records: Vec<Vec<u8>> = (0..200u8).map(|n| vec![n; usize::from(n)]).collect();
        for batch in [&records[..1], &records[1..150], &records[150..]] {
            let batch: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
            soon("an append", topic.append(&batch)).await.unwrap();
        }
        topic.trim(1).unwrap();
        for index in 0..203 {
            let mut shown = None;
            let was = topic.glance(index, &mut |record| shown = Some(record.map(<[u8]>::to_vec)));
            assert_eq!(was, shown.is_some(), "{index}");
            let read = topic.read(index, 1, 1).unwrap().into_iter().find(|record| record.index == index);
            if let Some(shown) = shown {
                assert_eq!(shown.as_deref(), read.as_ref().map(|record| &record.octets[..]), "{index}");
            }
        }
    }
}

pub(crate) async fn a_reader_that_waits_is_woken_by_the_append(ground: &dyn TestBus) {
    let (bus, other) = (ground.bus(), ground.bus());
    let (topic, reader) = (bus.topic("t").unwrap(), other.topic("t").unwrap());
    for round in 0..5u64 {
        let woken = tokio::spawn(reader.readable(round * 2 + 1));
        soon("an append", topic.append(&[b"a", b"b"])).await.unwrap();
        soon("the reader", woken).await.unwrap();
        assert_eq!(reader.read(round * 2 + 1, 10, 1000).unwrap()[0].octets, "b");
        soon("what is there already", reader.readable(0)).await;
    }
}

pub(crate) async fn appenders_at_once_get_dense_indexes_and_their_records_stay_together(
    ground: &dyn TestBus,
) {
    let bus = ground.bus();
    let topic = bus.topic("t").unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..8u8 {
        let topic = Arc::clone(&topic);
        tasks.spawn(async move {
            let mut got = Vec::new();
            for n in 0..20u8 {
                let first = topic.append(&[&[task, n, 0], &[task, n, 1], &[task, n, 2]]).await.unwrap();
                got.push((first, [task, n]));
            }
            got
        });
    }
    let got: Vec<(u64, [u8; 2])> =
        soon("the appenders", tasks.join_all()).await.into_iter().flatten().collect();
    let firsts: BTreeSet<u64> = got.iter().map(|(first, _)| *first).collect();
    assert!(firsts.into_iter().eq((0..160).map(|n| n * 3)), "every index once");
    let records = all_from(&*topic, 0);
    assert_eq!(records.len(), 480);
    for (first, [task, n]) in got {
        for part in 0..3u8 {
            assert_eq!(records[first as usize + usize::from(part)].octets[..], [task, n, part]);
        }
    }
}

pub(crate) async fn an_append_of_nothing_takes_no_index(ground: &dyn TestBus) {
    let topic = ground.bus().topic("t").unwrap();
    assert_eq!(soon("an append", topic.append(&[])).await.unwrap(), 0);
    assert_eq!(append_each(&*topic, &["a"]).await, 0);
    assert_eq!(soon("an append", topic.append(&[])).await.unwrap(), 1);
    assert_eq!(append_each(&*topic, &["b"]).await, 1);
}

pub(crate) async fn too_large_a_record_is_refused_and_the_largest_is_taken(ground: &dyn TestBus) {
    let topic = ground.bus().topic("t").unwrap();
    let large = vec![b'x'; RECORD_OCTETS_MAX + 1];
    for refused in [
        soon("an append", topic.append(&[b"beside", &large])).await.map(drop),
        soon("an append", topic.append_keyed(b"k", &[&large])).await.map(drop),
        soon("an append", topic.append_at(0, &[&large])).await.map(drop),
    ] {
        assert!(
            matches!(refused, Err(BusError::TooLarge { limit: RECORD_OCTETS_MAX, .. })),
            "{:?}",
            refused.err()
        );
    }
    let key = [b'k'; crate::KEY_OCTETS_MAX + 1];
    let refused = soon("an append", topic.append_keyed(&key, &[b"r"])).await;
    assert!(matches!(refused, Err(BusError::TooLarge { .. })), "{refused:?}");
    assert_eq!(soon("an append", topic.append(&[&large[1..]])).await.unwrap(), 0);
    assert_eq!(topic.read(0, 1, 1).unwrap()[0].octets.len(), RECORD_OCTETS_MAX);
}

pub(crate) async fn names_that_look_alike_are_different_topics(ground: &dyn TestBus) {
    let bus = ground.bus();
    let long = "n".repeat(TOPIC_NAME_OCTETS_MAX);
    let names =
        ["a/b", "a.b", "a_b", "a-b", "A/B", "a%2Fb", "a%2fb", "a/b/c", "text/%40%20%C3%A9", "a", &long];
    for (n, name) in names.iter().enumerate() {
        let topic = bus.topic(name).unwrap();
        assert_eq!(append_each(&*topic, &[&format!("{n}")]).await, 0, "{name}");
    }
    for (n, name) in names.iter().enumerate() {
        assert_eq!(texts(&all_from(&*bus.topic(name).unwrap(), 0)), [n.to_string()], "{name}");
    }
    let listed: BTreeSet<String> = bus.topics("").unwrap().into_iter().collect();
    assert!(names.iter().all(|name| listed.contains(*name)), "{listed:?}");
}

pub(crate) async fn names_that_cannot_be_one_are_refused(ground: &dyn TestBus) {
    let bus = ground.bus();
    let long = "n".repeat(TOPIC_NAME_OCTETS_MAX + 1);
    for name in [
        "", "/", "a/", "/a", "a//b", "..", "a/../b", ".", "a b", "a~b", "a%4", "a%zz", "å", "a*", "a>", &long,
    ] {
        let refused = bus.topic(name).map(drop);
        assert!(
            matches!(refused, Err(BusError::BadName { .. } | BusError::TooLarge { .. })),
            "{name:?}: {refused:?}"
        );
        assert!(bus.group(name, "g").is_err() && bus.retained(name).is_err(), "{name:?}");
    }
}

pub(crate) async fn topics_are_listed_by_how_they_begin(ground: &dyn TestBus) {
    let bus = ground.bus();
    for name in ["text/b", "text/a", "segments/a/routine", "outcomes"] {
        append_each(&*bus.topic(name).unwrap(), &["x"]).await;
    }
    assert_eq!(bus.topics("text/").unwrap(), ["text/a", "text/b"]);
    assert_eq!(bus.topics("seg").unwrap(), ["segments/a/routine"]);
    assert!(bus.topics("nothing").unwrap().is_empty());
    assert!(bus.is_reachable());
}

pub(crate) async fn a_removed_topic_is_gone_with_its_groups_and_may_begin_anew(ground: &dyn TestBus) {
    let bus = ground.bus();
    let topic = bus.topic("text/a").unwrap();
    append_each(&*topic, &["1", "2"]).await;
    let group = bus.group("text/a", "g").unwrap();
    for leased in take(&*group, 2, super::LONG).await {
        group.ack(leased.record.index).unwrap();
    }
    soon("a flush", group.flush()).await.unwrap();
    append_each(&*bus.topic("text/b").unwrap(), &["stays"]).await;
    drop((topic, group));
    bus.remove("text/a").unwrap();
    bus.remove("text/never-there").unwrap();
    assert_eq!(bus.topics("text/").unwrap(), ["text/b"]);
    let again = bus.topic("text/a").unwrap();
    assert_eq!(append_each(&*again, &["new"]).await, 0);
    assert_eq!(texts(&all_from(&*again, 0)), ["new"]);
    let taken = take(&*bus.group("text/a", "g").unwrap(), 1, super::LONG).await;
    assert_eq!(taken[0].record.octets, "new");
    assert_eq!(texts(&all_from(&*bus.topic("text/b").unwrap(), 0)), ["stays"]);
}

pub(crate) async fn what_is_trimmed_is_never_missed_and_the_count_goes_on(ground: &dyn TestBus) {
    let bus = ground.bus();
    let topic = bus.topic("t").unwrap();
    for n in 0..40u32 {
        soon("an append", topic.append(&[n.to_string().as_bytes()])).await.unwrap();
    }
    topic.trim(15).unwrap();
    let records = all_from(&*topic, 0);
    let first = records[0].index;
    assert!(first <= 15, "record {first} is the lowest, and 15 was to stay");
    assert!(texts(&records).into_iter().eq((first..40).map(|n| n.to_string())));
    assert!(topic.low() <= 15);
    topic.trim(1000).unwrap();
    assert!(topic.low() <= 40);
    assert_eq!(topic.head(), 40);
    assert_eq!(append_each(&*topic, &["next"]).await, 40);
    assert_eq!(texts(&all_from(&*topic, 40)), ["next"]);
    ground.crash();
    let again = ground.bus().topic("t").unwrap();
    assert_eq!(texts(&all_from(&*again, 40)), ["next"]);
    assert_eq!(append_each(&*again, &["and"]).await, 41);
}

pub(crate) async fn a_key_is_appended_once_and_says_where(ground: &dyn TestBus) {
    let bus = ground.bus();
    let topic = bus.topic("t").unwrap();
    append_each(&*topic, &["before"]).await;
    let first = soon("an append", topic.append_keyed(b"alert-1", &[b"a", b"b"])).await.unwrap();
    assert_eq!((first.first, first.repeated), (1, false));
    append_each(&*topic, &["between"]).await;
    for _ in 0..3 {
        let again = soon("an append", topic.append_keyed(b"alert-1", &[b"a", b"b"])).await.unwrap();
        assert_eq!((again.first, again.repeated), (1, true));
    }
    let other = ground.bus().topic("t").unwrap();
    let again = soon("an append", other.append_keyed(b"alert-1", &[b"a", b"b"])).await.unwrap();
    assert_eq!((again.first, again.repeated), (1, true));
    let long = [0xffu8; crate::KEY_OCTETS_MAX];
    for key in [&b"alert-2"[..], b"ALERT-1", b"\x00\r\n", &long] {
        let other = soon("an append", topic.append_keyed(key, &[b"c"])).await.unwrap();
        assert!(!other.repeated, "{key:?}");
    }
    assert_eq!(texts(&all_from(&*topic, 0)), ["before", "a", "b", "between", "c", "c", "c", "c"]);
    let elsewhere = bus.topic("u").unwrap();
    let elsewhere = soon("an append", elsewhere.append_keyed(b"alert-1", &[b"u"])).await.unwrap();
    assert_eq!((elsewhere.first, elsewhere.repeated), (0, false), "each topic has keys of its own");
}

pub(crate) async fn of_appends_at_once_under_one_key_one_counts(ground: &dyn TestBus) {
    let topic = ground.bus().topic("t").unwrap();
    for round in 0..5u8 {
        let mut tasks = tokio::task::JoinSet::new();
        for task in 0..6u8 {
            let topic = Arc::clone(&topic);
            tasks.spawn(async move { topic.append_keyed(&[round], &[&[round, task]]).await.unwrap() });
        }
        let got = soon("the appends", tasks.join_all()).await;
        assert!(got.iter().all(|keyed| keyed.first == u64::from(round)), "{got:?}");
        assert_eq!(got.iter().filter(|keyed| !keyed.repeated).count(), 1, "{got:?}");
    }
    assert_eq!(all_from(&*topic, 0).len(), 5);
}

pub(crate) async fn an_append_at_the_head_fails_if_somebody_went_first(ground: &dyn TestBus) {
    let (bus, other) = (ground.bus(), ground.bus());
    let (topic, rival) = (bus.topic("t").unwrap(), other.topic("t").unwrap());
    assert_eq!(soon("an append", topic.append_at(0, &[b"a", b"b"])).await.unwrap(), 0);
    assert_eq!(append_each(&*rival, &["rival"]).await, 2);
    for wrong in [0, 2, 4, 1000] {
        let refused = soon("an append", topic.append_at(wrong, &[b"late"])).await;
        assert!(matches!(refused, Err(BusError::Moved { head: 3, .. })), "at {wrong}: {refused:?}");
    }
    assert_eq!(soon("an append", topic.append_at(3, &[b"c"])).await.unwrap(), 3);
    assert_eq!(texts(&all_from(&*rival, 0)), ["a", "b", "rival", "c"]);
}

pub(crate) async fn of_appends_at_one_head_one_wins(ground: &dyn TestBus) {
    let topics: Vec<_> = (0..4).map(|_| ground.bus().topic("t").unwrap()).collect();
    for round in 0..8u64 {
        let mut tasks = tokio::task::JoinSet::new();
        for (task, topic) in topics.iter().cloned().enumerate() {
            tasks.spawn(async move { topic.append_at(round, &[&[round as u8, task as u8]]).await });
        }
        let got = soon("the appends", tasks.join_all()).await;
        let won = got.iter().filter(|result| matches!(result, Ok(index) if *index == round)).count();
        assert_eq!(won, 1, "{got:?}");
        assert!(got.iter().all(|result| matches!(result, Ok(_) | Err(BusError::Moved { .. }))), "{got:?}");
    }
    assert_eq!(all_from(&*topics[0], 0).len(), 8);
}

pub(crate) async fn latest_counts_what_any_handle_appended_before(ground: &dyn TestBus) {
    let (bus, other) = (ground.bus(), ground.bus());
    let (topic, reader) = (bus.topic("t").unwrap(), other.topic("t").unwrap());
    assert_eq!(soon("the latest", reader.latest()).await.unwrap(), 0);
    for n in 1..20u64 {
        append_each(&*topic, &["x"]).await;
        assert_eq!(soon("the latest", reader.latest()).await.unwrap(), n);
        assert_eq!(soon("a fetch", reader.fetch(n - 1, 10, 1000)).await.unwrap().len(), 1);
    }
}
