//! Routes against the simulated networks on real sockets, over a real bus.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bus::Bus;
use bus::embedded::{Fsync, Options};
use net::Cores;
use records::{
    AlertId, AlertNo, AttemptResult, Body, Choice, EndpointNo, Entry, Inbound, Lane, OUTCOMES, Outcome,
    ROUTES, RouteHealth, Segment, Timestamp, decode_outcomes, segment_topic,
};
use settings::Secret;
use sim::im::{ImManner, ImOptions, Messengers};

use super::config::{ImProtocol, ImRoute};
use super::start;
use crate::{GatewayContext, RunningGateway};

const ROUTE: &str = "messenger";
const TOKEN: &str = "1:s3cret-token";
const LONG: Duration = Duration::from_secs(60);

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

/// A bus in a folder, a context over it, and the networks.
struct TestRoute {
    networks: Messengers,
    folder: tempfile::TempDir,
    bus: Arc<dyn Bus>,
    context: GatewayContext,
    protocol: ImProtocol,
}

impl TestRoute {
    async fn new(protocol: ImProtocol) -> TestRoute {
        TestRoute::with(protocol, quiet()).await
    }

    async fn with(protocol: ImProtocol, options: ImOptions) -> TestRoute {
        let networks = Messengers::start(options).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (bus, context) = open(folder.path());
        TestRoute { networks, folder, bus, context, protocol }
    }

    /// The next process, after an end in order.
    fn again(self) -> TestRoute {
        let TestRoute { networks, folder, bus, context, protocol } = self;
        context.cores.stop();
        drop((bus, context));
        let (bus, context) = open(folder.path());
        TestRoute { networks, folder, bus, context, protocol }
    }

    fn settings(&self) -> ImRoute {
        ImRoute {
            name: ROUTE.to_owned(),
            protocol: Some(self.protocol),
            base: format!("http://{}", self.networks.address()),
            token: Some(Secret::from(TOKEN)),
            poll: Duration::from_secs(1),
            ..ImRoute::default()
        }
    }

    fn start(&self) -> RunningGateway {
        start(self.settings(), &self.context).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    async fn append(&self, alert: u64, addresses: &[&str]) {
        let topic = self.bus.topic(&segment_topic(ROUTE, Lane::Routine)).unwrap();
        topic.append(&[&segment(alert, addresses).encode()]).await.unwrap();
    }

    /// All outcomes, once they are as they should be.
    async fn until(&self, what: &str, test: impl Fn(&[Outcome]) -> bool) -> Vec<Outcome> {
        let topic = self.bus.topic(OUTCOMES).unwrap();
        let (mut from, mut outcomes, end) = (0, Vec::new(), Instant::now() + LONG);
        loop {
            for record in topic.read(from, 10_000, 10_000_000).unwrap() {
                from = record.index + 1;
                outcomes.extend(decode_outcomes(&record.octets).unwrap());
            }
            if test(&outcomes) {
                return outcomes;
            }
            let left = end.saturating_duration_since(Instant::now());
            let more = tokio::time::timeout(left, topic.readable(from)).await;
            assert!(more.is_ok(), "{what}: not in time: {outcomes:?}");
        }
    }

    /// Results of an alert by endpoint, once so many have one.
    async fn until_ended(&self, alert: u64, count: usize) -> BTreeMap<u32, AttemptResult> {
        let ended = |outcomes: &[Outcome]| {
            let results = outcomes.iter().filter_map(|outcome| match outcome {
                Outcome::Attempt { of, result, .. } if of.alert == AlertNo(alert) => {
                    Some((of.endpoint.0, result.clone()))
                }
                _ => None,
            });
            results.collect::<BTreeMap<_, _>>()
        };
        ended(&self.until("results", |outcomes| ended(outcomes).len() >= count).await)
    }

    async fn until_health(&self, what: &str, test: impl Fn(&RouteHealth) -> bool) -> RouteHealth {
        let (routes, end) = (self.bus.retained(ROUTES).unwrap(), Instant::now() + LONG);
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

fn open(folder: &std::path::Path) -> (Arc<dyn Bus>, GatewayContext) {
    let options = Options { fsync: Fsync::Os, ..Options::default() };
    let bus = bus::embedded::open(folder.join("bus"), options).unwrap();
    let mut context = GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).unwrap()));
    context.signing_key = Arc::from(b"a secret of sixteen octets".as_slice());
    (bus, context)
}

/// Nobody reads by themselves.
fn quiet() -> ImOptions {
    ImOptions { receipts: false, ..ImOptions::default() }
}

fn segment(alert: u64, addresses: &[&str]) -> Segment {
    let entry = |(endpoint, address): (usize, &&str)| Entry {
        endpoint: EndpointNo(endpoint as u32),
        attempt: 1,
        address: (*address).to_owned(),
        body: 0,
        own: None,
        expires: None,
        link: None,
    };
    Segment {
        alert: AlertNo(alert),
        alert_id: AlertId(uuid::Uuid::from_u128(u128::from(alert))),
        account: "a".to_owned(),
        route: ROUTE.to_owned(),
        lane: Lane::Routine,
        outcomes_from: 0,
        expires: wall().plus_s(3_600),
        sender: None,
        flash: false,
        receipt: true,
        answer: true,
        choices: vec![Choice { key: "1".to_owned(), label: "I am safe".to_owned() }],
        emergency: false,
        bodies: vec![Arc::new(Body::of_text(format!("Alert {alert}")))],
        entries: addresses.iter().enumerate().map(entry).collect(),
    }
}

fn accepted(result: &AttemptResult) -> (u64, String) {
    match result {
        AttemptResult::Accepted { keys, id } => (keys[0], id.clone()),
        other => panic!("not accepted: {other:?}"),
    }
}

/// Keys of receipts, in their order.
fn receipts(outcomes: &[Outcome]) -> Vec<u64> {
    let keys = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Receipt(receipt) => Some(receipt.keys[0]),
        _ => None,
    });
    keys.collect()
}

/// Answers to messages: keys, sender and text.
fn replies(outcomes: &[Outcome]) -> Vec<(Vec<u64>, String, String)> {
    let replies = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Reply(reply) => {
            Some((reply.keys.clone(), reply.inbound.from.clone(), reply.inbound.text.clone()))
        }
        _ => None,
    });
    replies.collect()
}

fn inbound(outcomes: &[Outcome]) -> Vec<Inbound> {
    let said = outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Inbound(inbound) => Some(inbound.clone()),
        _ => None,
    });
    said.collect()
}

const ANN: &str = "matrix:@ann:sim.example";
const BEN: &str = "matrix:@ben:sim.example";

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_for_a_later_message_covers_the_earlier_ones_in_its_room_and_no_other() {
    let route = TestRoute::new(ImProtocol::Matrix).await;
    let running = route.start();
    route.append(1, &[ANN, BEN]).await;
    let first = accepted(&route.until_ended(1, 2).await[&0]).0;
    route.append(2, &[ANN]).await;
    let second = accepted(&route.until_ended(2, 1).await[&0]).0;
    assert!(receipts(&route.until("outcomes", |_| true).await).is_empty(), "nobody has read anything");
    assert!(route.networks.read(ANN));
    let outcomes = route.until("receipts", |outcomes| receipts(outcomes).len() >= 2).await;
    assert_eq!(receipts(&outcomes), [first, second]);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_and_reactions_name_their_message_and_other_words_their_person() {
    let route = TestRoute::new(ImProtocol::Matrix).await;
    let running = route.start();
    route.append(1, &[ANN, "matrix:#staff:sim.example"]).await;
    let ended = route.until_ended(1, 2).await;
    let ((to_ann, event), (to_room, in_room)) = (accepted(&ended[&0]), accepted(&ended[&1]));
    route.networks.reply(ANN, &event, "1");
    route.networks.react(ANN, &event, "1\u{fe0f}\u{20e3}");
    route.networks.say(ANN, "stop");
    route.networks.say("matrix:#staff:sim.example", "what is this?");
    route.networks.reply("matrix:#staff:sim.example", &in_room, "we are out");
    let outcomes = route.until("answers", |outcomes| replies(outcomes).len() >= 3).await;
    let by = |keys, from: &str, text: &str| (vec![keys], from.to_owned(), text.to_owned());
    let resident = "matrix:@resident:sim.example";
    let expected = [by(to_ann, ANN, "1"), by(to_ann, ANN, "1"), by(to_room, resident, "we are out")];
    let mut found = replies(&outcomes);
    found.sort();
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(found, expected);
    let said: Vec<(String, String)> = inbound(&outcomes).into_iter().map(|it| (it.from, it.text)).collect();
    assert_eq!(said, [(ANN.to_owned(), "stop".to_owned())], "what a room talks about is no answer");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_loses_no_answer_and_finds_the_conversations_again() {
    let route = TestRoute::new(ImProtocol::Matrix).await;
    let running = route.start();
    route.append(1, &[ANN]).await;
    let (first, event) = accepted(&route.until_ended(1, 1).await[&0]);
    running.stop().await;
    route.networks.reply(ANN, &event, "1");
    // The timeline holds more than one answer of the homeserver does.
    for number in 0..150 {
        route.networks.say(ANN, &format!("word {number}"));
    }
    route.networks.read(ANN);
    let route = route.again();
    let running = route.start();
    route.append(2, &[ANN]).await;
    route.until_ended(2, 1).await;
    let outcomes = route
        .until("answers", |outcomes| {
            !replies(outcomes).is_empty() && inbound(outcomes).len() >= 150 && !receipts(outcomes).is_empty()
        })
        .await;
    assert_eq!(replies(&outcomes), [(vec![first], ANN.to_owned(), "1".to_owned())]);
    assert_eq!(inbound(&outcomes).len(), 150);
    assert_eq!(receipts(&outcomes), [first]);
    let rooms: Vec<String> = route.networks.messages(9).into_iter().map(|message| message.address).collect();
    assert_eq!(rooms, [ANN, ANN], "both stand in the one conversation");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_room_is_refused_in_words_and_told_on_the_routes_health() {
    let route = TestRoute::new(ImProtocol::Matrix).await;
    route.networks.encrypt("matrix:!dark:sim.example");
    let running = route.start();
    route.append(1, &["matrix:!dark:sim.example", ANN]).await;
    let ended = route.until_ended(1, 2).await;
    match &ended[&0] {
        AttemptResult::Refused { permanent: true, code, text } => {
            assert_eq!(code, "matrix:encrypted");
            assert!(text.contains("end-to-end encrypted"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    accepted(&ended[&1]);
    let health = route.until_health("in trouble", |health| health.note.contains("encrypted")).await;
    assert!(health.up, "the others go on");
    // One that is encrypted later is seen by its event.
    route.networks.encrypt(ANN);
    route.until_health("in trouble", |health| health.note.contains("a room was encrypted")).await;
    route.append(2, &[ANN]).await;
    let refused = &route.until_ended(2, 1).await[&0];
    assert!(matches!(refused, AttemptResult::Refused { permanent: true, .. }), "{refused:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_invites_the_account_is_heard_and_answered_in_that_room() {
    let route = TestRoute::new(ImProtocol::Matrix).await;
    let running = route.start();
    route.until_health("up", |health| health.up).await;
    route.networks.invite(BEN, "HELP");
    let accepted_rooms = async || {
        route.networks.say(BEN, "hello");
        tokio::time::timeout(Duration::from_secs(2), route.until("a word", |it| !inbound(it).is_empty()))
            .await
    };
    let mut heard = accepted_rooms().await;
    while heard.is_err() {
        heard = accepted_rooms().await;
    }
    assert_eq!(inbound(&heard.unwrap())[0].from, BEN);
    route.append(1, &[BEN]).await;
    accepted(&route.until_ended(1, 1).await[&0]);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_asks_to_wait_holds_the_route_and_everybody_gets_one_message() {
    for protocol in [ImProtocol::Matrix, ImProtocol::Telegram] {
        let route = TestRoute::new(protocol).await;
        route.networks.throttle(3, Duration::from_millis(900));
        let running = route.start();
        let addresses: Vec<String> = (1..=8)
            .map(|number| match protocol {
                ImProtocol::Matrix => format!("matrix:@p{number}:sim.example"),
                ImProtocol::Telegram => format!("telegram:{number}"),
            })
            .collect();
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        route.append(1, &addresses).await;
        let ended = route.until_ended(1, 8).await;
        ended.values().for_each(|result| drop(accepted(result)));
        let stats = route.networks.stats();
        assert_eq!((stats.accepted, stats.repeats, stats.throttled), (8, 0, 3), "{protocol:?}");
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_asks_to_wait_for_long_is_down_in_words() {
    for (protocol, address) in [(ImProtocol::Matrix, ANN), (ImProtocol::Telegram, "telegram:7")] {
        let route = TestRoute::new(protocol).await;
        route.networks.throttle(100, Duration::from_secs(90));
        let running = route.start();
        route.append(1, &[address]).await;
        let health = route.until_health("down", |it| !it.up && it.note.contains("asks to wait")).await;
        assert!(health.note.ends_with("it asks to wait 90 s"), "{}", health.note);
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_the_network_does_not_know_is_down_in_words_without_its_token() {
    for (protocol, words) in [
        (ImProtocol::Matrix, "does not know the access token"),
        (ImProtocol::Telegram, "does not know the token"),
    ] {
        let options = ImOptions { tokens: vec!["another".to_owned()], ..quiet() };
        let route = TestRoute::with(protocol, options).await;
        let running = route.start();
        let health = route.until_health("down", |health| health.note.contains(words)).await;
        assert!(!health.up && !health.note.contains("s3cret"), "{}", health.note);
        // The network learns of it, and the route goes on by itself.
        route.networks.change(quiet()).unwrap();
        route.until_health("up", |health| health.up).await;
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_homeserver_that_goes_silent_gets_the_same_message_again_and_no_second_copy() {
    let route = TestRoute::with(ImProtocol::Matrix, quiet()).await;
    let running = route.start();
    route.append(1, &[ANN]).await;
    route.until_ended(1, 1).await;
    route.networks.change(ImOptions { manner: ImManner::Silent, ..quiet() }).unwrap();
    route.append(2, &[ANN, BEN]).await;
    let end = Instant::now() + LONG;
    while route.networks.stats().unanswered == 0 {
        assert!(Instant::now() < end, "nothing was written");
        tokio::task::yield_now().await;
    }
    route.networks.change(quiet()).unwrap();
    route.networks.disconnect();
    let ended = route.until_ended(2, 2).await;
    ended.values().for_each(|result| drop(accepted(result)));
    assert_eq!(route.networks.stats().repeats, 0);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_is_an_exact_answer_and_a_reply_names_its_message() {
    let route = TestRoute::new(ImProtocol::Telegram).await;
    let running = route.start();
    route.append(1, &["telegram:7", "telegram:8"]).await;
    let ended = route.until_ended(1, 2).await;
    let (to_eight, message) = accepted(&ended[&1]);
    assert!(route.networks.press("telegram:7", 0));
    route.networks.reply("telegram:8", &message, "on my way");
    route.networks.say("telegram:8", "/stop");
    let outcomes = route.until("answers", |it| inbound(it).len() >= 2 && !replies(it).is_empty()).await;
    assert_eq!(replies(&outcomes), [(vec![to_eight], "telegram:8".to_owned(), "on my way".to_owned())]);
    let said: Vec<_> = inbound(&outcomes).into_iter().map(|it| (it.from, it.text, it.of)).collect();
    assert_eq!(
        said,
        [
            ("telegram:7".to_owned(), "1".to_owned(), Some((AlertNo(1), EndpointNo(0)))),
            ("telegram:8".to_owned(), "stop".to_owned(), None),
        ]
    );
    let end = Instant::now() + LONG;
    while route.networks.acknowledged().is_empty() {
        assert!(Instant::now() < end, "the button turns for ever");
        tokio::task::yield_now().await;
    }
    assert_eq!(route.networks.acknowledged()[0]["text"], "\u{2713} I am safe");
    running.stop().await;
    // The next process does not read them again.
    let route = route.again();
    let running = route.start();
    route.append(2, &["telegram:7"]).await;
    route.until_ended(2, 1).await;
    let outcomes = route.until("outcomes", |_| true).await;
    assert_eq!((inbound(&outcomes).len(), replies(&outcomes).len()), (2, 1));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_blocked_the_bot_is_refused_for_good_in_its_words() {
    let route = TestRoute::new(ImProtocol::Telegram).await;
    route.networks.block("telegram:7");
    let running = route.start();
    route.append(1, &["telegram:7", "telegram:8", ANN]).await;
    let ended = route.until_ended(1, 3).await;
    let refused = |code: &str, text: &str| AttemptResult::Refused {
        permanent: true,
        code: code.to_owned(),
        text: text.to_owned(),
    };
    assert_eq!(ended[&0], refused("telegram:403", "Forbidden: bot was blocked by the user"));
    accepted(&ended[&1]);
    assert_eq!(ended[&2], refused("im:address", "the address is of another network than the route"));
    running.stop().await;
}
