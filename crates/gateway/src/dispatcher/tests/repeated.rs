//! Tests of recovery on channels where a repeated write leaves no second copy.

use super::flow::{LONG, TestRoute, wait_for};
use super::*;
use crate::GatewayContext;
use crate::dispatcher::{DispatcherSettings, RouteDispatcher};
use net::Cores;
use records::{CONTROL, Claim, Control, ControlState, NotTried, OUTCOMES, decode_outcomes, encode_outcomes};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::task::JoinHandle;

/// As [`ByAddress`], of what knows a second copy for the same.
struct Known;

impl ChannelEncoder for Known {
    type Prepared = ();
    fn repeatable(&self) -> bool {
        true
    }
    fn prepare(&self, segment: &Segment) {
        ByAddress.prepare(segment);
    }
    fn units(&self, segment: &Segment, prepared: &(), entry: &Entry) -> u8 {
        ByAddress.units(segment, prepared, entry)
    }
}

/// The process that was killed had got so far: one written and told, one of three parts told, and two without
/// a word.
pub(super) async fn killed(test_route: &TestRoute, segment: &Segment) {
    test_route.append(segment).await;
    let before = [
        intent(segment, 0, 0, 4),
        attempt(segment, 0, 1, 1, accepted()),
        attempt(segment, 2, 2, 3, accepted()),
    ];
    test_route.bus.topic(OUTCOMES).unwrap().append(&[&encode_outcomes(&before)]).await.unwrap();
}

fn of_five() -> Segment {
    segment(1, Lane::Emergency, 0, &[1, 1, 3, 1, 1])
}

pub(super) async fn open<C: ChannelEncoder<Prepared = ()>>(
    context: &GatewayContext,
    encoder: C,
) -> (Arc<RouteDispatcher<C>>, JoinHandle<()>) {
    let settings =
        DispatcherSettings { route: ROUTE.to_owned(), slots: 10, rate: 0.0, rests: false, down_after: LONG };
    let dispatcher = RouteDispatcher::open(context, settings, encoder).await.unwrap();
    let running = Arc::clone(&dispatcher);
    (dispatcher, tokio::spawn(async move { running.run().await }))
}

/// Writes all that comes, until the test is over.
fn write_all<C: ChannelEncoder<Prepared = ()>>(dispatcher: &Arc<RouteDispatcher<C>>) {
    let dispatcher = Arc::clone(dispatcher);
    dispatcher.session_up();
    tokio::spawn(async move {
        let listener = dispatcher.listen();
        loop {
            while let Some(job) = dispatcher.next() {
                (1..=job.units).for_each(|part| dispatcher.part(&job, part, &accepted()));
            }
            listener.notified().await;
        }
    });
}

/// What was told of each endpoint, in order.
pub(super) fn told(test_route: &TestRoute) -> BTreeMap<u32, Vec<&'static str>> {
    let records = test_route.bus.topic(OUTCOMES).unwrap().read(0, 100_000, 100_000_000).unwrap();
    let mut told: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for outcome in records.iter().flat_map(|record| decode_outcomes(&record.octets).unwrap()) {
        let Outcome::Attempt { of, result, .. } = outcome else { continue };
        told.entry(of.endpoint.0).or_default().push(match result {
            AttemptResult::Accepted { .. } => "accepted",
            AttemptResult::Unknown { .. } => "unknown",
            AttemptResult::NotTried { why: NotTried::Closing } => "again",
            AttemptResult::NotTried { why: NotTried::Paused } => "paused",
            other => panic!("{other:?}"),
        });
    }
    told
}

#[tokio::test]
async fn what_a_crash_interrupted_is_given_back_where_it_can_be_repeated_and_unknown_elsewhere() {
    let (test_route, other) = (TestRoute::new(), TestRoute::new());
    for test_route in [&test_route, &other] {
        killed(test_route, &of_five()).await;
    }
    write_all(&open(&test_route.context, Known).await.0);
    write_all(&open(&other.context, ByAddress).await.0);
    wait_for("acknowledged", || test_route.unacknowledged() + other.unacknowledged() == 0).await;
    let once = vec!["accepted"];
    let expected = [once.clone(), vec!["again"], vec!["accepted", "again"], vec!["again"], once.clone()];
    assert_eq!(told(&test_route).into_values().collect::<Vec<_>>(), expected);
    let unknown = vec!["accepted", "unknown", "unknown"];
    let expected = [once.clone(), vec!["unknown"], unknown, vec!["unknown"], once];
    assert_eq!(told(&other).into_values().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn what_will_not_be_repeated_is_unknown_and_what_may_be_later_waits() {
    for (state, ends, expected) in [
        (ControlState::Pause, i64::MAX, "paused"),
        (ControlState::Stop, i64::MAX, "unknown"),
        (ControlState::Run, NOW.0 - 1, "unknown"),
    ] {
        let test_route = TestRoute::new();
        let segment = Segment { expires: Timestamp(ends), ..of_five() };
        let control = Control { alert: segment.alert, state, version: 1 };
        let controls = test_route.bus.retained(CONTROL).unwrap();
        controls.set(&segment.alert.to_string(), &control.encode()).await.unwrap();
        test_route.append(&segment).await;
        let before = [intent(&segment, 0, 0, 5), attempt(&segment, 0, 1, 1, accepted())];
        test_route.bus.topic(OUTCOMES).unwrap().append(&[&encode_outcomes(&before)]).await.unwrap();
        write_all(&open(&test_route.context, Known).await.0);
        wait_for("acknowledged", || test_route.unacknowledged() == 0).await;
        assert_eq!(told(&test_route)[&1], [expected], "{state:?}, until {ends}");
    }
}

/// So long segments are a process's that says nothing.
const LEASE: Duration = Duration::from_secs(2);

/// A process among others.
fn process(test_route: &TestRoute, name: &str) -> GatewayContext {
    let cores = Arc::new(Cores::from_handles(Vec::new()));
    let mut context = GatewayContext::new(Arc::clone(&test_route.bus), Arc::new(|| NOW), cores);
    context.share(name, LEASE).unwrap();
    context
}

#[tokio::test]
async fn what_a_dead_process_had_under_way_is_given_back_by_the_one_that_takes_its_segments_over() {
    let test_route = TestRoute::new();
    test_route.append(&segment(1, Lane::Emergency, 0, &[1; 30])).await;
    let context = process(&test_route, "one");
    let (one, running) = open(&context, Known).await;
    one.session_up();
    wait_for("ready", || one.has_work()).await;
    for place in 0..4 {
        let mut job = None;
        wait_for("handed out", || {
            job = one.next();
            job.is_some()
        })
        .await;
        if place < 2 {
            one.part(&job.unwrap(), 1, &accepted());
        }
    }
    wait_for("told", || told(&test_route).len() == 2).await;
    running.abort();
    assert!(running.await.is_err(), "it is dead, and had more under way");
    let two = process(&test_route, "two");
    write_all(&open(&two, Known).await.0);
    wait_for("acknowledged", || test_route.unacknowledged() == 0).await;
    let told = told(&test_route);
    let of = |what: &str| -> BTreeSet<u32> {
        told.iter().filter(|(_, told)| **told == [what]).map(|(endpoint, _)| *endpoint).collect()
    };
    assert!(of("again").is_superset(&BTreeSet::from([2, 3])), "{told:?}");
    assert_eq!(of("again").len() + of("accepted").len(), 30, "each is told once: {told:?}");
    assert_eq!(claims(&test_route), ["one", "two"]);
}

/// Who claimed the segment, in order.
fn claims(test_route: &TestRoute) -> Vec<String> {
    let records = test_route.bus.topic(OUTCOMES).unwrap().read(0, 100_000, 100_000_000).unwrap();
    let outcomes = records.iter().flat_map(|record| decode_outcomes(&record.octets).unwrap());
    let claims = outcomes.filter_map(|outcome| match outcome {
        Outcome::Claim(Claim { node, .. }) => Some(node),
        _ => None,
    });
    claims.collect()
}
