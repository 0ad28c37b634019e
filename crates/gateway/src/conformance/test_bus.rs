//! Ground of a check: a bus in a folder, a context over it, segments, and their outcomes.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bus::Bus;
use bus::embedded::{Fsync, Options};
use net::Cores;
use records::{
    AlertId, AlertNo, AttemptResult, Body, CONTROL, Control, ControlState, EndpointNo, Entry, Lane, OUTCOMES,
    Outcome, Segment, Timestamp, decode_outcomes, segment_topic,
};

use super::FarEnd;
use crate::GatewayContext;

/// The route of every check.
pub(super) const ROUTE: &str = "way-out";
/// Entries of a segment: fewer than any far end has persons.
const SEGMENT_ENTRIES: usize = 10;
/// Longer than any machine stands still.
const PATIENCE: Duration = Duration::from_secs(120);
/// Whatever is not told by an event is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Writes as the gateway reported them: process, units, and an instant after the write.
pub(super) type Writes = Arc<Mutex<Vec<(String, usize, Instant)>>>;

pub(super) fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

/// A bus in a folder, and a context over it.
pub(super) struct TestBus {
    folder: tempfile::TempDir,
    pub(super) bus: Arc<dyn Bus>,
    pub(super) context: GatewayContext,
    pub(super) writes: Writes,
}

impl TestBus {
    pub(super) fn new(far_end: &dyn FarEnd) -> TestBus {
        TestBus::on(tempfile::tempdir().unwrap(), far_end)
    }

    fn on(folder: tempfile::TempDir, far_end: &dyn FarEnd) -> TestBus {
        let options = Options { fsync: Fsync::Os, ..Options::default() };
        let bus = bus::embedded::open(folder.path().join("bus"), options).unwrap();
        let cores = Arc::new(Cores::new(1).unwrap());
        let mut context = GatewayContext::new(Arc::clone(&bus), Arc::new(wall), cores);
        far_end.furnish(&mut context);
        let writes = Writes::default();
        let mut ground = TestBus { folder, bus, context, writes };
        ground.context.write_observer = Some(ground.observer(""));
        ground
    }

    /// Notes writes under a process's name.
    pub(super) fn observer(&self, process: &str) -> crate::WriteObserver {
        let (process, writes) = (process.to_owned(), Arc::clone(&self.writes));
        Arc::new(move |_, units, _, after| writes.lock().unwrap().push((process.clone(), units, after)))
    }

    /// The bus as the next process finds it after a kill: its files as they are.
    pub(super) fn killed(self, far_end: &dyn FarEnd) -> TestBus {
        self.context.cores.stop();
        let copy = tempfile::tempdir().unwrap();
        copy_all(self.folder.path(), copy.path());
        drop((self.context, self.bus));
        TestBus::on(copy, far_end)
    }

    /// Appends entries to so many endpoints from `first` on, a few in each segment, so that several processes
    /// get some.
    pub(super) async fn append(
        &self,
        far_end: &dyn FarEnd,
        first: u32,
        count: u32,
        attempt: u8,
        body: &Body,
    ) {
        let topic = self.bus.topic(&segment_topic(ROUTE, Lane::Routine)).unwrap();
        let persons: Vec<u32> = (first..first + count).collect();
        for persons in persons.chunks(SEGMENT_ENTRIES) {
            let segment = segment(far_end, persons, attempt, body);
            topic.append(&[&segment.encode()]).await.unwrap();
        }
    }

    pub(super) async fn control(&self, state: ControlState, version: u32) {
        let control = Control { alert: AlertNo(1), state, version };
        self.bus.retained(CONTROL).unwrap().set("1", &control.encode()).await.unwrap();
    }

    /// All outcomes on record, in their order.
    pub(super) fn outcomes(&self) -> Vec<Outcome> {
        let topic = self.bus.topic(OUTCOMES).unwrap();
        let (mut from, mut outcomes) = (0, Vec::new());
        while from < topic.head() {
            for record in topic.read(from, 1_000, 1_000_000).unwrap() {
                from = record.index + 1;
                outcomes.extend(decode_outcomes(&record.octets).unwrap());
            }
        }
        outcomes
    }

    /// Results by endpoint and attempt.
    ///
    /// # Errors
    /// An attempt that ended twice.
    pub(super) fn ended(&self) -> Result<BTreeMap<(u32, u8), AttemptResult>, String> {
        let mut ended = BTreeMap::new();
        for outcome in self.outcomes() {
            if let Outcome::Attempt { of, result, .. } = outcome
                && let Some(before) = ended.insert((of.endpoint.0, of.attempt), result.clone())
            {
                return Err(format!("{of:?} ended twice: {before:?} and {result:?}"));
            }
        }
        Ok(ended)
    }

    /// Waits until so many attempts have ended.
    pub(super) async fn until_ended(
        &self,
        count: usize,
    ) -> Result<BTreeMap<(u32, u8), AttemptResult>, String> {
        until(&format!("{count} outcomes"), || async {
            self.ended().map_or(true, |ended| ended.len() >= count)
        })
        .await?;
        self.ended()
    }

    /// Units written so far, by what the gateway reported.
    pub(super) fn written(&self) -> usize {
        self.writes.lock().unwrap().iter().map(|(_, units, _)| units).sum()
    }
}

/// Waits for something that no event tells.
pub(super) async fn until<F: Future<Output = bool>>(
    what: &str,
    mut test: impl FnMut() -> F,
) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    while !test().await {
        if Instant::now() > end {
            return Err(format!("{what} did not come in {} s", PATIENCE.as_secs()));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

fn segment(far_end: &dyn FarEnd, persons: &[u32], attempt: u8, body: &Body) -> Segment {
    let entry = |person: &u32| Entry {
        endpoint: EndpointNo(*person),
        attempt,
        address: far_end.address(*person % far_end.persons()),
        body: 0,
        own: None,
        expires: None,
        link: None,
    };
    Segment {
        alert: AlertNo(1),
        alert_id: AlertId(uuid::Uuid::from_u128(1)),
        account: "default".to_owned(),
        route: ROUTE.to_owned(),
        lane: Lane::Routine,
        outcomes_from: 0,
        expires: wall().plus_s(3_600),
        sender: None,
        flash: false,
        receipt: false,
        answer: false,
        choices: Vec::new(),
        emergency: false,
        bodies: vec![Arc::new(body.clone())],
        entries: persons.iter().map(entry).collect(),
    }
}

fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let target = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_all(&file.path(), &target);
        } else {
            std::fs::copy(file.path(), &target).unwrap();
        }
    }
}
