//! Forecast from a roster and the routes: the same rules that dispatch follows, without sending.

use super::alert_plan::{AlertPlan, FIRST, PlanDevice, PlanGroup, PlanPerson, person_key};
use super::assumptions::assumptions;
use super::classify::{ClassReader, Classifier, RouteCriteria};
use super::conditions::Conditions;
use super::course::{Course, CourseRules, ExpectedCourse, play};
use super::people_times::{PeopleTimes, rounded};
use super::reach::reach;
use crate::forecast::{CourseForecast, Forecast, LeftOut, RouteForecast};
use crate::solve::{Roster, SolvedEndpoint, strategy_of};
use records::{Alert, ChannelNumber, DeviceProfile, EndpointNo, Reason, RosterBlock, Strategy};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Points of a curve.
pub const CURVE_POINTS_MAX: usize = 60;
/// The parts of the people whose times are forecast.
pub const PARTS: [f64; 3] = [0.50, 0.95, 0.99];

/// Endpoints that get one text by the same routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextGroup {
    /// How they are reached.
    pub channel: ChannelNumber,
    /// The place of their language among those of the table, from 1; 0: the default.
    language: u16,
    /// What their devices can show, where that is less than the channel carries.
    pub profile: Option<DeviceProfile>,
    class: u16,
}

/// What an alert is going to send, taken in block by block.
#[derive(Default)]
pub struct ForecastTable {
    /// Their places in the plan.
    groups: BTreeMap<TextGroup, u32>,
    /// Endpoints of each group, by its place.
    counts: Vec<u64>,
    languages: Vec<String>,
    plan: AlertPlan,
    /// People by the hash of their ids.
    people: FxHashMap<u64, u32>,
    /// The group of the last device.
    last_group: Option<(TextGroup, u32)>,
    /// The last device of a person's order under a rule.
    last: FxHashMap<(u32, u32), u32>,
    /// Endpoints whose owner nobody has checked.
    unverified: FxHashSet<u32>,
}

impl ForecastTable {
    /// Nothing is in it yet; `unverified` are numbers of endpoints. It is going to take in so many entries.
    pub fn new(unverified: FxHashSet<u32>, entries: usize) -> ForecastTable {
        let mut table = ForecastTable { unverified, ..ForecastTable::default() };
        table.plan.devices.reserve_exact(entries);
        table.plan.behind.reserve(entries);
        table.plan.people.reserve(entries);
        table.people.reserve(entries);
        table
    }

    /// Takes in a roster that was just made.
    pub fn take_roster(&mut self, roster: &Roster, classifier: &Classifier, alert: &Alert) {
        let mut classes = ClassReader::new(classifier);
        for one in roster.solved() {
            self.take_one(&one, roster.recipients(&one), &mut classes, alert);
        }
    }

    /// Takes a block in.
    pub fn take(&mut self, block: &RosterBlock, classifier: &Classifier, alert: &Alert) {
        let mut classes = ClassReader::new(classifier);
        for (endpoint, entry) in (block.first.0..).map(EndpointNo).zip(&block.entries) {
            let one = SolvedEndpoint::of_entry(endpoint, entry, block.profile_of(endpoint));
            let recipients = entry.persons.iter().map(|person| &*person.recipient);
            self.take_one(&one, recipients, &mut classes, alert);
        }
    }

    fn take_one<'e>(
        &mut self,
        one: &SolvedEndpoint<'e>,
        recipients: impl Iterator<Item = &'e str>,
        classes: &mut ClassReader<'e>,
        alert: &'e Alert,
    ) {
        let people = recipients.map(|recipient| person_key(recipient, one.channel, one.address));
        if let Some(reason) = one.excluded {
            return self.exclude(people, reason);
        }
        let Some(channel) = one.channel else { return };
        let group = TextGroup {
            channel,
            language: self.place_of(one.language),
            profile: one.profile,
            class: classes.class(&RouteCriteria::of(alert, channel, one.address)),
        };
        let at = self.place_of_group(group);
        self.add(one, people, at, alert);
    }

    fn place_of_group(&mut self, group: TextGroup) -> u32 {
        let at = match self.last_group.filter(|(last, _)| *last == group) {
            Some((_, at)) => at,
            None => {
                let next = self.counts.len() as u32;
                let at = *self.groups.entry(group).or_insert(next);
                if at == next {
                    self.counts.push(0);
                }
                self.last_group = Some((group, at));
                at
            }
        };
        self.counts[at as usize] += 1;
        at
    }

    fn exclude(&mut self, people: impl Iterator<Item = u64>, reason: Reason) {
        self.plan.excluded.entry(reason.words()).or_insert((reason, 0)).1 += 1;
        for key in people {
            let person = self.person(key) as usize;
            self.plan.people[person].reason.get_or_insert(reason);
        }
    }

    /// One more device, and its people.
    fn add(
        &mut self,
        one: &SolvedEndpoint<'_>,
        people: impl Iterator<Item = u64>,
        group: u32,
        alert: &Alert,
    ) {
        let start = alert.request.not_before.unwrap_or_default().max(alert.created);
        let strategy = strategy_of(&alert.request, one.rule);
        let number = self.plan.devices.len() as u32;
        let from = self.plan.behind.len();
        for key in people {
            let person = self.person(key);
            self.plan.behind.push(person);
        }
        let people = &self.plan.behind[from..];
        let (mut after, mut is_first) = (FIRST, people.is_empty());
        if strategy != Strategy::All {
            for person in people {
                match self.last.insert((*person, one.rule), number) {
                    Some(before) => after = before,
                    None => is_first = true,
                }
            }
        }
        let release_us = one.not_before.map_or(0, |at| at.us_since(start).max(0));
        self.plan.devices.push(PlanDevice {
            group,
            people: (from as u32, people.len() as u32),
            release_ms: release_us.unsigned_abs() / 1_000,
            after: if is_first { FIRST } else { after },
            wait_s: match strategy {
                Strategy::EscalateAfter { seconds } => Some(seconds),
                Strategy::All | Strategy::FirstReachable => None,
            },
            is_unverified: self.unverified.contains(&one.endpoint.0),
        });
    }

    /// The place of a person, by the hash of their id.
    fn person(&mut self, key: u64) -> u32 {
        let next = self.plan.people.len() as u32;
        let place = *self.people.entry(key).or_insert(next);
        if place == next {
            self.plan.people.push(PlanPerson::default());
        }
        place
    }

    fn place_of(&mut self, language: Option<&str>) -> u16 {
        let Some(language) = language else { return 0 };
        let known = self.languages.iter().position(|one| one == language);
        let place = known.unwrap_or_else(|| {
            self.languages.push(language.to_owned());
            self.languages.len() - 1
        });
        u16::try_from(place + 1).unwrap_or_default()
    }

    /// The language of a group's text.
    pub fn language(&self, group: &TextGroup) -> Option<&str> {
        self.languages.get(usize::from(group.language).checked_sub(1)?).map(String::as_str)
    }

    /// Groups with their counts and the first route that takes them; those of one text, which go by other
    /// routes, stand together.
    pub fn groups<'t>(
        &'t self,
        classifier: &'t Classifier,
    ) -> impl Iterator<Item = (&'t TextGroup, u64, Option<usize>)> + 't {
        let first = |class| classifier.tiers(class).first().and_then(|tier| tier.first().copied());
        self.groups.iter().map(move |(group, at)| (group, self.counts[*at as usize], first(group.class)))
    }

    /// The groups as a plan has them. `units` tells how many units of a route's rate one endpoint of a group
    /// costs, or that it gets nothing.
    pub fn planned_groups(
        &self,
        classifier: &Classifier,
        units: impl Fn(usize, &TextGroup) -> Option<u64>,
    ) -> Vec<PlanGroup> {
        let mut groups: Vec<(u32, PlanGroup)> = Vec::with_capacity(self.groups.len());
        for (group, place) in &self.groups {
            let tiers = classifier.tiers(group.class);
            let first = tiers.iter().flatten().next().copied();
            let is_shown = first.is_none_or(|first| units(first, group).is_some());
            let of_route = |at: &usize| (*at, units(*at, group).unwrap_or(1));
            let units = is_shown.then(|| tiers.iter().flatten().map(of_route).collect());
            groups.push((*place, PlanGroup { tiers, units }));
        }
        groups.sort_unstable_by_key(|(at, _)| *at);
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// The plan, with the groups that [`ForecastTable::planned_groups`] gave.
    pub fn into_plan(self, groups: Vec<PlanGroup>) -> AlertPlan {
        let mut plan = AlertPlan { groups, ..self.plan };
        for (group, at) in &self.groups {
            *plan.channels.entry(group.channel).or_default() += self.counts[*at as usize];
        }
        for place in 0..plan.devices.len() {
            let device = plan.devices[place];
            let why_not = plan.group(&device).why_not();
            for at in device.people.0..device.people.0 + device.people.1 {
                let person = plan.behind[at as usize] as usize;
                match why_not {
                    None => plan.people[person].is_planned = true,
                    Some(reason) => _ = plan.people[person].reason.get_or_insert(reason),
                }
            }
        }
        plan
    }
}

/// What would come of a plan under these conditions.
pub fn forecast(plan: &AlertPlan, rules: &CourseRules<'_>) -> Forecast {
    let course = play(plan, rules, &mut ExpectedCourse);
    let routes = by_route(&course, rules.conditions);
    let mut excluded: BTreeMap<String, u64> =
        plan.excluded.iter().map(|(words, (_, count))| ((*words).to_owned(), *count)).collect();
    let mut endpoints = 0;
    for device in &plan.devices {
        endpoints += 1;
        if let Some(reason) = plan.group(device).why_not() {
            *excluded.entry(reason.words().to_owned()).or_default() += 1;
        }
    }
    Forecast {
        endpoints,
        recipients: 0,
        languages: BTreeMap::new(),
        similar: Vec::new(),
        channels: plan
            .channels
            .iter()
            .map(|(channel, count)| (channels::name(*channel).to_owned(), *count))
            .collect(),
        excluded,
        missing_values: BTreeMap::new(),
        seconds: routes.values().map(|route| route.seconds).fold(0.0, f64::max),
        cost: routes.values().map(|route| route.cost).sum(),
        course: course_forecast(plan, rules, &course, &routes),
        routes,
        problems: Vec::new(),
        devices: Vec::new(),
    }
}

fn by_route(course: &Course, conditions: &Conditions) -> BTreeMap<String, RouteForecast> {
    let one = |(place, load): (&usize, &super::course::RouteLoad)| {
        let route = &conditions.classifier.routes()[*place];
        let forecast = RouteForecast {
            endpoints: load.devices,
            units: load.units,
            devices: load.devices,
            parts: load.units,
            seconds: rounded(load.last_s),
            cost: route.cost * load.units as i64,
            limit: conditions.limit(*place).rate,
        };
        (route.name.clone(), forecast)
    };
    course.routes.iter().map(one).collect()
}

fn course_forecast(
    plan: &AlertPlan,
    rules: &CourseRules<'_>,
    course: &Course,
    routes: &BTreeMap<String, RouteForecast>,
) -> CourseForecast {
    let people = plan.planned_people();
    let times = PeopleTimes::new(course.handed_over.iter().copied(), people);
    let [p50, p95, p99] = PARTS.map(|part| times.at_part(part).map(rounded));
    CourseForecast {
        people,
        left_out: left_out(plan),
        parts: routes.values().map(|route| route.parts).sum(),
        p50,
        p95,
        p99,
        curve: times.curve(CURVE_POINTS_MAX),
        assumptions: assumptions(plan, rules, course),
        reach: reach(plan, rules),
    }
}

/// Who is left out, by the code of the reason: people without any other device, and devices.
fn left_out(plan: &AlertPlan) -> BTreeMap<String, LeftOut> {
    let mut left_out: BTreeMap<String, LeftOut> = BTreeMap::new();
    for (reason, count) in plan.excluded.values() {
        left_out.entry(code(*reason)).or_default().devices += count;
    }
    for device in &plan.devices {
        if let Some(reason) = plan.group(device).why_not() {
            left_out.entry(code(reason)).or_default().devices += 1;
        }
    }
    for person in plan.people.iter().filter(|person| !person.is_planned) {
        if let Some(reason) = person.reason {
            left_out.entry(code(reason)).or_default().people += 1;
        }
    }
    left_out
}

/// The stable code of a reason.
pub fn code(reason: Reason) -> String {
    serde_json::to_value(reason).ok().and_then(|code| Some(code.as_str()?.to_owned())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alert, entry, request, route};
    use records::RosterEntry;
    use std::sync::Arc;

    fn of_person(id: &str, one: RosterEntry) -> RosterEntry {
        let persons = vec![records::Person { recipient: id.into(), name: String::new(), step: 0 }];
        RosterEntry { persons, ..one }
    }

    fn forecast_of(
        classifier: Arc<Classifier>,
        block: &RosterBlock,
        alert: &Alert,
        units: impl Fn(usize, &TextGroup) -> Option<u64>,
    ) -> Forecast {
        let mut table = ForecastTable::default();
        table.take(block, &classifier, alert);
        let groups = table.planned_groups(&classifier, units);
        let plan = table.into_plan(groups);
        let conditions = Conditions::idle(classifier, std::time::Instant::now());
        forecast(&plan, &CourseRules::new(&conditions, records::Lane::Routine, 600))
    }

    #[test]
    fn equals_share_by_rate_and_the_slowest_tells_the_time() {
        let classifier = Classifier::new(vec![
            route("slow", channels::SMS, |r| (r.rate, r.cost) = (10.0, 2)),
            route("fast", channels::SMS, |r| (r.rate, r.cost) = (30.0, 2)),
            route("mail", channels::MAIL, |_| {}),
        ]);
        let mut entries: Vec<_> =
            (0..400).map(|i| of_person(&format!("p{i}"), entry(channels::SMS, &format!("+46{i}")))).collect();
        entries.push(of_person("p0", entry(channels::MAIL, "a@b.se")));
        let stopped = RosterEntry { excluded: Some(Reason::OptedOut), ..entry(channels::SMS, "+47") };
        entries.extend([of_person("p1", stopped.clone()), of_person("gone", stopped)]);
        let block = RosterBlock { entries, ..RosterBlock::default() };
        let forecast = forecast_of(Arc::new(classifier), &block, &alert(1, request("x")), |_, _| Some(2));
        let slow = &forecast.routes["slow"];
        assert!((99..=101).contains(&slow.devices), "{slow:?}");
        assert_eq!((slow.parts, slow.cost, slow.limit), (slow.devices * 2, slow.devices as i64 * 4, 10.0));
        assert!((slow.seconds / 20.0 - 1.0).abs() < 0.03, "{slow:?}");
        assert_eq!(forecast.routes["mail"].devices, 1);
        assert_eq!((forecast.endpoints, forecast.cost, forecast.course.parts), (401, 1600, 802));
        let course = &forecast.course;
        assert_eq!(course.people, 400);
        assert_eq!(course.left_out["opted_out"], LeftOut { people: 1, devices: 2 });
        assert!((course.p50.unwrap() / 10.0 - 1.0).abs() < 0.05, "{course:?}");
    }

    #[test]
    fn devices_with_a_profile_are_counted_with_the_parts_of_their_own_text() {
        let classifier = Arc::new(Classifier::new(vec![route("sms", channels::SMS, |r| r.cost = 10)]));
        let profile = |length| DeviceProfile { length: Some(length), ..DeviceProfile::default() };
        let profiles = [(1, 20), (2, 1)]
            .map(|(place, length)| records::PlacedProfile { place, profile: profile(length) })
            .into();
        let entries: Vec<_> =
            (0..4).map(|i| of_person(&i.to_string(), entry(channels::SMS, &format!("+46{i}")))).collect();
        let block = RosterBlock { entries, profiles, ..RosterBlock::default() };
        let units = |_, group: &TextGroup| match group.profile.and_then(|profile| profile.length) {
            None => Some(3),
            Some(20) => Some(1),
            Some(_) => None,
        };
        let forecast = forecast_of(classifier.clone(), &block, &alert(1, request("x")), units);
        let sms = &forecast.routes["sms"];
        assert_eq!((sms.devices, sms.parts, forecast.cost), (3, 7, 70));
        assert_eq!(
            forecast.excluded[Reason::NotRendered.words()],
            1,
            "no text that anybody would understand"
        );
        assert_eq!(forecast.course.left_out["not_rendered"], LeftOut { people: 1, devices: 1 });
        let mut table = ForecastTable::default();
        table.take(&block, &classifier, &alert(1, request("x")));
        assert_eq!(table.groups(&classifier).map(|(_, count, _)| count).collect::<Vec<_>>(), [2, 1, 1]);
    }

    #[test]
    fn without_confirmations_so_far_the_reach_is_an_interval() {
        let classifier = Arc::new(Classifier::new(vec![route("sms", channels::SMS, |r| r.rate = 10.0)]));
        let entries = (0..10).map(|i| of_person(&i.to_string(), entry(channels::SMS, &format!("+46{i}"))));
        let block = RosterBlock { entries: entries.collect(), ..RosterBlock::default() };
        let forecast = forecast_of(classifier, &block, &alert(1, request("x")), |_, _| Some(1));
        assert_eq!((forecast.course.reach.low, forecast.course.reach.high), (0, 10));
        let codes: Vec<&str> = forecast.course.assumptions.iter().map(|one| one.code.as_ref()).collect();
        assert_eq!(codes, ["route_limit", "no_confirmations"]);
    }
}
