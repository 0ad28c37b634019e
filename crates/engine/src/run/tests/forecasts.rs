//! Forecast against fact, in simulated time: two carriers of different limits hand over what dispatch gives
//! them, each at its limit, and the clock goes with them.

use super::backend::TestBackend;
use super::test_engine::{PATIENCE, START, TestEngine, crowd};
use crate::testing::route;
use crate::{Coded, ForecastAndFact, Forecasts, ReplayRequest};
use records::{
    Account, Alert, AttemptRef, AttemptResult, Intent, Lane, NotTried, Outcome, RouteHealth, Segment,
    Timestamp, encode_outcomes, segment_topic,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Carriers with their limits, messages a second.
const CARRIERS: [(&str, f64); 2] = [("slow", 8.0), ("fast", 24.0)];
const PEOPLE: usize = 1_280;
/// Seconds that all together need.
const WHOLE_S: f64 = 40.0;

/// A carrier in simulated time.
struct Carrier {
    name: &'static str,
    rate: f64,
    group: Arc<dyn bus::Group>,
    queue: VecDeque<Segment>,
    leased: VecDeque<u64>,
    /// When it is free, seconds from the start.
    free_s: f64,
}

impl Carrier {
    fn lease(&mut self) {
        for leased in self.group.take(16, std::time::Duration::from_secs(60)).unwrap() {
            let segment = Segment::decode(&leased.record.octets).unwrap();
            self.queue.push_back(segment);
            self.leased.push_back(leased.record.index);
        }
    }
}

/// Two carriers, the clock that goes with them, and chance.
struct Simulation {
    tested: TestEngine,
    /// The folder of bus and store.
    _ground: TestBackend,
    carriers: Vec<Carrier>,
    chance: u64,
    /// The first carrier goes down at this second.
    breaks_s: f64,
}

impl Simulation {
    async fn new(seed: u64, breaks_s: f64) -> Simulation {
        let ground = TestBackend::files();
        let mut tested = ground.engine_under_test().await;
        for (name, rate) in CARRIERS {
            tested.add_route(route(name, channels::SMS, |r| (r.rate, r.priority) = (rate, -1))).await;
        }
        tested.people(crowd(PEOPLE)).await;
        let carriers = CARRIERS.map(|(name, rate)| Carrier {
            name,
            rate,
            group: tested.bus.group(&segment_topic(name, Lane::Routine), super::super::GATEWAYS).unwrap(),
            queue: VecDeque::new(),
            leased: VecDeque::new(),
            free_s: 0.0,
        });
        Simulation { tested, _ground: ground, carriers: carriers.into(), chance: seed, breaks_s }
    }

    /// From 0 up to 1.
    fn next(&mut self) -> f64 {
        self.chance =
            self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) as f64 / (1_u64 << 31) as f64
    }

    async fn append(&self, outcomes: &[Outcome]) {
        let topic = self.tested.bus.topic(records::OUTCOMES).unwrap();
        topic.append(&[&encode_outcomes(outcomes)]).await.unwrap();
    }

    fn set_clock(&self, seconds: f64) {
        let at = at(seconds).0;
        self.tested.clock.fetch_max(at, Ordering::SeqCst);
    }

    /// Everything that is appended is folded, and dispatch has filled the carriers up again.
    async fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < 3 {
            let backlog = self.tested.engine.health().await.unwrap().backlog;
            let before: usize = self.carriers.iter().map(|carrier| carrier.queue.len()).sum();
            self.carriers.iter_mut().for_each(Carrier::lease);
            let after: usize = self.carriers.iter().map(|carrier| carrier.queue.len()).sum();
            quiet = if backlog == 0 && before == after { quiet + 1 } else { 0 };
            tokio::task::yield_now().await;
        }
    }

    /// Plays until nothing is left to hand over.
    async fn run(&mut self, alert: &Alert) {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            self.settle().await;
            let waits = |carrier: &&mut Carrier| !carrier.queue.is_empty();
            let next = self.carriers.iter_mut().filter(waits).min_by(|a, b| a.free_s.total_cmp(&b.free_s));
            let Some(free_s) = next.map(|carrier| carrier.free_s) else {
                let report = self.tested.engine.report(&alert.account, alert.id).await.unwrap();
                if report.counts.accepted == PEOPLE as u64 {
                    return;
                }
                continue;
            };
            if free_s >= self.breaks_s {
                self.break_first().await;
                continue;
            }
            self.serve(free_s).await;
        }
    }

    /// The carrier that is free at this second hands one segment over.
    async fn serve(&mut self, free_s: f64) {
        let place =
            self.carriers.iter().position(|one| one.free_s == free_s && !one.queue.is_empty()).unwrap();
        let jitters: Vec<f64> = (0..64).map(|_| self.next()).collect();
        let carrier = &mut self.carriers[place];
        let segment = carrier.queue.pop_front().unwrap();
        let index = carrier.leased.pop_front().unwrap();
        let mut outcomes = vec![intent(&segment, index, at(carrier.free_s))];
        for (number, entry) in segment.entries.iter().enumerate() {
            carrier.free_s += 1.0 / carrier.rate;
            let answered_s = carrier.free_s + jitters[number % jitters.len()] * 0.3;
            let result = AttemptResult::Accepted { keys: Vec::new(), id: "id".into() };
            outcomes.push(outcome(&segment, (entry.endpoint, entry.attempt), at(answered_s), result));
        }
        let group = carrier.group.clone();
        self.set_clock(free_s);
        self.append(&outcomes).await;
        group.ack(index).unwrap();
    }

    /// The first carrier goes down: what it has goes back.
    async fn break_first(&mut self) {
        let since = at(self.breaks_s);
        self.set_clock(self.breaks_s);
        self.breaks_s = f64::INFINITY;
        self.set_health(false, since).await;
        let carrier = &mut self.carriers[0];
        let mut outcomes = Vec::new();
        for segment in carrier.queue.drain(..) {
            for entry in &segment.entries {
                let result = AttemptResult::NotTried { why: NotTried::RouteDown };
                outcomes.push(outcome(&segment, (entry.endpoint, entry.attempt), since, result));
            }
        }
        let (group, leased) = (carrier.group.clone(), std::mem::take(&mut carrier.leased));
        self.append(&outcomes).await;
        leased.into_iter().for_each(|index| group.ack(index).unwrap());
    }

    async fn set_health(&self, up: bool, since: Timestamp) {
        let health = RouteHealth { up, since, sessions: u32::from(up), rate_now: 0.0, note: String::new() };
        let retained = self.tested.bus.retained(records::ROUTES).unwrap();
        retained.set(self.carriers[0].name, &health.encode()).await.unwrap();
    }

    async fn of_alert(&self, alert: &Alert) -> ForecastAndFact {
        Forecasts::of(&self.tested.engine).of_alert(&alert.account, alert.id).await.unwrap()
    }

    /// The forecast as it was fixed; it is kept within moments.
    async fn kept(&self, alert: &Alert) -> ForecastAndFact {
        let begun = Instant::now();
        loop {
            let found = self.of_alert(alert).await;
            if found.forecast.is_some() {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "it was not kept");
            tokio::task::yield_now().await;
        }
    }
}

fn at(seconds: f64) -> Timestamp {
    START.plus_us((seconds * 1e6) as i64)
}

fn intent(segment: &Segment, index: u64, at: Timestamp) -> Outcome {
    Outcome::Intent(Intent {
        route: segment.route.clone(),
        lane: segment.lane,
        segment: index,
        alert: segment.alert,
        from: 0,
        attempts: segment.entries.iter().map(|entry| (entry.endpoint, entry.attempt)).collect(),
        at,
    })
}

fn outcome(
    segment: &Segment,
    (endpoint, attempt): (records::EndpointNo, u8),
    at: Timestamp,
    result: AttemptResult,
) -> Outcome {
    let of = AttemptRef { alert: segment.alert, endpoint, attempt, part: 1, parts: 1 };
    Outcome::Attempt { of, route: segment.route.clone(), at, result }
}

fn codes(causes: &[Coded]) -> Vec<&str> {
    causes.iter().map(|one| one.code.as_ref()).collect()
}

fn is_within_a_tenth(forecast: Option<f64>, fact: Option<f64>) -> bool {
    matches!((forecast, fact), (Some(forecast), Some(fact)) if (forecast / fact - 1.0).abs() <= 0.1)
}

#[tokio::test]
async fn a_forecast_is_within_a_tenth_of_what_happens_over_two_routes_of_different_limits() {
    for seed in 1..=10 {
        let mut simulation = Simulation::new(seed, f64::INFINITY).await;
        let alert = simulation.tested.submit(|_| {}).await.alert;
        simulation.run(&alert).await;
        let found = simulation.kept(&alert).await;
        let (course, fact) = (&found.forecast.as_ref().unwrap().course, &found.fact);
        for (part, forecast, fact) in
            [("half", course.p50, fact.p50), ("95", course.p95, fact.p95), ("99", course.p99, fact.p99)]
        {
            assert!(is_within_a_tenth(forecast, fact), "seed {seed}, {part}: {forecast:?} and {fact:?}");
        }
        assert_eq!((course.people, fact.people), (PEOPLE as u64, PEOPLE as u64));
        assert!((fact.seconds / WHOLE_S - 1.0).abs() < 0.1, "{fact:?}");
        assert!(found.causes.is_empty(), "seed {seed}: {:?}", found.causes);
    }
}

#[tokio::test]
async fn a_route_that_breaks_halfway_is_named_as_the_cause() {
    let mut simulation = Simulation::new(1, WHOLE_S / 2.0).await;
    let alert = simulation.tested.submit(|_| {}).await.alert;
    simulation.run(&alert).await;
    let found = simulation.kept(&alert).await;
    let course = &found.forecast.as_ref().unwrap().course;
    assert!(!is_within_a_tenth(course.p99, found.fact.p99), "{:?} and {:?}", course.p99, found.fact.p99);
    let [cause] = &found.causes[..] else { panic!("{:?}", found.causes) };
    assert_eq!((cause.code.as_ref(), cause.args["route"].as_str()), ("route_down", Some("slow")));
    assert!(cause.args["since"].is_string(), "{cause:?}");
}

#[tokio::test]
async fn a_forecast_is_kept_as_it_was_fixed_whatever_comes_later() {
    let mut simulation = Simulation::new(3, f64::INFINITY).await;
    let alert = simulation.tested.submit(|_| {}).await.alert;
    let fixed = simulation.kept(&alert).await.forecast.unwrap();
    assert!(codes(&fixed.course.assumptions).contains(&"no_confirmations"), "{fixed:?}");
    let later = simulation.tested.submit(|request| request.text = Some("Another".into())).await.alert;
    let of_later = simulation.kept(&later).await.forecast.unwrap();
    assert!(codes(&of_later.course.assumptions).contains(&"waiting"), "{of_later:?}");
    assert!(of_later.course.p95 > fixed.course.p95, "what waits goes in turn with it");
    simulation.run(&alert).await;
    assert_eq!(simulation.of_alert(&alert).await.forecast, Some(fixed));
}

#[tokio::test]
async fn a_verdict_says_what_if_a_route_were_down_and_a_replay_is_the_same_twice() {
    let mut simulation = Simulation::new(4, f64::INFINITY).await;
    let alert = simulation.tested.submit(|_| {}).await.alert;
    let engine = simulation.tested.engine.clone();
    let open = Forecasts::of(&engine).verdict(Account::DEFAULT, alert.id, "95%/50s".parse().unwrap()).await;
    assert_eq!(open.unwrap().met, None, "nothing was handed over yet");
    simulation.run(&alert).await;
    let verdict =
        Forecasts::of(&engine).verdict(Account::DEFAULT, alert.id, "95%/50s".parse().unwrap()).await.unwrap();
    assert_eq!((verdict.met, verdict.people), (Some(true), PEOPLE as u64));
    let without: Vec<(&str, bool)> =
        verdict.plan.without.iter().map(|one| (one.route.as_str(), one.reached.met)).collect();
    assert_eq!(without, [("slow", false), ("fast", false)], "53 and 160 s");
    let replayed = async |without: &[&str], seed| {
        let without = without.iter().map(|name| (*name).to_owned()).collect();
        let asked = ReplayRequest { without, target: "95%/50s".parse().unwrap(), seed };
        Forecasts::of(&engine).replay(Account::DEFAULT, alert.id, asked).await.unwrap()
    };
    let first = replayed(&[], 7).await;
    assert!(first.reached.met, "{first:?}");
    assert_eq!(first, replayed(&[], 7).await);
    assert!(!replayed(&["fast"], 7).await.reached.met);
}
