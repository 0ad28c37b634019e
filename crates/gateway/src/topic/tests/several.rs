//! A route that several processes have: one limit, whoever publishes.

use super::*;
use crate::cluster::RateAllocator;
use std::sync::Mutex;

/// Longer than any machine stands still.
const LEASE: Duration = Duration::from_secs(60);
const RATE: usize = 20;
const ENTRIES: u32 = 120;
/// Entries of a segment.
const TOGETHER: u32 = 30;

/// Who published how many, and when at the latest.
type Writes = Arc<Mutex<Vec<(&'static str, usize, Instant)>>>;

fn process(test_route: &TestRoute, name: &'static str, writes: &Writes) -> RunningGateway {
    let mut context = test_route.context.clone();
    let writes = Arc::clone(writes);
    context.write_observer =
        Some(Arc::new(move |_, count, _, after| writes.lock().unwrap().push((name, count, after))));
    context.limits = Arc::default();
    context.share(name, LEASE).unwrap();
    start(TopicRoute { rate: RATE as f64, ..route() }, &context).unwrap()
}

async fn append_all(test_route: &TestRoute) {
    let names: Vec<String> = (0..7).map(|number| format!("board {number}")).collect();
    for first in (0..ENTRIES).step_by(TOGETHER as usize) {
        let entries: Vec<(u32, u8, &str)> = (first..first + TOGETHER)
            .map(|entry| (entry, 1, names[entry as usize % names.len()].as_str()))
            .collect();
        test_route.append(&segment(&entries, Body::of_text("Go up the hill"))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rate_holds_over_processes_and_nothing_is_published_twice() {
    let test_route = TestRoute::new();
    let allocator =
        RateAllocator::start(&*test_route.bus, &test_route.context.cores, "hands out", LEASE).unwrap();
    allocator.lead(true);
    append_all(&test_route).await;
    let writes = Writes::default();
    let running = [process(&test_route, "one", &writes), process(&test_route, "two", &writes)];
    let ended = test_route.until_ended(ENTRIES as usize).await;
    assert!(ended.values().all(|result| matches!(result, AttemptResult::Accepted { .. })), "{ended:?}");
    for process in running {
        process.stop().await;
    }
    allocator.stop().await;
    let published: usize = (0..7).map(|number| test_route.texts(&format!("@board {number}")).len()).sum();
    assert_eq!(published, ENTRIES as usize);
    let mut writes = writes.lock().unwrap().clone();
    for name in ["one", "two"] {
        assert!(writes.iter().any(|(who, ..)| *who == name), "{name} published nothing");
    }
    writes.sort_by_key(|(.., at)| *at);
    for (at, (.., from)) in writes.iter().enumerate() {
        let second = writes[at..].iter().take_while(|(.., at)| *at <= *from + Duration::from_secs(1));
        let most: usize = second.map(|(_, count, _)| count).sum();
        assert!(most <= RATE, "{most} in a second");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_published_while_nobody_hands_the_rate_out() {
    let test_route = TestRoute::new();
    append_all(&test_route).await;
    let writes = Writes::default();
    let running = process(&test_route, "one", &writes);
    // It has claimed a segment, and can do no more.
    let topic = test_route.bus.topic(OUTCOMES).unwrap();
    let is_claim = |outcome: &Outcome| matches!(outcome, Outcome::Claim(_));
    let mut from = 0;
    let claimed = async {
        loop {
            topic.readable(from).await;
            for record in topic.read(from, 100, 1_000_000).unwrap() {
                from = record.index + 1;
                if decode_outcomes(&record.octets).unwrap().iter().any(is_claim) {
                    return;
                }
            }
        }
    };
    tokio::time::timeout(PATIENCE, claimed).await.unwrap();
    assert!(writes.lock().unwrap().is_empty());
    let allocator =
        RateAllocator::start(&*test_route.bus, &test_route.context.cores, "hands out", LEASE).unwrap();
    allocator.lead(true);
    test_route.until_ended(ENTRIES as usize).await;
    running.stop().await;
    allocator.stop().await;
}
