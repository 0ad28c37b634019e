//! A real run on a real disk, and a power cut at each of its moments: what was acknowledged is there,
//! unchanged, and no index is given to another record.

use super::moved::Moved;
use super::{Embedded, Monotonic, Options};
use crate::{Bus, Durability, Group, Topic, TopicSettings};
use power_cut::{Dice, Op, RecordedDisk, Replay, SimulatedDisk, root};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What the run was told, in its order among the writes.
enum Promise {
    /// These records stand there.
    Appended { topic: String, first: u64, records: Vec<Vec<u8>> },
    /// And under this key.
    Keyed { topic: String, key: Vec<u8>, first: u64 },
    /// What is below may be let go of.
    Trimming { topic: String, below: u64 },
    /// An index of a topic in memory was given out.
    Given { topic: String, below: u64 },
    /// The topic is on its way out.
    Removing { topic: String },
    /// It is gone.
    Removed { topic: String },
    /// The group is about to acknowledge it.
    Acking { index: u64 },
    /// All that was acknowledged is safe.
    Flushed,
}

fn now<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn options() -> Options {
    Options { file_octets_max: 900, ..Options::default() }
}

fn record(dice: &mut Dice) -> Vec<u8> {
    vec![dice.roll(256) as u8; dice.roll(120) as usize]
}

/// Appends to a topic, under a key now and then, and trims it.
fn appender(bus: &Embedded, disk: &RecordedDisk<Promise>, name: &str, number: u64, appends: u64) {
    let mut dice = Dice(number);
    let topic = bus.topic(name).unwrap();
    for n in 0..appends {
        let owned: Vec<Vec<u8>> = (0..1 + dice.roll(3)).map(|_| record(&mut dice)).collect();
        let records: Vec<&[u8]> = owned.iter().map(Vec::as_slice).collect();
        let first = if dice.one_in(3) {
            let key = format!("{number}-{n}").into_bytes();
            let keyed = now(topic.append_keyed(&key, &records)).unwrap();
            disk.promise(Promise::Keyed { topic: name.to_owned(), key, first: keyed.first });
            keyed.first
        } else {
            now(topic.append(&records)).unwrap()
        };
        disk.promise(Promise::Appended { topic: name.to_owned(), first, records: owned });
        if dice.one_in(9) {
            let below = dice.roll(first + 1);
            disk.promise(Promise::Trimming { topic: name.to_owned(), below });
            topic.trim(below).unwrap();
        }
    }
}

/// Many who append to one topic at once, so that its syncs overlap.
fn crowd(bus: &Embedded, disk: &RecordedDisk<Promise>) {
    const NAME: &str = "crowded";
    let topic = bus.topic(NAME).unwrap();
    let one = |number: u8| {
        let topic = topic.clone();
        async move {
            for n in 0..3 {
                let record = vec![number; 1 + n];
                let first = topic.append(&[&record]).await.unwrap();
                disk.promise(Promise::Appended { topic: NAME.to_owned(), first, records: vec![record] });
            }
        }
    };
    now(futures_util::future::join_all((0..96).map(one)));
}

/// Makes, fills and removes one topic over and over.
fn remover(bus: &Embedded, disk: &RecordedDisk<Promise>, rounds: u64) {
    let name = "text/fleeting";
    for round in 0..rounds {
        appender(bus, disk, name, 100 + round, 2 + round % 3);
        let group = bus.group(name, "g").unwrap();
        for leased in group.take(9, Duration::from_secs(600)).unwrap() {
            group.ack(leased.record.index).unwrap();
        }
        now(group.flush()).unwrap();
        disk.promise(Promise::Removing { topic: name.to_owned() });
        bus.remove(name).unwrap();
        disk.promise(Promise::Removed { topic: name.to_owned() });
    }
}

fn member(group: &dyn Group, disk: &RecordedDisk<Promise>, rounds: u64) {
    let mut dice = Dice(77);
    for _ in 0..rounds {
        for leased in group.take(3, Duration::from_secs(600)).unwrap() {
            if !dice.one_in(4) {
                disk.promise(Promise::Acking { index: leased.record.index });
                group.ack(leased.record.index).unwrap();
            }
        }
        now(group.flush()).unwrap();
        disk.promise(Promise::Flushed);
    }
}

fn counter(bus: &Embedded, disk: &RecordedDisk<Promise>) {
    let settings = TopicSettings { durability: Some(Durability::Memory), ..TopicSettings::default() };
    let topic = bus.topic_with("memory", &settings).unwrap();
    for _ in 0..20 {
        let first = now(topic.append(&[&b"m"[..]; 100])).unwrap();
        disk.promise(Promise::Given { topic: "memory".to_owned(), below: first + 100 });
    }
}

/// The run; its record.
fn run() -> Vec<Op<Promise>> {
    let dir = tempfile::tempdir().unwrap();
    let disk = RecordedDisk::new(dir.path(), root());
    let bus = Embedded::on(Arc::new(disk.clone()), Arc::new(Monotonic), dir.path(), &options()).unwrap();
    let group = bus.group("a", "g").unwrap();
    let (bus, disk_of) = (&bus, &disk);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let name = if number < 2 { "a" } else { "segments/b" };
            scope.spawn(move || appender(bus, disk_of, name, number, 16));
        }
        scope.spawn(move || crowd(bus, disk_of));
        scope.spawn(move || remover(bus, disk_of, 4));
        scope.spawn(move || counter(bus, disk_of));
        let group = &group;
        scope.spawn(move || member(&**group, disk_of, 8));
    });
    disk.take()
}

/// What must hold of one topic by now.
#[derive(Default)]
struct Expected {
    records: BTreeMap<u64, Vec<u8>>,
    keys: Vec<(Vec<u8>, u64)>,
    trimmed: u64,
    /// It may be gone, and then wholly.
    may_be_gone: bool,
    /// Of one in memory: indexes below were given out.
    given: u64,
}

#[derive(Default)]
struct Book {
    topics: BTreeMap<String, Expected>,
    acking: BTreeSet<u64>,
    flushed: BTreeSet<u64>,
}

impl Book {
    fn note(&mut self, promise: &Promise) {
        match promise {
            Promise::Appended { topic, first, records } => {
                let expected = self.topics.entry(topic.clone()).or_default();
                for (index, record) in (*first..).zip(records) {
                    let before = expected.records.insert(index, record.clone());
                    assert!(before.is_none(), "index {index} of {topic} was given twice");
                }
            }
            Promise::Keyed { topic, key, first } => {
                self.topics.entry(topic.clone()).or_default().keys.push((key.clone(), *first));
            }
            Promise::Trimming { topic, below } => {
                let expected = self.topics.entry(topic.clone()).or_default();
                expected.trimmed = expected.trimmed.max(*below);
            }
            Promise::Given { topic, below } => {
                self.topics.entry(topic.clone()).or_default().given = *below;
            }
            Promise::Removing { topic } => {
                self.topics.entry(topic.clone()).or_default().may_be_gone = true;
            }
            Promise::Removed { topic } => drop(self.topics.insert(topic.clone(), Expected::default())),
            Promise::Acking { index } => drop(self.acking.insert(*index)),
            Promise::Flushed => self.flushed = self.acking.clone(),
        }
    }

    /// Opens what a power cut left and compares.
    fn check(&self, disk: &SimulatedDisk, place: &str) {
        let bus = Embedded::on(Arc::new(disk.clone()), Moved::new(), &root(), &options());
        let bus = bus.unwrap_or_else(|error| panic!("{place}: {error}"));
        for (name, expected) in &self.topics {
            let topic = bus.topic(name).unwrap_or_else(|error| panic!("{place}: {name}: {error}"));
            expected.check(&*topic, &format!("{place}: {name}"));
        }
        if self.topics.contains_key("a") {
            let group = bus.group("a", "g").unwrap();
            let open: BTreeSet<u64> = group.unacknowledged(usize::MAX).into_iter().collect();
            let low = group.low_water();
            assert!(open.is_disjoint(&self.flushed), "{place}: flushed acknowledgements are gone");
            let head = bus.topic("a").unwrap().head();
            let trimmed = self.topics["a"].trimmed;
            let done =
                (trimmed.max(bus.topic("a").unwrap().low())..head).filter(|index| !open.contains(index));
            for index in done {
                assert!(self.acking.contains(&index), "{place}: {index} was never acknowledged, low {low}");
            }
        }
    }
}

impl Expected {
    fn check(&self, topic: &dyn Topic, place: &str) {
        if self.may_be_gone && topic.head() == 0 {
            return;
        }
        let end = self.records.last_key_value().map_or(0, |(index, _)| index + 1).max(self.given);
        let head = topic.head();
        assert!(head >= end, "{place}: its next index is {head}, and {end} were given out");
        let is_in_memory = self.given > 0;
        assert!(topic.low() <= self.trimmed || is_in_memory, "{place}: records nobody let go of are gone");
        let mut found = BTreeMap::new();
        let mut from = topic.low();
        while from < head {
            let records = topic.read(from, 100, 10_000).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(records[0].index, from, "{place}");
            from = records.last().unwrap().index + 1;
            found.extend(records.into_iter().map(|record| (record.index, record.octets)));
        }
        for (index, record) in self.records.range(topic.low()..) {
            assert_eq!(
                found.get(index).map(|found| &found[..]),
                Some(&record[..]),
                "{place}: record {index}"
            );
        }
        for (key, first) in &self.keys {
            let keyed = now(topic.append_keyed(key, &[b"again"])).unwrap();
            assert_eq!((keyed.first, keyed.repeated), (*first, true), "{place}: key {key:?}");
        }
        assert_eq!(now(topic.append(&[b"next"])).unwrap(), head, "{place}");
    }
}

#[test]
fn at_every_moment_of_a_real_run_a_power_cut_takes_nothing_that_was_acknowledged() {
    let ops = run();
    for seed in cases::seeds(1) {
        let mut dice = Dice(seed);
        let mut replay = Replay::default();
        let mut book = Book::default();
        for (at, op) in ops.iter().enumerate() {
            replay.step(op);
            if let Op::Promise(promise) = op {
                book.note(promise);
            }
            book.check(
                &replay.disk.power_cut(&mut dice),
                &format!("seed {seed}, step {at} of {}", ops.len()),
            );
        }
    }
}
