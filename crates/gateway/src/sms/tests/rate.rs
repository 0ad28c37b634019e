//! Speed: the limit, what throttles, and who goes first.

use super::*;
use smpp::Status;
use std::sync::Mutex;

pub type Writes = Arc<Mutex<Vec<(usize, Instant)>>>;

/// Writes down every write.
pub fn witnessed(test_route: &mut TestRoute) -> Writes {
    let writes: Writes = Arc::default();
    let told = Arc::clone(&writes);
    test_route.context.write_observer =
        Some(Arc::new(move |_, parts, _, after| told.lock().unwrap().push((parts, after))));
    writes
}

/// The most parts in any second, its ends included.
pub fn most_in_a_second(writes: &Writes) -> usize {
    let mut stamps: Vec<(usize, Instant)> = writes.lock().unwrap().clone();
    stamps.sort_by_key(|(_, stamp)| *stamp);
    let in_second = |from: usize| {
        let start = stamps[from].1;
        let inside = stamps[from..].iter().take_while(|(_, stamp)| *stamp <= start + Duration::from_secs(1));
        inside.map(|(parts, _)| parts).sum::<usize>()
    };
    (0..stamps.len()).map(in_second).max().unwrap_or(0)
}

#[tokio::test]
async fn the_rate_holds_over_sessions_long_messages_and_a_restart_and_is_reached() {
    const RATE: usize = 100;
    let (mut test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let writes = witnessed(&mut test_route);
    let mut segment = segment(1, Lane::Routine, 0, 250, "hello");
    for entry in segment.entries.iter_mut().step_by(10) {
        entry.own = Some(Box::new(Body::of_text("long ".repeat(50))));
    }
    test_route.append(&segment).await;
    let route = || SmsRoute { sessions: 3, rate: RATE as f64, ..route(&smsc) };
    let running = run(route(), &test_route);
    wait_for("half", || smsc.count() >= 150).await;
    running.stop().await;
    let running = run(route(), &test_route);
    wait_for("nearly all", || smsc.count() >= 250).await;
    running.stop().await;
    let most = most_in_a_second(&writes);
    assert!(most <= RATE, "{most} in a second");
    let stamps = writes.lock().unwrap().clone();
    let first = stamps[0].1;
    let within = stamps.iter().filter(|(_, stamp)| *stamp < first + Duration::from_secs(1));
    let reached: usize = within.map(|(parts, _)| parts).sum();
    assert!(reached >= RATE * 9 / 10, "{reached} in the first second");
}

#[tokio::test]
async fn throttled_parts_wait_and_are_no_outcome_and_the_route_slows_down() {
    let mut throttled = std::collections::HashSet::new();
    let script = move |_, submitted: &smsc::Submitted| match throttled.insert(submitted.to.clone()) {
        true if submitted.to.ends_with('1') => Reply::Status(Status::RTHROTTLED),
        true if submitted.to.ends_with('2') => Reply::Status(Status::RMSGQFUL),
        _ => Reply::Accept,
    };
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(script).await);
    test_route.append(&segment(1, Lane::Routine, 0, 40, "hello")).await;
    let running = run(SmsRoute { rate: 400.0, ..route(&smsc) }, &test_route);
    wait_for("slower", || {
        test_route.health().is_some_and(|health| health.rate_now > 0.0 && health.rate_now < 400.0)
    })
    .await;
    let ended = test_route.until_ended(40).await;
    assert!(ended.values().flatten().all(is_accepted), "{ended:?}");
    let attempts =
        test_route.outcomes().iter().filter(|outcome| matches!(outcome, Outcome::Attempt { .. })).count();
    assert_eq!((attempts, smsc.count()), (40, 48), "eight came twice and have one outcome each");
    test_route.until_acknowledged().await;
    running.stop().await;
}

#[tokio::test]
async fn a_throttled_part_of_a_long_message_comes_again_alone() {
    let mut seen = std::collections::HashSet::new();
    let script = move |_, submitted: &smsc::Submitted| {
        // The second part of each, once.
        let throttled = submitted.octets[5] == 2 && seen.insert(submitted.to.clone());
        if throttled { Reply::Status(Status::RTHROTTLED) } else { Reply::Accept }
    };
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(script).await);
    test_route.append(&segment(1, Lane::Routine, 0, 5, &"long ".repeat(80))).await;
    let running = run(SmsRoute { rate: 1_000.0, ..route(&smsc) }, &test_route);
    let ended = test_route.until_ended(5).await;
    assert!(ended.values().all(|results| results.len() == 3 && results.iter().all(is_accepted)), "{ended:?}");
    test_route.until_acknowledged().await;
    running.stop().await;
    assert_eq!(smsc.count(), 5 * 3 + 5);
}

#[tokio::test]
async fn what_waits_for_less_speed_goes_back_when_the_route_stops() {
    let script = |_, submitted: &smsc::Submitted| {
        let second = submitted.octets.len() > 5 && submitted.octets[4..6] == [3, 2];
        if second || submitted.octets == b"short" { Reply::Status(Status::RTHROTTLED) } else { Reply::Accept }
    };
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(script).await);
    test_route.append(&segment(1, Lane::Routine, 0, 1, "short")).await;
    test_route.append(&segment(1, Lane::Routine, 1, 1, &"long ".repeat(80))).await;
    let running = run(SmsRoute { rate: 1_000.0, ..route(&smsc) }, &test_route);
    wait_for("throttled", || smsc.count() >= 4).await;
    running.stop().await;
    let ended = ended(&test_route.outcomes());
    assert_eq!(not_tried(&ended[&0][0]), Some(NotTried::Closing));
    let codes: Vec<bool> = ended[&1]
        .iter()
        .map(|result| matches!(result, AttemptResult::Refused { permanent: false, code, .. } if code == "sms:incomplete"))
        .collect();
    assert_eq!(codes, [false, true, false], "{:?}", ended[&1]);
    test_route.until_acknowledged().await;
}

#[tokio::test]
async fn an_emergency_overtakes_in_the_middle_of_a_segment() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    test_route.append(&segment(1, Lane::Routine, 0, 2_000, "routine")).await;
    let running = run(SmsRoute { rate: 200.0, ..route(&smsc) }, &test_route);
    wait_for("begun", || smsc.count() >= 20).await;
    test_route.append(&segment(2, Lane::Emergency, 5_000, 10, "emergency")).await;
    let before = smsc.count();
    test_route
        .until("all emergencies", |seen| {
            let emergencies = ended(seen).into_keys().filter(|endpoint| *endpoint >= 5_000).count();
            (emergencies == 10).then_some(())
        })
        .await;
    let submitted = smsc.submitted();
    let last = submitted.iter().rposition(|submitted| submitted.octets == b"emergency").unwrap();
    // A tenth of a second of the rate may be on its way when it comes, and its own ten.
    assert!(last < before + 20 + 20 + 10, "the last emergency is number {last}, it came at {before}");
    running.stop().await;
}

#[tokio::test]
async fn an_emergency_is_the_next_message_whatever_is_queued() {
    const SEGMENTS: u32 = 200;
    const ENTRIES: u32 = 5_000;
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    // The same ones again and again: hardly any is sent.
    let routine = segment(1, Lane::Routine, 0, ENTRIES, "routine").encode();
    let topic = test_route.bus.topic(&segment_topic(ROUTE, Lane::Routine)).unwrap();
    for _ in 0..SEGMENTS {
        topic.append(&[&routine]).await.unwrap();
    }
    let running = run(SmsRoute { rate: 10.0, ..route(&smsc) }, &test_route);
    for round in 0..3 {
        let begun = smsc.count();
        wait_for("a routine message", || smsc.count() > begun).await;
        // A tenth of a second until the next one.
        let before = smsc.count();
        test_route.append(&segment(2, Lane::Emergency, 2_000_000 + round, 1, "emergency")).await;
        wait_for("the next message", || smsc.count() > before).await;
        let next = &smsc.submitted()[before];
        assert_eq!(next.octets, b"emergency", "a million wait, and round {round} is the next");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_carrier_that_answers_later_and_later_is_sent_less() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    let rate = || test_route.health().map_or(0.0, |health| health.rate_now);
    let running = run(SmsRoute { rate: 200.0, window: 400, ..route(&smsc) }, &test_route);
    test_route.append(&segment(1, Lane::Routine, 0, 2_000, "hello")).await;
    wait_for("begun", || smsc.count() >= 100).await;
    assert_eq!(rate(), 200.0);
    smsc.rescript(|_, _| Reply::Later);
    tokio::time::sleep(Duration::from_millis(2_200)).await;
    smsc.release();
    wait_for("slower", || rate() < 200.0).await;
    running.stop().await;
}

#[tokio::test]
async fn a_slow_route_does_not_intend_far_ahead() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Accept).await);
    test_route.append(&segment(1, Lane::Routine, 0, 1_000, "hello")).await;
    let running = run(SmsRoute { rate: 20.0, window: 50, ..route(&smsc) }, &test_route);
    wait_for("begun", || smsc.count() >= 10).await;
    let submitted = smsc.count();
    let intended: usize = test_route
        .outcomes()
        .iter()
        .filter_map(|outcome| match outcome {
            Outcome::Intent(intent) => Some(intent.attempts.len()),
            _ => None,
        })
        .sum();
    assert!(intended <= submitted + 5, "{intended} intended, {submitted} submitted");
    running.stop().await;
    let back = ended(&test_route.outcomes());
    let closing = back.values().filter(|results| not_tried(&results[0]) == Some(NotTried::Closing)).count();
    assert!(closing <= 4 && back.values().flatten().all(|result| !is_unknown(result)));
}
