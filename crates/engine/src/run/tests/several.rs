//! Several engines over one bus and one store: who leads, what the others do, and what becomes of one that
//! dies or stands still.

use super::backend::{TestBackend, over_both};
use super::messages::{accept, message};
use super::test_engine::{PATIENCE, START, TestEngine, accepted, all_of, crowd, draft, parts};
use crate::api::{EngineError, Steer};
use crate::messages::Steered;
use crate::run::Engine;
use crate::shared::{Leader, Node};
use crate::testing::request;
use records::{Account, AlertState, DlrState, Message, Segment};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, Instant};

/// Long enough for a machine that stands still for a while; a lease that has to run out takes it.
const LEASE: Duration = Duration::from_secs(12);

fn node(name: &str) -> Node {
    Node { name: name.into(), address: format!("{name}.example:80"), lease: LEASE, leads: true }
}

/// A house of one of several processes on this ground.
async fn join(ground: &TestBackend, name: &str) -> TestEngine {
    let (bus, store) = ground.open().await;
    TestEngine::on(bus, store, START, Some(node(name))).await
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn leads(engine: &Engine) {
    let mut changed = engine.term_changed();
    let led = changed.wait_for(|leader| *leader == Leader::Here);
    tokio::time::timeout(PATIENCE, led).await.unwrap().unwrap();
}

/// Everybody that stands in any segment of the route `sms`: alert, endpoint and attempt, in order.
async fn planned(bus: &dyn bus::Bus) -> Vec<(u64, u32, u8)> {
    let topic = bus.topic(&records::segment_topic("sms", records::Lane::Routine)).unwrap();
    let mut all = Vec::new();
    for record in all_of(&*topic).await {
        let segment = Segment::decode(&record.octets).unwrap();
        all.extend(segment.entries.iter().map(|entry| (segment.alert.0, entry.endpoint.0, entry.attempt)));
    }
    all.sort_unstable();
    all
}

async fn any_door_takes_an_alert_and_the_leader_sends_it(ground: TestBackend) {
    let leader = join(&ground, "a").await;
    leads(&leader.engine).await;
    let other = join(&ground, "b").await;
    let there = Leader::There { address: "a.example:80".into() };
    until("the other knows who leads", async || other.engine.leader() == there).await;
    let carrier = leader.carrier(accepted);
    leader.people(crowd(30)).await;
    let submitted = other.submit(|_| {}).await;
    let report = leader.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.counts.accepted, 30);
    // From SQL, a fold later.
    other.until(&submitted.alert, |report| report.state == "done" && report.counts.accepted == 30).await;
    // Who waits until it is solved hears it from the leader.
    let mut wanted = request("Again");
    wanted.expires = other.now().plus_s(3_600);
    let solved = other.engine.submit(crate::Draft { wait_solved: true, ..draft(wanted) }).await.unwrap();
    assert_eq!(solved.endpoints, Some(30));
    leader.until(&solved.alert, |report| report.state == "done").await;
    assert_eq!(carrier.addresses().len(), 60, "each once");
}

async fn an_alert_that_nobody_told_of_is_found_in_the_store(ground: TestBackend) {
    let leader = join(&ground, "a").await;
    leads(&leader.engine).await;
    leader.people(crowd(3)).await;
    let _carrier = leader.carrier(accepted);
    // A process stored it and died before it said so.
    let mut wanted = crate::testing::alert(0, request("Lost"));
    wanted.state = AlertState::Accepted;
    wanted.created = START;
    wanted.id = records::AlertId(uuid::Uuid::now_v7());
    wanted.request.expires = START.plus_s(3_600);
    let store::Accepted::New(alert) = leader.store.accept_alert(wanted, None).await.unwrap() else {
        panic!("it is new")
    };
    let report = leader.until(&alert, |report| report.state == "done").await;
    assert_eq!(report.counts.accepted, 3);
}

async fn who_follows_steers_and_looks_by_asking_the_leader(ground: TestBackend) {
    let leader = join(&ground, "a").await;
    leads(&leader.engine).await;
    let other = join(&ground, "b").await;
    let _carrier = leader.carrier(accepted);
    leader.people(crowd(3)).await;
    let own = Account::DEFAULT;
    let later = other.now().plus_s(3_600);
    let submitted = other.submit(|request| request.not_before = Some(later)).await;
    leader.until(&submitted.alert, |report| report.state == "running").await;
    let id = submitted.alert.id;
    assert_eq!(other.engine.steer(own, id, Steer::Cancel).await.unwrap().state, AlertState::Cancelled);
    let again = other.engine.steer(own, id, Steer::Resume).await;
    assert!(
        matches!(again, Err(EngineError::WrongState { state: "cancelled", verb: "resume" })),
        "{again:?}"
    );
    let ids = accept(&other, &[message("+461"), waiting("+462"), waiting("+463")]).await;
    super::messages::until(&other, ids[0], DlrState::Accepted).await;
    let messages = other.engine.messages();
    assert_eq!(messages.cancel(own, ids[1]).await.unwrap(), Steered::Done);
    assert_eq!(messages.cancel(own, ids[0]).await.unwrap(), Steered::TooLate);
    let party = records::MessageClient::Smpp(super::messages::PARTY.into());
    assert_eq!(messages.cancel_all(own, &party, "", "71700", "+463").await.unwrap(), 1);
    super::messages::until(&leader, ids[2], DlrState::Deleted).await;
    assert!(messages.message(own, records::MessageId(99)).await.unwrap().is_none());
}

fn waiting(to: &str) -> Message {
    Message { not_before: Some(START.plus_s(3_600)), ..message(to) }
}

async fn when_the_leader_dies_another_goes_on_and_nobody_gets_a_second_copy(ground: TestBackend) {
    let leader = join(&ground, "a").await;
    leads(&leader.engine).await;
    let other = join(&ground, "b").await;
    other.people(crowd(1_200)).await;
    // All stand in segments that nobody has acknowledged, and messages wait.
    let submitted = other.submit(|_| {}).await;
    let all_planned = async || planned(&*other.bus).await.len() == 1_200;
    until("everybody stands in a segment", all_planned).await;
    let ids = accept(&other, &[waiting("+461")]).await;
    super::messages::until(&leader, ids[0], DlrState::Enroute).await;
    drop(leader);
    leads(&other.engine).await;
    let carrier = other.carrier(accepted);
    let report = other.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.counts.accepted, 1_200);
    let sent: BTreeSet<String> = carrier.addresses().into_iter().collect();
    assert_eq!((sent.len(), carrier.addresses().len()), (1_200, 1_200));
    other.pass_s(4_000);
    super::messages::until(&other, ids[0], DlrState::Accepted).await;
}

async fn a_leader_that_ends_in_order_hands_over_at_once(ground: TestBackend) {
    let leader = join(&ground, "a").await;
    leads(&leader.engine).await;
    let other = join(&ground, "b").await;
    leader.people(crowd(5)).await;
    let submitted = leader.submit(|_| {}).await;
    leader.until(&submitted.alert, |report| report.state == "running").await;
    leader.engine.stop().await;
    let held = other.store.lease_holder("engine").await.unwrap();
    assert!(held.is_none_or(|held| held.holder.address == "b.example:80"), "it was given back");
    leads(&other.engine).await;
    let _carrier = other.carrier(accepted);
    let report = other.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(report.counts.accepted, 5);
}

async fn a_leader_that_stood_still_writes_nothing_when_it_goes_on(ground: TestBackend) {
    let (bus, store) = ground.open().await;
    let still = super::still::Still::default();
    let clock = Arc::new(AtomicI64::new(START.0));
    let (mut stalled, _) = parts(still.over(bus), store.clone(), clock.clone());
    let (clock_of, of_clock) = (stalled.clock.clone(), still.clone());
    stalled.clock = Arc::new(move || {
        of_clock.wait();
        clock_of()
    });
    let first = Engine::join(stalled, node("a")).await.unwrap();
    leads(&first).await;
    let epoch = store.lease_holder("engine").await.unwrap().unwrap().epoch;
    let other = join(&ground, "b").await;
    other.people(crowd(40)).await;
    let mut wanted = request("All out now");
    wanted.expires = START.plus_s(86_400);
    still.hold_appends();
    let submitted = other.engine.submit(draft(wanted)).await.unwrap();
    // Its segments are on their way, and then everything of it stands still: owner, keeper, appends.
    until("it appends a segment", async || still.held() > 0).await;
    still.stand();
    leads(&other.engine).await;
    let all_planned = async || planned(&*other.bus).await.len() == 40;
    until("the other has planned everybody", all_planned).await;
    still.go_on();
    // What it had on its way comes now, and is refused.
    until("its appends are told", async || still.held() == 0 && !still.told().is_empty()).await;
    assert!(
        still.told().iter().all(|told| matches!(told, Err(bus::BusError::Moved { .. }))),
        "{:?}",
        still.told()
    );
    let mut changed = first.term_changed();
    let follows = changed.wait_for(|leader| matches!(leader, Leader::There { .. }));
    tokio::time::timeout(PATIENCE, follows).await.unwrap().unwrap();
    assert_eq!(planned(&*other.bus).await.len(), 40, "nobody was planned twice");
    let carrier = other.carrier(accepted);
    other.until(&submitted.alert, |report| report.state == "done").await;
    assert_eq!(carrier.addresses().len(), 40);
    // Nor does the store take anything of its term.
    let fenced = store.fenced(store::Fence { lease: "engine".into(), epoch });
    let late = fenced.set_alert_state(submitted.alert.no, AlertState::Cancelled, 99, "", START).await;
    assert!(matches!(late, Err(store::StoreError::Fenced { .. })), "{late:?}");
}

async fn a_leader_that_does_not_reach_the_bus_lets_another_lead(ground: TestBackend) {
    let (bus, store) = ground.open().await;
    let still = super::still::Still::default();
    let (cut_off, _) = parts(still.over(bus), store, Arc::new(AtomicI64::new(START.0)));
    let first = Engine::join(cut_off, node("a")).await.unwrap();
    leads(&first).await;
    let other = join(&ground, "b").await;
    still.cut_off(true);
    leads(&other.engine).await;
    let there = Leader::There { address: "b.example:80".into() };
    until("the first follows", async || first.leader() == there).await;
    still.cut_off(false);
    other.engine.stop().await;
    leads(&first).await;
}

over_both!(
    any_door_takes_an_alert_and_the_leader_sends_it,
    an_alert_that_nobody_told_of_is_found_in_the_store,
    who_follows_steers_and_looks_by_asking_the_leader,
    when_the_leader_dies_another_goes_on_and_nobody_gets_a_second_copy,
    a_leader_that_ends_in_order_hands_over_at_once,
    a_leader_that_stood_still_writes_nothing_when_it_goes_on,
    a_leader_that_does_not_reach_the_bus_lets_another_lead,
);
