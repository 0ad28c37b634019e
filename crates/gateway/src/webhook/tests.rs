//! A route against the simulated receiver: what it sends, and what becomes of it.

use super::*;
use bus::Bus;
use bus::embedded::{Fsync, Options};
use net::{Cores, OutboundPolicy};
use records::{
    AlertId, Body, Choice, Content, Lane, OUTCOMES, Outcome, ReceiptState, Timestamp, channel_key,
    decode_outcomes, segment_topic,
};
use sim::webhook::{RefusalShare, WebhookOptions, WebhookReceiver};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const ROUTE: &str = "hooks";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

/// URLs without a key.
struct PlainUrls;

impl crate::CallbackUrls for PlainUrls {
    fn delivery(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<String> {
        Some(format!("https://alerts.example/w/{}-{}", alert.0, endpoint.0))
    }

    fn route(&self, _: &str, _: records::CallbackPurpose) -> Option<String> {
        None
    }
}

/// A receiver, and a bus on which segments for it are put.
struct TestRoute {
    _folder: tempfile::TempDir,
    bus: Arc<dyn Bus>,
    context: GatewayContext,
    receiver: WebhookReceiver,
}

impl TestRoute {
    async fn open(options: WebhookOptions) -> TestRoute {
        let folder = tempfile::tempdir().unwrap();
        let options = WebhookOptions { secret: Some(SECRET.to_owned()), ..options };
        let settings = Options { fsync: Fsync::Os, ..Options::default() };
        let bus = bus::embedded::open(folder.path(), settings).unwrap();
        let mut context =
            GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).unwrap()));
        context.outbound.store(Arc::new(OutboundPolicy::new(&["127.0.0.0/8".to_owned()]).unwrap()));
        context.callback_urls = Some(Arc::new(PlainUrls));
        let receiver = WebhookReceiver::start(options).await.unwrap();
        TestRoute { _folder: folder, bus, context, receiver }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.receiver.address())
    }

    /// Sends a message to each of these, and waits for all outcomes.
    async fn send(&self, route: WebhookRoute, urls: &[String]) -> Vec<Outcome> {
        let topic = self.bus.topic(&segment_topic(ROUTE, Lane::Routine)).unwrap();
        topic.append(&[&segment(urls).encode()]).await.unwrap();
        let route = WebhookRoute { name: ROUTE.to_owned(), ..route };
        let running = crate::route_loop::start::<WebhookSessions>(route, &self.context).unwrap();
        while self.ended() < urls.len() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        running.stop().await;
        self.outcomes()
    }

    fn ended(&self) -> usize {
        self.outcomes().iter().filter(|outcome| matches!(outcome, Outcome::Attempt { .. })).count()
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let records = self.bus.topic(OUTCOMES).unwrap().read(0, 10_000, 10_000_000).unwrap();
        records.iter().flat_map(|record| decode_outcomes(&record.octets).unwrap()).collect()
    }
}

fn segment(urls: &[String]) -> Segment {
    let content = Content { subject: Some("Fire".to_owned()), ..Content::of_text("Leave the harbour") };
    let entry = |(number, url): (usize, &String)| Entry {
        endpoint: EndpointNo(number as u32),
        attempt: 1,
        address: url.clone(),
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
        receipt: false,
        answer: true,
        choices: vec![Choice { key: "1".into(), label: "Safe".into() }],
        emergency: true,
        bodies: vec![Arc::new(Body::Translated("sv".into(), content))],
        entries: urls.iter().enumerate().map(entry).collect(),
    }
}

fn signed() -> WebhookRoute {
    WebhookRoute { secret: Some(SECRET.into()), ..WebhookRoute::default() }
}

fn results(outcomes: &[Outcome]) -> Vec<&AttemptResult> {
    let mut results = Vec::new();
    for outcome in outcomes {
        if let Outcome::Attempt { result, .. } = outcome {
            results.push(result);
        }
    }
    results
}

#[tokio::test]
async fn a_message_is_a_signed_post_with_the_alert_in_it() {
    let route = TestRoute::open(WebhookOptions::default()).await;
    let outcomes = route.send(signed(), &[route.url("/siren?key=a%20b")]).await;
    let id = "00000000-0000-0000-0000-000000000001_0";
    let expected = AttemptResult::Accepted {
        keys: vec![channel_key(channels::WEBHOOK, AlertNo(7), EndpointNo(0))],
        id: id.to_owned(),
    };
    assert_eq!(results(&outcomes), [&expected]);
    let hooks = route.receiver.hooks(10);
    assert_eq!((hooks.len(), route.receiver.stats().unsigned), (1, 0));
    assert_eq!((hooks[0].path.as_str(), hooks[0].id.as_str()), ("/siren?key=a%20b", id));
    for (member, expected) in [
        ("type", "alert"),
        ("headline", "Fire"),
        ("text", "Leave the harbour"),
        ("mode", "live"),
        ("language", "sv"),
        ("receipt_url", "https://alerts.example/w/7-0"),
        ("reply_url", "https://alerts.example/w/7-0"),
    ] {
        assert_eq!(hooks[0].text_of(member).as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn delivered_and_answered_are_what_the_device_says_in_its_response() {
    let options = WebhookOptions { delivered: 1.0, answering: 1.0, ..WebhookOptions::default() };
    let route = TestRoute::open(options).await;
    let outcomes = route.send(signed(), &[route.url("/")]).await;
    let said = |test: &dyn Fn(&Outcome) -> bool| outcomes.iter().position(test);
    let accepted = said(&|outcome| matches!(outcome, Outcome::Attempt { .. }));
    let delivered = said(
        &|outcome| matches!(outcome, Outcome::Receipt(receipt) if receipt.state == ReceiptState::Delivered),
    );
    let answered = said(
        &|outcome| matches!(outcome, Outcome::Answer { text, endpoint: EndpointNo(0), .. } if text == "1"),
    );
    assert!(accepted.is_some() && accepted < delivered && delivered < answered, "{outcomes:?}");
}

#[tokio::test]
async fn a_template_makes_the_body_and_headers_go_with_it() {
    let route = TestRoute::open(WebhookOptions::default()).await;
    let template = "{\"text\": \"*{{ headline }}* {{ text }} {% for c in choices %}{{ c.key }}={{ c.label }}{% endfor %}\"}";
    let with = WebhookRoute {
        body: Some(template.to_owned()),
        headers: vec![("Authorization".to_owned(), "Bearer sesame".into())],
        ..signed()
    };
    route.send(with, &[route.url("/")]).await;
    assert_eq!(route.receiver.hooks(1)[0].body, "{\"text\": \"*Fire* Leave the harbour 1=Safe\"}");
}

#[tokio::test]
async fn who_may_not_be_called_is_refused_in_words_and_not_connected_to() {
    let route = TestRoute::open(WebhookOptions::default()).await;
    let urls = [
        "http://192.0.2.1/secret".to_owned(),
        "https://10.0.0.1/secret".to_owned(),
        "http://hooks.example/secret".to_owned(),
        "https://169.254.169.254/secret".to_owned(),
    ];
    let outcomes = route.send(signed(), &urls).await;
    for result in results(&outcomes) {
        let AttemptResult::Refused { permanent, code, text } = result else { panic!("{result:?}") };
        assert_eq!((*permanent, code.as_str()), (true, "webhook:outbound"));
        assert!(text.contains("[outbound] allow") && !text.contains("secret"), "{text}");
    }
    assert_eq!(results(&outcomes).len(), urls.len());
}

#[tokio::test]
async fn a_refusal_has_its_class_and_its_words_and_who_is_gone_is_told() {
    for (status, permanent, words) in
        [(410, true, "410 (gone)"), (301, true, "redirects"), (500, false, "500"), (404, true, "404")]
    {
        let refusals = vec![RefusalShare { status, share: 1.0, retry_after: None }];
        let route = TestRoute::open(WebhookOptions { refusals, ..WebhookOptions::default() }).await;
        let outcomes = route.send(signed(), &[route.url("/")]).await;
        let [AttemptResult::Refused { permanent: is_permanent, code, text }] = results(&outcomes)[..] else {
            panic!("{outcomes:?}")
        };
        assert_eq!((*is_permanent, code.as_str()), (permanent, format!("http:{status}").as_str()));
        assert!(text.contains(words), "{text}");
    }
}

#[tokio::test]
async fn what_may_have_arrived_is_sent_again_and_is_refused_for_now() {
    let cut = WebhookOptions { disconnect: 1.0, ..WebhookOptions::default() };
    let silent = WebhookOptions { silence: 1.0, ..WebhookOptions::default() };
    for (options, expected) in [(cut, "webhook:lost"), (silent, "webhook:timeout")] {
        let route = TestRoute::open(options).await;
        let with = WebhookRoute { timeout: Duration::from_millis(300), ..signed() };
        let outcomes = route.send(with, &[route.url("/")]).await;
        let [AttemptResult::Refused { permanent: false, code, text }] = results(&outcomes)[..] else {
            panic!("{outcomes:?}")
        };
        assert_eq!(code, expected);
        assert!(text.contains("may have arrived"), "{text}");
        assert_eq!(route.receiver.stats().accepted, 1);
    }
}

#[tokio::test]
async fn a_device_that_is_not_there_was_not_written_to() {
    let route = TestRoute::open(WebhookOptions::default()).await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcomes = route.send(signed(), &[format!("http://{free}/secret"), route.url("/")]).await;
    let results = results(&outcomes);
    let is_refused = |result: &&&AttemptResult| {
        matches!(result, AttemptResult::Refused { permanent: false, code, text }
            if code == "webhook:connect" && !text.contains("secret"))
    };
    assert_eq!(results.iter().filter(is_refused).count(), 1, "{results:?}");
    assert_eq!(route.receiver.stats().accepted, 1, "the other one is not held up");
}

#[tokio::test]
async fn connections_are_kept_and_no_more_than_the_key_says() {
    let route = TestRoute::open(WebhookOptions::default()).await;
    let urls: Vec<String> = (0..200).map(|number| route.url(&format!("/{number}"))).collect();
    let with = WebhookRoute { connections: 4, ..signed() };
    let outcomes = route.send(with, &urls).await;
    assert_eq!(results(&outcomes).len(), 200);
    let stats = route.receiver.stats();
    assert_eq!((stats.accepted, stats.repeats), (200, 0));
    assert!(stats.connections <= 4, "{} connections", stats.connections);
}
