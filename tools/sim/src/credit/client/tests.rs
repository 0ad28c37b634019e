//! Against the simulated server: what is counted, repeated, refused and lost.

use super::super::{CreditServerOptions as OcsOptions, Ocs, Stats};
use super::session::{ClientSession, Next, RoutingAvps};
use super::{CreditClientOptions, CreditClientReport, drill};
use diameter::check::Origin;
use diameter::dictionary::avp;
use diameter::message::Message;
use diameter::result_code;
use diameter::write::Writer;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

async fn server(change: impl FnOnce(&mut OcsOptions)) -> Ocs {
    let mut options = OcsOptions::default();
    change(&mut options);
    Ocs::start(options).await.unwrap()
}

async fn run(ocs: &Ocs, script: &str, change: impl FnOnce(&mut CreditClientOptions)) -> CreditClientReport {
    let connect = ocs.address().to_string();
    let mut options =
        CreditClientOptions { connect, script: script.parse().unwrap(), ..CreditClientOptions::default() };
    change(&mut options);
    drill(options).await.unwrap()
}

fn codes(all: &[(u32, u64)]) -> BTreeMap<u32, u64> {
    all.iter().copied().collect()
}

#[tokio::test]
async fn many_sessions_at_once_follow_the_script_and_what_they_use_is_what_the_server_took() {
    let ocs = server(|_| {}).await;
    let report = run(&ocs, "I5 = U3/7 = T4 = E2 =", |options| {
        (options.sessions, options.at_once, options.subscribers) = (200, 16, 10);
    })
    .await;
    assert_eq!((report.sessions, report.requests, report.unanswered), (200, 1_600, 0));
    assert_eq!(report.answers, codes(&[(2001, 1_600)]));
    assert_eq!((report.alike, report.unlike, report.problem()), (800, 0, None));
    assert_eq!((report.granted, report.used), (200 * (5 + 7 + 2), 200 * (3 + 4 + 2)));
    let stats = ocs.stats();
    let expected = Stats { requests: 1_600, duplicates: 800, used: report.used, ..Stats::default() };
    assert_eq!(stats, expected);
}

#[tokio::test]
async fn nobody_uses_more_than_was_granted_and_who_is_refused_ends_the_session() {
    let ocs = server(|options| options.balance = 8).await;
    let report = run(&ocs, "I5 U5/5 U5/5 T5 E1", |_| {}).await;
    // 5 are granted and used, then the last 3, then none: the session is ended, and what stands behind it is
    // not asked.
    assert_eq!(report.answers, codes(&[(2001, 3), (4012, 1)]));
    assert_eq!((report.granted, report.sessions), (8, 1));
    assert_eq!((ocs.stats().used, ocs.stats().reserved), (8, 0));
}

#[tokio::test]
async fn what_is_not_answered_is_counted_and_told() {
    let ocs = server(|options| options.lost = 1.0).await;
    let report = run(&ocs, "E1 =", |options| options.tx = Duration::from_millis(50)).await;
    assert_eq!((report.sessions, report.requests, report.unanswered), (1, 2, 2));
    assert!(report.problem().unwrap().contains("2 requests"), "{report:?}");
    assert_eq!(ocs.stats().used, 1, "it was asked again with the same words");
}

#[tokio::test]
async fn sessions_begin_no_faster_than_they_are_told_to() {
    let ocs = server(|_| {}).await;
    let report = run(&ocs, "E1", |options| {
        (options.sessions, options.at_once, options.rate) = (5, 5, Some(20.0));
    })
    .await;
    assert_eq!(report.answers, codes(&[(2001, 5)]));
    assert!(report.took >= Duration::from_millis(200), "{:?}", report.took);
}

#[tokio::test]
async fn options_that_cannot_be_are_named_and_who_is_not_there_is_told() {
    for (options, named) in [
        (CreditClientOptions { sessions: 0, ..CreditClientOptions::default() }, "sessions"),
        (CreditClientOptions { at_once: 0, ..CreditClientOptions::default() }, "at_once"),
        (CreditClientOptions { rate: Some(0.0), ..CreditClientOptions::default() }, "rate"),
        (CreditClientOptions { subscribers: 0, ..CreditClientOptions::default() }, "subscribers"),
        (CreditClientOptions { subscriber: u64::MAX, ..CreditClientOptions::default() }, "subscribers"),
        (CreditClientOptions { tx: Duration::ZERO, ..CreditClientOptions::default() }, "tx"),
        (
            CreditClientOptions { origin_realm: String::new(), ..CreditClientOptions::default() },
            "origin_host",
        ),
    ] {
        let error = options.check().unwrap_err();
        assert!(error.starts_with(named), "{error}");
    }
    let ocs = server(|_| {}).await;
    let connect = ocs.address().to_string();
    drop(ocs);
    tokio::task::yield_now().await;
    let error = drill(CreditClientOptions { connect: connect.clone(), ..CreditClientOptions::default() })
        .await
        .unwrap_err();
    assert!(error.to_string().contains(&connect), "{error}");
}

/// A session by this script, without a connection.
fn session(script: &str) -> ClientSession {
    ClientSession::new("client;1;0".to_owned(), "46701740605".to_owned(), script.parse().unwrap())
}

/// Sends its next request, and says which: CC-Request-Type, CC-Request-Number, and what it asks for.
fn ask(session: &mut ClientSession) -> (u32, u32, Option<u64>) {
    assert_eq!(session.next(), Next::Ask);
    let origin = Origin { host: "client", realm: "realm" };
    let (octets, _) = session.request(&RoutingAvps { origin, realm: "realm", host: None }, 7).unwrap();
    let message = Message::read(&octets).unwrap();
    let number = |name| message.find(name).unwrap().u32().unwrap();
    let wanted = message.find(avp::REQUESTED_SERVICE_UNIT);
    let wanted = wanted.and_then(|units| units.group().find_name(avp::CC_SERVICE_SPECIFIC_UNITS));
    (number(avp::CC_REQUEST_TYPE), number(avp::CC_REQUEST_NUMBER), wanted.map(|units| units.u64().unwrap()))
}

/// All that it asked for is granted.
fn grant(session: &mut ClientSession, now: Instant) {
    let mut octets = Vec::new();
    let asked = Writer::request(&mut octets, 272, 4, Default::default(), 0, 7).finish();
    assert_eq!(asked, octets.len());
    let header = Message::read(&octets).unwrap().header;
    let mut answer = Vec::new();
    let mut writer = Writer::answer(&mut answer, &header);
    writer.u32(avp::RESULT_CODE, result_code::SUCCESS);
    writer.group(avp::GRANTED_SERVICE_UNIT, |units| units.u64(avp::CC_SERVICE_SPECIFIC_UNITS, 5));
    writer.finish();
    session.answered(&Message::read(&answer).unwrap(), now);
}

#[test]
fn a_re_authorization_brings_an_update_wherever_the_session_stands() {
    let now = Instant::now();
    // Open | RAR received | Send RAA followed by CC update req., start Tx | PendingU (RFC 8506, section 7):
    // in a pause,
    let mut paused = session("I5 10s T2");
    assert_eq!(ask(&mut paused), (1, 0, Some(5)));
    grant(&mut paused, now);
    assert!(matches!(paused.next(), Next::Until(_)) && paused.asked_again(now));
    assert_eq!(ask(&mut paused), (2, 1, Some(5)));
    // PendingU | RAR received | Send RAA | PendingU: what is on its way is enough.
    assert!(paused.asked_again(now));
    grant(&mut paused, now);
    assert_eq!(ask(&mut paused), (3, 2, None));
    // before the next request of the script,
    let mut next = session("I5 T2");
    ask(&mut next);
    grant(&mut next, now);
    assert!(next.asked_again(now));
    assert_eq!(ask(&mut next), (2, 1, Some(5)));
    // and after the answer to the first one, which the server sent before it asked.
    let mut first = session("I5 T2");
    ask(&mut first);
    assert!(first.asked_again(now) && first.asked_again(now));
    grant(&mut first, now);
    assert_eq!(ask(&mut first), (2, 1, Some(5)));
    grant(&mut first, now);
    assert_eq!(ask(&mut first), (3, 2, None));
    // The script's own update is one.
    let mut own = session("I5 10s U3/7 T2");
    ask(&mut own);
    grant(&mut own, now);
    assert!(own.asked_again(now));
    assert_eq!(ask(&mut own), (2, 1, Some(7)));
    grant(&mut own, now);
    assert_eq!(ask(&mut own), (3, 2, None));
}

#[test]
fn an_abort_brings_a_termination_and_without_a_session_there_is_nothing_to_ask_or_to_end() {
    let now = Instant::now();
    let mut paused = session("I5 10s U3/7 T2");
    let mut waiting = session("I5 U3/7 T2");
    assert!(!paused.asked_again(now) && !paused.aborted(), "it has not begun");
    ask(&mut paused);
    grant(&mut paused, now);
    ask(&mut waiting);
    for session in [&mut paused, &mut waiting] {
        assert!(session.aborted());
    }
    grant(&mut waiting, now);
    for mut session in [paused, waiting] {
        assert_eq!(ask(&mut session), (3, 1, None));
        grant(&mut session, now);
        assert_eq!(session.next(), Next::Over);
        assert!(!session.asked_again(now) && !session.aborted(), "it is over");
    }
    let mut event = session("E5");
    ask(&mut event);
    assert!(!event.asked_again(now) && !event.aborted(), "an event has no session");
}
