//! AlertReplay of an alert in simulated time: its course with the latencies and losses that its routes had in
//! the last days, drawn by a seed. The same seed gives the same course.

use super::alert_plan::AlertPlan;
use super::conditions::Conditions;
use super::course::{CourseChance, CourseRules, Fate, play};
use super::forecast::{CURVE_POINTS_MAX, PARTS};
use super::people_times::{PeopleTimes, rounded};
use super::route_days::Histogram;
use super::verdict::{ReachTarget, reached};
use crate::forecast::Reached;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is replayed.
#[derive(Debug, Clone)]
pub struct AlertReplay {
    /// Routes, by name, that take nothing.
    pub without: Vec<String>,
    pub target: ReachTarget,
    pub seed: u64,
    /// People count once their network has confirmed, not already when they are handed over.
    pub counts_confirmed: bool,
}

/// What a route took in a replay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayedRoute {
    pub devices: u64,
    pub parts: u64,
    pub seconds: f64,
    /// Units a second; 0 is unlimited.
    pub limit: f64,
    /// Latencies and losses of past days are drawn for it.
    pub has_history: bool,
}

/// A replay's result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replayed {
    /// People who are sent to.
    pub audience: u64,
    pub handed_over: u64,
    pub confirmed: u64,
    #[serde(flatten)]
    pub reached: Reached,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub curve: Vec<(f64, u64)>,
    pub routes: BTreeMap<String, ReplayedRoute>,
}

/// Replays a plan under these conditions.
pub fn replay(
    plan: &AlertPlan,
    conditions: &Conditions,
    (lane, receipt_timeout_s): (records::Lane, u32),
    asked: &AlertReplay,
) -> Replayed {
    let routes = conditions.classifier.routes();
    let mut rules = CourseRules::new(conditions, lane, receipt_timeout_s);
    rules.without = (0..routes.len()).filter(|place| asked.without.contains(&routes[*place].name)).collect();
    let mut drawn = Drawn::new(conditions, asked.seed);
    let course = play(plan, &rules, &mut drawn);
    let people = plan.planned_people();
    let handed_over = PeopleTimes::new(course.handed_over.iter().copied(), people);
    let confirmed = PeopleTimes::new(course.confirmed.iter().copied(), people);
    let counted = if asked.counts_confirmed { &confirmed } else { &handed_over };
    let [p50, p95, p99] = PARTS.map(|part| counted.at_part(part).map(rounded));
    let of_route = |(place, load): (&usize, &super::course::RouteLoad)| {
        let route = ReplayedRoute {
            devices: load.devices,
            parts: load.units,
            seconds: rounded(load.last_s),
            limit: conditions.limit(*place).rate,
            has_history: drawn.routes[*place].has_history,
        };
        (routes[*place].name.clone(), route)
    };
    Replayed {
        audience: people,
        handed_over: handed_over.reached(),
        confirmed: confirmed.reached(),
        reached: reached(counted, asked.target),
        p50,
        p95,
        p99,
        curve: counted.curve(CURVE_POINTS_MAX),
        routes: course.routes.iter().map(of_route).collect(),
    }
}

/// What is drawn for a route.
#[derive(Default)]
struct DrawnRoute {
    has_history: bool,
    confirmations: Histogram,
    refused: f64,
    /// Nothing: it never confirmed, or sends no receipts.
    confirmed: Option<f64>,
    lost: f64,
}

struct Drawn {
    routes: Vec<DrawnRoute>,
    state: u64,
}

impl Drawn {
    fn new(conditions: &Conditions, seed: u64) -> Drawn {
        let of_route = |route: &records::Route| {
            let Some(days) = conditions.days.get(&route.name) else { return DrawnRoute::default() };
            DrawnRoute {
                has_history: days.answers().count() > 0,
                confirmations: days.confirmations(),
                refused: days.refused_part(),
                confirmed: days.confirmed_part().filter(|_| route.receipts),
                lost: days.lost_part(),
            }
        };
        Drawn { routes: conditions.classifier.routes().iter().map(of_route).collect(), state: seed }
    }

    /// The next number of SplitMix64, from 0 up to 1.
    fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl CourseChance for Drawn {
    fn fate(&mut self, place: usize) -> Fate {
        let (refusal, end, part) = (self.next(), self.next(), self.next());
        let route = &self.routes[place];
        let after_s = route.confirmations.quantile_s(part).unwrap_or(0.0);
        match route.confirmed {
            _ if refusal < route.refused => Fate::Refused,
            None => Fate::Confirmed { after_s: 0.0 },
            Some(confirmed) if end < confirmed => Fate::Confirmed { after_s },
            Some(confirmed) if end < confirmed + route.lost => Fate::Lost { after_s },
            Some(_) => Fate::Silent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Classifier, ForecastTable, RouteDays};
    use crate::testing::{alert, entry, request, route};
    use records::{Person, RosterBlock, RosterEntry, Timestamp};
    use std::sync::Arc;

    /// Two routes; of four messages by the first three were confirmed, each after 2 s.
    fn replayed(seed: u64, without: &[&str]) -> Replayed {
        let classifier = Arc::new(Classifier::new(vec![
            route("a", channels::SMS, |r| r.rate = 20.0),
            route("b", channels::SMS, |r| r.rate = 5.0),
        ]));
        let person = |i: usize| Person { recipient: format!("p{i}"), name: String::new(), step: 0 };
        let one = |i| RosterEntry { persons: vec![person(i)], ..entry(channels::SMS, &format!("+46{i}")) };
        let block = RosterBlock { entries: (0..1_000).map(one).collect(), ..RosterBlock::default() };
        let mut table = ForecastTable::default();
        table.take(&block, &classifier, &alert(1, request("x")));
        let groups = table.planned_groups(&classifier, |_, _| Some(1));
        let plan = table.into_plan(groups);
        let mut conditions = Conditions::idle(classifier, std::time::Instant::now());
        let mut days = RouteDays::default();
        let today = days.today(Timestamp(0));
        for _ in 0..4_000 {
            today.answers.note_ms(100);
        }
        for _ in 0..3_000 {
            today.confirmations.note_ms(2_000);
        }
        conditions.days.insert("a".into(), days);
        let asked = AlertReplay {
            without: without.iter().map(|name| (*name).to_owned()).collect(),
            target: "70%/1m".parse().unwrap(),
            seed,
            counts_confirmed: true,
        };
        replay(&plan, &conditions, (records::Lane::Routine, 600), &asked)
    }

    #[test]
    fn the_same_seed_gives_the_same_verdict_and_another_when_a_route_is_taken_away() {
        let first = replayed(7, &[]);
        assert_eq!(first, replayed(7, &[]));
        assert_ne!(first, replayed(8, &[]));
        assert!(first.reached.met, "{first:?}");
        let without = replayed(7, &["a"]);
        assert!(!without.reached.met, "{without:?}");
        assert_eq!(without.routes.keys().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn losses_are_drawn_as_often_as_they_were() {
        let found = replayed(1, &[]);
        let by_a = found.routes["a"].devices as f64;
        let expected = by_a * 0.75 + (1_000.0 - by_a);
        assert!((found.confirmed as f64 / expected - 1.0).abs() < 0.05, "{found:?}");
        assert_eq!(found.handed_over, 1_000);
        assert!(found.routes["a"].has_history && !found.routes["b"].has_history);
    }
}
