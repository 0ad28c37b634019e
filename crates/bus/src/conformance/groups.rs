//! Consumer groups.

use super::{LONG, SHORT, TestBus, append_each, indexes, soon, take, until};
use crate::{BusError, DeadLetter, GroupSettings};
use std::time::Duration;

pub(crate) async fn each_record_goes_to_one_member_and_an_acknowledged_one_never_again(ground: &dyn TestBus) {
    let (bus, other) = (ground.bus(), ground.bus());
    let topic = bus.topic("t").unwrap();
    for n in 0..30u8 {
        soon("an append", topic.append(&[&[n]])).await.unwrap();
    }
    let (one, two) = (bus.group("t", "g").unwrap(), other.group("t", "g").unwrap());
    let mut taken = Vec::new();
    soon("all records", async {
        while taken.len() < 30 {
            taken.extend(one.take(2, LONG).unwrap().into_iter().map(|leased| (leased, &one)));
            taken.extend(two.take(3, LONG).unwrap().into_iter().map(|leased| (leased, &two)));
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    })
    .await;
    let mut seen: Vec<u64> = taken.iter().map(|(leased, _)| leased.record.index).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..30), "each once");
    for (leased, group) in &taken {
        assert_eq!(leased.record.octets[..], [leased.record.index as u8]);
        assert_eq!(leased.redelivered, 0);
        group.ack(leased.record.index).unwrap();
    }
    for group in [&one, &two] {
        soon("a flush", group.flush()).await.unwrap();
    }
    until("all is acknowledged", || one.low_water() == 30 && one.unacknowledged(10).is_empty()).await;
    soon("an append", topic.append(&[&[30]])).await.unwrap();
    assert_eq!(indexes(&take(&*two, 1, LONG).await), [30], "and nothing comes again");
}

pub(crate) async fn a_released_record_comes_back_at_once_and_says_so(ground: &dyn TestBus) {
    let bus = ground.bus();
    let topic = bus.topic("t").unwrap();
    append_each(&*topic, &["a", "b"]).await;
    let group = bus.group("t", "g").unwrap();
    assert_eq!(indexes(&take(&*group, 2, LONG).await), [0, 1]);
    for times in 1..4 {
        group.release(1).unwrap();
        let again = take(&*group, 1, LONG).await;
        assert_eq!(again[0].record.index, 1);
        assert_eq!(again[0].redelivered, times);
        assert_eq!(again[0].record.octets, "b");
    }
    group.ack(0).unwrap();
    group.ack(1).unwrap();
    until("all is acknowledged", || group.low_water() == 2).await;
}

pub(crate) async fn an_expired_lease_goes_to_another(ground: &dyn TestBus) {
    let (bus, other) = (ground.bus(), ground.bus());
    append_each(&*bus.topic("t").unwrap(), &["a"]).await;
    let (one, two) = (bus.group("t", "g").unwrap(), other.group("t", "g").unwrap());
    assert_eq!(take(&*one, 1, SHORT).await[0].redelivered, 0);
    let again = take(&*two, 1, LONG).await;
    assert_eq!(again[0].record.octets, "a");
    assert!(again[0].redelivered >= 1);
    two.ack(0).unwrap();
    until("all is acknowledged", || two.low_water() == 1).await;
}

pub(crate) async fn a_lease_nobody_has_can_be_neither_renewed_nor_released(ground: &dyn TestBus) {
    let bus = ground.bus();
    append_each(&*bus.topic("t").unwrap(), &["a", "b"]).await;
    let group = bus.group("t", "g").unwrap();
    take(&*group, 2, LONG).await;
    group.ack(0).unwrap();
    for wrong in [group.renew(7, LONG), group.release(7), group.renew(0, LONG), group.release(0)] {
        assert!(matches!(wrong, Err(BusError::NotLeased { .. })), "{wrong:?}");
    }
    group.ack(0).unwrap();
}

pub(crate) async fn a_renewed_lease_is_still_held(ground: &dyn TestBus) {
    let bus = ground.bus();
    let topic = bus.topic("t").unwrap();
    append_each(&*topic, &["kept", "expires"]).await;
    let group = bus.group("t", "g").unwrap();
    take(&*group, 1, LONG).await;
    group.renew(0, LONG).unwrap();
    assert_eq!(take(&*group, 1, SHORT).await[0].record.octets, "expires");
    let again = take(&*group, 1, LONG).await;
    assert_eq!(again[0].record.octets, "expires", "the one whose lease was renewed is not given out");
    group.renew(0, LONG).unwrap();
    group.ack(0).unwrap();
    group.ack(1).unwrap();
    until("all is acknowledged", || group.low_water() == 2).await;
}

pub(crate) async fn ready_resolves_with_the_first_record(ground: &dyn TestBus) {
    let bus = ground.bus();
    let topic = bus.topic("t").unwrap();
    let group = bus.group("t", "g").unwrap();
    assert!(group.take(1, LONG).unwrap().is_empty());
    let ready = tokio::spawn(group.ready());
    append_each(&*topic, &["a"]).await;
    soon("ready", ready).await.unwrap();
    assert_eq!(indexes(&take(&*group, 1, LONG).await), [0]);
}

pub(crate) async fn groups_on_one_topic_do_not_know_each_other(ground: &dyn TestBus) {
    let bus = ground.bus();
    append_each(&*bus.topic("t").unwrap(), &["a", "b", "c"]).await;
    append_each(&*bus.topic("u").unwrap(), &["x"]).await;
    let (one, two) = (bus.group("t", "one").unwrap(), bus.group("t", "two").unwrap());
    for leased in take(&*one, 3, LONG).await {
        one.ack(leased.record.index).unwrap();
    }
    assert_eq!(indexes(&take(&*two, 3, LONG).await), [0, 1, 2]);
    let same_name = bus.group("u", "one").unwrap();
    assert_eq!(take(&*same_name, 1, LONG).await[0].record.octets, "x");
    until("the first is done", || one.low_water() == 3).await;
    assert_eq!(two.low_water(), 0);
    assert_eq!(two.unacknowledged(2), [0, 1]);
}

pub(crate) async fn the_low_water_mark_stands_at_the_lowest_gap(ground: &dyn TestBus) {
    let bus = ground.bus();
    let topic = bus.topic("t").unwrap();
    append_each(&*topic, &["0", "1", "2", "3", "4", "5"]).await;
    let group = bus.group("t", "g").unwrap();
    assert_eq!(group.low_water(), 0);
    take(&*group, 5, LONG).await;
    for index in [0, 1, 3] {
        group.ack(index).unwrap();
    }
    until("two are done", || group.low_water() == 2).await;
    until("what is open is known", || group.unacknowledged(10) == [2, 4, 5]).await;
    assert_eq!(group.unacknowledged(1), [2]);
    group.ack(2).unwrap();
    until("four are done", || group.low_water() == 4).await;
    until("what is open is known", || group.unacknowledged(10) == [4, 5]).await;
}

pub(crate) async fn acknowledgements_survive_a_crash_after_a_flush(ground: &dyn TestBus) {
    let bus = ground.bus();
    append_each(&*bus.topic("t").unwrap(), &["0", "1", "2", "3", "4", "5"]).await;
    let group = bus.group("t", "g").unwrap();
    take(&*group, 6, LONG).await;
    for index in [0, 1, 3, 5] {
        group.ack(index).unwrap();
    }
    soon("a flush", group.flush()).await.unwrap();
    drop((group, bus));
    ground.crash();
    let bus = ground.bus();
    let group = bus.group("t", "g").unwrap();
    until("the low-water mark is known", || group.low_water() == 2).await;
    let open = group.unacknowledged(9);
    assert!(open == [2, 4] || !ground.knows_gaps() && open == [2, 3, 4, 5], "{open:?}");
    assert_eq!(indexes(&take(&*group, 2, LONG).await), [2, 4]);
    append_each(&*bus.topic("t").unwrap(), &["6"]).await;
    assert_eq!(indexes(&take(&*group, 1, LONG).await), [6], "nothing else comes again");
}

pub(crate) async fn what_a_dead_member_held_goes_to_another(ground: &dyn TestBus) {
    let bus = ground.bus();
    append_each(&*bus.topic("t").unwrap(), &["0", "1"]).await;
    let group = bus.group("t", "g").unwrap();
    take(&*group, 2, SHORT).await;
    drop((group, bus));
    ground.crash();
    let again = ground.bus().group("t", "g").unwrap();
    assert_eq!(indexes(&take(&*again, 2, LONG).await), [0, 1]);
}

pub(crate) async fn nothing_new_is_given_out_while_too_much_is_acknowledged_above_a_gap(
    ground: &dyn TestBus,
) {
    let bus = ground.bus();
    let topic = bus.topic("t").unwrap();
    for n in 0..100u8 {
        soon("an append", topic.append(&[&[n]])).await.unwrap();
    }
    let settings = GroupSettings { out_of_order_max: 8, ..GroupSettings::default() };
    let group = bus.group_with("t", "g", &settings).unwrap();
    assert_eq!(indexes(&take(&*group, 1, LONG).await), [0]);
    let mut above = 0;
    loop {
        match group.take(1, LONG).unwrap().first() {
            Some(leased) => {
                group.ack(leased.record.index).unwrap();
                above += 1;
            }
            // Whether anything comes cannot be awaited; what comes too late is within the bound all the same.
            None if tokio::time::timeout(Duration::from_millis(500), group.ready()).await.is_err() => break,
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
        assert!(above <= 9, "{above} were acknowledged above the gap");
        if above == 8 && group.take(1, LONG).unwrap().is_empty() {
            break;
        }
    }
    group.ack(0).unwrap();
    soon("all the others", async {
        while group.low_water() < 100 {
            group.ready().await;
            for leased in group.take(10, LONG).unwrap() {
                group.ack(leased.record.index).unwrap();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
            if group.unacknowledged(1).is_empty() {
                break;
            }
        }
    })
    .await;
    until("all is acknowledged", || group.low_water() == 100).await;
}

pub(crate) async fn a_record_given_out_too_often_becomes_a_dead_letter(ground: &dyn TestBus) {
    let bus = ground.bus();
    let settings = GroupSettings {
        deliveries_max: 3,
        dead_letters: Some("dead/t".to_owned()),
        ..GroupSettings::default()
    };
    let topic = bus.topic("t").unwrap();
    append_each(&*topic, &["good", "bad", "also good"]).await;
    let group = bus.group_with("t", "g", &settings).unwrap();
    let dead = bus.topic("dead/t").unwrap();
    for leased in take(&*group, 3, LONG).await {
        if leased.record.octets != "bad" {
            group.ack(leased.record.index).unwrap();
        }
    }
    for times in 1..3 {
        group.release(1).unwrap();
        let again = take(&*group, 1, LONG).await;
        assert_eq!((again[0].record.index, again[0].redelivered), (1, times));
    }
    assert_eq!(dead.head(), 0, "three times are not too often yet");
    group.release(1).unwrap();
    soon("the dead letter", dead.readable(0)).await;
    let letters = dead.read(0, 10, 1000).unwrap();
    let letter = DeadLetter::decode(&letters[0].octets).unwrap();
    assert_eq!(letter, DeadLetter { index: 1, deliveries: 3, octets: "bad".into() });
    assert_eq!(letters.len(), 1);
    until("all is done with", || group.low_water() == 3).await;
    append_each(&*topic, &["next"]).await;
    assert_eq!(indexes(&take(&*group, 1, LONG).await), [3]);
}

pub(crate) async fn a_record_whose_lease_ends_too_often_becomes_a_dead_letter(ground: &dyn TestBus) {
    let bus = ground.bus();
    let settings = GroupSettings {
        deliveries_max: 2,
        dead_letters: Some("dead".to_owned()),
        ..GroupSettings::default()
    };
    append_each(&*bus.topic("t").unwrap(), &["bad"]).await;
    let group = bus.group_with("t", "g", &settings).unwrap();
    for _ in 0..2 {
        assert_eq!(take(&*group, 1, SHORT).await[0].record.octets, "bad");
    }
    let dead = bus.topic("dead").unwrap();
    soon("the dead letter", dead.readable(0)).await;
    let letter = DeadLetter::decode(&dead.read(0, 1, 100).unwrap()[0].octets).unwrap();
    assert_eq!((letter.index, &letter.octets[..]), (0, &b"bad"[..]));
    assert!(letter.deliveries >= 2);
    until("it is done with", || group.low_water() == 1).await;
}

pub(crate) async fn without_a_place_for_dead_letters_a_record_is_given_out_on_and_on(ground: &dyn TestBus) {
    let bus = ground.bus();
    append_each(&*bus.topic("t").unwrap(), &["bad"]).await;
    let settings = GroupSettings { deliveries_max: 2, ..GroupSettings::default() };
    let group = bus.group_with("t", "g", &settings).unwrap();
    for times in 0..6 {
        let leased = take(&*group, 1, LONG).await;
        assert_eq!(leased[0].redelivered, times);
        group.release(0).unwrap();
    }
}
