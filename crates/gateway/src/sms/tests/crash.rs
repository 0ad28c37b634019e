//! Lost connections and killed processes.

use super::*;
use std::collections::BTreeSet;

/// What is left of a house whose process died: the bus's files as they are.
fn killed(test_route: TestRoute) -> TestRoute {
    test_route.context.cores.stop();
    let TestRoute { dir, bus, context } = test_route;
    let copy = tempfile::tempdir().unwrap();
    copy_all(dir.path(), copy.path());
    drop((context, bus));
    TestRoute::on(copy)
}

fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let target = to.join(file.file_name());
        if file.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_all(&file.path(), &target);
        } else {
            std::fs::copy(file.path(), &target).unwrap();
        }
    }
}

#[tokio::test]
async fn a_cut_connection_leaves_exactly_its_window_unknown() {
    let script = |number, _: &smsc::Submitted| if number < 10 { Reply::Silence } else { Reply::Accept };
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(script).await);
    test_route.append(&segment(1, Lane::Routine, 0, 200, "hello")).await;
    let running = run(SmsRoute { window: 10, ..route(&smsc) }, &test_route);
    wait_for("the window full", || smsc.count() == 10).await;
    smsc.cut();
    let ended = test_route.until_ended(200).await;
    let unknown: Vec<u32> =
        ended.iter().filter(|(_, results)| is_unknown(&results[0])).map(|(endpoint, _)| *endpoint).collect();
    assert_eq!(unknown, (0..10).collect::<Vec<_>>());
    assert!(ended.values().skip(10).flatten().all(is_accepted));
    test_route.until_acknowledged().await;
    running.stop().await;
    assert_eq!((smsc.count(), smsc.binds()), (200, 2), "nobody twice");
}

#[tokio::test]
async fn a_killed_process_leaves_its_window_unknown_and_the_next_goes_on_behind_it() {
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(|_, _| Reply::Silence).await);
    test_route.append(&segment(1, Lane::Routine, 0, 100, "hello")).await;
    let _gone = run(SmsRoute { window: 10, sessions: 2, ..route(&smsc) }, &test_route);
    wait_for("the windows full", || smsc.count() == 20).await;
    let test_route = killed(test_route);
    smsc.rescript(|_, _| Reply::Accept);
    let running = run(SmsRoute { window: 10, sessions: 2, ..route(&smsc) }, &test_route);
    let ended = test_route.until_ended(100).await;
    let unknown = ended.values().filter(|results| is_unknown(&results[0])).count();
    assert_eq!(unknown, 20);
    test_route.until_acknowledged().await;
    running.stop().await;
    assert_eq!(smsc.count(), 100, "nobody twice, nobody left out");
}

#[tokio::test]
async fn a_killed_process_leaves_long_messages_unknown_part_by_part() {
    let script = |number, _: &smsc::Submitted| if number < 4 { Reply::Accept } else { Reply::Silence };
    let (test_route, smsc) = (TestRoute::new(), Smsc::start(script).await);
    test_route.append(&segment(1, Lane::Routine, 0, 10, &"long ".repeat(80))).await;
    let _gone = run(SmsRoute { window: 6, ..route(&smsc) }, &test_route);
    // Three parts each: the first is whole, the second has one accepted part.
    wait_for("the window full", || smsc.count() >= 9).await;
    test_route
        .until("four accepted", |seen| {
            let accepted = seen
                .iter()
                .filter(|o| matches!(o, Outcome::Attempt { result: AttemptResult::Accepted { .. }, .. }));
            (accepted.count() == 4).then_some(())
        })
        .await;
    let test_route = killed(test_route);
    smsc.rescript(|_, _| Reply::Accept);
    let running = run(SmsRoute { window: 6, ..route(&smsc) }, &test_route);
    let ended = test_route.until_ended(10).await;
    let shape: Vec<String> = ended
        .values()
        .map(|results| results.iter().map(|result| if is_accepted(result) { 'a' } else { 'u' }).collect())
        .collect();
    assert_eq!(shape[..2], ["aaa", "auu"]);
    assert!(shape.iter().all(|parts| parts.len() == 3));
    let unknown = shape.iter().flat_map(|parts| parts.chars()).filter(|part| *part == 'u').count();
    assert!(unknown <= 6, "{shape:?}");
    running.stop().await;
}

#[tokio::test]
async fn whenever_it_is_killed_nobody_is_left_out_and_nobody_sent_twice() {
    const ENTRIES: u32 = 3_000;
    const SLOTS: usize = 40;
    let seed = wall().0 as u64;
    let mut random = seed;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let smsc = Smsc::start(|_, _| Reply::Accept).await;
    let mut test_route = TestRoute::new();
    for first in (0..ENTRIES).step_by(500) {
        test_route.append(&segment(1, Lane::Routine, first, 500, "hello")).await;
    }
    let mut unknown_before = 0;
    for kill in 0..6 {
        let already = ended(&test_route.outcomes()).len();
        let _gone = run(SmsRoute { sessions: 2, window: 20, ..route(&smsc) }, &test_route);
        // A machine that stands still before the kill lets all of it go out.
        let more = (already + 100 + next(300) as usize).min(ENTRIES as usize);
        test_route.until("further", |seen| (ended(seen).len() >= more).then_some(())).await;
        tokio::time::sleep(Duration::from_micros(next(3_000))).await;
        test_route = killed(test_route);
        let unknown =
            ended(&test_route.outcomes()).values().flatten().filter(|result| is_unknown(result)).count();
        let grown = unknown - unknown_before;
        assert!(grown <= SLOTS, "seed {seed}, kill {kill}: {grown} unknown");
        unknown_before = unknown;
    }
    let running = run(SmsRoute { sessions: 2, window: 20, ..route(&smsc) }, &test_route);
    let ended = test_route.until_ended(ENTRIES as usize).await;
    test_route.until_acknowledged().await;
    running.stop().await;
    assert!(ended.values().flatten().all(|result| is_accepted(result) || is_unknown(result)), "seed {seed}");
    let submitted = smsc.submitted();
    let distinct: BTreeSet<&str> = submitted.iter().map(|submitted| submitted.to.as_str()).collect();
    assert_eq!(distinct.len(), submitted.len(), "seed {seed}: somebody twice");
    for (endpoint, results) in &ended {
        let known = is_accepted(&results[0]);
        let there = distinct.contains(format!("4670{endpoint:07}").as_str());
        assert!(there || !known, "seed {seed}: {endpoint} is said to be accepted and never came");
    }
    let left_out = (0..ENTRIES).filter(|endpoint| !ended.contains_key(endpoint)).count();
    assert_eq!(left_out, 0, "seed {seed}");
}
