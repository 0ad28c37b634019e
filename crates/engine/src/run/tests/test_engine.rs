//! A whole house for tests: the real bus, the real store, the engine, and a carrier that does as it is told.

use crate::api::{Draft, Links, Parts, Report, Settings, Submitted, UnitsEstimator};
use crate::approval::ApprovalPolicy;
use crate::run::{Engine, GATEWAYS};
use crate::shared::Node;
use crate::testing::{request, route};
use records::{
    Account, Alert, AlertNo, AlertRequest, AttemptRef, AttemptResult, Body, Device, EndpointNo, Entry,
    Intent, Lane, NodeHealth, NotTried, Origin, Outcome, Receipt, ReceiptState, Recipient, Route,
    RouteHealth, Segment, Timestamp, encode_outcomes, health_key, segment_topic,
};
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The tests' clock starts here.
pub const START: Timestamp = Timestamp(1_800_000_000_000_000);
/// Longer than anything a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(300);

pub struct TestEngine {
    pub engine: Engine,
    pub bus: Arc<dyn bus::Bus>,
    pub store: store::SharedStore,
    pub clock: Arc<AtomicI64>,
    pub routes: Vec<Route>,
}

struct OneUnit;
impl UnitsEstimator for OneUnit {
    fn units(&self, _: &Route, _: &Body) -> u32 {
        1
    }
}
struct NoLinks;
impl Links for NoLinks {
    fn link(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<String> {
        Some(format!("http://localhost/a/{}-{}", alert.0, endpoint.0))
    }

    fn keyed_hash(&self, purpose: &str, pieces: &[&[u8]]) -> crate::api::KeyedHash {
        let mut hash = [0; 12];
        hash[..8].copy_from_slice(&rustc_hash::FxBuildHasher.hash_one((purpose, pieces)).to_le_bytes());
        hash
    }
}

/// What an engine of these tests is made of, and its routes.
pub fn parts(
    bus: Arc<dyn bus::Bus>,
    store: store::SharedStore,
    clock: Arc<AtomicI64>,
) -> (Parts, Vec<Route>) {
    let routes =
        vec![route("sms", channels::SMS, |_| {}), route("mail", channels::MAIL, |r| r.receipts = false)];
    let parts = Parts {
        texts: crate::TextCache::default(),
        directory: crate::DirectoryCache::default(),
        bus,
        store,
        routes: routes.clone(),
        weigher: Arc::new(OneUnit),
        links: Arc::new(NoLinks),
        clock: Arc::new(move || Timestamp(clock.load(Ordering::SeqCst))),
        settings: Settings::default(),
        clients: Vec::new(),
    };
    (parts, routes)
}

/// Every record of a topic, as it is now.
pub async fn all_of(topic: &dyn bus::Topic) -> Vec<bus::Record> {
    let end = topic.latest().await.unwrap();
    let (mut all, mut from) = (Vec::new(), topic.low());
    while from < end {
        let records = topic.fetch(from, 1_000, 1 << 20).await.unwrap();
        let Some(last) = records.last() else { break };
        from = last.index + 1;
        all.extend(records);
    }
    all
}

impl TestEngine {
    /// Two routes, `sms` and `mail`, both up; one of several processes if it has a node.
    pub async fn on(
        bus: Arc<dyn bus::Bus>,
        store: store::SharedStore,
        now: Timestamp,
        node: Option<Node>,
    ) -> TestEngine {
        TestEngine::asking(bus, store, now, (node, ApprovalPolicy::default())).await
    }

    /// The same, with rules of approval.
    pub async fn asking(
        bus: Arc<dyn bus::Bus>,
        store: store::SharedStore,
        now: Timestamp,
        (node, approval): (Option<Node>, ApprovalPolicy),
    ) -> TestEngine {
        let clock = Arc::new(AtomicI64::new(now.0));
        let (mut parts, routes) = parts(bus.clone(), store.clone(), clock.clone());
        parts.settings.approval = approval;
        for route in &routes {
            put_up(&*bus, &route.name, now, node.as_ref()).await;
        }
        let engine = match node {
            None => Engine::start(parts).await.unwrap(),
            Some(node) => Engine::join(parts, node).await.unwrap(),
        };
        TestEngine { engine, bus, store, clock, routes }
    }

    /// One more route, which is up.
    pub async fn add_route(&mut self, route: Route) {
        // The name of the process, where there are several, is the first key's.
        let known = self.bus.retained(records::ROUTES).unwrap().all();
        let node = known.iter().find_map(|(key, _)| records::health_of(key)).map(|(node, _)| Node {
            name: node.to_owned(),
            address: String::new(),
            lease: Duration::ZERO,
            leads: true,
        });
        put_up(&*self.bus, &route.name, self.now(), node.as_ref()).await;
        self.routes.push(route);
        self.engine.change_routes(self.routes.clone()).await.unwrap();
    }

    pub fn now(&self) -> Timestamp {
        Timestamp(self.clock.load(Ordering::SeqCst))
    }

    /// Time passes.
    pub fn pass_s(&self, seconds: i64) {
        self.clock.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }

    pub async fn people(&self, people: Vec<Recipient>) {
        self.store.put_recipients(Account::DEFAULT, people).await.unwrap();
    }

    pub async fn submit(&self, change: impl FnOnce(&mut AlertRequest)) -> Submitted {
        let mut request = request("All out now");
        request.expires = self.now().plus_s(86_400);
        change(&mut request);
        self.engine.submit(draft(request)).await.unwrap()
    }

    /// Waits until the report of an alert is as wanted.
    pub async fn until(&self, alert: &Alert, wanted: impl Fn(&Report) -> bool) -> Arc<Report> {
        let begun = std::time::Instant::now();
        loop {
            let report = self.engine.report(&alert.account, alert.id).await.unwrap();
            if wanted(&report) {
                return report;
            }
            assert!(begun.elapsed() < PATIENCE, "waited in vain: {report:#?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// A carrier that answers every entry of every lane as `answer` says, until it is dropped.
    pub fn carrier(
        &self,
        answer: impl Fn(&Segment, &Entry) -> Vec<Outcome> + Send + Sync + 'static,
    ) -> Carrier {
        let answer: Arc<Answering> = Arc::new(answer);
        let sent = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for route in &self.routes {
            for lane in Lane::ALL {
                let (bus, answer, sent) = (self.bus.clone(), answer.clone(), sent.clone());
                let topic = segment_topic(&route.name, lane);
                tasks.push(tokio::spawn(serve(bus, topic, answer, sent)));
            }
        }
        Carrier { tasks, sent }
    }
}

/// A route's gateway says that it can send.
async fn put_up(bus: &dyn bus::Bus, route: &str, now: Timestamp, node: Option<&Node>) {
    let up = RouteHealth { up: true, since: now, sessions: 1, rate_now: 0.0, note: String::new() };
    let (key, value) = match node {
        None => (route.to_owned(), up.encode()),
        Some(node) => {
            let up = NodeHealth { beat: now.0 as u64, lasts_ms: u32::MAX, health: up };
            (health_key(&node.name, route), up.encode())
        }
    };
    bus.retained(records::ROUTES).unwrap().set(&key, &value).await.unwrap();
}

type Answering = dyn Fn(&Segment, &Entry) -> Vec<Outcome> + Send + Sync;

/// The carrier, and what it was given.
pub struct Carrier {
    tasks: Vec<tokio::task::JoinHandle<()>>,
    pub sent: Arc<Mutex<Vec<(String, String)>>>,
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.tasks.iter().for_each(|task| task.abort());
    }
}

impl Carrier {
    /// Addresses in the order they were sent to.
    pub fn addresses(&self) -> Vec<String> {
        self.sent.lock().unwrap().iter().map(|(address, _)| address.clone()).collect()
    }
}

async fn serve(
    bus: Arc<dyn bus::Bus>,
    topic: String,
    answer: Arc<Answering>,
    sent: Arc<Mutex<Vec<(String, String)>>>,
) {
    let group = bus.group(&topic, GATEWAYS).unwrap();
    let outcomes = bus.topic(records::OUTCOMES).unwrap();
    let written = written_before(&*outcomes).await;
    loop {
        for leased in group.take(16, Duration::from_secs(60)).unwrap() {
            let mut segment = Segment::decode(&leased.record.octets).unwrap();
            if segment.is_fencing_record() {
                group.ack(leased.record.index).unwrap();
                continue;
            }
            // As gateways do: what was written by an earlier life is not written again.
            segment
                .entries
                .retain(|entry| !written.contains(&(segment.alert, entry.endpoint, entry.attempt)));
            let mut batch = vec![Outcome::Intent(Intent {
                route: segment.route.clone(),
                lane: segment.lane,
                segment: leased.record.index,
                alert: segment.alert,
                from: 0,
                attempts: segment.entries.iter().map(|entry| (entry.endpoint, entry.attempt)).collect(),
                at: START,
            })];
            for entry in &segment.entries {
                let text = match segment.body(entry).unwrap() {
                    Body::Short(short) => format!("{:?}", short.text),
                    Body::Content(content) | Body::Translated(_, content) => content.text.clone(),
                };
                sent.lock().unwrap().push((entry.address.clone(), text));
                batch.extend(answer(&segment, entry));
            }
            outcomes.append(&[&encode_outcomes(&batch)]).await.unwrap();
            group.ack(leased.record.index).unwrap();
        }
        group.ready().await;
    }
}

async fn written_before(outcomes: &dyn bus::Topic) -> HashSet<(AlertNo, EndpointNo, u8)> {
    let mut written = HashSet::new();
    for record in all_of(outcomes).await {
        for outcome in records::decode_outcomes(&record.octets).unwrap() {
            if let Outcome::Intent(intent) = outcome {
                written.extend(
                    intent.attempts.iter().map(|(endpoint, attempt)| (intent.alert, *endpoint, *attempt)),
                );
            }
        }
    }
    written
}

fn attempt(segment: &Segment, entry: &Entry, result: AttemptResult) -> Outcome {
    let of = AttemptRef {
        alert: segment.alert,
        endpoint: entry.endpoint,
        attempt: entry.attempt,
        part: 1,
        parts: 1,
    };
    Outcome::Attempt { of, route: segment.route.clone(), at: START.plus_s(1), result }
}

/// The key of an endpoint's carrier id.
pub fn key(segment: &Segment, entry: &Entry) -> u64 {
    segment.alert.0 << 32 | u64::from(entry.endpoint.0) << 8 | u64::from(entry.attempt)
}

pub fn accepted(segment: &Segment, entry: &Entry) -> Vec<Outcome> {
    let keys = vec![key(segment, entry)];
    vec![attempt(segment, entry, AttemptResult::Accepted { keys, id: "id".into() })]
}

pub fn refused(segment: &Segment, entry: &Entry, permanent: bool) -> Vec<Outcome> {
    let (code, text) = ("smpp:0000000B".into(), "invalid destination".into());
    vec![attempt(segment, entry, AttemptResult::Refused { permanent, code, text })]
}

pub fn unknown(segment: &Segment, entry: &Entry) -> Vec<Outcome> {
    vec![attempt(segment, entry, AttemptResult::Unknown { text: "connection lost after write".into() })]
}

pub fn not_tried(segment: &Segment, entry: &Entry, why: NotTried) -> Vec<Outcome> {
    vec![attempt(segment, entry, AttemptResult::NotTried { why })]
}

pub fn receipt(segment: &Segment, entry: &Entry, state: ReceiptState) -> Outcome {
    let keys = vec![key(segment, entry)];
    Outcome::Receipt(Receipt {
        route: segment.route.clone(),
        keys,
        id: "carrier-id".into(),
        state,
        text: "stat:X".into(),
        at: START.plus_s(2),
    })
}

pub fn draft(request: AlertRequest) -> Draft {
    let account = Account::DEFAULT.to_owned();
    Draft {
        account,
        token: "t".into(),
        authors: Vec::new(),
        request,
        origin: Origin::Api,
        key: None,
        wait_solved: false,
        note: None,
    }
}

pub fn person(id: &str, addresses: &[&str]) -> Recipient {
    let device = |text: &&str| {
        let (channel, address) = text.split_once(':').unwrap();
        let channel = channels::number(channel).unwrap();
        Device { verified: true, ..Device::new(channel, address.to_owned()) }
    };
    Recipient {
        id: id.to_owned(),
        name: id.to_uppercase(),
        devices: addresses.iter().map(device).collect(),
        ..Recipient::default()
    }
}

/// `count` people with a phone each.
pub fn crowd(count: usize) -> Vec<Recipient> {
    (0..count).map(|i| person(&format!("r{i:06}"), &[&format!("sms:+4670{i:07}")])).collect()
}
