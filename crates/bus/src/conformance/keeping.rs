//! Cases check durability and retention.

use super::{TestBus, all_from, append_each, soon, texts, until};
use crate::{BusError, Durability, Retention, TopicSettings};
use std::time::Duration;

pub(crate) async fn what_was_acknowledged_survives_a_crash(ground: &dyn TestBus) {
    let mut expected = Vec::new();
    for round in 0..3 {
        let bus = ground.bus();
        let topic = bus.topic("t").unwrap();
        for n in 0..10 {
            let text = format!("{round}-{n}");
            let index = append_each(&*topic, &[&text]).await;
            assert_eq!(index, expected.len() as u64);
            expected.push(text);
        }
        drop((topic, bus));
        ground.crash();
        assert_eq!(texts(&all_from(&*ground.bus().topic("t").unwrap(), 0)), expected);
    }
}

pub(crate) async fn keys_survive_a_crash(ground: &dyn TestBus) {
    let topic = ground.bus().topic("t").unwrap();
    for n in 0..50u8 {
        let keyed = soon("an append", topic.append_keyed(&[b'k', n], &[&[n], &[n]])).await.unwrap();
        assert_eq!((keyed.first, keyed.repeated), (u64::from(n) * 2, false));
    }
    drop(topic);
    ground.crash();
    let topic = ground.bus().topic("t").unwrap();
    for n in 0..50u8 {
        let keyed = soon("an append", topic.append_keyed(&[b'k', n], &[&[n], &[n]])).await.unwrap();
        assert_eq!((keyed.first, keyed.repeated), (u64::from(n) * 2, true));
    }
    assert_eq!(append_each(&*topic, &["next"]).await, 100);
}

pub(crate) async fn keys_of_trimmed_records_survive_a_crash(ground: &dyn TestBus) {
    let bus = ground.bus();
    let topic = bus.topic("t").unwrap();
    let large = vec![b'x'; 5000];
    for n in 0..40u8 {
        soon("an append", topic.append_keyed(&[b'k', n], &[&large])).await.unwrap();
    }
    topic.trim(40).unwrap();
    drop((topic, bus));
    ground.crash();
    let topic = ground.bus().topic("t").unwrap();
    for n in 0..40u8 {
        let keyed = soon("an append", topic.append_keyed(&[b'k', n], &[&large])).await.unwrap();
        assert_eq!((keyed.first, keyed.repeated), (u64::from(n), true));
    }
    assert_eq!(append_each(&*topic, &["next"]).await, 40);
}

pub(crate) async fn an_index_is_given_out_once_however_a_topic_is_kept(ground: &dyn TestBus) {
    for (name, durability) in
        [("memory", Durability::Memory), ("os", Durability::Os), ("disk", Durability::Disk)]
    {
        let settings = TopicSettings { durability: Some(durability), ..TopicSettings::default() };
        let mut given: u64 = 0;
        let mut expected = Vec::new();
        for round in 0..3u32 {
            let bus = ground.bus();
            let topic = bus.topic_with(name, &settings).unwrap();
            assert_eq!(topic.head(), soon("the latest", topic.latest()).await.unwrap());
            if durability == Durability::Memory {
                // What is in memory goes with the process, or stays where servers keep more than was asked.
                expected.retain(|(index, _)| *index >= topic.low());
            }
            for n in 0..(600 * (round + 1)) {
                let text = format!("{round} {n}");
                let index = append_each(&*topic, &[&text]).await;
                assert!(index >= given, "{name}: {index} was given out, and all below {given}");
                given = index + 1;
                expected.push((index, text));
                if n == 30 && durability != Durability::Memory {
                    break;
                }
            }
            let found: Vec<(u64, String)> = all_from(&*topic, 0)
                .into_iter()
                .map(|record| (record.index, String::from_utf8(record.octets.to_vec()).unwrap()))
                .collect();
            assert_eq!(found, expected, "{name}");
            assert_eq!(topic.head(), given);
            assert!(bus.topics("").unwrap().contains(&name.to_owned()));
            drop((topic, bus));
            ground.crash();
            assert!(ground.bus().topics("").unwrap().contains(&name.to_owned()), "{name} is still there");
        }
    }
}

pub(crate) async fn each_limit_of_retention_holds_by_itself(ground: &dyn TestBus) {
    let bus = ground.bus();
    let limits = [
        Retention { records: Some(2000), ..Retention::default() },
        Retention { octets: Some(100_000), ..Retention::default() },
        Retention { age: Some(Duration::from_millis(200)), ..Retention::default() },
    ];
    for durability in [Durability::Memory, Durability::Os, Durability::Disk] {
        for (n, retention) in limits.into_iter().enumerate() {
            let settings =
                TopicSettings { durability: Some(durability), retention, ..TopicSettings::default() };
            let name = format!("{durability:?}-{n}");
            let topic = bus.topic_with(&name, &settings).unwrap();
            let record = [b'r'; 100];
            for _ in 0..60 {
                soon("an append", topic.append(&[&record[..]; 100])).await.unwrap();
            }
            until(&format!("{name} lets go"), || topic.low() > 0).await;
            assert_eq!(topic.head(), 6000);
            if retention.age.is_none() {
                // What is within the limit stays.
                let newest = topic.read(5_800, 1, 1).unwrap();
                assert_eq!(newest[0].index, 5_800, "{name}");
            } else {
                until(&format!("{name} is empty"), || topic.low() == 6000).await;
            }
            assert_eq!(append_each(&*topic, &["next"]).await, 6000);
        }
    }
}

pub(crate) async fn a_topic_begun_at_an_index_goes_on_from_there(ground: &dyn TestBus) {
    let begun = [("opened-before", 5_000_000_000), ("absent", 7), ("at-nothing", 0)];
    for (name, at) in begun {
        let bus = ground.bus();
        if name == "opened-before" {
            assert_eq!(bus.topic(name).unwrap().head(), 0);
        }
        for _ in 0..2 {
            bus.begin(name, at, b"first").unwrap();
            let topic = bus.topic(name).unwrap();
            assert_eq!((topic.low(), topic.latest().await.unwrap()), (at, at + 1), "{name}");
            assert_eq!(texts(&all_from(&*topic, 0)), ["first"]);
        }
    }
    ground.crash();
    let bus = ground.bus();
    for (name, at) in begun {
        let topic = bus.topic(name).unwrap();
        assert_eq!(append_each(&*topic, &["next"]).await, at + 1, "{name}");
        assert_eq!(texts(&all_from(&*topic, at)), ["first", "next"]);
        bus.begin(name, at, b"again").unwrap();
        let above = bus.begin(name, at + 3, b"above").unwrap_err();
        assert!(matches!(above, BusError::Moved { head, .. } if head == at + 2), "{above}");
    }
}

pub(crate) async fn settings_of_the_last_opening_hold(ground: &dyn TestBus) {
    let bus = ground.bus();
    let topic = bus.topic("t").unwrap();
    for _ in 0..60 {
        soon("an append", topic.append(&[&[b'r'; 100][..]; 100])).await.unwrap();
    }
    assert_eq!((topic.low(), topic.head()), (0, 6000), "nothing is let go of unless it is said");
    let retention = Retention { records: Some(100), ..Retention::default() };
    for emergency in [true, false] {
        let settings = TopicSettings { durability: Some(Durability::Disk), retention, emergency };
        let again = bus.topic_with("t", &settings).unwrap();
        until("it lets go", || again.low() > 0).await;
        let head = again.head();
        assert_eq!(append_each(&*again, &["next"]).await, head);
        assert_eq!(texts(&all_from(&*topic, head)), ["next"]);
    }
    let same = bus.topic("t").unwrap();
    let low = same.low();
    for _ in 0..60 {
        soon("an append", same.append(&[&[b'r'; 100][..]; 100])).await.unwrap();
    }
    until("an opening without settings changes nothing", || same.low() > low).await;
}
