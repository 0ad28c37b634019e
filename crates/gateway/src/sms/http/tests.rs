//! A route against a simulated receiver as its carrier: what goes out, what the carrier posts.

use super::config::tests::route;
use super::*;
use bus::Bus;
use bus::embedded::{Fsync, Options};
use net::Cores;
use records::{
    AlertId, AlertNo, CarrierCallback, EndpointNo, Entry, Lane, OUTCOMES, Outcome, ReceiptState, Segment,
    Timestamp, callbacks_topic, decode_outcomes, segment_topic,
};
use sim::webhook::{RefusalShare, WebhookOptions, WebhookReceiver};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const ROUTE: &str = "carrier";

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

/// URLs without a key.
struct PlainUrls;

impl crate::CallbackUrls for PlainUrls {
    fn delivery(&self, _: AlertNo, _: EndpointNo) -> Option<String> {
        None
    }

    fn route(&self, route: &str, purpose: CallbackPurpose) -> Option<String> {
        Some(format!("https://alerts.example/w/{route}-{purpose:?}"))
    }
}

/// A bus on which segments of the route are put.
struct TestRoute {
    _folder: tempfile::TempDir,
    bus: Arc<dyn Bus>,
    context: GatewayContext,
}

impl TestRoute {
    fn open() -> TestRoute {
        let folder = tempfile::tempdir().unwrap();
        let settings = Options { fsync: Fsync::Os, ..Options::default() };
        let bus = bus::embedded::open(folder.path(), settings).unwrap();
        let mut context =
            GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).unwrap()));
        context.callback_urls = Some(Arc::new(PlainUrls));
        TestRoute { _folder: folder, bus, context }
    }

    async fn append(&self, messages: u32, text: &str) {
        let topic = self.bus.topic(&segment_topic(ROUTE, Lane::Routine)).unwrap();
        topic.append(&[&segment(messages, text).encode()]).await.unwrap();
    }

    fn start(&self, url: &str, change: impl FnOnce(&mut HttpSmsRoute)) -> crate::RunningGateway {
        let mut route = route();
        route.request.url = url.into();
        change(&mut route);
        crate::route_loop::start::<HttpSmsSessions>(route, &self.context).unwrap()
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let records = self.bus.topic(OUTCOMES).unwrap().read(0, 10_000, 10_000_000).unwrap();
        records.iter().flat_map(|record| decode_outcomes(&record.octets).unwrap()).collect()
    }

    fn results(&self) -> Vec<AttemptResult> {
        let result = |outcome| match outcome {
            Outcome::Attempt { result, .. } => Some(result),
            _ => None,
        };
        self.outcomes().into_iter().filter_map(result).collect()
    }

    /// What came beside intents and results of attempts.
    fn told(&self) -> Vec<Outcome> {
        let is_told = |outcome: &Outcome| matches!(outcome, Outcome::Receipt(_) | Outcome::Inbound(_));
        self.outcomes().into_iter().filter(is_told).collect()
    }
}

async fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn segment(messages: u32, text: &str) -> Segment {
    let entry = |number: u32| Entry {
        endpoint: EndpointNo(number),
        attempt: 1,
        address: format!("+4670{number:07}"),
        body: 0,
        own: None,
        expires: None,
        link: None,
    };
    Segment {
        alert: AlertNo(7),
        alert_id: AlertId(uuid::Uuid::from_u128(1)),
        account: "default".to_owned(),
        route: ROUTE.to_owned(),
        lane: Lane::Routine,
        outcomes_from: 0,
        expires: wall().plus_s(3_600),
        sender: None,
        flash: false,
        receipt: true,
        answer: false,
        choices: Vec::new(),
        emergency: false,
        bodies: vec![Arc::new(Body::of_text(text))],
        entries: (0..messages).map(entry).collect(),
    }
}

#[tokio::test]
async fn what_the_carrier_posts_becomes_receipts_and_messages_once_and_its_topic_is_emptied() {
    let (test_route, carrier) =
        (TestRoute::open(), WebhookReceiver::start(WebhookOptions::default()).await.unwrap());
    let url = format!("http://{}/messages", carrier.address());
    let running = test_route.start(&url, |_| {});
    test_route.append(1, "hello").await;
    until(|| test_route.results().len() == 1).await;
    let [AttemptResult::Accepted { keys, id }] = &test_route.results()[..] else { panic!() };

    let topic = test_route.bus.topic(&callbacks_topic(ROUTE)).unwrap();
    let post = |purpose, body: String| CarrierCallback { purpose, is_json: true, body, at: wall() }.encode();
    let posts = [
        post(CallbackPurpose::Receipts, format!("{{\"id\": \"{id}\", \"state\": \"DELIVERED\"}}")),
        post(CallbackPurpose::Receipts, "{\"nothing\": \"of it\"}".to_owned()),
        post(
            CallbackPurpose::Inbound,
            "{\"from\": \"46700000000\", \"to\": \"7\", \"text\": \"1\"}".to_owned(),
        ),
    ];
    for record in &posts {
        topic.append(&[record]).await.unwrap();
    }
    until(|| test_route.told().len() == 2).await;
    let group = test_route.bus.group(&callbacks_topic(ROUTE), "gateway").unwrap();
    until(|| group.unacknowledged(10).is_empty()).await;
    running.stop().await;
    let told = test_route.told();
    let [Outcome::Receipt(receipt), Outcome::Inbound(inbound)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((receipt.state, &receipt.keys), (ReceiptState::Delivered, keys));
    assert_eq!((inbound.from.as_str(), inbound.text.as_str()), ("46700000000", "1"));
    // A restart reads nothing again.
    let running = test_route.start(&url, |_| {});
    test_route.append(1, "again").await;
    until(|| test_route.results().len() == 2).await;
    running.stop().await;
    assert_eq!(test_route.told().len(), 2);
}

#[tokio::test]
async fn a_message_names_the_urls_that_the_carrier_posts_to() {
    let (test_route, carrier) =
        (TestRoute::open(), WebhookReceiver::start(WebhookOptions::default()).await.unwrap());
    let running = test_route.start(&format!("http://{}/{{{{ to_digits }}}}", carrier.address()), |route| {
        let body = r#"{"text": "{{ text }}", "r": "{{ receipt_url }}", "i": "{{ inbound_url }}", "p": "{{ parts }}"}"#;
        route.request.body = Some(body.to_owned());
    });
    test_route.append(1, &"x".repeat(161)).await;
    until(|| test_route.results().len() == 1).await;
    running.stop().await;
    let hook = carrier.hooks(1).remove(0);
    assert_eq!(hook.path, "/46700000000");
    for (member, expected) in [
        ("r", "https://alerts.example/w/carrier-Receipts"),
        ("i", "https://alerts.example/w/carrier-Inbound"),
        ("p", "2"),
    ] {
        assert_eq!(hook.text_of(member).as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn a_carrier_that_is_gone_costs_no_attempt_and_is_written_to_when_it_is_back() {
    let test_route = TestRoute::open();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let running = test_route.start(&format!("http://{free}/"), |_| {});
    let health = test_route.bus.retained(records::ROUTES).unwrap();
    let is_up = || {
        let health = health.value(ROUTE).and_then(|value| records::RouteHealth::decode(&value).ok());
        health.map(|health| health.up)
    };
    until(|| is_up() == Some(true)).await;
    test_route.append(3, "hello").await;
    until(|| is_up() == Some(false)).await;
    assert_eq!(test_route.results(), []);
    let options = WebhookOptions { listen: free.to_string(), ..WebhookOptions::default() };
    let carrier = WebhookReceiver::start(options).await.unwrap();
    until(|| test_route.results().len() == 3).await;
    running.stop().await;
    let is_accepted = |result: &AttemptResult| matches!(result, AttemptResult::Accepted { .. });
    assert!(test_route.results().iter().all(is_accepted), "{:?}", test_route.results());
    assert_eq!(carrier.stats().accepted, 3);
}

#[tokio::test]
async fn a_response_that_says_nothing_is_unknown_and_a_listed_refusal_is_one() {
    for (status, expected) in [(504, "unknown"), (400, "refused"), (503, "temporary")] {
        let refusals = vec![RefusalShare { status, share: 1.0, retry_after: None }];
        let carrier =
            WebhookReceiver::start(WebhookOptions { refusals, ..WebhookOptions::default() }).await.unwrap();
        let test_route = TestRoute::open();
        let running = test_route.start(&format!("http://{}/", carrier.address()), |_| {});
        test_route.append(1, "hello").await;
        until(|| test_route.results().len() == 1).await;
        running.stop().await;
        let kind = match &test_route.results()[0] {
            AttemptResult::Unknown { .. } => "unknown",
            AttemptResult::Refused { permanent: true, .. } => "refused",
            AttemptResult::Refused { permanent: false, .. } => "temporary",
            other => panic!("{other:?}"),
        };
        assert_eq!(kind, expected, "{status}");
    }
}
