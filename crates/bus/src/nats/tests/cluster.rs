//! Three servers, of which one dies or stands still. Their elections take seconds, and on a machine with much
//! else to do far longer: what the bus gives up after its half minute is tried again here, and one cluster
//! runs at a time.

use super::*;
use crate::conformance::{LONG, soon, take, until};
use crate::{BusError, Record, Topic};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// What it comes to once the servers answer.
fn surely<T>(mut tried: impl FnMut() -> Result<T, BusError>) -> T {
    let begin = std::time::Instant::now();
    loop {
        match tried() {
            Ok(value) => return value,
            Err(BusError::Unreachable { why }) => assert!(begin.elapsed() < PATIENCE, "{why}"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The same for what is awaited.
async fn surely_soon<T, F: Future<Output = Result<T, BusError>>>(mut tried: impl FnMut() -> F) -> T {
    soon("an answer", async {
        loop {
            match tried().await {
                Ok(value) => return value,
                // Who asks without a breath takes from the servers the time in which they elect a leader.
                Err(BusError::Unreachable { .. }) => tokio::time::sleep(Duration::from_millis(50)).await,
                Err(error) => panic!("{error}"),
            }
        }
    })
    .await
}

async fn append_surely(topic: &dyn Topic, text: &str) -> u64 {
    let records = [text.as_bytes()];
    surely_soon(|| topic.append_keyed(text.as_bytes(), &records)).await.first
}

fn all(topic: &dyn Topic) -> Vec<Record> {
    let mut all: Vec<Record> = Vec::new();
    loop {
        let from = all.last().map_or(0, |last| last.index + 1);
        let records = surely(|| topic.read(from, 1_000, 1 << 20));
        if records.is_empty() {
            return all;
        }
        all.extend(records);
    }
}

/// What `count` tasks got for their appends until told to stop: index and text.
struct Appenders {
    stop: Arc<AtomicBool>,
    /// Appends that were acknowledged.
    done: Arc<AtomicU64>,
    tasks: tokio::task::JoinSet<Vec<(u64, String)>>,
}

impl Appenders {
    fn start(topics: &[Arc<dyn Topic>]) -> Appenders {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for (task, topic) in topics.iter().cloned().enumerate() {
            let (stop, done) = (stop.clone(), done.clone());
            tasks.spawn(async move {
                let mut got = Vec::new();
                for n in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let texts: Vec<String> =
                        (0..1 + n % 3).map(|part| format!("{task}/{n}/{part}")).collect();
                    let records: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
                    match topic.append(&records).await {
                        Ok(first) => got.extend((first..).zip(texts)),
                        // Nobody knows; nothing is claimed of it.
                        Err(BusError::Unreachable { .. }) => continue,
                        Err(error) => panic!("{error}"),
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
                got
            });
        }
        Appenders { stop, done, tasks }
    }

    async fn more(&self, count: u64) {
        let before = self.done.load(Ordering::Relaxed);
        until("more appends", || self.done.load(Ordering::Relaxed) >= before + count).await;
    }

    async fn end(self) -> BTreeMap<u64, String> {
        self.stop.store(true, Ordering::Relaxed);
        let all: Vec<(u64, String)> =
            soon("the appenders", self.tasks.join_all()).await.into_iter().flatten().collect();
        let count = all.len();
        let map: BTreeMap<u64, String> = all.into_iter().collect();
        assert_eq!(map.len(), count, "an index was given out twice");
        map
    }
}

fn leader(cluster: &Cluster, stream: &str) -> usize {
    let begin = std::time::Instant::now();
    loop {
        if let Some(leader) = cluster.leader_of(stream) {
            return leader;
        }
        assert!(begin.elapsed() < PATIENCE, "{stream} has no leader");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Everything acknowledged stands where it was said to, and nothing stands there twice.
fn check(topic: &dyn Topic, acknowledged: &BTreeMap<u64, String>) {
    let records = all(topic);
    assert!(records.iter().zip(0..).all(|(record, index)| record.index == index), "a gap");
    let mut seen = std::collections::BTreeSet::new();
    for record in &records {
        assert!(seen.insert(record.octets.clone()), "{record:?} stands there twice");
    }
    for (index, text) in acknowledged {
        let record = &records[usize::try_from(*index).expect("small")];
        assert_eq!((record.index, &record.octets[..]), (*index, text.as_bytes()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_or_doubled_when_the_leader_dies_and_when_it_stands_still() {
    let _one = ONE_AT_A_TIME.lock().await;
    let mut cluster = Cluster::start_advertising(3);
    // Each knows one server only: the others it learns.
    let buses: Vec<Arc<dyn Bus>> =
        (0..3).map(|node| open(&cluster.node_url(node), options(3)).expect("a bus")).collect();
    let topics: Vec<Arc<dyn Topic>> = buses.iter().map(|bus| surely(|| bus.topic("t"))).collect();
    let copies: Vec<_> = buses.iter().map(|bus| surely(|| bus.retained("control"))).collect();
    let appenders = Appenders::start(&topics);
    appenders.more(50).await;

    let first = leader(&cluster, "campanile-t-t");
    cluster.kill(first);
    appenders.more(50).await;
    // One of them knew no other server than this one.
    for copy in &copies {
        surely_soon(|| copy.set("state", b"one died")).await;
    }
    cluster.restart(first);
    cluster.wait_until_ready();

    let second = leader(&cluster, "campanile-t-t");
    cluster.pause(second);
    tokio::time::sleep(Duration::from_secs(3)).await;
    appenders.more(50).await;
    cluster.resume(second);
    appenders.more(50).await;

    let acknowledged = appenders.end().await;
    for topic in &topics {
        let head = surely_soon(|| topic.latest()).await;
        assert!(acknowledged.last_key_value().is_some_and(|(last, _)| *last < head));
        check(&**topic, &acknowledged);
    }
    surely_soon(|| copies[0].set("state", b"all there")).await;
    for copy in &copies {
        until("it is seen", || copy.value("state").is_some_and(|value| &value[..] == b"all there")).await;
    }
    for bus in &buses {
        until("it is reachable", || bus.is_reachable()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_server_dies_at_once_and_what_was_acknowledged_is_there_again() {
    let _one = ONE_AT_A_TIME.lock().await;
    let mut cluster = Cluster::start(3);
    let bus = open(&cluster.url(), options(3)).expect("a bus");
    let topic = surely(|| bus.topic("t"));
    let waits = tokio::spawn(topic.readable(1_000_000));
    let appenders = Appenders::start(&[topic.clone(), topic.clone(), topic.clone()]);
    appenders.more(50).await;
    for node in 0..3 {
        cluster.kill(node);
    }
    until("the bus is not reachable", || !bus.is_reachable()).await;
    for node in 0..3 {
        cluster.restart(node);
    }
    cluster.wait_until_ready();
    appenders.more(50).await;
    let acknowledged = appenders.end().await;
    check(&*topic, &acknowledged);
    until("the bus is reachable", || bus.is_reachable()).await;
    // Who waits at the end goes on waiting, and hears.
    assert!(!waits.is_finished());
    waits.abort();
    let head = topic.head();
    let woken = tokio::spawn(topic.readable(head));
    append_surely(&*topic, "news").await;
    soon("the reader", woken).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn topics_that_processes_make_side_by_side_answer_to_each_of_them_at_once() {
    let _one = ONE_AT_A_TIME.lock().await;
    let cluster = Cluster::start(3);
    let buses: Vec<Arc<dyn Bus>> = (0..3).map(|_| open(&cluster.url(), options(3)).expect("a bus")).collect();
    for round in 0..12 {
        let asked: Vec<_> = buses
            .iter()
            .map(|bus| {
                let (bus, name) = (Arc::clone(bus), format!("t{round}"));
                let opened = tokio::task::spawn_blocking(move || bus.topic(&name));
                tokio::spawn(async move { opened.await.expect("no panic")?.latest().await })
            })
            .collect();
        for asked in asked {
            assert_eq!(soon("an answer", asked).await.expect("no panic").expect("an answer"), 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_a_group_go_on_when_its_leader_dies_and_none_is_left_out() {
    let _one = ONE_AT_A_TIME.lock().await;
    let mut cluster = Cluster::start(3);
    let buses: Vec<Arc<dyn Bus>> = (0..3).map(|_| open(&cluster.url(), options(3)).expect("a bus")).collect();
    // Opened side by side, as processes that start at once do.
    let opened: Vec<_> = buses
        .iter()
        .cloned()
        .map(|bus| {
            std::thread::spawn(move || {
                let topic = surely(|| bus.topic("t"));
                (topic, surely(|| bus.group("t", "g")))
            })
        })
        .collect();
    let opened: Vec<_> = opened.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    for n in 0..30u32 {
        append_surely(&*opened[n as usize % 3].0, &n.to_string()).await;
    }
    let mut seen = BTreeMap::new();
    for (_, group) in &opened {
        for leased in take(&**group, 5, LONG).await {
            *seen.entry(leased.record.index).or_insert(0) += 1;
            group.ack(leased.record.index).unwrap();
        }
    }
    cluster.kill(leader(&cluster, "campanile-t-t"));
    for n in 30..60u32 {
        append_surely(&*opened[n as usize % 3].0, &n.to_string()).await;
    }
    // A server that takes over may not know of the last acknowledgements: a record may come again, and none
    // stays away.
    until("every record was taken", || {
        for (_, group) in &opened {
            for leased in group.take(4, LONG).expect("a member") {
                *seen.entry(leased.record.index).or_insert(0) += 1;
                group.ack(leased.record.index).expect("held");
            }
        }
        seen.len() == 60
    })
    .await;
    until("all is acknowledged", || opened.iter().all(|(_, group)| group.low_water() == 60)).await;
}
