//! A route against the simulated broker on a real socket, over a real bus.

mod retained;
mod trouble;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bus::Bus;
use bus::embedded::{Fsync, Options};
use mqtt::MqttReason;
use net::Cores;
use records::{
    AlertId, AlertNo, AttemptResult, Body, EndpointNo, Entry, Inbound, Lane, OUTCOMES, Outcome, ROUTES,
    ReceiptState, RouteHealth, Segment, Timestamp, channel_key, decode_outcomes, segment_topic,
};
use sim::broker::{Broker, BrokerOptions};

use super::{MqttRoute, MqttSessions};
use crate::route_loop;
use crate::{Changed, GatewayContext, RunningGateway};

/// Signs the Correlation Data.
const SECRET: &[u8] = b"a secret of sixteen octets";
const ROUTE: &str = "sirens";
const LONG: Duration = Duration::from_secs(60);

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

/// A bus in a folder, and a context over it.
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
        let options = Options { fsync: Fsync::Os, ..Options::default() };
        let bus = bus::embedded::open(dir.path().join("bus"), options).unwrap();
        let mut context =
            GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).unwrap()));
        context.signing_key = Arc::from(SECRET);
        TestRoute { dir, bus, context }
    }

    fn start(&self, route: MqttRoute) -> RunningGateway {
        route_loop::start::<MqttSessions>(route, &self.context)
            .unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    async fn append(&self, segment: &Segment) {
        let topic = self.bus.topic(&segment_topic(ROUTE, segment.lane)).unwrap();
        topic.append(&[&segment.encode()]).await.unwrap();
    }

    /// All outcomes once they are enough.
    async fn until(&self, what: &str, test: impl Fn(&[Outcome]) -> bool) -> Vec<Outcome> {
        let topic = self.bus.topic(OUTCOMES).unwrap();
        let (mut from, mut outcomes) = (0, Vec::new());
        let end = Instant::now() + LONG;
        loop {
            for record in topic.read(from, 10_000, 10_000_000).unwrap() {
                from = record.index + 1;
                outcomes.extend(decode_outcomes(&record.octets).unwrap());
            }
            if test(&outcomes) {
                return outcomes;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                tokio::time::timeout(left, topic.readable(from)).await.is_ok(),
                "no {what}: {outcomes:?}"
            );
        }
    }

    /// Results by endpoint once so many have one.
    async fn until_ended(&self, entries: usize) -> BTreeMap<u32, AttemptResult> {
        results(&self.until("outcomes", |outcomes| results(outcomes).len() >= entries).await)
    }

    /// Waits until the route says so of itself.
    async fn until_health(&self, what: &str, test: impl Fn(&RouteHealth) -> bool) -> RouteHealth {
        let routes = self.bus.retained(ROUTES).unwrap();
        let end = Instant::now() + LONG;
        loop {
            let seen = routes.version();
            let health = routes.value(ROUTE).map(|octets| RouteHealth::decode(&octets).unwrap());
            if let Some(health) = health.as_ref().filter(|health| test(health)) {
                return health.clone();
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(tokio::time::timeout(left, routes.changed(seen)).await.is_ok(), "not {what}: {health:?}");
        }
    }
}

fn results(outcomes: &[Outcome]) -> BTreeMap<u32, AttemptResult> {
    let mut ended = BTreeMap::new();
    for outcome in outcomes {
        if let Outcome::Attempt { of, result, .. } = outcome {
            assert!(ended.insert(of.endpoint.0, result.clone()).is_none(), "{of:?} ended twice");
        }
    }
    ended
}

fn with_devices() -> BrokerOptions {
    BrokerOptions { devices: Some("city/#".to_owned()), keep: 10_000, ..BrokerOptions::default() }
}

fn route(broker: &Broker) -> MqttRoute {
    MqttRoute {
        name: ROUTE.to_owned(),
        address: broker.address().to_string(),
        topic: "city/{address}".to_owned(),
        response_topic: Some("answers".to_owned()),
        ..MqttRoute::default()
    }
}

/// An alert to so many sites, which is over after so many seconds.
fn segment(alert: u64, sites: u32, seconds: i64) -> Segment {
    let entry = |endpoint| Entry {
        endpoint: EndpointNo(endpoint),
        attempt: 1,
        address: format!("site/{endpoint}"),
        body: 0,
        own: None,
        expires: None,
        link: None,
    };
    Segment {
        alert: AlertNo(alert),
        alert_id: AlertId(uuid::Uuid::from_u128(u128::from(alert))),
        account: "default".to_owned(),
        route: ROUTE.to_owned(),
        lane: Lane::Routine,
        outcomes_from: 0,
        expires: wall().plus_s(seconds),
        sender: None,
        flash: false,
        receipt: true,
        answer: true,
        choices: Vec::new(),
        emergency: false,
        bodies: vec![Arc::new(Body::of_text(format!("alert {alert}")))],
        entries: (0..sites).map(entry).collect(),
    }
}

fn accepted(alert: u64, endpoint: u32, words: &str) -> AttemptResult {
    let keys = vec![channel_key(channels::MQTT, AlertNo(alert), EndpointNo(endpoint))];
    AttemptResult::Accepted { keys, id: words.to_owned() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alert_reaches_every_topic_within_the_brokers_receive_maximum() {
    // A client that has more under way is left with a reason, and nothing would end.
    let options = BrokerOptions { receive_maximum: 3, ..with_devices() };
    let (test_route, broker) = (TestRoute::new(), Broker::start(options).await.unwrap());
    test_route.append(&segment(7, 300, 3_600)).await;
    let running = test_route.start(route(&broker));
    let ended = test_route.until_ended(300).await;
    for (endpoint, result) in &ended {
        assert_eq!(*result, accepted(7, *endpoint, &format!("city/site/{endpoint}")));
    }
    running.stop().await;
    let stats = broker.stats();
    assert_eq!((stats.accepted, stats.repeats, stats.connections), (300, 0, 1));
    let group = test_route.bus.group(&segment_topic(ROUTE, Lane::Routine), "gateway").unwrap();
    assert_eq!(group.unacknowledged(10), [] as [u64; 0], "all is told, so the segment is done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_without_a_device_is_told_as_nobody_listens() {
    let (test_route, broker) = (TestRoute::new(), Broker::start(BrokerOptions::default()).await.unwrap());
    test_route.append(&segment(7, 1, 3_600)).await;
    let running = test_route.start(route(&broker));
    let ended = test_route.until_ended(1).await;
    running.stop().await;
    let AttemptResult::Refused { permanent, code, text } = &ended[&0] else { panic!("{ended:?}") };
    assert_eq!((*permanent, code.as_str()), (false, "mqtt:10"));
    assert!(text.starts_with("nobody listens on the topic \"city/site/0\""), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn devices_confirm_and_answer_the_delivery_that_their_tag_names() {
    let mut people = sim::town::Habits::answering(1);
    (people.choices, people.free_text) = (vec!["1".to_owned()], 0.0);
    people.answer_after = sim::chance::Delay::NONE;
    let options = BrokerOptions { people: Some(people), ..with_devices() };
    let (test_route, broker) = (TestRoute::new(), Broker::start(options).await.unwrap());
    test_route.append(&segment(7, 20, 3_600)).await;
    let running = test_route.start(route(&broker));
    let said = |outcomes: &[Outcome]| {
        let receipts = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Receipt(_))).count();
        let inbound = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Inbound(_))).count();
        (receipts, inbound)
    };
    let outcomes = test_route.until("answers", |outcomes| said(outcomes) == (20, 20)).await;
    running.stop().await;
    for outcome in &outcomes {
        match outcome {
            Outcome::Receipt(receipt) => {
                let site: u32 = receipt.id.trim_start_matches("site/").parse().unwrap();
                assert_eq!(receipt.keys, [channel_key(channels::MQTT, AlertNo(7), EndpointNo(site))]);
                assert_eq!((receipt.state, receipt.route.as_str()), (ReceiptState::Delivered, ROUTE));
            }
            Outcome::Inbound(Inbound { from, to, text, of, channel, .. }) => {
                let (alert, endpoint) = of.unwrap();
                assert_eq!(
                    (alert, *channel, text.as_str(), to.as_str()),
                    (AlertNo(7), channels::MQTT, "1", "answers")
                );
                assert_eq!(*from, format!("site/{}", endpoint.0));
            }
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_window_needs_no_new_connection_and_another_topic_does() {
    let (test_route, broker) = (TestRoute::new(), Broker::start(with_devices()).await.unwrap());
    let running = test_route.start(route(&broker));
    test_route.until_health("up", |health| health.up).await;
    let change = async |route: MqttRoute| running.change(route).await.unwrap();
    assert_eq!(change(MqttRoute { window: 7, ..route(&broker) }).await, Changed::InPlace);
    let moved = MqttRoute { window: 7, topic: "city/new/{address}".to_owned(), ..route(&broker) };
    assert_eq!(change(moved).await, Changed::Rebound);
    test_route.append(&segment(7, 2, 3_600)).await;
    let ended = test_route.until_ended(2).await;
    running.stop().await;
    assert_eq!(ended[&1], accepted(7, 1, "city/new/site/1"));
    assert_eq!(broker.stats().connections, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reasons_of_the_broker_are_told_in_its_words() {
    for (reason, permanent, code) in
        [(MqttReason::NOT_AUTHORIZED, true, "mqtt:87"), (MqttReason::QUOTA_EXCEEDED, false, "mqtt:97")]
    {
        let options = BrokerOptions { refused: 1.0, refused_with: reason.0, ..with_devices() };
        let (test_route, broker) = (TestRoute::new(), Broker::start(options).await.unwrap());
        test_route.append(&segment(7, 1, 3_600)).await;
        let running = test_route.start(route(&broker));
        let ended = test_route.until_ended(1).await;
        running.stop().await;
        let text = format!("the broker refused it: {reason}");
        assert_eq!(ended[&0], AttemptResult::Refused { permanent, code: code.to_owned(), text });
    }
}
