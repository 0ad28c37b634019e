//! Causes why an alert goes otherwise than was forecast, each as a stable code with its arguments.

use super::fact::RouteFact;
use super::people_times::rounded;
use super::route_days::{Downtime, RouteDays};
use crate::forecast::{Coded, ForecastFact, KeptForecast, RouteForecast};
use crate::report::rfc3339;
use records::Timestamp;
use serde_json::json;
use std::collections::BTreeMap;

/// Fact and forecast differ where one is more than so many times the other.
const DIFFERS: f64 = 1.1;
/// Seconds that are no difference.
const NO_DIFFERENCE_S: f64 = 1.0;
/// Confirmations are late from so many times their usual time.
const LATE: f64 = 2.0;
/// Devices from which the rate of a route says something.
const DEVICES_MIN: u64 = 10;

/// What is known of an alert when its causes are looked for.
pub struct Causes<'a> {
    pub forecast: &'a KeptForecast,
    pub fact: &'a ForecastFact,
    /// When it could be sent, and now or when it was over.
    pub start: Timestamp,
    pub until: Timestamp,
    pub is_paused: bool,
    /// Devices of alerts that came after it and go before it or in turn with it.
    pub later: u64,
    pub days: &'a BTreeMap<String, RouteDays>,
    /// Routes that are down, since when.
    pub down: &'a BTreeMap<String, Timestamp>,
}

/// Nothing where it goes as was forecast.
pub fn causes(of: &Causes<'_>) -> Vec<Coded> {
    let mut found = Vec::new();
    if differs(of) {
        if of.is_paused {
            found.push(Coded::new("paused", json!({})));
        }
        for (name, route) in &of.forecast.routes {
            found.extend(of_route(of, name, route));
        }
        if of.later > 0 {
            found.push(Coded::new("more_waiting", json!({"devices": of.later})));
        }
    }
    for (name, route) in &of.fact.routes {
        found.extend(late_confirmations(of, name, route));
    }
    found
}

/// A time is over that was forecast for a part of the people, and they were not, or much earlier or later.
fn differs(of: &Causes<'_>) -> bool {
    let so_far_s = of.until.us_since(of.start).max(0) as f64 / 1e6;
    let course = &of.forecast.course;
    let pairs = [(course.p50, of.fact.p50), (course.p95, of.fact.p95), (course.p99, of.fact.p99)];
    pairs.into_iter().any(|(forecast, fact)| {
        let Some(forecast) = forecast else { return fact.is_some() };
        let late = |seconds: f64| seconds > forecast * DIFFERS && seconds - forecast > NO_DIFFERENCE_S;
        match fact {
            Some(fact) => late(fact) || (forecast > fact * DIFFERS && forecast - fact > NO_DIFFERENCE_S),
            None => late(so_far_s),
        }
    })
}

fn of_route(of: &Causes<'_>, name: &str, route: &RouteForecast) -> Option<Coded> {
    if let Some(downtime) = downtime(of, name) {
        let until = downtime.until.map(rfc3339);
        return Some(Coded::new(
            "route_down",
            json!({"route": name, "since": rfc3339(downtime.from), "until": until}),
        ));
    }
    let fact = of.fact.routes.get(name)?;
    let parts_each = route.units as f64 / route.endpoints.max(1) as f64;
    let rate = fact.rate.filter(|_| fact.devices >= DEVICES_MIN)? * parts_each;
    let args = json!({"route": name, "limit": rounded(route.limit), "rate": rounded(rate)});
    if route.limit > 0.0 && rate * DIFFERS < route.limit && of.later == 0 {
        return Some(Coded::new("route_slower", args));
    }
    (route.limit > 0.0 && rate > route.limit * DIFFERS).then(|| Coded::new("route_faster", args))
}

/// The first time that a route was down while the alert went by it.
fn downtime(of: &Causes<'_>, name: &str) -> Option<Downtime> {
    let kept = of.days.get(name).and_then(|days| days.down_between(of.start, of.until));
    let now = of.down.get(name).filter(|since| **since < of.until);
    kept.or(now.map(|since| Downtime { from: *since, until: None }))
}

fn late_confirmations(of: &Causes<'_>, name: &str, fact: &RouteFact) -> Option<Coded> {
    let usual_p95 = of.forecast.course.assumptions.iter().find_map(|one| {
        let is_it = one.code == "confirmation_times" && one.args["route"].as_str() == Some(name);
        one.args["p95"].as_f64().filter(|_| is_it)
    })?;
    let p95 = fact.confirmation_p95.filter(|_| fact.confirmed >= DEVICES_MIN)?;
    let is_late = p95 > usual_p95 * LATE && p95 - usual_p95 > NO_DIFFERENCE_S;
    let args = || json!({"route": name, "p95": p95, "usual_p95": usual_p95});
    is_late.then(|| Coded::new("late_confirmations", args()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::CourseForecast;

    const START: Timestamp = Timestamp(1_000_000_000_000);

    fn forecast() -> KeptForecast {
        let route = RouteForecast { endpoints: 100, units: 200, limit: 10.0, ..RouteForecast::default() };
        let usual = json!({"route": "r", "p95": 3.0});
        let assumptions = vec![Coded::new("confirmation_times", usual)];
        let course = CourseForecast {
            p50: Some(10.0),
            p95: Some(19.0),
            p99: Some(20.0),
            assumptions,
            ..CourseForecast::default()
        };
        KeptForecast { routes: [("r".to_owned(), route)].into(), course, ..KeptForecast::default() }
    }

    fn found(fact: &ForecastFact, change: impl FnOnce(&mut Causes<'_>)) -> Vec<String> {
        let (forecast, days, down) = (forecast(), BTreeMap::new(), BTreeMap::new());
        let mut of = Causes {
            forecast: &forecast,
            fact,
            start: START,
            until: START.plus_s(60),
            is_paused: false,
            later: 0,
            days: &days,
            down: &down,
        };
        change(&mut of);
        causes(&of).into_iter().map(|one| one.code.into_owned()).collect()
    }

    fn fact(p50: f64, rate: f64) -> ForecastFact {
        let route = RouteFact { devices: 100, rate: Some(rate), ..RouteFact::default() };
        ForecastFact {
            p50: Some(p50),
            p95: Some(p50 * 1.9),
            p99: Some(p50 * 2.0),
            routes: [("r".to_owned(), route)].into(),
            ..ForecastFact::default()
        }
    }

    #[test]
    fn what_goes_as_forecast_has_no_cause() {
        assert!(found(&fact(10.5, 4.9), |_| {}).is_empty());
    }

    #[test]
    fn a_rate_below_the_limit_in_parts_is_a_slower_route() {
        assert_eq!(found(&fact(20.0, 2.5), |_| {}), ["route_slower"]);
        assert_eq!(found(&fact(5.0, 10.0), |_| {}), ["route_faster"]);
    }

    #[test]
    fn a_downtime_goes_before_the_rate_that_it_explains() {
        let mut days = RouteDays::default();
        days.note_downtime(Downtime { from: START.plus_s(5), until: Some(START.plus_s(30)) });
        let days = [("r".to_owned(), days)].into();
        let codes = found(&fact(20.0, 2.5), |of| of.days = Box::leak(Box::new(days)));
        assert_eq!(codes, ["route_down"]);
    }

    #[test]
    fn what_came_later_and_a_pause_are_causes_and_who_is_not_handed_over_in_time_is_late() {
        let nothing = ForecastFact::default();
        let codes = found(&nothing, |of| (of.later, of.is_paused) = (50, true));
        assert_eq!(codes, ["paused", "more_waiting"]);
        assert!(found(&nothing, |of| (of.later, of.until) = (50, START.plus_s(8))).is_empty(), "it is early");
    }

    #[test]
    fn confirmations_at_twice_their_usual_time_are_late() {
        let mut late = fact(10.0, 5.0);
        let route = late.routes.get_mut("r").unwrap();
        (route.confirmed, route.confirmation_p95) = (50, Some(9.0));
        assert_eq!(found(&late, |_| {}), ["late_confirmations"]);
    }
}
