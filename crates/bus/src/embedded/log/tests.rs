use super::super::moved::Moved;
use super::super::sync::THREADS;
use super::super::{Embedded, Options};
use super::write::APPEND_OCTETS_MAX;
use super::*;
use crate::{Bus, RECORD_OCTETS_MAX, Topic};
use power_cut::{Dice, SimulatedDisk, root};
use std::collections::BTreeSet;
use std::time::Duration;

fn bus(disk: &SimulatedDisk, options: Options) -> Embedded {
    Embedded::on(Arc::new(disk.clone()), Moved::new(), &root(), &options).unwrap()
}

fn small_files() -> Options {
    Options { file_octets_max: 600, ..Options::default() }
}

/// Everything in a topic, from its low end.
fn all(topic: &dyn Topic) -> Vec<Vec<u8>> {
    let mut from = topic.low();
    let mut out = Vec::new();
    loop {
        let records = topic.read(from, 7, 300).unwrap();
        let Some(last) = records.last() else {
            assert_eq!(from, topic.head());
            return out;
        };
        assert!(records.iter().map(|record| record.index).eq(from..last.index + 1), "indexes are dense");
        from = last.index + 1;
        out.extend(records.iter().map(|record| record.octets.to_vec()));
    }
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("record {n} {}", "x".repeat(n * 7 % 40))).collect()
}

fn now<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

async fn append_each(topic: &dyn Topic, texts: &[String], batch: usize) {
    for batch in texts.chunks(batch) {
        let records: Vec<&[u8]> = batch.iter().map(|text| text.as_bytes()).collect();
        topic.append(&records).await.unwrap();
    }
}

#[test]
fn at_every_length_of_a_cut_file_the_whole_batches_stay_and_the_rest_goes() {
    let disk = SimulatedDisk::new();
    let written = texts(20);
    {
        // Synced once only: any tail may be torn.
        let bus = bus(&disk, Options { fsync: Fsync::Os, ..Options::default() });
        now(append_each(&*bus.topic("t").unwrap(), &written, 3));
        let [(path, octets)] = &disk.files("topics/t")[..] else { panic!("one file") };
        let mut seen = Vec::new();
        for len in 0..=octets.len() {
            let cut = disk.with_file(path, octets[..len].to_vec());
            let again = self::bus(&cut, Options::default());
            let topic = again.topic("t").unwrap();
            let found = all(&*topic);
            assert!(
                found.iter().eq(written.iter().take(found.len()).map(|text| text.as_bytes())),
                "length {len}"
            );
            assert!(found.len().is_multiple_of(3) || found.len() == 20, "length {len}: a batch counts whole");
            assert_eq!(now(topic.append(&[b"next"])).unwrap(), found.len() as u64, "length {len}");
            assert_eq!(all(&*topic).last().unwrap(), b"next");
            seen.push(found.len());
        }
        assert!(seen.is_sorted());
        assert_eq!(*seen.last().unwrap(), 20);
    }
}

#[test]
fn a_flipped_octet_before_the_last_batch_is_damage_with_its_file_and_offset() {
    let disk = SimulatedDisk::new();
    drop_after(&disk, Options::default(), |bus| now(append_each(&*bus.topic("t").unwrap(), &texts(9), 3)));
    let [(path, octets)] = &disk.files("topics/t")[..] else { panic!("one file") };
    let magics =
        octets.windows(4).enumerate().filter(|(_, window)| **window == super::super::frame::BATCH_MAGIC);
    let batches: Vec<usize> = magics.map(|(at, _)| at).collect();
    let last = batches[2];
    for at in 0..octets.len() {
        let mut bad = octets.clone();
        bad[at] ^= 0x10;
        let again = bus(&disk.with_file(path, bad), Options::default());
        match again.topic("t") {
            Ok(topic) => {
                assert!(at >= last, "octet {at} is not in the last batch");
                assert_eq!(all(&*topic).len(), 6);
            }
            Err(BusError::Damaged { what }) => {
                assert!(at < last, "octet {at}: a torn tail is not damage");
                let batch = batches.iter().rev().find(|begin| **begin <= at).copied().unwrap_or(0);
                assert!(what.contains(&format!("{}", path.display())), "{what}");
                assert!(what.contains(&format!("offset {batch}")), "octet {at} of batch at {batch}: {what}");
            }
            Err(other) => panic!("octet {at}: {other}"),
        }
    }
}

#[test]
fn damage_in_a_full_file_is_said_by_the_read_that_meets_it() {
    let disk = SimulatedDisk::new();
    let written = texts(60);
    drop_after(&disk, small_files(), |bus| now(append_each(&*bus.topic("t").unwrap(), &written, 2)));
    let files = disk.files("topics/t");
    assert!(files.len() > 3, "{} files", files.len());
    let (path, octets) = &files[1];
    for at in 0..octets.len() {
        let mut bad = octets.clone();
        bad[at] ^= 1;
        let again = bus(&disk.with_file(path, bad), small_files());
        let topic = again.topic("t").unwrap();
        let mut from = 0;
        let error = loop {
            match topic.read(from, 1, 1 << 20) {
                Ok(records) if records.is_empty() => break None,
                Ok(records) => {
                    assert_eq!(records[0].octets, written[from as usize].as_bytes(), "octet {at}");
                    from += 1;
                }
                Err(error) => break Some(error),
            }
        };
        // The durable mark and the salt's copy in a header are covered by its checksum, so every octet
        // matters.
        let Some(BusError::Damaged { what }) = error else { panic!("octet {at}: {error:?}") };
        assert!(what.contains(&format!("{}", path.display())) && what.contains("offset"), "{what}");
    }
}

#[test]
fn trim_removes_whole_files_only_and_the_count_goes_on() {
    let disk = SimulatedDisk::new();
    let written = texts(60);
    let mut next = 60;
    drop_after(&disk, small_files(), |bus| now(append_each(&*bus.topic("t").unwrap(), &written, 2)));
    let firsts: Vec<u64> = disk
        .files("topics/t")
        .iter()
        .map(|(path, _)| file::first_of_name(path.file_name().unwrap().to_str().unwrap()).unwrap())
        .collect();
    for below in 0..=60 {
        drop_after(&disk, small_files(), |bus| {
            let topic = bus.topic("t").unwrap();
            topic.trim(below).unwrap();
            let expected = firsts.iter().rev().find(|first| **first <= below).unwrap();
            if topic.low() < 60 {
                assert_eq!(topic.low(), *expected, "below {below}");
            }
            assert_eq!(topic.head(), 60);
            let found = all(&*topic);
            assert!(found.iter().eq(written[topic.low() as usize..].iter().map(|text| text.as_bytes())));
        });
    }
    for _ in 0..3 {
        drop_after(&disk, small_files(), |bus| {
            let topic = bus.topic("t").unwrap();
            assert_eq!(now(topic.append(&[&[7; 700]])).unwrap(), next);
            next += 1;
            topic.trim(u64::MAX).unwrap();
            assert_eq!(
                (topic.low(), topic.head()),
                (next, next),
                "a full file of which nothing is needed goes"
            );
            assert_eq!(disk.files("topics/t").len(), 1);
        });
    }
}

#[test]
fn a_full_disk_costs_the_append_that_met_it_and_nothing_else() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, small_files());
    let topic = bus.topic("t").unwrap();
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let mut dice = Dice(4);
    let mut refused = 0;
    for n in 0..400u32 {
        let room = dice.roll(300) as usize;
        disk.fault(|faults| faults.room = Some(room));
        let record = vec![n as u8; dice.roll(120) as usize];
        match now(topic.append(&[&record, b"and"])) {
            Ok(first) => {
                assert_eq!(first, kept.len() as u64);
                kept.extend([record, b"and".to_vec()]);
            }
            Err(BusError::DiskFull { topic }) => {
                assert_eq!(topic, "t");
                refused += 1;
            }
            Err(other) => panic!("append {n}: {other}"),
        }
        assert_eq!(topic.head(), kept.len() as u64);
    }
    assert!((50..350).contains(&refused), "{refused} refused");
    assert_eq!(all(&*topic), kept);
    disk.fault(|faults| faults.room = Some(0));
    topic.trim(kept.len() as u64).unwrap();
    disk.fault(|faults| faults.room = None);
    assert_eq!(now(topic.append(&[b"room again"])).unwrap(), kept.len() as u64);
    let after = self::bus(&disk.power_cut_without_loss(), small_files());
    assert_eq!(all(&*after.topic("t").unwrap()).last().unwrap(), b"room again");
}

#[test]
fn what_a_failed_write_left_is_cut_before_anything_follows() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options::default());
    let topic = bus.topic("t").unwrap();
    now(topic.append(&[b"first"])).unwrap();
    disk.fault(|faults| (faults.room, faults.cut) = (Some(20), true));
    assert!(matches!(now(topic.append(&[&[1; 100]])), Err(BusError::DiskFull { .. })));
    disk.fault(|faults| faults.room = None);
    assert!(matches!(now(topic.append(&[b"still not"])), Err(BusError::Io { .. })));
    disk.fault(|faults| faults.cut = false);
    assert_eq!(now(topic.append(&[b"second"])).unwrap(), 1);
    assert_eq!(all(&*topic), [b"first".to_vec(), b"second".to_vec()]);
}

#[test]
fn a_failed_sync_stops_the_topic_and_a_restart_recovers_what_was_safe() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options::default());
    let topic = bus.topic("t").unwrap();
    let other = bus.topic("other").unwrap();
    now(topic.append(&[b"safe"])).unwrap();
    now(other.append(&[b"safe"])).unwrap();
    disk.fault(|faults| faults.sync = true);
    for _ in 0..2 {
        let Err(BusError::Io { topic, why }) = now(topic.append(&[b"lost"])) else {
            panic!("the sync failed")
        };
        assert_eq!(topic, "t");
        assert!(why.contains("restart"), "{why}");
        disk.fault(|faults| faults.sync = false);
    }
    assert!(matches!(topic.read(0, 9, 999), Err(BusError::Io { .. })));
    now(topic.readable(5));
    assert_eq!(now(other.append(&[b"works on"])).unwrap(), 1);
    let again = self::bus(&disk.power_cut(&mut Dice(1)), Options::default());
    assert_eq!(all(&*again.topic("t").unwrap())[0], b"safe");
}

#[test]
fn while_a_sync_runs_the_next_appends_gather_for_one_more() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options::default());
    let topic = bus.topic("t").unwrap();
    now(topic.append(&[b"begin"])).unwrap();
    let before = disk.syncs();
    disk.hold_syncs(true);
    let waiters = 32;
    now(async {
        let mut tasks = tokio::task::JoinSet::new();
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                for n in 0..waiters {
                    let topic = topic.clone();
                    tasks.spawn_local(async move { topic.append(&[&[n]]).await.unwrap() });
                    tokio::task::yield_now().await;
                }
                disk.wait_for_sync(before + 1);
                assert_eq!(topic.head(), 1, "nothing is readable before its sync");
                disk.hold_syncs(false);
                let mut got = tasks.join_all().await;
                got.sort_unstable();
                assert!(got.into_iter().eq(1..u64::from(waiters) + 1));
            })
            .await;
    });
    let syncs = disk.syncs() - before;
    assert!(syncs <= 2, "{waiters} appends took {syncs} syncs");
}

/// A log with many who wait: its syncs overlap from now on.
fn crowded(bus: &Embedded, disk: &SimulatedDisk) -> Arc<Log> {
    let log = bus.log("t").unwrap();
    let before = disk.syncs();
    disk.hold_syncs(true);
    log.write_promised(DurabilityRule::Any, &[b"first"]).unwrap();
    disk.wait_for_sync(before + 1);
    let last = crowd(&log);
    disk.hold_syncs(false);
    now(log.promised(last.written.end, None)).unwrap();
    assert!(log.lanes() > 1);
    log
}

/// So many appends that a sync need not wait for more; the last of them.
fn crowd(log: &Log) -> Promised {
    (0..100u8).map(|n| log.write_promised(DurabilityRule::Any, &[&[n]]).unwrap()).last().unwrap()
}

#[test]
fn where_many_wait_the_next_sync_begins_before_the_last_has_ended_and_counts_only_after_it() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options::default());
    let log = crowded(&bus, &disk);
    let (syncs, head) = (disk.syncs(), log.head());
    disk.hold_sync(Some(syncs + 1));
    let one = crowd(&log);
    disk.wait_for_sync(syncs + 1);
    let other = crowd(&log);
    disk.wait_for_ends(syncs + 1);
    assert_eq!(log.head(), head, "the later sync has ended, and the one before may still fail");
    disk.hold_sync(None);
    now(log.promised(one.written.end, None)).unwrap();
    now(log.promised(other.written.end, None)).unwrap();
    assert_eq!(log.head(), head + 200);
    log.sync().unwrap();
    let after = self::bus(&disk.power_cut(&mut Dice(3)), Options::default());
    assert_eq!(after.topic("t").unwrap().head(), head + 200);
}

#[test]
fn when_the_earlier_of_two_overlapping_syncs_fails_nobody_of_either_is_told_that_it_is_safe() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options::default());
    let log = crowded(&bus, &disk);
    let (syncs, head) = (disk.syncs(), log.head());
    disk.hold_sync(Some(syncs + 1));
    disk.fault(|faults| faults.one_sync = Some(syncs + 1));
    let one = crowd(&log);
    disk.wait_for_sync(syncs + 1);
    let other = crowd(&log);
    disk.wait_for_ends(syncs + 1);
    disk.hold_sync(None);
    for promised in [one, other] {
        let told = now(log.promised(promised.written.end, None));
        assert!(matches!(told, Err(BusError::Io { .. })), "{told:?}");
    }
    assert_eq!(log.head(), head);
    assert!(log.sync().is_err(), "it has stopped, and nobody waits for a sync that will never count");
}

#[test]
fn a_sync_of_several_files_waits_for_those_under_way_and_none_begins_beside_it() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options::default());
    let log = crowded(&bus, &disk);
    let append = || log.write_promised(DurabilityRule::Any, &[b"x"]).unwrap();
    let syncs = disk.syncs();
    disk.hold_sync(Some(syncs + 1));
    let one = append();
    disk.wait_for_sync(syncs + 1);
    log.roll().unwrap();
    let other = append();
    disk.hold_sync(Some(syncs + 2));
    now(log.promised(one.written.end, None)).unwrap();
    disk.wait_for_sync(syncs + 2);
    let last = append();
    assert_eq!(disk.syncs(), syncs + 2, "the new file and its folder are synced alone");
    disk.hold_sync(None);
    now(log.promised(other.written.end, None)).unwrap();
    now(log.promised(last.written.end, None)).unwrap();
    let after = self::bus(&disk.power_cut(&mut Dice(4)), Options::default());
    assert_eq!(after.topic("t").unwrap().head(), last.written.end);
}

#[test]
fn a_busy_log_writes_into_room_made_ahead_and_gives_it_back() {
    let disk = SimulatedDisk::new();
    let options = Options { file_octets_max: 8_000, ..Options::default() };
    let bus = bus(&disk, options.clone());
    let log = bus.log("t").unwrap();
    let lens = |disk: &SimulatedDisk| {
        disk.files("topics/t").iter().map(|(_, octets)| octets.len() as u64).collect::<Vec<_>>()
    };
    let mut lengths = BTreeSet::new();
    let mut count = 0;
    while log.size().1 == 0 {
        now(Topic::append(&*log, &[&[b'r'; 60]])).unwrap();
        count += 1;
        lengths.insert(lens(&disk)[0]);
    }
    assert!(lengths.len() < 30, "{count} appends, and the file got longer {} times", lengths.len());
    assert!(lens(&disk)[0] < 8_000, "what is full is as long as its records");
    while log.size().0 < 3_000 {
        now(Topic::append(&*log, &[&[b'r'; 60]])).unwrap();
        count += 1;
    }
    assert!(lens(&disk)[1] > log.size().0, "there is room");
    for after in [disk.power_cut_without_loss(), disk.power_cut(&mut Dice(6))] {
        let again = self::bus(&after, options.clone());
        assert_eq!(again.log("t").unwrap().head(), count);
        assert_eq!(lens(&after), [lens(&disk)[0], log.size().0], "the zeros are cut");
        assert_eq!(all(&*again.topic("t").unwrap()).len() as u64, count);
    }
}

#[test]
fn appenders_on_many_threads_get_dense_indexes_that_read_back() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options { file_octets_max: 4000, ..Options::default() });
    let topic = bus.topic("t").unwrap();
    let threads: Vec<_> = (0..8u8)
        .map(|thread| {
            let topic = topic.clone();
            std::thread::spawn(move || {
                (0..50u8)
                    .map(|n| (now(topic.append(&[&[thread, n, 0], &[thread, n, 1]])).unwrap(), [thread, n]))
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    let got: Vec<(u64, [u8; 2])> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let found = all(&*topic);
    assert_eq!(found.len(), 800);
    for (first, [thread, n]) in got {
        assert_eq!(found[first as usize], [thread, n, 0]);
        assert_eq!(found[first as usize + 1], [thread, n, 1]);
    }
}

#[test]
fn under_a_weaker_fsync_a_record_is_readable_before_it_is_synced() {
    for fsync in [Fsync::Os, Fsync::Interval(Duration::from_millis(1))] {
        let disk = SimulatedDisk::new();
        let clock = Moved::new();
        let options = Options { fsync, ..Options::default() };
        let bus = Embedded::on(Arc::new(disk.clone()), clock.clone(), &root(), &options).unwrap();
        disk.hold_syncs(true);
        let log = bus.log("t").unwrap();
        now(Topic::append(&*log, &[b"x"])).unwrap();
        assert_eq!(all(&*log), [b"x"]);
        disk.hold_syncs(false);
        if fsync != Fsync::Os {
            clock.forward(Duration::from_millis(1));
            bus.clock_moved();
            now(log.synced(1)).unwrap();
            assert_eq!(log.progress().borrow().durable, 1);
        }
    }
}

#[test]
fn appends_that_are_written_together_and_find_no_room_are_all_taken_back_and_told() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options::default());
    let topic = bus.log("t").unwrap();
    now(Topic::append(&*topic, &[b"kept"])).unwrap();
    // The next sync waits, so that what follows is gathered behind it.
    let before = disk.syncs();
    disk.hold_syncs(true);
    let held = topic.write_promised(DurabilityRule::Any, &[b"held"]).unwrap();
    disk.wait_for_sync(before + 1);
    let lost: Vec<Promised> = (0..5u8)
        .map(|n| topic.write_promised(DurabilityRule::Key(&[n]), &[&[n; 40], &[n; 40]]).unwrap())
        .collect();
    assert_eq!(topic.end().0, 12);
    disk.fault(|faults| faults.room = Some(100));
    disk.hold_syncs(false);
    now(topic.promised(held.written.end, held.staged_result.as_ref())).unwrap();
    for promised in &lost {
        let told = now(topic.promised(promised.written.end, promised.staged_result.as_ref()));
        assert!(matches!(told, Err(BusError::DiskFull { .. })), "{told:?}");
    }
    assert_eq!((topic.head(), topic.end().0), (2, 2));
    disk.fault(|faults| faults.room = None);
    for n in 0..5u8 {
        let keyed = now(Topic::append_keyed(&*topic, &[n], &[b"again"])).unwrap();
        assert_eq!((keyed.first, keyed.repeated), (2 + u64::from(n), false), "the key was taken back too");
    }
    for promised in &lost {
        let told = now(topic.promised(promised.written.end, promised.staged_result.as_ref()));
        assert!(told.is_err(), "also when others have its index by now");
    }
    let expected = ["kept", "held", "again", "again", "again", "again", "again"];
    assert_eq!(all(&*topic), expected.map(|text| text.as_bytes().to_vec()));
    let after = self::bus(&disk.power_cut(&mut Dice(2)), Options::default());
    assert_eq!(all(&*after.topic("t").unwrap()), expected.map(|text| text.as_bytes().to_vec()));
}

#[test]
fn who_was_promised_a_sync_gets_it_when_the_topic_asks_for_less_meanwhile() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options::default());
    let topic = bus.log("t").unwrap();
    for n in 0..50u64 {
        let durability = Some(if n % 2 == 0 { Durability::Os } else { Durability::Disk });
        let promised = topic.write_promised(DurabilityRule::Any, &[b"x"]).unwrap();
        bus.topic_with("t", &TopicSettings { durability, ..TopicSettings::default() }).unwrap();
        now(topic.promised(promised.written.end, promised.staged_result.as_ref())).unwrap();
        assert_eq!(now(topic.latest()).unwrap(), n + 1);
    }
    assert_eq!(all(&*topic).len(), 50);
}

fn emergency() -> TopicSettings {
    TopicSettings { emergency: true, ..TopicSettings::default() }
}

#[test]
fn on_a_full_disk_emergencies_go_on_within_the_reserve_and_others_wait_until_it_is_whole_again() {
    const RESERVE: usize = 4 * 1024 * 1024;
    let disk = SimulatedDisk::new();
    let clock = Moved::new();
    let options = Options { reserve_octets: RESERVE as u64, ..Options::default() };
    let bus = Embedded::on(Arc::new(disk.clone()), clock.clone(), &root(), &options).unwrap();
    let routine = bus.topic("routine").unwrap();
    now(routine.append(&[b"there is room"])).unwrap();
    disk.fault(|faults| faults.room = Some(RESERVE + 1_000_000));
    let urgent = bus.topic_with("urgent", &emergency()).unwrap();
    let record = [7; 100_000];
    let until_full = |topic: &dyn Topic| {
        let fits = |_: &u32| match now(topic.append(&[&record])) {
            Ok(_) => true,
            Err(BusError::DiskFull { .. }) => false,
            Err(other) => panic!("{other}"),
        };
        (0..1000).take_while(fits).count()
    };
    assert_eq!(until_full(&*routine), 9);
    for _ in 0..20 {
        now(urgent.append(&[&record])).unwrap();
        let refused = now(routine.append(&[b"small"]));
        assert!(matches!(refused, Err(BusError::DiskFull { .. })), "what is given is for emergencies alone");
    }
    assert!(until_full(&*urgent) >= 18, "all of the reserve is used");
    // Room comes back, but not enough for the reserve.
    disk.fault(|faults| *faults.room.as_mut().unwrap() += RESERVE / 2);
    clock.forward(Duration::from_secs(1));
    assert!(matches!(now(routine.append(&[b"small"])), Err(BusError::DiskFull { .. })));
    now(urgent.append(&[&record])).unwrap();
    disk.fault(|faults| faults.room = None);
    clock.forward(Duration::from_secs(1));
    now(routine.append(&[b"room again"])).unwrap();
    let again = Embedded::on(Arc::new(disk.power_cut(&mut Dice(5))), clock, &root(), &options).unwrap();
    assert_eq!(all(&*again.topic("routine").unwrap()).last().unwrap(), b"room again");
    assert_eq!(again.topic("urgent").unwrap().head(), urgent.head());
}

#[test]
fn an_emergency_is_synced_while_others_hold_every_thread_they_may() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options::default());
    let others: Vec<_> = (0..THREADS).map(|n| bus.log(&format!("other-{n}")).unwrap()).collect();
    bus.topic_with("urgent", &emergency()).unwrap();
    let urgent = bus.log("urgent").unwrap();
    let before = disk.syncs();
    disk.hold_syncs(true);
    for log in &others {
        log.write_promised(DurabilityRule::Any, &[b"waits"]).unwrap();
    }
    disk.wait_for_sync(before + THREADS - 1);
    urgent.write_promised(DurabilityRule::Any, &[b"goes"]).unwrap();
    disk.wait_for_sync(before + THREADS);
    assert_eq!(lock(&urgent.way).running, 1);
    let waiting = others.iter().filter(|log| lock(&log.way).is_queued).count();
    assert_eq!(waiting, 1, "the last of the others has no thread");
    disk.hold_syncs(false);
    now(urgent.promised(1, None)).unwrap();
    others.iter().for_each(|log| now(log.promised(1, None)).unwrap());
}

#[test]
fn keys_are_found_again_in_files_of_any_age_and_after_their_records_are_gone() {
    let disk = SimulatedDisk::new();
    let mut dice = Dice(11);
    for round in 0..4u8 {
        drop_after(&disk, small_files(), |bus| {
            let topic = bus.topic("t").unwrap();
            for n in 0..30u8 {
                let keyed = now(topic.append_keyed(&[round, n], &[&[n; 90]])).unwrap();
                assert!(!keyed.repeated);
                now(topic.append(&[&[0; 50]])).unwrap();
            }
            if round % 2 == 1 {
                topic.trim(dice.roll(topic.head())).unwrap();
            }
        });
        drop_after(&disk.power_cut(&mut dice), small_files(), |bus| {
            let topic = bus.topic("t").unwrap();
            let head = topic.head();
            for (round, n) in (0..=round).flat_map(|round| (0..30u8).map(move |n| (round, n))) {
                let keyed = now(topic.append_keyed(&[round, n], &[b"again"])).unwrap();
                let first = u64::from(round) * 60 + u64::from(n) * 2;
                assert_eq!((keyed.first, keyed.repeated), (first, true), "round {round}, {n}");
            }
            assert_eq!(topic.head(), head);
        });
    }
}

#[test]
fn too_much_is_refused_with_its_limit() {
    let disk = SimulatedDisk::new();
    let bus = bus(&disk, Options::default());
    let topic = bus.topic("t").unwrap();
    let large = vec![0; RECORD_OCTETS_MAX + 1];
    assert!(matches!(now(topic.append(&[&large])), Err(BusError::TooLarge { limit: RECORD_OCTETS_MAX, .. })));
    let largest = vec![0; RECORD_OCTETS_MAX];
    let many = vec![&largest[..]; 17];
    assert!(matches!(now(topic.append(&many)), Err(BusError::TooLarge { limit: APPEND_OCTETS_MAX, .. })));
    assert_eq!(now(topic.append(&[&largest])).unwrap(), 0);
    assert_eq!(topic.read(0, 10, 10).unwrap()[0].octets.len(), RECORD_OCTETS_MAX);
    assert_eq!(now(topic.append(&[])).unwrap(), 1, "nothing takes no index");
    drop((topic, bus));
    let again = self::bus(&disk, Options::default());
    let records = again.topic("t").unwrap().read(0, 10, 10).unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(
        records[0].octets.len(),
        RECORD_OCTETS_MAX,
        "from disk too, though it is larger than one read"
    );
}

#[test]
fn after_any_power_cut_every_acknowledged_append_is_there_whole() {
    for seed in cases::seeds(200) {
        power_cuts(seed);
    }
}

/// Appends, trims and power cuts as the seed has it, against a list of what was acknowledged.
fn power_cuts(seed: u64) {
    let mut dice = Dice(seed);
    let mut disk = SimulatedDisk::new();
    // By index: what was acknowledged, and what may or may not be there.
    let mut expected: Vec<Vec<u8>> = Vec::new();
    let mut low = 0;
    for _ in 0..4 {
        let bus = bus(&disk, Options { file_octets_max: 200 + dice.roll(800), ..Options::default() });
        let topic = bus.log("t").unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(topic.head() >= expected.len() as u64, "seed {seed}: acknowledged records are gone");
        assert!(topic.low() <= low, "seed {seed}: records nobody let go of are gone");
        let found = all(&*topic);
        let skipped = topic.low() as usize;
        assert!(
            found.iter().zip(&expected[skipped..]).all(|(found, expected)| found == expected),
            "seed {seed}"
        );
        expected.truncate(skipped);
        expected.extend(found);
        for _ in 0..dice.roll(12) {
            let records: Vec<Vec<u8>> =
                (0..1 + dice.roll(5)).map(|_| vec![dice.roll(256) as u8; dice.roll(150) as usize]).collect();
            let records: Vec<&[u8]> = records.iter().map(|record| &record[..]).collect();
            now(Topic::append(&*topic, &records)).unwrap();
            expected.extend(records.iter().map(|record| record.to_vec()));
            if dice.one_in(5) {
                low = low.max(dice.roll(expected.len() as u64 + 1));
                topic.trim(low).unwrap();
            }
        }
        // Written, and the power goes before its sync is done.
        for n in 0..dice.roll(4) {
            let record = vec![n as u8; dice.roll(300) as usize];
            topic.write(&[&record, &record]).unwrap();
        }
        disk = disk.power_cut(&mut dice);
    }
}

fn drop_after(disk: &SimulatedDisk, options: Options, work: impl FnOnce(&Embedded)) {
    let bus = bus(disk, options);
    work(&bus);
    drop(bus);
}
