//! Sessions of clients that vanished: what they held comes back.

use super::{ANN, Ocs, PATIENCE};
use diameter::dictionary::avp;
use it::credit::{TERMINATION, used};
use it::eventually;
use std::time::{Duration, Instant};

const SESSIONS: usize = 10_000;
/// Requests in flight.
const DEPTH: usize = 500;
/// Minor units that each session holds.
const HELD: u64 = 7;
/// Twice the Validity-Time (RFC 8506, section 13).
const TCC: Duration = Duration::from_secs(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_abandoned_sessions_give_back_what_they_held_after_tcc() {
    let mut ocs = Ocs::start("", "validity = \"2s\"").await;
    let subscribers: Vec<String> = (0..10).map(|n| format!("467017406{}", 30 + n)).collect();
    let all = SESSIONS as i64 * HELD as i64;
    for subscriber in &subscribers {
        ocs.fund(subscriber, all).await;
    }
    let mut client = ocs.client("vanishing.client.test");
    let (mut last, mut begun) = (String::new(), Instant::now());
    for batch in 0..SESSIONS / DEPTH {
        let mut octets = Vec::new();
        for place in 0..DEPTH {
            last = client.fresh_session();
            let who = &subscribers[(batch + place) % subscribers.len()];
            octets.extend_from_slice(&client.initial(&last, who, HELD).octets());
        }
        begun = Instant::now();
        client.send(&octets);
        for _ in 0..DEPTH {
            let answer = client.answer();
            assert_eq!(answer.code(), 2001);
            assert_eq!(answer.find(avp::VALIDITY_TIME).unwrap().u32(), Ok(2));
        }
    }
    drop(client);
    // Over a kill and a start.
    let rest = ocs.money(&subscribers[0]).await;
    assert!(rest.1 > 0 || begun.elapsed() > TCC, "{rest:?} are held");
    ocs.kill_and_restart().await;
    eventually("all is given back", PATIENCE, async || {
        let mut held = 0;
        for subscriber in &subscribers {
            let money = ocs.money(subscriber).await;
            assert_eq!((money.0, money.2), (all, 0), "an abandoned session costs nothing");
            held += money.1;
        }
        if held == 0 { Ok(()) } else { Err(format!("{held} are held")) }
    })
    .await;
    assert!(begun.elapsed() >= TCC, "given back after {:?}: too early", begun.elapsed());
    // Its client comes back too late.
    let mut client = ocs.client("vanishing.client.test");
    let end = client.credit(&last, TERMINATION, 1).with(|writer| used(writer, HELD));
    assert_eq!(client.ask(&end).code(), 5002);
    ocs.fund(ANN, 1).await;
    client.works(ANN);
}
