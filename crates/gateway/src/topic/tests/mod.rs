//! A route over a real bus.

mod several;

use super::*;
use bus::embedded::Options;
use bus::{Bus, Durability, TopicSettings};
use net::Cores;
use records::{
    AlertId, AlertNo, Body, EndpointNo, Lane, OUTCOMES, Outcome, Timestamp, decode_outcomes, segment_topic,
    text_topic_on_bus,
};
use std::collections::BTreeMap;
use std::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

const ROUTE: &str = "boards";
const PATIENCE: Duration = Duration::from_secs(120);

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

struct TestRoute {
    bus: Arc<dyn Bus>,
    context: GatewayContext,
    _folder: tempfile::TempDir,
}

impl TestRoute {
    fn new() -> TestRoute {
        let folder = tempfile::tempdir().unwrap();
        let bus = bus::embedded::open(folder.path().join("bus"), Options::default()).unwrap();
        let context = GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).unwrap()));
        TestRoute { bus, context, _folder: folder }
    }

    async fn append(&self, segment: &Segment) {
        let topic = self.bus.topic(&segment_topic(ROUTE, segment.lane)).unwrap();
        topic.append(&[&segment.encode()]).await.unwrap();
    }

    /// Results by endpoint and attempt, once there are so many.
    async fn until_ended(&self, count: usize) -> BTreeMap<(u32, u8), AttemptResult> {
        let topic = self.bus.topic(OUTCOMES).unwrap();
        let (mut from, mut ended) = (0, BTreeMap::new());
        while ended.len() < count {
            tokio::time::timeout(PATIENCE, topic.readable(from)).await.unwrap();
            for record in topic.read(from, 10_000, 10_000_000).unwrap() {
                from = record.index + 1;
                for outcome in decode_outcomes(&record.octets).unwrap() {
                    if let Outcome::Attempt { of, result, .. } = outcome {
                        assert_eq!(ended.insert((of.endpoint.0, of.attempt), result), None);
                    }
                }
            }
        }
        ended
    }

    fn texts(&self, topic: &str) -> Vec<String> {
        let topic = self.bus.topic(&text_topic_on_bus(topic.as_bytes())).unwrap();
        let records = topic.read(0, 10_000, 10_000_000).unwrap();
        records.iter().map(|record| String::from_utf8(record.octets.to_vec()).unwrap()).collect()
    }
}

fn segment(entries: &[(u32, u8, &str)], body: Body) -> Segment {
    let entry = |(endpoint, attempt, address): &(u32, u8, &str)| Entry {
        endpoint: EndpointNo(*endpoint),
        attempt: *attempt,
        address: (*address).to_owned(),
        body: 0,
        own: None,
        expires: None,
        link: None,
    };
    Segment {
        alert: AlertNo(7),
        alert_id: AlertId(uuid::Uuid::from_u128(7)),
        account: "default".to_owned(),
        route: ROUTE.to_owned(),
        lane: Lane::Urgent,
        outcomes_from: 0,
        expires: wall().plus_s(3_600),
        sender: None,
        flash: false,
        receipt: false,
        answer: false,
        choices: Vec::new(),
        emergency: false,
        bodies: vec![Arc::new(body)],
        entries: entries.iter().map(entry).collect(),
    }
}

fn route() -> TopicRoute {
    TopicRoute {
        name: ROUTE.to_owned(),
        message_octets_max: 20,
        settings: TopicSettings { durability: Some(Durability::Os), ..TopicSettings::default() },
        ..TopicRoute::default()
    }
}

fn accepted(id: &str) -> AttemptResult {
    AttemptResult::Accepted { keys: Vec::new(), id: id.to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_is_published_to_each_topic_once_however_often_it_is_tried() {
    let test_route = TestRoute::new();
    let running = start(route(), &test_route.context).unwrap();
    let text = "The dam has burst.\nGo up the hill at once!";
    let body = Body::of_text(text);
    test_route.append(&segment(&[(1, 1, "lobby"), (2, 1, "gate \u{e5}")], body.clone())).await;
    let ended = test_route.until_ended(2).await;
    assert_eq!(ended, BTreeMap::from([((1, 1), accepted("0")), ((2, 1), accepted("0"))]));
    // Tried again, as after an answer that was lost: it stands there already.
    test_route.append(&segment(&[(1, 2, "lobby"), (3, 1, "lobby")], body)).await;
    let ended = test_route.until_ended(4).await;
    assert_eq!((&ended[&(1, 2)], &ended[&(3, 1)]), (&accepted("0"), &accepted("3")));
    let messages = ["The dam has burst.", "Go up the hill at", "once!"];
    assert_eq!(test_route.texts("@lobby"), [messages, messages].concat());
    assert_eq!(test_route.texts("@gate \u{e5}"), messages);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_published_is_refused_for_good() {
    let test_route = TestRoute::new();
    let running = start(route(), &test_route.context).unwrap();
    test_route.append(&segment(&[(1, 1, "lobby")], Body::Short(Box::default()))).await;
    test_route.append(&segment(&[(2, 1, "lobby")], Body::of_text(" \n "))).await;
    for result in test_route.until_ended(2).await.values() {
        assert!(matches!(result, AttemptResult::Refused { permanent: true, .. }), "{result:?}");
    }
    running.stop().await;
    assert_eq!(test_route.texts("@lobby"), Vec::<String>::new());
    let bad = TopicRoute { message_octets_max: 3, rate: f64::NAN, name: String::new(), ..route() };
    assert_eq!(start(bad, &test_route.context).unwrap_err().len(), 3);
}
