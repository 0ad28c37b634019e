//! The ledger, and shares of rates over a bus.

use super::claims::Claims;
use super::*;
use crate::journal::recovery::SegmentProgress;
use bus::embedded::{Fsync, Options};
use pace::share::Need;
use records::{
    AlertNo, AttemptRef, AttemptResult, Claim, EndpointNo, Intent, Lane, NotTried, Outcome, RATES_GRANTED,
    RateGrants, Timestamp,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const ROUTE: &str = "route";
const PATIENCE: Duration = Duration::from_secs(300);
const LEASE: Duration = Duration::from_secs(60);

fn claim(node: &str, entries: u32) -> Outcome {
    let (route, node) = (ROUTE.to_owned(), node.to_owned());
    Outcome::Claim(Claim { route, lane: Lane::Urgent, segment: 7, entries, node, at: Timestamp(0) })
}

fn intent(from: u32, to: u32) -> Outcome {
    let attempts = (from..to).map(|endpoint| (EndpointNo(endpoint), 1)).collect();
    let (route, alert) = (ROUTE.to_owned(), AlertNo(1));
    Outcome::Intent(Intent { route, lane: Lane::Urgent, segment: 7, alert, from, attempts, at: Timestamp(0) })
}

fn by(node: &str) -> Outcome {
    Outcome::By { node: node.to_owned() }
}

fn ended(endpoint: u32, part: u8, parts: u8) -> Outcome {
    let of = AttemptRef { alert: AlertNo(1), endpoint: EndpointNo(endpoint), attempt: 1, part, parts };
    let result = AttemptResult::NotTried { why: NotTried::Closing };
    Outcome::Attempt { of, route: ROUTE.to_owned(), at: Timestamp(0), result }
}

/// The ledger of "us", after these records.
fn claims_of(records: &[&[Outcome]]) -> (Claims, SegmentKey) {
    let mut claims = Claims::new("us", 0);
    let place = claims.place(ROUTE, Lane::Urgent, 7);
    for (index, outcomes) in records.iter().enumerate() {
        claims.see(index as u64, outcomes);
    }
    (claims, place)
}

fn unresolved(claimed: &Claimed) -> (u32, Vec<u32>) {
    match claimed {
        Claimed::Ours(SegmentProgress { intended_to, unresolved }) => {
            (*intended_to, unresolved.iter().map(|(at, _)| *at).collect())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_claims_a_segment_goes_on_behind_every_intent_before_whoever_made_it() {
    let (claims, place) = claims_of(&[
        &[claim("a", 10)],
        &[by("a"), intent(0, 4)],
        &[ended(0, 1, 1), ended(1, 1, 2), by("a"), intent(4, 6)],
        &[claim("b", 10)],
        &[by("b"), intent(6, 7), ended(4, 1, 1)],
        &[claim("us", 10)],
    ]);
    assert_eq!(unresolved(&claims.settle(&place, 5)), (7, vec![1, 2, 3, 5, 6]));
    assert_eq!(claims.settle(&place, 4), Claimed::Lost, "that record was no claim of ours");
}

#[test]
fn it_is_known_whether_anybody_claimed_a_segment_before_or_may_have() {
    for (before, expected) in [(None, false), (Some("a"), true), (Some("us"), true)] {
        let claims: Vec<[Outcome; 1]> =
            before.into_iter().chain(["us"]).map(|node| [claim(node, 10)]).collect();
        let (claims, place) = claims_of(&claims.iter().map(|claim| &claim[..]).collect::<Vec<_>>());
        assert_eq!(claims.was_claimed(&place, 0), expected, "{before:?}");
    }
    let mut late = Claims::new("us", 5);
    let place = late.place(ROUTE, Lane::Urgent, 7);
    late.see(5, &[claim("us", 10)]);
    assert!(late.was_claimed(&place, 4), "made before what was read");
}

#[test]
fn what_another_intends_behind_a_claim_is_void() {
    let (claims, place) = claims_of(&[
        &[claim("a", 10)],
        &[claim("b", 10)],
        // It has not heard of the claim yet, and writes nothing when it does.
        &[by("a"), intent(0, 5)],
        &[by("b"), intent(0, 2)],
        &[claim("us", 10)],
    ]);
    assert_eq!(unresolved(&claims.settle(&place, 4)), (2, vec![0, 1]));
}

#[test]
fn of_two_claims_the_later_counts_and_the_earlier_ends_when_it_is_heard() {
    let mut claims = Claims::new("us", 0);
    let place = claims.place(ROUTE, Lane::Urgent, 7);
    let now = Instant::now();
    let segment_lease = Arc::new(SegmentLease::new(now, LEASE));
    claims.expect(place.clone(), Arc::clone(&segment_lease));
    claims.see(0, &[claim("a", 10)]);
    claims.see(1, &[claim("us", 10)]);
    assert!(segment_lease.holds(now) && matches!(claims.settle(&place, 1), Claimed::Ours(_)));
    claims.see(2, &[claim("a", 10)]);
    assert!(segment_lease.is_lost(now));
    assert_eq!(claims.settle(&place, 1), Claimed::Lost);
}

#[test]
fn a_segment_all_of_which_is_over_is_only_to_be_acknowledged() {
    let (claims, place) = claims_of(&[
        &[claim("a", 3)],
        &[by("a"), intent(0, 3), ended(0, 1, 1), ended(1, 1, 1)],
        &[ended(2, 1, 2)],
        &[ended(2, 2, 2)],
        &[claim("us", 3)],
    ]);
    assert_eq!(claims.settle(&place, 4), Claimed::Over);
}

/// A process's shares, and a route of it that is in need while it is told so.
struct Process {
    shared: Arc<Cluster>,
    allocator: RateAllocator,
    busy: Arc<AtomicBool>,
    share: Option<Arc<Share>>,
}

impl Process {
    fn start(bus: &Arc<dyn Bus>, name: &str, rate: f64) -> Process {
        let cores = Cores::from_handles(Vec::new());
        let shared = Cluster::open(bus, &cores, name, LEASE).unwrap();
        let allocator = RateAllocator::start(&**bus, &cores, name, LEASE).unwrap();
        let busy = Arc::new(AtomicBool::new(true));
        let needs = Arc::clone(&busy);
        let needs = move || if needs.load(Ordering::Relaxed) { Need::Busy } else { Need::Idle };
        let share = shared.rates.share(ROUTE, rate, Box::new(needs), Box::new(|| {}));
        Process { shared, allocator, busy, share: Some(share) }
    }

    fn rate(&self) -> f64 {
        self.share.as_ref().map_or(0.0, |share| share.rate(Instant::now()))
    }
}

/// All that is said to be out, by the last record.
fn most_out(bus: &Arc<dyn Bus>) -> f64 {
    let topic = bus.topic(RATES_GRANTED).unwrap();
    let records = topic.read(topic.head().saturating_sub(1), 1, 1).unwrap();
    let said = records.last().map(|record| RateGrants::decode(&record.octets).unwrap());
    said.map_or(0.0, |said| said.grants.iter().map(|grant| grant.most).sum())
}

async fn wait_for(what: &str, bus: &Arc<dyn Bus>, processes: &[&Process], mut test: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !test() {
        let rates: Vec<f64> = processes.iter().map(|process| process.rate()).collect();
        assert!(Instant::now() < end, "not {what} in time: {rates:?}");
        assert!(rates.iter().sum::<f64>() <= 10.0 && most_out(bus) <= 10.0, "{rates:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Two processes, then one of them busy, then the other's turn to hand out, then one leaves.
async fn share_a_rate(buses: [Arc<dyn Bus>; 2]) {
    let [one, two] = [Process::start(&buses[0], "one", 10.0), Process::start(&buses[1], "two", 10.0)];
    let (bus, both) = (&buses[0], [&one, &two]);
    assert_eq!((one.rate(), two.rate()), (0.0, 0.0), "nobody hands anything out yet");
    one.allocator.lead(true);
    wait_for("even", bus, &both, || one.rate() == 5.0 && two.rate() == 5.0).await;
    // Who has nothing to do for a while leaves it to the other.
    two.busy.store(false, Ordering::Relaxed);
    wait_for("lent", bus, &both, || one.rate() == 10.0 && two.rate() == 0.0).await;
    // Another leads, and the one before does not know: only one of them is heard.
    two.allocator.lead(true);
    two.busy.store(true, Ordering::Relaxed);
    two.share.as_ref().unwrap().wake();
    wait_for("even again", bus, &both, || one.rate() == 5.0 && two.rate() == 5.0).await;
    one.allocator.lead(false);
    two.share.as_ref().unwrap().set_rate(4.0);
    one.share.as_ref().unwrap().set_rate(4.0);
    wait_for("lowered", bus, &both, || one.rate() == 2.0 && two.rate() == 2.0).await;
    let Process { shared, allocator, share, .. } = one;
    drop(share);
    wait_for("left alone", bus, &[&two], || two.rate() == 4.0).await;
    allocator.stop().await;
    drop(shared);
    let Process { allocator, .. } = two;
    allocator.stop().await;
}

#[tokio::test]
async fn a_rate_is_shared_over_a_bus_whoever_hands_it_out() {
    let dir = tempfile::tempdir().unwrap();
    let bus = bus::embedded::open(dir.path(), Options { fsync: Fsync::Os, ..Options::default() }).unwrap();
    share_a_rate([Arc::clone(&bus), bus]).await;
}

#[tokio::test]
async fn a_rate_is_shared_over_nats() {
    let server = servers::nats::NatsServer::start();
    let open = || {
        let options = bus::nats::NatsOptions { connected_within: PATIENCE, ..Default::default() };
        bus::nats::open(&server.url(), options).unwrap()
    };
    share_a_rate([open(), open()]).await;
}
