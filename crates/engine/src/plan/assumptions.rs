//! Assumptions of a forecast, each as a stable code with its arguments.

use super::alert_plan::{AlertPlan, FIRST};
use super::conditions::Conditions;
use super::course::{Course, CourseRules};
use super::people_times::rounded;
use crate::forecast::Coded;
use crate::report::rfc3339;
use records::Lane;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What a forecast takes for granted.
pub fn assumptions(plan: &AlertPlan, rules: &CourseRules<'_>, course: &Course) -> Vec<Coded> {
    let mut found = Vec::new();
    for &place in course.routes.keys() {
        found.extend(of_route(place, rules));
    }
    found.extend(shared_limits(rules.conditions, course));
    found.extend(waiting(rules));
    found.extend(of_people(plan));
    found
}

/// Codes with arguments of one route that is used.
fn of_route(place: usize, rules: &CourseRules<'_>) -> Vec<Coded> {
    let conditions = rules.conditions;
    let (route, now) = (&conditions.classifier.routes()[place], &conditions.routes[place]);
    let mut found = Vec::new();
    let limit = conditions.limit(place);
    found.push(match limit.rate > 0.0 {
        true => Coded::new(
            "route_limit",
            json!({"route": route.name, "rate": rounded(limit.rate), "by": limit.origin.name()}),
        ),
        false => Coded::new("no_limit", json!({"route": route.name})),
    });
    if !now.up {
        let since = now.since.map(rfc3339);
        found.push(Coded::new("route_down", json!({"route": route.name, "since": since})));
    }
    let days = conditions.days.get(&route.name);
    let confirmed = days.and_then(|days| Some((days, days.confirmed_days()?)));
    match confirmed {
        Some((days, (count, first))) => {
            let times = days.confirmations();
            found.push(Coded::new(
                "confirmation_times",
                json!({
                    "route": route.name,
                    "days": count,
                    "from": rfc3339(first),
                    "p50": times.quantile_s(0.5).map(rounded),
                    "p95": times.quantile_s(0.95).map(rounded),
                    "confirmed": days.confirmed_part().map(rounded),
                }),
            ));
        }
        None if route.receipts => {
            found.push(Coded::new("no_confirmations", json!({"route": route.name})));
        }
        None => found.push(Coded::new("no_receipts", json!({"route": route.name}))),
    }
    if let Some((days, score)) = days.and_then(|days| Some((days, days.score()?))) {
        let args = json!({"route": route.name, "alerts": days.compared(), "times": rounded(score)});
        found.push(Coded::new("past_forecasts", args));
    }
    found
}

fn shared_limits(conditions: &Conditions, course: &Course) -> Vec<Coded> {
    let used: BTreeSet<&str> = course
        .routes
        .keys()
        .map(|place| Conditions::account(&conditions.classifier.routes()[*place]))
        .collect();
    let mut sharing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for route in conditions.classifier.routes() {
        let account = Conditions::account(route);
        if used.contains(account) {
            sharing.entry(account).or_default().push(&route.name);
        }
    }
    let shared = sharing.into_iter().filter(|(_, routes)| routes.len() > 1);
    shared
        .map(|(account, routes)| Coded::new("shared_limit", json!({"of": account, "routes": routes})))
        .collect()
}

/// What waits now on the routes, by priority.
fn waiting(rules: &CourseRules<'_>) -> Vec<Coded> {
    let of_lane = |lane: Lane| {
        let same = rules.conditions.waiting.iter().filter(|waiting| waiting.lane == lane);
        let ready: u64 = same.map(|waiting| waiting.units).sum();
        let under_way: u64 = rules.conditions.routes.iter().map(|now| now.under_way[lane as usize]).sum();
        let args = || {
            json!({"priority": lane.name(), "parts": ready, "under_way": under_way,
                "before": lane < rules.lane, "in_turn": lane == rules.lane})
        };
        (ready + under_way > 0).then(|| Coded::new("waiting", args()))
    };
    Lane::ALL.into_iter().filter_map(of_lane).collect()
}

fn of_people(plan: &AlertPlan) -> Vec<Coded> {
    let mut found = Vec::new();
    let count = |args: Value, code: &'static str, devices: usize| {
        let mut args = args;
        args["devices"] = devices.into();
        (devices > 0).then(|| Coded::new(code, args))
    };
    let later = || plan.devices.iter().filter(|device| device.after != FIRST);
    let waits: BTreeSet<u32> = later().filter_map(|device| device.wait_s).collect();
    for seconds in waits {
        let devices = later().filter(|device| device.wait_s == Some(seconds)).count();
        found.extend(count(json!({"after_s": seconds}), "nobody_answers", devices));
    }
    let spared = later().filter(|device| device.wait_s.is_none()).count();
    found.extend(count(json!({}), "first_device_works", spared));
    let quiet = plan.devices.iter().filter(|device| device.release_ms > 0).count();
    found.extend(count(json!({}), "quiet_hours", quiet));
    let unverified = plan.devices.iter().filter(|device| device.is_unverified).count();
    found.extend(count(json!({}), "unverified_devices", unverified));
    found
}
