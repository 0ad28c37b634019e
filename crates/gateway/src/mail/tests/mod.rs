//! A route against a server on a real socket, over a real bus.

mod server;
mod several;
mod speed;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bus::Bus;
use bus::embedded::{Fsync, Options};
use net::Cores;
use records::{
    AlertId, AlertNo, AttemptResult, Body, Content, EndpointNo, Entry, Lane, NotTried, OUTCOMES, Outcome,
    ROUTES, RouteHealth, Segment, Timestamp, decode_outcomes, mail_key, segment_topic,
};
use server::{Manners, Server, certificate};

use super::tag::{Purpose, Tags};
use super::{MailRoute, TlsMode, start};
use crate::{GatewayContext, RunningGateway};

/// Signs the addresses that replies go to.
const SECRET: &[u8] = b"a secret of sixteen octets";
const ROUTE: &str = "relay";
const LONG: Duration = Duration::from_secs(20);

fn wall() -> Timestamp {
    Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64)
}

fn tags() -> Tags {
    Tags::new(SECRET)
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
        let options = Options { fsync: Fsync::Os, ..Options::default() };
        let bus = bus::embedded::open(dir.path().join("bus"), options).unwrap();
        let mut context =
            GatewayContext::new(Arc::clone(&bus), Arc::new(wall), Arc::new(Cores::new(1).unwrap()));
        context.signing_key = Arc::from(SECRET);
        TestRoute { dir, bus, context }
    }

    fn start(&self, route: MailRoute) -> RunningGateway {
        start(route, &self.context).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    async fn append(&self, segment: &Segment) {
        let topic = self.bus.topic(&segment_topic(ROUTE, segment.lane)).unwrap();
        topic.append(&[&segment.encode()]).await.unwrap();
    }

    /// Results by endpoint once so many have one.
    async fn until_ended(&self, entries: usize) -> BTreeMap<u32, AttemptResult> {
        let topic = self.bus.topic(OUTCOMES).unwrap();
        let (mut from, mut ended) = (0, BTreeMap::new());
        let end = Instant::now() + LONG;
        while ended.len() < entries {
            for record in topic.read(from, 10_000, 10_000_000).unwrap() {
                from = record.index + 1;
                for outcome in decode_outcomes(&record.octets).unwrap() {
                    if let Outcome::Attempt { of, result, route, .. } = outcome {
                        assert_eq!((of.alert, of.part, of.parts, route.as_str()), (AlertNo(7), 1, 1, ROUTE));
                        assert!(
                            ended.insert(of.endpoint.0, result).is_none(),
                            "endpoint {} ended twice",
                            of.endpoint.0
                        );
                    }
                }
            }
            if ended.len() < entries {
                let left = end.saturating_duration_since(Instant::now());
                assert!(
                    tokio::time::timeout(left, topic.readable(from)).await.is_ok(),
                    "not in time: {ended:?}"
                );
            }
        }
        ended
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

fn route(server: &Server) -> MailRoute {
    MailRoute {
        name: ROUTE.to_owned(),
        address: server.address.clone(),
        from: "City of X <alerts@city.test>".to_owned(),
        domain: Some("in.city.test".to_owned()),
        sessions: 1,
        ..MailRoute::default()
    }
}

fn segment(names: &[String]) -> Segment {
    let entry = |(endpoint, name): (usize, &String)| Entry {
        expires: None,
        endpoint: EndpointNo(endpoint as u32),
        attempt: 1,
        address: format!("{name}@people.test"),
        body: 0,
        own: None,
        link: Some(format!("https://city.test/a/{endpoint}")),
    };
    Segment {
        alert: AlertNo(7),
        alert_id: AlertId(uuid::Uuid::nil()),
        account: "a".to_owned(),
        route: ROUTE.to_owned(),
        lane: Lane::Routine,
        outcomes_from: 0,
        expires: wall().plus_s(3_600),
        sender: None,
        flash: false,
        receipt: false,
        answer: true,
        choices: Vec::new(),
        emergency: false,
        bodies: vec![Arc::new(Body::Content(Content {
            subject: Some("Storm".to_owned()),
            ..Content::of_text(".Stay in")
        }))],
        entries: names.iter().enumerate().map(entry).collect(),
    }
}

fn people(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("p{number:04}")).collect()
}

fn short(result: &AttemptResult) -> String {
    match result {
        AttemptResult::Accepted { id, .. } => format!("accepted {id}"),
        AttemptResult::Refused { permanent: true, code, text } => format!("permanent {code}: {text}"),
        AttemptResult::Refused { permanent: false, code, text } => format!("temporary {code}: {text}"),
        AttemptResult::Unknown { .. } => "unknown".to_owned(),
        AttemptResult::NotTried { why } => format!("not tried: {why:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alert_reaches_every_mailbox_whatever_the_relay_can() {
    for manners in [
        Manners::default(),
        Manners { lockstep: true, ..Manners::default() },
        Manners { chunking: true, ..Manners::default() },
    ] {
        let (test_route, server) = (TestRoute::new(), Server::start(manners).await);
        test_route.append(&segment(&people(300))).await;
        let running = test_route.start(route(&server));
        let ended = test_route.until_ended(300).await;
        assert_eq!(server.recipients(), people(300));
        for (endpoint, result) in &ended {
            let keys = vec![mail_key(AlertNo(7), EndpointNo(*endpoint))];
            assert_eq!(*result, AttemptResult::Accepted { keys, id: format!("p{endpoint:04}") });
        }
        let (sender, _, message) = server.mails().swap_remove(0);
        let tag =
            sender.strip_prefix("bounces+").and_then(|rest| rest.strip_suffix("@in.city.test")).unwrap();
        assert_eq!(tags().read(Purpose::Bounces, tag), Some((AlertNo(7), EndpointNo(0))));
        let text = String::from_utf8(message).unwrap();
        assert!(
            text.contains("\r\n\r\n.Stay in\r\n") && text.contains("https://city.test/a/0\r\n"),
            "{text}"
        );
        running.stop().await;
        let group = test_route.bus.group(&segment_topic(ROUTE, Lane::Routine), "gateway").unwrap();
        assert_eq!(group.unacknowledged(10), [] as [u64; 0], "all is told, so the segment is done");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_are_on_record_in_the_relays_words() {
    let (test_route, server) = (TestRoute::new(), Server::start(Manners::default()).await);
    let names = ["a", "rcpt1", "grey1", "data1", "dot1", "b", "å"].map(str::to_owned);
    let mut segment = segment(&names);
    segment.entries[5].address = "no address".to_owned();
    test_route.append(&segment).await;
    let running = test_route.start(route(&server));
    let ended: Vec<String> = test_route.until_ended(names.len()).await.values().map(short).collect();
    assert_eq!(
        ended,
        [
            "accepted a",
            "permanent smtp:550 5.1.1: 550 5.1.1 unknown",
            "temporary smtp:451 4.7.1: 451 4.7.1 greylisted, come again",
            "temporary smtp:451 4.3.0: 451 4.3.0 not now",
            "permanent smtp:554 5.6.0: 554 5.6.0 not this",
            "permanent local:address: the address has no @",
            "permanent local:smtputf8: the address is beyond ASCII, and the relay has no SMTPUTF8",
        ]
    );
    assert_eq!(server.recipients(), ["a"]);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mail_goes_over_tls_with_a_password_where_the_route_says_so() {
    let test_route = TestRoute::new();
    let (tls, ca_file) = certificate(test_route.dir.path());
    let credentials = Some("\0platform\0secret".to_owned());
    for (manners, kind) in [
        (
            Manners { start_tls: Some(tls.clone()), credentials: credentials.clone(), ..Manners::default() },
            TlsMode::StartTls,
        ),
        (
            Manners {
                implicit_tls: Some(tls.clone()),
                credentials: credentials.clone(),
                ..Manners::default()
            },
            TlsMode::Implicit,
        ),
    ] {
        let (test_route, server) = (TestRoute::new(), Server::start(manners).await);
        test_route.append(&segment(&people(50))).await;
        let running = test_route.start(MailRoute {
            tls: kind,
            ca_file: Some(ca_file.clone()),
            server_name: Some("localhost".to_owned()),
            username: Some("platform".to_owned()),
            password: Some("secret".into()),
            ..route(&server)
        });
        let ended = test_route.until_ended(50).await;
        assert!(ended.values().all(|result| matches!(result, AttemptResult::Accepted { .. })), "{kind:?}");
        assert_eq!(server.recipients(), people(50), "{kind:?}");
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_is_not_who_it_should_be_gets_nothing() {
    let test_route = TestRoute::new();
    let (tls, ca_file) = certificate(test_route.dir.path());
    let secure = Manners { start_tls: Some(tls.clone()), ..Manners::default() };
    let localhost = Some("localhost".to_owned());
    for (name, manners, ca_file, server_name, why) in [
        ("another name", secure.clone(), Some(ca_file.clone()), Some("relay.test".to_owned()), "certificate"),
        ("an unknown issuer", secure.clone(), None, localhost.clone(), "certificate"),
        ("no STARTTLS", Manners::default(), Some(ca_file), localhost, "does not offer STARTTLS"),
    ] {
        let (test_route, server) = (TestRoute::new(), Server::start(manners).await);
        test_route.append(&segment(&people(1))).await;
        let running =
            test_route.start(MailRoute { tls: TlsMode::StartTls, ca_file, server_name, ..route(&server) });
        let health =
            test_route.until_health("in trouble", |health| !health.up && health.note.contains(why)).await;
        assert!(!health.up, "{name}");
        assert!(server.mails().is_empty(), "{name}");
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_relay_took_without_a_word_is_unknown_and_the_rest_goes_on() {
    for (chunking, window) in [(false, 20), (true, 4)] {
        let (test_route, server) =
            (TestRoute::new(), Server::start(Manners { chunking, ..Manners::default() }).await);
        let mut names = people(60);
        names[20] = "silent1".to_owned();
        names[40] = "silent2".to_owned();
        test_route.append(&segment(&names)).await;
        let running = test_route.start(MailRoute { window, ..route(&server) });
        let ended = test_route.until_ended(60).await;
        let unknown: Vec<u32> = ended
            .iter()
            .filter(|(_, r)| matches!(r, AttemptResult::Unknown { .. }))
            .map(|(e, _)| *e)
            .collect();
        assert!(unknown.contains(&20) && unknown.contains(&40), "{unknown:?}");
        assert!(unknown.len() <= 2 * if chunking { window } else { 1 }, "{unknown:?}");
        for (endpoint, result) in &ended {
            let taken = server.recipients().iter().filter(|name| **name == names[*endpoint as usize]).count();
            match result {
                AttemptResult::Accepted { .. } => assert_eq!(taken, 1),
                AttemptResult::Unknown { .. } => assert!(taken <= 1),
                other => panic!("{other:?}"),
            }
        }
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_at_which_the_relay_hangs_up_every_time_does_not_stop_the_others() {
    let (test_route, server) = (TestRoute::new(), Server::start(Manners::default()).await);
    let mut names = people(10);
    names[3] = "drop1".to_owned();
    test_route.append(&segment(&names)).await;
    let running = test_route.start(route(&server));
    let ended = test_route.until_ended(10).await;
    assert!(
        short(&ended[&3]).starts_with("temporary smtp:lost: the connection was lost 3 times"),
        "{:?}",
        ended[&3]
    );
    assert_eq!(server.recipients().len(), 9);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_second_sees_more_mails_than_the_rate_by_the_write_stamps() {
    const RATE: usize = 40;
    let (mut test_route, server) = (TestRoute::new(), Server::start(Manners::default()).await);
    let stamps = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&stamps);
    test_route.context.write_observer = Some(Arc::new(move |route: &str, mails, before, after| {
        assert_eq!(route, ROUTE);
        seen.lock().unwrap().extend(std::iter::repeat_n((before, after), mails));
    }));
    test_route.append(&segment(&people(65))).await;
    let running = test_route.start(MailRoute { rate: RATE as f64, sessions: 3, ..route(&server) });
    test_route.until_ended(65).await;
    running.stop().await;
    let mut stamps: Vec<(Instant, Instant)> = stamps.lock().unwrap().clone();
    stamps.sort();
    assert_eq!(stamps.len(), 65);
    for pair in stamps.windows(RATE + 1) {
        let apart = pair[RATE].1.duration_since(pair[0].0);
        assert!(apart >= Duration::from_secs(1), "{} mails within {apart:?}", RATE + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_route_that_stops_gives_back_what_it_has_not_begun_and_nothing_comes_twice() {
    let manners = Manners { latency: Duration::from_millis(5), ..Manners::default() };
    let (test_route, server) = (TestRoute::new(), Server::start(manners).await);
    test_route.append(&segment(&people(150))).await;
    let running = test_route.start(route(&server));
    while server.mails().len() < 20 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    running.stop().await;
    let dir = test_route.dir;
    drop((test_route.bus, test_route.context));
    let test_route = TestRoute::on(dir);
    let running = test_route.start(route(&server));
    let ended = test_route.until_ended(150).await;
    running.stop().await;
    let recipients = server.recipients();
    let mut accepted = 0;
    for (endpoint, result) in &ended {
        let taken = recipients.iter().filter(|name| **name == format!("p{endpoint:04}")).count();
        match result {
            AttemptResult::Accepted { .. } => {
                accepted += 1;
                assert_eq!(taken, 1, "{endpoint}");
            }
            AttemptResult::NotTried { why: NotTried::Closing } => assert_eq!(taken, 0, "{endpoint}"),
            other => panic!("{endpoint}: {other:?}"),
        }
    }
    assert_eq!(recipients.len(), accepted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_sessions_are_opened_only_while_one_is_not_enough() {
    let manners = Manners { latency: Duration::from_millis(10), ..Manners::default() };
    let (test_route, server) = (TestRoute::new(), Server::start(manners).await);
    let running = test_route.start(MailRoute { sessions: 4, ..route(&server) });
    test_route.until_health("up", |health| health.up).await;
    test_route.append(&segment(&people(1))).await;
    test_route.until_ended(1).await;
    assert_eq!(server.connections(), 1, "one mail needs no second session");
    let mut many = segment(&people(100));
    many.entries.remove(0);
    test_route.append(&many).await;
    test_route.until_ended(100).await;
    assert_eq!(server.connections(), 4);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_that_comes_as_the_relay_ends_an_idle_session_goes_by_the_next_one() {
    let (test_route, server) = (TestRoute::new(), Server::start(Manners::default()).await);
    let running = test_route.start(route(&server));
    let before = test_route.until_health("up", |health| health.up).await;
    tokio::time::sleep(super::session::IDLE_MIN + Duration::from_millis(50)).await;
    server.cut_at_next_octets();
    test_route.append(&segment(&people(1))).await;
    let ended = test_route.until_ended(1).await;
    assert!(matches!(ended[&0], AttemptResult::Accepted { .. }), "{:?}", ended[&0]);
    assert_eq!((server.connections(), server.mails().len()), (2, 1));
    let routes = test_route.bus.retained(ROUTES).unwrap();
    let after = RouteHealth::decode(&routes.value(ROUTE).unwrap()).unwrap();
    assert_eq!((after.up, after.since), (true, before.since), "the route was up all the time");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_ends_an_idle_session_is_no_trouble() {
    let (test_route, server) = (TestRoute::new(), Server::start(Manners::default()).await);
    let running = test_route.start(route(&server));
    test_route.until_health("up", |health| health.up).await;
    tokio::time::sleep(super::session::IDLE_MIN + Duration::from_millis(50)).await;
    server.cut().await;
    test_route.append(&segment(&people(1))).await;
    let ended = test_route.until_ended(1).await;
    assert!(matches!(ended[&0], AttemptResult::Accepted { .. }));
    assert_eq!(server.connections(), 2);
    let routes = test_route.bus.retained(ROUTES).unwrap();
    assert!(RouteHealth::decode(&routes.value(ROUTE).unwrap()).unwrap().up);
    running.stop().await;
}
