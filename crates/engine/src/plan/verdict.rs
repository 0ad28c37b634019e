//! Verdict on an alert: whether a part of the people are reached within a time, what if a route were down,
//! and which limits have to be raised to reach it.

use super::alert_plan::AlertPlan;
use super::conditions::Conditions;
use super::course::{CourseRules, ExpectedCourse, play};
use super::people_times::{PeopleTimes, rounded};
use crate::forecast::Reached;
use serde::Serialize;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Devices of a plan that is played again and again.
const DEVICES_MAX: usize = 20_000;
/// A limit is raised to at most so many times what it is.
const RAISED_TIMES_MAX: f64 = 1_024.0;
/// Halvings in the search for a limit.
const HALVINGS: u32 = 12;
/// Seconds of the longest target.
const TARGET_S_MAX: f64 = 1_000.0 * 3_600.0;

/// A part of the people, within a time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReachTarget {
    /// Of 100 people.
    pub percent: f64,
    pub seconds: f64,
}

impl ReachTarget {
    /// 95 of 100 people within five minutes.
    pub const DEFAULT: ReachTarget = ReachTarget { percent: 95.0, seconds: 300.0 };

    /// The part of the people, 0 to 1.
    pub fn part(&self) -> f64 {
        self.percent / 100.0
    }
}

impl FromStr for ReachTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<ReachTarget, String> {
        let read = || {
            let (percent, time) = text.split_once("%/")?;
            let unit = time.chars().last()?;
            let factor = match unit {
                's' => 1.0,
                'm' => 60.0,
                'h' => 3_600.0,
                _ => return None,
            };
            let number: f64 = time.strip_suffix(unit)?.parse().ok()?;
            Some(ReachTarget { percent: percent.parse().ok()?, seconds: number * factor })
        };
        let is_possible = |target: &ReachTarget| {
            (0.0..=100.0).contains(&target.percent)
                && target.percent > 0.0
                && target.seconds > 0.0
                && target.seconds <= TARGET_S_MAX
        };
        read().filter(is_possible).ok_or_else(|| {
            format!(
                "{text:?} is no target: write a part of the people and a time, such as 95%/5m (s, m or h)"
            )
        })
    }
}

/// What comes of a plan, or of a part of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Without {
    /// The route that is down.
    pub route: String,
    #[serde(flatten)]
    pub reached: Reached,
}

/// A limit that has to be higher.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RaisedLimit {
    pub route: String,
    /// Units a second now.
    pub from: f64,
    /// Units a second that are enough.
    pub to: f64,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanVerdict {
    pub planned: Reached,
    /// What if each route that takes some of it were down.
    pub without: Vec<Without>,
    /// The smallest raise with which the target is met: of one limit, or of all that are used by as much.
    /// Nothing: no limit is in the way, or the target is met.
    pub raise: Vec<RaisedLimit>,
}

/// Of a plan under these conditions.
pub fn verdict(
    plan: &AlertPlan,
    conditions: &Conditions,
    lane: records::Lane,
    target: ReachTarget,
) -> PlanVerdict {
    let player = VerdictPlayer { plan: plan.thinned(DEVICES_MAX), conditions, lane, target };
    let (planned, used) = player.reached(Vec::new(), BTreeMap::new());
    let routes = conditions.classifier.routes();
    let without = used.iter().map(|&place| Without {
        route: routes[place].name.clone(),
        reached: player.reached(vec![place], BTreeMap::new()).0,
    });
    PlanVerdict {
        without: without.collect(),
        raise: if planned.met { Vec::new() } else { player.raise(&used) },
        planned,
    }
}

struct VerdictPlayer<'a> {
    plan: AlertPlan,
    conditions: &'a Conditions,
    lane: records::Lane,
    target: ReachTarget,
}

impl VerdictPlayer<'_> {
    /// How it goes, and the places of the routes that take some of it.
    fn reached(&self, without: Vec<usize>, limits: BTreeMap<usize, f64>) -> (Reached, Vec<usize>) {
        let mut rules = CourseRules::new(self.conditions, self.lane, 0);
        (rules.without, rules.limits) = (without, limits);
        let course = play(&self.plan, &rules, &mut ExpectedCourse);
        let times = PeopleTimes::new(course.handed_over.iter().copied(), self.plan.planned_people());
        (reached(&times, self.target), course.routes.keys().copied().collect())
    }

    fn raise(&self, used: &[usize]) -> Vec<RaisedLimit> {
        let routes = self.conditions.classifier.routes();
        // An account with several routes is raised as one.
        let mut accounts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for &place in used.iter().filter(|place| self.conditions.limit(**place).rate > 0.0) {
            accounts.entry(Conditions::account(&routes[place])).or_default().push(place);
        }
        let added = |times: f64, places: &[usize]| {
            places.iter().map(|place| self.conditions.limit(*place).rate * (times - 1.0)).fold(0.0, f64::max)
        };
        let alone = accounts.values().filter_map(|places| Some((self.times(places)?, places.clone())));
        let smallest = alone.min_by(|(a, of_a), (b, of_b)| added(*a, of_a).total_cmp(&added(*b, of_b)));
        let found = smallest.or_else(|| {
            let all: Vec<usize> = accounts.values().flatten().copied().collect();
            Some((self.times(&all)?, all))
        });
        let Some((times, places)) = found else { return Vec::new() };
        let one = |place: &usize| {
            let from = self.conditions.limit(*place).rate;
            RaisedLimit { route: routes[*place].name.clone(), from: rounded(from), to: whole(from * times) }
        };
        places.iter().map(one).collect()
    }

    /// How many times the limits of these routes are enough; nothing: none is.
    fn times(&self, places: &[usize]) -> Option<f64> {
        let met = |times: f64| {
            let limits = places.iter().map(|place| (*place, self.conditions.limit(*place).rate * times));
            self.reached(Vec::new(), limits.collect()).0.met
        };
        if places.is_empty() || !met(RAISED_TIMES_MAX) {
            return None;
        }
        let (mut low, mut high) = (1.0, RAISED_TIMES_MAX);
        for _ in 0..HALVINGS {
            let middle = f64::sqrt(low * high);
            if met(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }
}

/// Whether and when a target is met by these times.
pub fn reached(times: &PeopleTimes, target: ReachTarget) -> Reached {
    let seconds = times.at_part(target.part()).map(rounded);
    Reached {
        met: seconds.is_some_and(|seconds| seconds <= target.seconds),
        seconds,
        people: times.by(target.seconds),
    }
}

/// A limit that one can write: rounded up, to whole units from ten on.
fn whole(rate: f64) -> f64 {
    if rate >= 10.0 { rate.ceil() } else { (rate * 10.0).ceil() / 10.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Classifier, ForecastTable};
    use crate::testing::{alert, entry, request, route};
    use records::{Person, RosterBlock, RosterEntry};
    use std::sync::Arc;

    fn plan_of(count: usize, classifier: &Classifier) -> AlertPlan {
        let person = |i: usize| Person { recipient: format!("p{i}"), name: String::new(), step: 0 };
        let one = |i| RosterEntry { persons: vec![person(i)], ..entry(channels::SMS, &format!("+46{i}")) };
        let block = RosterBlock { entries: (0..count).map(one).collect(), ..RosterBlock::default() };
        let mut table = ForecastTable::default();
        table.take(&block, classifier, &alert(1, request("x")));
        let groups = table.planned_groups(classifier, |_, _| Some(1));
        table.into_plan(groups)
    }

    fn verdict_of(count: usize, target: &str) -> PlanVerdict {
        let classifier = Arc::new(Classifier::new(vec![
            route("a", channels::SMS, |r| r.rate = 10.0),
            route("b", channels::SMS, |r| r.rate = 30.0),
        ]));
        let plan = plan_of(count, &classifier);
        verdict(
            &plan,
            &Conditions::idle(classifier, std::time::Instant::now()),
            records::Lane::Routine,
            target.parse().unwrap(),
        )
    }

    #[test]
    fn a_target_is_a_part_and_a_time() {
        let read = |text: &str| text.parse::<ReachTarget>().map(|target| (target.percent, target.seconds));
        assert_eq!(read("95%/5m"), Ok((95.0, 300.0)));
        assert_eq!(read("99.5%/1.5h"), Ok((99.5, 5_400.0)));
        for wrong in ["", "95", "95%", "95%/5", "95%/5d", "0%/5m", "101%/5m", "x%/5m", "95%/-5m", "95%/mm"] {
            assert!(read(wrong).unwrap_err().contains("95%/5m"), "{wrong}");
        }
    }

    #[test]
    fn a_target_that_is_met_says_what_if_each_route_were_down() {
        let verdict = verdict_of(4_000, "95%/2m");
        assert!(verdict.planned.met && verdict.raise.is_empty(), "{verdict:?}");
        let met: Vec<(&str, bool)> =
            verdict.without.iter().map(|one| (one.route.as_str(), one.reached.met)).collect();
        assert_eq!(met, [("a", false), ("b", false)]);
        assert!(verdict.without[1].reached.seconds.unwrap() > 370.0, "{verdict:?}");
        assert!(verdict.without[1].reached.people < 1_300, "{verdict:?}");
    }

    #[test]
    fn a_target_that_is_missed_names_a_limit_with_which_it_is_met() {
        let verdict = verdict_of(4_000, "95%/1m");
        assert!(!verdict.planned.met);
        let [raised] = &verdict.raise[..] else { panic!("{verdict:?}") };
        // 3,800 within 60 s are 63.4 a second, of which the other route has 10 or 30.
        let others = if raised.route == "a" { 30.0 } else { 10.0 };
        assert!((raised.to + others - 64.0).abs() <= 3.0, "{raised:?}");
    }

    #[test]
    fn a_plan_of_many_is_judged_by_one_of_some() {
        let verdict = verdict_of(100_000, "95%/1h");
        let seconds = verdict.planned.seconds.unwrap();
        assert!((seconds / 2_390.0 - 1.0).abs() < 0.03, "{seconds}");
    }
}
