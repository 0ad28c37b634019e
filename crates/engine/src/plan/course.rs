//! Course of an alert in simulated time: each device is given to the route that is free first, in turn with
//! what else waits, paced by the limiter that gateways send with. Nothing is sent.

use super::alert_plan::{AlertPlan, FIRST, PlanDevice};
use super::conditions::{Conditions, WaitingUnits};
use pace::Limiter;
use records::Lane;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

/// Other alerts of the same lane whose turns are counted each; of more the rest count as one.
const OTHERS_MAX: usize = 64;
/// What waits is spread by limits; a route without one counts as this.
const UNLIMITED_PART: f64 = 1e-9;

/// What a carrier and its network do with one message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// Taken; confirmed so many seconds later.
    Confirmed { after_s: f64 },
    /// Refused for good.
    Refused,
    /// Taken; so many seconds later known not to have arrived.
    Lost { after_s: f64 },
    /// Taken, and nothing more is heard.
    Silent,
}

/// What is not arithmetic.
pub trait CourseChance {
    /// What becomes of a message on a route, by its place.
    fn fate(&mut self, place: usize) -> Fate;
}

/// Nothing is lost.
pub struct ExpectedCourse;

impl CourseChance for ExpectedCourse {
    fn fate(&mut self, _place: usize) -> Fate {
        Fate::Confirmed { after_s: 0.0 }
    }
}

/// What a course is played with.
pub struct CourseRules<'a> {
    pub conditions: &'a Conditions,
    pub lane: Lane,
    /// Routes, by their places, that take nothing.
    pub without: Vec<usize>,
    /// Limits in place of those of the conditions, by the place of the route.
    pub limits: BTreeMap<usize, f64>,
    /// A device that is not confirmed within so many seconds has failed, where another may follow.
    pub receipt_timeout_s: u32,
}

impl<'a> CourseRules<'a> {
    /// Of these conditions, with all routes and their limits.
    pub fn new(conditions: &'a Conditions, lane: Lane, receipt_timeout_s: u32) -> CourseRules<'a> {
        CourseRules { conditions, lane, without: Vec::new(), limits: BTreeMap::new(), receipt_timeout_s }
    }

    fn limit(&self, place: usize) -> f64 {
        self.limits.get(&place).copied().unwrap_or_else(|| self.conditions.limit(place).rate)
    }

    fn takers(&self, plan: &AlertPlan, group: usize) -> Vec<usize> {
        plan.groups[group].takers(|place| self.conditions.routes[place].up, &self.without)
    }
}

/// What a route takes of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RouteLoad {
    pub devices: u64,
    pub units: u64,
    /// When the last is handed over, in seconds.
    pub last_s: f64,
}

/// A course that was played.
#[derive(Debug, Clone, Default)]
pub struct Course {
    /// When each person is handed over first, in seconds; infinite: never.
    pub handed_over: Vec<f64>,
    /// The same of their first confirmation.
    pub confirmed: Vec<f64>,
    /// By the place of the route.
    pub routes: BTreeMap<usize, RouteLoad>,
}

/// Plays the course of an alert.
pub fn play(plan: &AlertPlan, rules: &CourseRules<'_>, chance: &mut dyn CourseChance) -> Course {
    let mut player = Player::new(plan, rules);
    player.begin();
    player.run(chance);
    player.course
}

/// A carrier account with its limiter.
struct SharedAccount {
    limiter: Option<(Limiter, Instant)>,
    /// Microseconds at which it is free.
    free_us: u64,
    /// Units that were given to it, over its weight.
    given: f64,
    weight: f64,
    /// Groups whose devices it takes, each with the place of the route.
    serves: Vec<(usize, usize)>,
    turn: usize,
    /// Units of others in the same lane that go in turn with ours.
    others: Vec<u64>,
    is_parked: bool,
}

impl SharedAccount {
    fn new(limit: f64, weight: u32, start: Instant) -> SharedAccount {
        let limiter = (limit > 0.0).then(|| (Limiter::new(limit, start), start));
        let weight = f64::from(weight.max(1));
        SharedAccount {
            limiter,
            free_us: 0,
            given: 0.0,
            weight,
            serves: Vec::new(),
            turn: 0,
            others: Vec::new(),
            is_parked: false,
        }
    }

    /// Sends units from a moment on; the moment at which the last is written.
    fn send(&mut self, now_us: u64, units: u64) -> u64 {
        self.given += units as f64 / self.weight;
        let Some((limiter, start)) = &mut self.limiter else { return now_us };
        let mut now = *start + Duration::from_micros(now_us.max(self.free_us));
        let mut left = units as usize;
        while left > 0 {
            let granted = limiter.grant(now, left);
            if granted > 0 {
                limiter.wrote(now, granted);
                left -= granted;
                continue;
            }
            match limiter.next(now) {
                Some(next) if next > now => now = next,
                // Rounding of its clock: a step that is none would never end.
                _ => now += Duration::from_micros(1),
            }
        }
        let at = micros(now, *start);
        self.free_us = limiter.next(now).map_or(at, |next| micros(next, *start));
        at
    }

    fn order(&self) -> u64 {
        (self.given * 1000.0) as u64
    }

    /// Another alert of the same lane waits with so many units.
    fn add_other(&mut self, units: u64) {
        let is_full = self.others.len() >= OTHERS_MAX;
        match self.others.last_mut().filter(|_| is_full) {
            Some(last) => *last += units,
            None => self.others.push(units),
        }
    }

    /// The others' turns that come with one of ours.
    fn others_units(&mut self, units: u64) -> u64 {
        let mut sum = 0;
        for left in &mut self.others {
            let taken = units.min(*left);
            *left -= taken;
            sum += taken;
        }
        self.others.retain(|left| *left > 0);
        sum
    }
}

fn micros(at: Instant, start: Instant) -> u64 {
    at.saturating_duration_since(start).as_nanos().div_ceil(1_000) as u64
}

fn as_us(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e6) as u64
}

struct Player<'a> {
    plan: &'a AlertPlan,
    rules: &'a CourseRules<'a>,
    accounts: Vec<SharedAccount>,
    /// Seconds in which carriers answer, by the place of the route.
    answers_s: Vec<f64>,
    /// Devices that wait, by group.
    queues: Vec<VecDeque<u32>>,
    /// Accounts that serve a group.
    served_by: Vec<Vec<usize>>,
    /// Moments at which devices may be sent to.
    releases: BinaryHeap<Reverse<(u64, u32)>>,
    /// Accounts by the moment at which they are free.
    free: BinaryHeap<Reverse<(u64, u64, usize)>>,
    followers: FxHashMap<u32, Vec<u32>>,
    course: Course,
}

impl<'a> Player<'a> {
    fn new(plan: &'a AlertPlan, rules: &'a CourseRules<'a>) -> Player<'a> {
        let mut player = Player {
            plan,
            rules,
            accounts: Vec::new(),
            answers_s: (0..rules.conditions.routes.len()).map(|at| rules.conditions.answer_s(at)).collect(),
            queues: vec![VecDeque::new(); plan.groups.len()],
            served_by: vec![Vec::new(); plan.groups.len()],
            releases: BinaryHeap::new(),
            free: BinaryHeap::new(),
            followers: FxHashMap::default(),
            course: Course {
                handed_over: vec![f64::INFINITY; plan.people.len()],
                confirmed: vec![f64::INFINITY; plan.people.len()],
                routes: BTreeMap::new(),
            },
        };
        player.open_accounts();
        player
    }

    fn open_accounts(&mut self) {
        let routes = self.rules.conditions.classifier.routes();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for group in 0..self.plan.groups.len() {
            if self.plan.groups[group].why_not().is_some() {
                continue;
            }
            for place in self.rules.takers(self.plan, group) {
                let route = &routes[place];
                let at = *places.entry(Conditions::account(route)).or_insert(self.accounts.len());
                if at == self.accounts.len() {
                    self.accounts.push(SharedAccount::new(
                        self.rules.limit(place),
                        route.weight,
                        self.rules.conditions.start,
                    ));
                }
                self.accounts[at].serves.push((group, place));
                self.served_by[group].push(at);
            }
        }
        self.take_what_is_before(&places);
    }

    /// What is under way, or waits in a more urgent lane, goes before it; what waits in its lane goes in turn
    /// with it. The route that has an account goes before those that share it.
    fn take_what_is_before(&mut self, places: &BTreeMap<&str, usize>) {
        let conditions = self.rules.conditions;
        let routes = conditions.classifier.routes();
        let mut before = vec![0_u64; self.accounts.len()];
        for (place, (route, now)) in routes.iter().zip(&conditions.routes).enumerate() {
            let Some(&at) = places.get(Conditions::account(route)) else { continue };
            let lanes =
                if self.goes_first(place, at) { Lane::ALL.len() } else { self.rules.lane as usize + 1 };
            before[at] += now.under_way[..lanes].iter().sum::<u64>();
        }
        for waiting in &conditions.waiting {
            for (place, units) in self.spread(waiting) {
                let Some(&at) = places.get(Conditions::account(&routes[place])) else { continue };
                let is_first = waiting.lane < self.rules.lane || self.goes_first(place, at);
                if is_first {
                    before[at] += units;
                } else if waiting.lane == self.rules.lane {
                    self.accounts[at].add_other(units);
                }
            }
        }
        for (account, before) in self.accounts.iter_mut().zip(before) {
            account.send(0, before);
            account.given = 0.0;
        }
    }

    /// A route has the account that all routes of ours share.
    fn goes_first(&self, place: usize, account: usize) -> bool {
        let routes = self.rules.conditions.classifier.routes();
        let shares = |place: usize| routes[place].shares.is_some();
        !shares(place) && self.accounts[account].serves.iter().all(|(_, ours)| shares(*ours))
    }

    /// What waits, by the routes that are going to take it.
    fn spread(&self, waiting: &WaitingUnits) -> Vec<(usize, u64)> {
        let conditions = self.rules.conditions;
        let is_up = |place: &usize| conditions.routes[*place].up;
        let tiers = conditions.classifier.tiers(waiting.class);
        let Some(tier) = tiers.iter().find(|tier| tier.iter().any(is_up)) else { return Vec::new() };
        let up: Vec<usize> = tier.iter().copied().filter(is_up).collect();
        let limit = |place: usize| self.rules.limit(place).max(UNLIMITED_PART);
        let total: f64 = up.iter().map(|place| limit(*place)).sum();
        let part = |place: usize| (place, (waiting.units as f64 * limit(place) / total).round() as u64);
        up.into_iter().map(part).collect()
    }

    fn begin(&mut self) {
        for (place, device) in self.plan.devices.iter().enumerate() {
            if device.after != FIRST {
                self.followers.entry(device.after).or_default().push(place as u32);
            } else if device.release_ms > 0 {
                self.releases.push(Reverse((device.release_ms * 1_000, place as u32)));
            } else {
                self.queues[device.group as usize].push_back(place as u32);
            }
        }
        for (at, account) in self.accounts.iter().enumerate() {
            self.free.push(Reverse((account.free_us, 0, at)));
        }
    }

    fn run(&mut self, chance: &mut dyn CourseChance) {
        loop {
            let release = self.releases.peek().map(|Reverse((at, _))| *at);
            let free = self.free.peek().map(|Reverse((at, ..))| *at);
            match (release, free) {
                (None, None) => return,
                (Some(release), free) if free.is_none_or(|free| release <= free) => self.release(),
                _ => self.serve(chance),
            }
        }
    }

    fn release(&mut self) {
        let Some(Reverse((at, device))) = self.releases.pop() else { return };
        let group = self.plan.devices[device as usize].group as usize;
        self.queues[group].push_back(device);
        for &account in &self.served_by[group] {
            let line = &mut self.accounts[account];
            if std::mem::take(&mut line.is_parked) {
                self.free.push(Reverse((line.free_us.max(at), line.order(), account)));
            }
        }
    }

    /// The account that is free first takes a device of the group whose turn it is.
    fn serve(&mut self, chance: &mut dyn CourseChance) {
        let Some(Reverse((now, _, at))) = self.free.pop() else { return };
        let account = &mut self.accounts[at];
        let turns = account.serves.len();
        let found = (0..turns).map(|ahead| (account.turn + ahead) % turns).find_map(|turn| {
            let (group, place) = account.serves[turn];
            Some((turn, place, self.queues[group].pop_front()?))
        });
        let Some((turn, place, number)) = found else {
            account.is_parked = true;
            return;
        };
        account.turn = turn + 1;
        let device = self.plan.devices[number as usize];
        let units = self.plan.group(&device).units_on(place);
        let written = account.send(now, units);
        let others = account.others_units(units);
        if others > 0 {
            account.send(written, others);
        }
        let next = (account.free_us.max(now), account.order(), at);
        self.free.push(Reverse(next));
        self.end(number, &device, (place, units), written, chance);
    }

    /// A device was written to: its people are told, or its follower's turn comes.
    fn end(
        &mut self,
        number: u32,
        device: &PlanDevice,
        (place, units): (usize, u64),
        written_us: u64,
        chance: &mut dyn CourseChance,
    ) {
        let at_s = written_us as f64 / 1e6 + self.answers_s[place];
        let fate = chance.fate(place);
        let load = self.course.routes.entry(place).or_default();
        load.devices += 1;
        load.units += units;
        load.last_s = load.last_s.max(at_s);
        let confirmed_s = match fate {
            Fate::Confirmed { after_s } => at_s + after_s,
            _ => f64::INFINITY,
        };
        if fate != Fate::Refused {
            for &person in self.plan.people_of(device) {
                let person = person as usize;
                self.course.handed_over[person] = self.course.handed_over[person].min(at_s);
                self.course.confirmed[person] = self.course.confirmed[person].min(confirmed_s);
            }
        }
        let failed_s = match fate {
            Fate::Confirmed { .. } => None,
            Fate::Refused => Some(at_s),
            Fate::Lost { after_s } => Some(at_s + after_s),
            Fate::Silent => Some(at_s + f64::from(self.rules.receipt_timeout_s)),
        };
        for follower in self.followers.get(&number).into_iter().flatten() {
            let waited = self.plan.devices[*follower as usize].wait_s.map(|wait_s| at_s + f64::from(wait_s));
            let due = match (failed_s, waited) {
                (Some(failed), Some(waited)) => Some(failed.min(waited)),
                (one, other) => one.or(other),
            };
            if let Some(due) = due {
                self.releases.push(Reverse((as_us(due), *follower)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::alert_plan::{PlanGroup, PlanPerson};
    use super::super::classify::Classifier;
    use super::super::people_times::PeopleTimes;
    use super::*;
    use crate::testing::route;
    use std::sync::Arc;

    fn conditions(rates: &[(&str, f64)]) -> Conditions {
        let routes = rates.iter().map(|(name, rate)| route(name, channels::SMS, |r| r.rate = *rate));
        Conditions::idle(Arc::new(Classifier::new(routes.collect())), Instant::now())
    }

    /// So many people with a phone each, whom these tiers take.
    fn people(count: u32, tiers: &[&[usize]], units: u64) -> AlertPlan {
        let tiers: Vec<Vec<usize>> = tiers.iter().map(|tier| tier.to_vec()).collect();
        let of_units = tiers.iter().flatten().map(|place| (*place, units)).collect();
        let group = PlanGroup { tiers: Arc::new(tiers), units: Some(of_units) };
        let device = |person: u32| PlanDevice {
            group: 0,
            people: (person, 1),
            release_ms: 0,
            after: FIRST,
            wait_s: None,
            is_unverified: false,
        };
        AlertPlan {
            groups: vec![group],
            devices: (0..count).map(device).collect(),
            behind: (0..count).collect(),
            people: vec![PlanPerson { is_planned: true, reason: None }; count as usize],
            ..AlertPlan::default()
        }
    }

    fn times(plan: &AlertPlan, rules: &CourseRules<'_>) -> (PeopleTimes, Course) {
        let course = play(plan, rules, &mut ExpectedCourse);
        (PeopleTimes::new(course.handed_over.iter().copied(), plan.planned_people()), course)
    }

    fn about(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found / expected - 1.0).abs() < 0.03, "{found} is not about {expected}");
    }

    #[test]
    fn equal_routes_share_by_what_they_carry_and_parts_count() {
        let conditions = conditions(&[("slow", 10.0), ("fast", 30.0)]);
        let rules = CourseRules::new(&conditions, Lane::Routine, 600);
        let (times, course) = times(&people(2_000, &[&[0, 1]], 2), &rules);
        about(times.at_part(0.5), 50.0);
        about(times.at_part(0.99), 99.0);
        let devices = |place: usize| course.routes[&place].devices;
        assert!((495..=505).contains(&devices(0)), "{:?}", course.routes);
        assert_eq!(course.routes[&1].units, devices(1) * 2);
    }

    #[test]
    fn what_is_more_urgent_goes_before_and_what_is_equal_goes_in_turn() {
        let mut conditions = conditions(&[("r", 10.0)]);
        conditions.classifier.class(&super::super::RouteCriteria {
            channel: channels::SMS,
            mode: records::Mode::Live,
            address: "+46",
            sender: "",
            account: "a",
            route: None,
            is_test: false,
            slot: None,
        });
        let of = |lane| WaitingUnits { class: 1, lane, units: 500 };
        let p50 = |conditions: &Conditions, lane| {
            let rules = CourseRules::new(conditions, lane, 600);
            times(&people(1_000, &[&[0]], 1), &rules).0.at_part(0.5)
        };
        conditions.waiting = vec![of(Lane::Routine)];
        about(p50(&conditions, Lane::Emergency), 50.0);
        about(p50(&conditions, Lane::Routine), 100.0);
        conditions.waiting = vec![of(Lane::Emergency)];
        about(p50(&conditions, Lane::Routine), 100.0);
        conditions.routes[0].under_way = [0, 0, 100];
        about(p50(&conditions, Lane::Routine), 110.0);
        about(p50(&conditions, Lane::Emergency), 100.0);
    }

    #[test]
    fn a_reserve_takes_over_where_the_first_route_is_down_or_taken_away() {
        let mut conditions = conditions(&[("first", 20.0), ("reserve", 5.0)]);
        let plan = people(100, &[&[0], &[1]], 1);
        let last = |conditions: &Conditions, without: Vec<usize>| {
            let rules = CourseRules { without, ..CourseRules::new(conditions, Lane::Routine, 600) };
            times(&plan, &rules).0.at_part(1.0)
        };
        about(last(&conditions, Vec::new()), 5.0);
        about(last(&conditions, vec![0]), 20.0);
        assert_eq!(last(&conditions, vec![0, 1]), None, "nobody is left to take it");
        conditions.routes[0].up = false;
        about(last(&conditions, Vec::new()), 20.0);
    }

    #[test]
    fn routes_of_one_account_share_its_limit() {
        let mut routes = vec![
            route("live", channels::SMS, |r| r.rate = 10.0),
            route("second", channels::SMS, |r| r.rate = 10.0),
        ];
        routes[1].shares = Some("live".into());
        let conditions = Conditions::idle(Arc::new(Classifier::new(routes)), Instant::now());
        let rules = CourseRules::new(&conditions, Lane::Routine, 600);
        about(times(&people(200, &[&[0, 1]], 1), &rules).0.at_part(1.0), 20.0);
    }

    #[test]
    fn a_later_device_follows_after_its_wait_and_a_curve_has_few_points() {
        let conditions = conditions(&[("r", 10.0)]);
        let rules = CourseRules::new(&conditions, Lane::Routine, 600);
        let mut plan = people(100, &[&[0]], 1);
        for person in 0..100 {
            let first = plan.devices[person as usize];
            plan.devices.push(PlanDevice { after: person, wait_s: Some(60), ..first });
        }
        let (times, course) = times(&plan, &rules);
        assert_eq!(course.routes[&0].devices, 200);
        assert!(course.routes[&0].last_s > 65.0);
        about(times.at_part(1.0), 10.0);
        let curve = times.curve(60);
        assert!(curve.len() <= 60 && curve.last().unwrap().1 == 100, "{curve:?}");
        assert!(curve.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1), "{curve:?}");
    }
}
