//! A route that several processes have: one limit, whoever writes.

use super::rate::{Writes, most_in_a_second, witnessed};
use super::*;
use crate::cluster::RateAllocator;
use std::collections::BTreeSet;

/// Longer than any machine stands still.
const LEASE: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(300);

/// The house as another process sees it.
fn process(test_route: &TestRoute, name: &str) -> GatewayContext {
    let mut context = test_route.context.clone();
    context.limits = Arc::default();
    context.share(name, LEASE).unwrap();
    context
}

async fn until(what: &str, mut test: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !test() {
        assert!(Instant::now() < end, "not {what} in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn accepted(test_route: &TestRoute) -> usize {
    ended(&test_route.outcomes()).values().flatten().filter(|result| is_accepted(result)).count()
}

#[tokio::test]
async fn the_rate_holds_over_processes_that_come_and_go() {
    const RATE: usize = 40;
    let (mut test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let writes: Writes = witnessed(&mut test_route);
    let allocator =
        RateAllocator::start(&*test_route.bus, &test_route.context.cores, "hands out", LEASE).unwrap();
    allocator.lead(true);
    for number in 0..8 {
        test_route.append(&segment(1, Lane::Routine, number * 30, 30, "hello")).await;
    }
    let settings = || SmsRoute { rate: RATE as f64, ..route(&smsc) };
    let (one, two) = (process(&test_route, "one"), process(&test_route, "two"));
    let running = start(settings(), &one).unwrap_or_else(|problems| panic!("{problems:?}"));
    until("begun", || smsc.count() >= 20).await;
    let other = start(settings(), &two).unwrap_or_else(|problems| panic!("{problems:?}"));
    until("well under way", || smsc.count() >= 100).await;
    // In order: what it has not written goes back, as not tried or to the other.
    running.stop().await;
    until("everybody told", || ended(&test_route.outcomes()).len() == 240).await;
    other.stop().await;
    allocator.stop().await;
    let most = most_in_a_second(&writes);
    assert!(most <= RATE, "{most} in a second");
    let told = ended(&test_route.outcomes());
    let closing = told.values().flatten().filter(|result| not_tried(result).is_some()).count();
    assert_eq!(accepted(&test_route) + closing, 240, "{told:?}");
    let written: Vec<String> = smsc.submitted().iter().map(|submitted| submitted.to.clone()).collect();
    assert_eq!(written.iter().collect::<BTreeSet<_>>().len(), written.len(), "nobody twice");
    assert_eq!(written.len(), accepted(&test_route));
}

#[tokio::test]
async fn nothing_is_written_or_intended_while_nobody_hands_the_rate_out() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    test_route.append(&segment(1, Lane::Emergency, 0, 10, "hello")).await;
    let context = process(&test_route, "one");
    let settings = SmsRoute { rate: 50.0, ..route(&smsc) };
    let running = start(settings, &context).unwrap_or_else(|problems| panic!("{problems:?}"));
    let intends = |outcomes: &[Outcome]| outcomes.iter().any(|outcome| matches!(outcome, Outcome::Intent(_)));
    until("claimed", || test_route.outcomes().iter().any(|outcome| matches!(outcome, Outcome::Claim(_))))
        .await;
    assert!(!intends(&test_route.outcomes()) && smsc.count() == 0);
    // The health of a route is this process's.
    let routes = test_route.bus.retained(ROUTES).unwrap();
    let health = || records::NodeHealth::decode(&routes.value(&records::health_key("one", ROUTE))?).ok();
    until("up", || health().is_some_and(|said| said.health.up)).await;
    assert!(!intends(&test_route.outcomes()) && smsc.count() == 0);
    let allocator =
        RateAllocator::start(&*test_route.bus, &test_route.context.cores, "hands out", LEASE).unwrap();
    allocator.lead(true);
    until("written", || accepted(&test_route) == 10).await;
    running.stop().await;
    assert!(health().is_none(), "it says no more of its route");
    allocator.stop().await;
}

#[tokio::test]
async fn a_route_without_a_limit_needs_nobody_to_hand_it_out() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    test_route.append(&segment(1, Lane::Routine, 0, 100, "hello")).await;
    let context = process(&test_route, "one");
    let running = start(SmsRoute { rate: 0.0, ..route(&smsc) }, &context).unwrap();
    until("written", || accepted(&test_route) == 100).await;
    running.stop().await;
}
