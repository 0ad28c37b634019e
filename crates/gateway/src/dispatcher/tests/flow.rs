//! A whole feed over a real bus, with a hand that writes.

use super::*;
use crate::GatewayContext;
use crate::dispatcher::{DispatcherSettings, RouteDispatcher};
use bus::embedded::{Fsync, Options};
use bus::{Bus, BusError, Group, GroupSettings, Keyed, Record, Retained, Topic, TopicSettings};
use futures_util::future::BoxFuture;
use net::Cores;
use records::{NotTried, OUTCOMES, ROUTES, RouteHealth, decode_outcomes, segment_topic};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(super) const LONG: Duration = Duration::from_secs(10);
/// What is waited for has come on any machine, however loaded.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct TestRoute {
    _dir: tempfile::TempDir,
    pub(super) bus: Arc<dyn Bus>,
    pub(super) context: GatewayContext,
}

impl TestRoute {
    pub(super) fn new() -> TestRoute {
        TestRoute::over(|bus| bus)
    }

    fn over(wrap: impl FnOnce(Arc<dyn Bus>) -> Arc<dyn Bus>) -> TestRoute {
        let dir = tempfile::tempdir().unwrap();
        let bus =
            bus::embedded::open(dir.path(), Options { fsync: Fsync::Os, ..Options::default() }).unwrap();
        let bus = wrap(bus);
        let cores = Arc::new(Cores::from_handles(Vec::new()));
        let context = GatewayContext::new(Arc::clone(&bus), Arc::new(|| NOW), cores);
        TestRoute { _dir: dir, bus, context }
    }

    pub(super) async fn append(&self, segment: &Segment) {
        let topic = self.bus.topic(&segment_topic(ROUTE, segment.lane)).unwrap();
        topic.append(&[&segment.encode()]).await.unwrap();
    }

    pub(super) async fn open(&self, slots: u32, down_after: Duration) -> Arc<RouteDispatcher<ByAddress>> {
        let settings =
            DispatcherSettings { route: ROUTE.to_owned(), slots, rate: 0.0, rests: false, down_after };
        let dispatcher = RouteDispatcher::open(&self.context, settings, ByAddress).await.unwrap();
        let running = Arc::clone(&dispatcher);
        tokio::spawn(async move { running.run().await });
        dispatcher
    }

    pub(super) fn results(&self) -> Vec<AttemptResult> {
        let records = self.bus.topic(OUTCOMES).unwrap().read(0, 100_000, 100_000_000).unwrap();
        let outcomes = records.iter().flat_map(|record| decode_outcomes(&record.octets).unwrap());
        outcomes
            .filter_map(|outcome| match outcome {
                Outcome::Attempt { result, .. } => Some(result),
                _ => None,
            })
            .collect()
    }

    pub(super) fn unacknowledged(&self) -> usize {
        Lane::ALL
            .into_iter()
            .map(|lane| {
                self.bus.group(&segment_topic(ROUTE, lane), "gateway").unwrap().unacknowledged(100).len()
            })
            .sum()
    }
}

pub(super) async fn wait_for(what: &str, mut test: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !test() {
        assert!(Instant::now() < end, "not {what} in time");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Writes what comes, until nothing has come for a moment.
pub(super) async fn write_all(dispatcher: &RouteDispatcher<ByAddress>) -> usize {
    let listener = dispatcher.listen();
    let mut written = 0;
    loop {
        while let Some(job) = dispatcher.next() {
            written += 1;
            (1..=job.units).for_each(|part| dispatcher.part(&job, part, &accepted()));
        }
        if tokio::time::timeout(Duration::from_millis(100), listener.notified()).await.is_err() {
            return written;
        }
    }
}

#[tokio::test]
async fn a_route_that_stays_down_gives_back_all_it_has_and_all_that_comes() {
    let test_route = TestRoute::new();
    test_route.append(&segment(1, Lane::Routine, 0, &[1; 50])).await;
    let dispatcher = test_route.open(10, Duration::from_millis(100)).await;
    dispatcher.trouble("refused");
    wait_for("given back", || test_route.results().len() == 50).await;
    test_route.append(&segment(1, Lane::Emergency, 50, &[1; 5])).await;
    wait_for("given back", || test_route.results().len() == 55 && test_route.unacknowledged() == 0).await;
    let down = AttemptResult::NotTried { why: NotTried::RouteDown };
    assert!(test_route.results().iter().all(|result| *result == down));
    let health =
        RouteHealth::decode(&test_route.bus.retained(ROUTES).unwrap().value(ROUTE).unwrap()).unwrap();
    assert_eq!((health.up, health.sessions, health.note.as_str()), (false, 0, "refused"));
    // It comes back.
    dispatcher.session_up();
    test_route.append(&segment(1, Lane::Routine, 100, &[1; 50])).await;
    assert_eq!(write_all(&dispatcher).await, 50);
    dispatcher.finish();
}

#[tokio::test]
async fn a_held_route_gives_back_all_it_has_though_it_is_up_and_sends_again_once_it_is_released() {
    let test_route = TestRoute::new();
    let holds = test_route.bus.retained(records::ROUTE_HOLDS).unwrap();
    let hold = records::RouteHold {
        since: NOW,
        token: "t".into(),
        by: "Eva".into(),
        reason: "the carrier loses messages".into(),
    };
    holds.set("another", &hold.encode()).await.unwrap();
    let dispatcher = test_route.open(10, LONG).await;
    dispatcher.session_up();
    test_route.append(&segment(1, Lane::Routine, 0, &[1; 50])).await;
    assert_eq!(write_all(&dispatcher).await, 50);
    holds.set(ROUTE, &hold.encode()).await.unwrap();
    test_route.append(&segment(1, Lane::Emergency, 50, &[1; 30])).await;
    wait_for("given back", || test_route.results().len() == 80 && test_route.unacknowledged() == 0).await;
    let down = AttemptResult::NotTried { why: NotTried::RouteDown };
    assert_eq!(test_route.results().iter().filter(|result| **result == down).count(), 30);
    assert!(dispatcher.next().is_none());
    let health =
        RouteHealth::decode(&test_route.bus.retained(ROUTES).unwrap().value(ROUTE).unwrap()).unwrap();
    assert!(health.up, "its sessions stay");
    holds.set(ROUTE, &[]).await.unwrap();
    test_route.append(&segment(1, Lane::Routine, 100, &[1; 50])).await;
    assert_eq!(write_all(&dispatcher).await, 50);
    dispatcher.finish();
}

#[tokio::test]
async fn nothing_is_intended_while_nothing_can_be_written() {
    const HOLD: Duration = Duration::from_millis(150);
    let test_route = TestRoute::new();
    test_route.append(&segment(1, Lane::Routine, 0, &[1; 30])).await;
    let dispatcher = test_route.open(10, LONG).await;
    let begins = Instant::now() + HOLD;
    dispatcher.begin_at(begins);
    let intended = || test_route.bus.topic(OUTCOMES).unwrap().head() > 0;
    wait_for("taken", || dispatcher.state().queue.left(Lane::Routine) == 30).await;
    // Credit without a session, then a session without credit.
    dispatcher.begin_at(Instant::now());
    tokio::time::sleep(HOLD / 3).await;
    assert!(!intended() && dispatcher.next().is_none());
    dispatcher.begin_at(begins);
    dispatcher.session_up();
    tokio::time::sleep(HOLD / 3).await;
    assert!(Instant::now() >= begins || !intended());
    wait_for("intended", intended).await;
    assert!(Instant::now() >= begins);
    assert_eq!(write_all(&dispatcher).await, 30);
    dispatcher.finish();
}

#[tokio::test]
async fn while_record_is_behind_only_emergencies_are_taken() {
    let mut test_route = TestRoute::new();
    let behind = Arc::new(AtomicBool::new(true));
    let says = Arc::clone(&behind);
    test_route.context.behind = Arc::new(move || says.load(Ordering::Relaxed));
    for (lane, first) in [(Lane::Routine, 0), (Lane::Urgent, 100), (Lane::Emergency, 200)] {
        test_route.append(&segment(1, lane, first, &[1; 10])).await;
    }
    let dispatcher = test_route.open(100, LONG).await;
    dispatcher.session_up();
    let listener = dispatcher.listen();
    listener.notified().await;
    let job = dispatcher.next().unwrap();
    assert_eq!(job.leased.lane(), Lane::Emergency);
    dispatcher.put_back(job);
    assert_eq!(write_all(&dispatcher).await, 10);
    behind.store(false, Ordering::Relaxed);
    wait_for("ready", || dispatcher.next().map(|job| dispatcher.put_back(job)).is_some()).await;
    assert_eq!(write_all(&dispatcher).await, 20);
    dispatcher.finish();
}

#[tokio::test]
async fn a_full_disk_holds_up_what_is_sent_and_loses_nothing() {
    let failures = Arc::new(AtomicUsize::new(0));
    let fails = Arc::clone(&failures);
    let test_route = TestRoute::over(move |inner| Arc::new(FullDisk { inner, failures: fails }));
    test_route.append(&segment(1, Lane::Routine, 0, &[1; 30])).await;
    let dispatcher = test_route.open(10, LONG).await;
    dispatcher.session_up();
    let listener = dispatcher.listen();
    wait_for("ready", || dispatcher.next().map(|job| dispatcher.put_back(job)).is_some()).await;
    failures.store(1, Ordering::Relaxed);
    while let Some(job) = dispatcher.next() {
        dispatcher.part(&job, 1, &accepted());
    }
    // What is on disk stays what it was while it is full; nothing new is handed out.
    wait_for("tried", || failures.load(Ordering::Relaxed) == 0).await;
    assert!(dispatcher.next().is_none() && test_route.results().is_empty());
    let _ = tokio::time::timeout(LONG, listener.notified()).await;
    wait_for("written", || !test_route.results().is_empty()).await;
    write_all(&dispatcher).await;
    assert_eq!(test_route.results().len(), 30);
    dispatcher.finish();
}

/// A bus whose next appends of outcomes find the disk full.
struct FullDisk {
    inner: Arc<dyn Bus>,
    failures: Arc<AtomicUsize>,
}

impl Bus for FullDisk {
    fn topic_with(&self, name: &str, settings: &TopicSettings) -> Result<Arc<dyn Topic>, BusError> {
        let inner = self.inner.topic_with(name, settings)?;
        match name {
            OUTCOMES => Ok(Arc::new(FullTopic { inner, failures: Arc::clone(&self.failures) })),
            _ => Ok(inner),
        }
    }
    fn group_with(
        &self,
        topic: &str,
        group: &str,
        settings: &GroupSettings,
    ) -> Result<Arc<dyn Group>, BusError> {
        self.inner.group_with(topic, group, settings)
    }
    fn retained(&self, name: &str) -> Result<Arc<dyn Retained>, BusError> {
        self.inner.retained(name)
    }
    fn topics(&self, prefix: &str) -> Result<Vec<String>, BusError> {
        self.inner.topics(prefix)
    }
    fn begin(&self, name: &str, at: u64, record: &[u8]) -> Result<(), BusError> {
        self.inner.begin(name, at, record)
    }
    fn remove(&self, name: &str) -> Result<(), BusError> {
        self.inner.remove(name)
    }
    fn sync_us_p50(&self) -> u64 {
        self.inner.sync_us_p50()
    }
}

struct FullTopic {
    inner: Arc<dyn Topic>,
    failures: Arc<AtomicUsize>,
}

impl FullTopic {
    fn is_full(&self) -> bool {
        self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

fn full<T: Send + 'static>() -> BoxFuture<'static, Result<T, BusError>> {
    Box::pin(async { Err(BusError::DiskFull { topic: OUTCOMES.to_owned() }) })
}

impl Topic for FullTopic {
    fn append<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        if self.is_full() { full() } else { self.inner.append(records) }
    }
    fn append_keyed<'a>(
        &'a self,
        key: &'a [u8],
        records: &'a [&'a [u8]],
    ) -> BoxFuture<'a, Result<Keyed, BusError>> {
        if self.is_full() { full() } else { self.inner.append_keyed(key, records) }
    }
    fn append_at<'a>(&'a self, head: u64, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>> {
        if self.is_full() { full() } else { self.inner.append_at(head, records) }
    }
    fn fetch(
        &self,
        from: u64,
        records_max: usize,
        octets_max: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, BusError>> {
        self.inner.fetch(from, records_max, octets_max)
    }
    fn latest(&self) -> BoxFuture<'_, Result<u64, BusError>> {
        self.inner.latest()
    }
    fn read(&self, from: u64, records_max: usize, octets_max: usize) -> Result<Vec<Record>, BusError> {
        self.inner.read(from, records_max, octets_max)
    }
    fn readable(&self, index: u64) -> BoxFuture<'static, ()> {
        self.inner.readable(index)
    }
    fn low(&self) -> u64 {
        self.inner.low()
    }
    fn head(&self) -> u64 {
        self.inner.head()
    }
    fn trim(&self, below: u64) -> Result<(), BusError> {
        self.inner.trim(below)
    }
}
