mod change;
mod crash;
mod demand;
mod inbound;
mod rate;
mod several;
mod short;
mod smsc;
mod submit;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bus::embedded::{Fsync, Options};
use bus::{Bus, Topic};
use net::Cores;
use records::{
    AlertId, AlertNo, AttemptResult, Body, CONTROL, Control, ControlState, EndpointNo, Entry, Lane, NotTried,
    OUTCOMES, Outcome, ROUTES, RouteHealth, Segment, Timestamp, decode_outcomes, segment_topic,
};

use super::config::{Binding, SmsRoute};
use super::start;
use crate::{GatewayContext, RunningGateway};
use smsc::{Reply, Smsc};

const ROUTE: &str = "carrier-1";
const LONG: Duration = Duration::from_secs(20);

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

/// A bus in a folder, and a world over it.
struct TestRoute {
    dir: tempfile::TempDir,
    bus: Arc<dyn Bus>,
    context: GatewayContext,
}

impl TestRoute {
    fn new() -> TestRoute {
        TestRoute::on(tempfile::tempdir().unwrap())
    }

    fn on(dir: tempfile::TempDir) -> TestRoute {
        let bus = open_bus(dir.path());
        let cores = Arc::new(Cores::new(1).unwrap());
        let context = GatewayContext::new(Arc::clone(&bus), Arc::new(wall), cores);
        TestRoute { dir, bus, context }
    }

    fn topic(&self) -> Arc<dyn Topic> {
        self.bus.topic(OUTCOMES).unwrap()
    }

    async fn append(&self, segment: &Segment) -> u64 {
        let topic = self.bus.topic(&segment_topic(ROUTE, segment.lane)).unwrap();
        topic.append(&[&segment.encode()]).await.unwrap()
    }

    async fn control(&self, alert: u64, state: ControlState) {
        let control = Control { alert: AlertNo(alert), state, version: 1 };
        self.bus.retained(CONTROL).unwrap().set(&alert.to_string(), &control.encode()).await.unwrap();
    }

    fn health(&self) -> Option<RouteHealth> {
        let octets = self.bus.retained(ROUTES).unwrap().value(ROUTE)?;
        Some(RouteHealth::decode(&octets).unwrap())
    }

    fn outcomes(&self) -> Vec<Outcome> {
        all_outcomes(&*self.topic())
    }

    /// Waits until what is on record passes a test.
    async fn until<T>(&self, what: &str, mut test: impl FnMut(&[Outcome]) -> Option<T>) -> T {
        let topic = self.topic();
        let mut seen = Vec::new();
        let mut from = 0;
        let end = Instant::now() + LONG;
        loop {
            let records = topic.read(from, 10_000, 10_000_000).unwrap();
            for record in records {
                from = record.index + 1;
                seen.extend(decode_outcomes(&record.octets).unwrap());
            }
            if let Some(found) = test(&seen) {
                return found;
            }
            let left = end.saturating_duration_since(Instant::now());
            if tokio::time::timeout(left, topic.readable(from)).await.is_err() {
                panic!(
                    "not {what} in time; on record: {:#?}",
                    seen.iter().rev().take(20).collect::<Vec<_>>()
                );
            }
        }
    }

    async fn until_ended(&self, entries: usize) -> BTreeMap<u32, Vec<AttemptResult>> {
        self.until("ended", |seen| Some(ended(seen)).filter(|ended| ended.len() >= entries)).await
    }

    /// All segments are acknowledged.
    async fn until_acknowledged(&self) {
        let groups: Vec<_> = Lane::ALL
            .iter()
            .map(|lane| self.bus.group(&segment_topic(ROUTE, *lane), "gateway").unwrap())
            .collect();
        let end = Instant::now() + LONG;
        while groups.iter().any(|group| !group.unacknowledged(1).is_empty()) {
            assert!(Instant::now() < end, "segments stay unacknowledged");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn open_bus(dir: &std::path::Path) -> Arc<dyn Bus> {
    bus::embedded::open(dir.join("bus"), Options { fsync: Fsync::Os, ..Options::default() }).unwrap()
}

fn all_outcomes(topic: &dyn Topic) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut from = 0;
    while from < topic.head() {
        for record in topic.read(from, 1_000, 1_000_000).unwrap() {
            from = record.index + 1;
            outcomes.extend(decode_outcomes(&record.octets).unwrap());
        }
    }
    outcomes
}

/// Results by endpoint, of those whose every part has one.
fn ended(outcomes: &[Outcome]) -> BTreeMap<u32, Vec<AttemptResult>> {
    let mut parts: BTreeMap<u32, BTreeMap<u8, AttemptResult>> = BTreeMap::new();
    let mut totals = BTreeMap::new();
    for outcome in outcomes {
        if let Outcome::Attempt { of, result, .. } = outcome {
            parts.entry(of.endpoint.0).or_default().insert(of.part, result.clone());
            totals.insert(of.endpoint.0, of.parts);
        }
    }
    parts.retain(|endpoint, parts| parts.len() == usize::from(totals[endpoint]));
    parts.into_iter().map(|(endpoint, parts)| (endpoint, parts.into_values().collect())).collect()
}

fn segment(alert: u64, lane: Lane, first: u32, count: u32, text: &str) -> Segment {
    Segment {
        alert: AlertNo(alert),
        alert_id: AlertId(uuid::Uuid::nil()),
        account: "a".to_owned(),
        route: ROUTE.to_owned(),
        lane,
        outcomes_from: 0,
        expires: wall().plus_s(3_600),
        sender: None,
        flash: false,
        receipt: true,
        answer: false,
        emergency: lane == Lane::Emergency,
        bodies: vec![Arc::new(Body::of_text(text))],
        choices: Vec::new(),
        entries: (first..first + count).map(entry).collect(),
    }
}

fn entry(endpoint: u32) -> Entry {
    Entry {
        expires: None,
        endpoint: EndpointNo(endpoint),
        attempt: 1,
        address: format!("+4670{endpoint:07}"),
        body: 0,
        own: None,
        link: None,
    }
}

fn route(smsc: &Smsc) -> SmsRoute {
    SmsRoute {
        name: ROUTE.to_owned(),
        address: smsc.address.clone(),
        system_id: "platform".to_owned(),
        password: "secret".into(),
        ..SmsRoute::default()
    }
}

fn run(route: SmsRoute, test_route: &TestRoute) -> RunningGateway {
    start(route, &test_route.context).unwrap_or_else(|problems| panic!("{problems:?}"))
}

fn is_accepted(result: &AttemptResult) -> bool {
    matches!(result, AttemptResult::Accepted { .. })
}

async fn wait_for(what: &str, mut test: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !test() {
        assert!(Instant::now() < end, "not {what} in time");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn not_tried(result: &AttemptResult) -> Option<NotTried> {
    match result {
        AttemptResult::NotTried { why } => Some(*why),
        _ => None,
    }
}

fn is_unknown(result: &AttemptResult) -> bool {
    matches!(result, AttemptResult::Unknown { .. })
}
