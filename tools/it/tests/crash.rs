//! Kill -9 at random moments. Nobody is left out; nobody gets a second copy but among those of whom nobody
//! knows.

use crate::fixtures::{LATER, assert_counts_add_up, count, phones_csv};
use it::{Api, Server, eventually, sms_route};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use sim::smsc::{Counting, Receipts, Smsc, SmscOptions};
use std::time::Duration;

const PEOPLE: u64 = 20_000;
const KILLS: usize = 20;
const ROUTES: usize = 2;
const SESSIONS: u64 = 2;
const WINDOW: u64 = 40;
/// Unknowns that one kill may leave.
const UNKNOWNS_PER_KILL: u64 = ROUTES as u64 * SESSIONS * WINDOW;
/// Outcomes between two kills, at least.
const OUTCOMES_MIN: u64 = 200;
const TEXT: &str = "The dam has burst";

struct Story {
    carriers: Vec<Smsc>,
    server: Server,
    api: Api,
    chance: StdRng,
    seed: u64,
    id: String,
}

/// Fixed by `IT_SEED` to see a failure again; as far as time allows.
pub fn seed() -> u64 {
    std::env::var("IT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random)
}

impl Story {
    async fn begin(on_unknown: &str) -> Story {
        let seed = seed();
        println!("IT_SEED={seed}");
        let mut carriers = Vec::new();
        let mut config = String::new();
        for place in 0..ROUTES {
            let receipts = Receipts { delay: "500ms..3s".parse().unwrap(), ..Receipts::default() };
            let options = SmscOptions {
                receipts,
                latency: "1ms..25ms".parse().unwrap(),
                count: Counting::Texts,
                seed: seed.wrapping_add(place as u64),
                ..SmscOptions::default()
            };
            let carrier = Smsc::start(options).await.unwrap();
            let keys = format!("rate = 1000.0\nsessions = {SESSIONS}\nwindow = {WINDOW}");
            config += &sms_route(&format!("carrier-{place}"), carrier.address(), &keys);
            carriers.push(carrier);
        }
        let server = Server::start(&config).await;
        let api = server.api();
        api.import_csv(phones_csv(PEOPLE)).await;
        let alert =
            json!({"text": TEXT, "audience": ["all"], "terminal": "delivered", "on_unknown": on_unknown});
        let id = api.submit(&alert).await;
        Story { carriers, server, api, chance: StdRng::seed_from_u64(seed), seed, id }
    }

    /// Submissions answered and receipts confirmed, as the carriers count them.
    fn outcomes(&self) -> u64 {
        let of = |carrier: &Smsc| {
            let stats = carrier.stats();
            stats.accepted + stats.letters.confirmed
        };
        self.carriers.iter().map(of).sum()
    }

    /// How often the alert came to a number.
    fn copies(&self, address: &str) -> u64 {
        self.carriers.iter().map(|carrier| u64::from(carrier.accepted(address, TEXT))).sum()
    }

    /// Lets so many outcomes happen and a moment pass, then kills and starts again.
    async fn kill(&mut self) {
        let wanted = self.outcomes() + OUTCOMES_MIN + self.chance.random_range(0..300);
        eventually("outcomes go on", LATER, async || {
            let outcomes = self.outcomes();
            if outcomes >= wanted {
                Ok(())
            } else {
                Err(format!("{outcomes} of {wanted} (seed {})", self.seed))
            }
        })
        .await;
        tokio::time::sleep(Duration::from_micros(self.chance.random_range(0..30_000))).await;
        self.server.kill9();
        self.server.restart().await;
    }

    /// Waits until every route goes on: it has said before what its crash left unknown.
    async fn recovered(&self) -> Value {
        let accepted = || self.carriers.iter().map(|carrier| carrier.stats().accepted).collect::<Vec<_>>();
        let before = accepted();
        eventually("every route goes on", LATER, async || {
            let report = self.api.report(&self.id).await;
            let goes_on = accepted().iter().zip(&before).all(|(now, before)| now > before);
            if goes_on || count(&report, "planned") == 0 { Ok(()) } else { Err(report) }
        })
        .await;
        // What is on the log is folded within milliseconds.
        tokio::time::sleep(Duration::from_millis(60)).await;
        self.api.report(&self.id).await
    }

    /// Waits until nothing more happens: all is decided, and every receipt was brought.
    async fn rest(&self) -> Value {
        let rested = |report: &Value| {
            ["planned", "held", "submitted"].iter().all(|state| count(report, state) == 0)
                && self.carriers.iter().all(|carrier| carrier.stats().letters.waiting == 0)
        };
        self.api.until(&self.id, "all is decided", LATER, rested).await;
        // Receipts that are confirmed are on disk; folding them takes a moment.
        let mut last = Value::Null;
        eventually("the report rests", LATER, async || {
            let report = self.api.report(&self.id).await;
            let rests = report["counts"] == last && rested(&report);
            last = report["counts"].clone();
            tokio::time::sleep(Duration::from_millis(500)).await;
            if rests { Ok(report) } else { Err(report) }
        })
        .await
    }

    /// What stays of a delivery: endpoint, address, state, attempts.
    async fn fates(&self) -> Vec<(u64, String, String, u64)> {
        let fate = |delivery: Value| {
            let text = |name: &str| delivery[name].as_str().unwrap().to_owned();
            let number = |name: &str| delivery[name].as_u64().unwrap();
            (number("endpoint"), text("address"), text("state"), number("attempts"))
        };
        self.api.deliveries(&self.id).await.into_iter().map(fate).collect()
    }

    /// One more kill changes nothing.
    async fn kill_once_more(&mut self, report: &Value, fates: &[(u64, String, String, u64)]) {
        self.server.kill9();
        self.server.restart().await;
        assert_eq!(self.rest().await["counts"], report["counts"], "seed {}", self.seed);
        assert_eq!(self.fates().await, fates, "seed {}", self.seed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_kills_leave_nobody_out_and_what_is_unknown_is_held() {
    let mut story = Story::begin("hold").await;
    let mut unknowns = 0;
    for kill in 1..=KILLS {
        story.kill().await;
        let report = story.recovered().await;
        let now = count(&report, "unknown");
        let seed = story.seed;
        assert!(now - unknowns <= UNKNOWNS_PER_KILL, "kill {kill}: {unknowns} then {now}, seed {seed}");
        unknowns = now;
        assert_counts_add_up(&report);
        assert_eq!(count(&report, "endpoints"), PEOPLE, "kill {kill}, seed {seed}");
    }
    let report = story.rest().await;
    let seed = story.seed;
    println!("{}", report["counts"]);
    assert_eq!(count(&report, "delivered") + count(&report, "unknown"), PEOPLE, "seed {seed}: {report}");
    assert!(count(&report, "unknown") <= KILLS as u64 * UNKNOWNS_PER_KILL, "seed {seed}: {report}");
    let fates = story.fates().await;
    assert_eq!(fates.len() as u64, PEOPLE);
    for (endpoint, address, state, _) in &fates {
        let copies = story.copies(address);
        match state.as_str() {
            "delivered" => assert_eq!(copies, 1, "endpoint {endpoint}, seed {seed}"),
            "unknown" => assert!(copies <= 1, "endpoint {endpoint}, seed {seed}"),
            other => panic!("endpoint {endpoint} is {other}, seed {seed}"),
        }
    }
    let accepted: u64 = story.carriers.iter().map(|carrier| carrier.stats().messages).sum();
    assert!((count(&report, "delivered")..=PEOPLE).contains(&accepted), "seed {seed}: {accepted}");
    story.kill_once_more(&report, &fates).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_kills_leave_nobody_out_and_what_is_unknown_is_sent_again() {
    let mut story = Story::begin("resend").await;
    for kill in 1..=KILLS {
        story.kill().await;
        let report = story.api.report(&story.id).await;
        assert_counts_add_up(&report);
        assert_eq!(count(&report, "endpoints"), PEOPLE, "kill {kill}, seed {}", story.seed);
    }
    let report = story.rest().await;
    let seed = story.seed;
    println!("{}", report["counts"]);
    assert_eq!(count(&report, "delivered"), PEOPLE, "seed {seed}: {report}");
    let fates = story.fates().await;
    let (mut resent, mut repeats) = (0, 0);
    for (endpoint, address, state, attempts) in &fates {
        let copies = story.copies(address);
        assert_eq!(state, "delivered", "endpoint {endpoint}, seed {seed}");
        assert!(
            (1..=*attempts).contains(&copies),
            "endpoint {endpoint}: {copies} copies, {attempts} attempts, seed {seed}"
        );
        resent += attempts - 1;
        repeats += copies - 1;
    }
    println!("{resent} sent again, {repeats} of them twice at the carrier");
    assert!(
        repeats <= resent && resent <= KILLS as u64 * UNKNOWNS_PER_KILL,
        "{repeats} of {resent}, seed {seed}"
    );
    let accepted: u64 = story.carriers.iter().map(|carrier| carrier.stats().messages).sum();
    assert_eq!(accepted, PEOPLE + repeats, "the carrier's own count agrees, seed {seed}");
    story.kill_once_more(&report, &fates).await;
}
