//! A route's limit holds in every second, whatever happens, and is reached.

use crate::fixtures::{LATER, SOON, carrier, phone_owner, phones_csv};
use it::{Server, SyscallTrace, eventually, sms_route};
use serde_json::json;
use sim::smsc::Smsc;

const RATE: usize = 50;
const SECOND_US: u64 = 1_000_000;
/// Enough to be killed in the middle and to go on for some seconds.
const PEOPLE: u64 = 700;
/// So many are sent before the kill.
const BEFORE_THE_KILL: u64 = 350;

/// The most in any window of one second, both its ends included.
pub fn most_in_a_second(stamps: &[u64]) -> usize {
    let mut first = 0;
    let mut most = 0;
    for (last, stamp) in stamps.iter().enumerate() {
        while stamp - stamps[first] > SECOND_US {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    most
}

fn per_second(stamps: &[u64]) -> f64 {
    (stamps.len() - 1) as f64 * SECOND_US as f64 / (stamps[stamps.len() - 1] - stamps[0]) as f64
}

async fn until_accepted(carrier: &Smsc, messages: u64) {
    eventually("so many are accepted", LATER, async || {
        let accepted = carrier.stats().accepted;
        if accepted >= messages { Ok(()) } else { Err(accepted) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_of_50_a_second_holds_in_every_second_also_over_a_kill_and_is_reached() {
    let carrier = carrier().await;
    let mut server =
        Server::start(&sms_route("carrier", carrier.address(), "rate = 50.0\nsessions = 2")).await;
    let first = SyscallTrace::attach(server.pid().unwrap());
    let api = server.api();
    api.import_csv(phones_csv(PEOPLE)).await;
    let id = api.submit(&json!({"text": "hello", "audience": ["all"], "on_unknown": "resend"})).await;
    until_accepted(&carrier, BEFORE_THE_KILL).await;
    server.kill9();
    let before = first.submits();
    server.spawn_again();
    let second = SyscallTrace::attach(server.pid().unwrap());
    server.ready().await;
    api.done(&id, LATER).await;
    server.stop().await;
    let after = second.submits();

    let submits = carrier.stats().submits;
    let written = (before.len() + after.len()) as u64;
    assert!(written >= PEOPLE && submits >= PEOPLE, "{written} written, {submits} heard");
    // What the kill cut off on its way was written and not heard; nothing was heard that was not seen.
    assert!(submits <= written, "the witness saw all: {submits} heard, {written} written");
    for stretch in [&before, &after] {
        assert!(per_second(stretch) >= RATE as f64 - 1.0, "{} a second", per_second(stretch));
    }
    let all: Vec<u64> = before.into_iter().chain(after).collect();
    assert!(all.is_sorted(), "the second process wrote after the first");
    let most = most_in_a_second(&all);
    println!("most in a second: {most}; {:.2} a second", per_second(&all));
    assert!(most <= RATE, "{most} in a second");
}

#[tokio::test]
async fn a_long_message_counts_by_its_parts() {
    let carrier = carrier().await;
    let server = Server::start(&sms_route("carrier", carrier.address(), "rate = 20.0")).await;
    let api = server.api();
    api.import_csv(phones_csv(25)).await;
    let began = std::time::Instant::now();
    let id = api.submit(&json!({"text": "five parts ".repeat(68), "audience": ["all"]})).await;
    api.done(&id, SOON).await;
    let stats = carrier.stats();
    assert_eq!((stats.messages, stats.submits), (25, 125));
    // 125 parts at 20/s, from the first on.
    assert!(began.elapsed().as_secs_f64() > 6.0, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_and_a_drill_route_of_one_account_hold_its_limit_together() {
    const EACH: u64 = 90;
    let carrier = carrier().await;
    let drill = sms_route("drill", carrier.address(), "rate = 50.0\nshares = \"live\"");
    let config = sms_route("live", carrier.address(), "rate = 50.0")
        + &drill.replace("\"live\"\naddr", "\"drill\"\naddr");
    let mut server = Server::start(&config).await;
    let trace = SyscallTrace::attach(server.pid().unwrap());
    let api = server.api();
    let people: Vec<serde_json::Value> = (0..EACH)
        .map(|place| {
            let mut person = phone_owner(&format!("p{place}"), place);
            person["participant"] = json!(true);
            person
        })
        .collect();
    api.add_recipients(&json!(people)).await;
    let practice =
        json!({"text": "practice", "audience": ["all"], "mode": "drill", "participants_only": true});
    let (drill, live) =
        (api.submit(&practice).await, api.submit(&json!({"text": "real", "audience": ["all"]})).await);
    api.done(&live, LATER).await;
    api.done(&drill, LATER).await;
    server.stop().await;
    let all = trace.submits();
    assert_eq!(carrier.stats().messages, 2 * EACH);
    let most = most_in_a_second(&all);
    println!("most in a second: {most}; {:.2} a second", per_second(&all));
    assert!(most <= RATE, "{most} in a second");
}
