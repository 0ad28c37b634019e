//! Conditions of a forecast: the routes of a moment, what waits on them already, and what they took before.

use super::classify::Classifier;
use super::route_days::RouteDays;
use records::{Lane, Route, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// A rate that a route allows itself counts as learned where it is below this part of its limit.
const LEARNED_PART: f64 = 0.99;

/// See the module.
#[derive(Clone)]
pub struct Conditions {
    /// The routes, and the classes of addresses.
    pub classifier: Arc<Classifier>,
    /// One for each route, in the order of the classifier's.
    pub routes: Vec<RouteNow>,
    /// What other alerts and messages have ready.
    pub waiting: Vec<WaitingUnits>,
    /// What routes took in the last days, by their names.
    pub days: BTreeMap<String, RouteDays>,
    /// Where the limiters begin. Any instant will do: only what follows it counts.
    pub start: Instant,
}

/// A route at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RouteNow {
    /// It can send.
    pub up: bool,
    /// Since when it can, or cannot; nothing: its gateway has not said.
    pub since: Option<Timestamp>,
    /// Sessions now.
    pub sessions: u32,
    /// Units a second that it allows itself; 0 is unlimited.
    pub rate_now: f64,
    /// Units under way, by lane.
    pub under_way: [u64; 3],
}

/// Units of one alert that wait for the routes of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingUnits {
    pub class: u16,
    pub lane: Lane,
    pub units: u64,
}

/// The origin of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitOrigin {
    /// The config.
    Config,
    /// The carrier throttled.
    Learned,
    /// Sessions, window and the time in which the carrier answers.
    Window,
}

impl LimitOrigin {
    /// Its name in the API.
    pub fn name(self) -> &'static str {
        match self {
            LimitOrigin::Config => "config",
            LimitOrigin::Learned => "learned",
            LimitOrigin::Window => "window",
        }
    }
}

/// Units a second, and why; a rate of 0 is unlimited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsedLimit {
    pub rate: f64,
    pub origin: LimitOrigin,
}

impl Conditions {
    /// The routes of a classifier, all up, with nothing before and nothing known. The limiters begin at
    /// `start`.
    pub fn idle(classifier: Arc<Classifier>, start: Instant) -> Conditions {
        let up = RouteNow { up: true, ..RouteNow::default() };
        let routes = vec![up; classifier.routes().len()];
        Conditions { classifier, routes, waiting: Vec::new(), days: BTreeMap::new(), start }
    }

    /// The limit that a route keeps now: that of the config, or a lower one that its carrier imposes.
    pub fn limit(&self, place: usize) -> UsedLimit {
        let route = &self.classifier.routes()[place];
        let now = &self.routes[place];
        let mut used = UsedLimit { rate: route.rate, origin: LimitOrigin::Config };
        let mut lower = |rate: f64, origin: LimitOrigin| {
            if rate > 0.0 && (used.rate <= 0.0 || rate < used.rate * LEARNED_PART) {
                used = UsedLimit { rate, origin };
            }
        };
        if now.up {
            lower(now.rate_now, LimitOrigin::Learned);
        }
        let latency_s = self.days.get(&route.name).and_then(|days| days.answers().mean_s());
        if let Some(latency_s) = latency_s.filter(|seconds| *seconds > 0.0) {
            let in_flight = u64::from(route.window) * u64::from(now.sessions);
            lower(in_flight as f64 / latency_s, LimitOrigin::Window);
        }
        used
    }

    /// Seconds in which a route's carrier answers, where that is what limits it: else what is written waits
    /// for its turn in these times too. 0: not known, or of no account.
    pub fn answer_s(&self, place: usize) -> f64 {
        let days = self.days.get(&self.classifier.routes()[place].name);
        let days = days.filter(|_| self.limit(place).origin == LimitOrigin::Window);
        days.and_then(|days| days.answers().mean_s()).unwrap_or(0.0)
    }

    /// The name of the carrier account that a route has.
    pub fn account(route: &Route) -> &str {
        route.shares.as_deref().unwrap_or(&route.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::route;

    #[test]
    fn the_lowest_of_config_throttling_and_window_is_the_limit() {
        let of = |rate: f64, window: u32| {
            let route = route("r", channels::SMS, |r| (r.rate, r.window) = (rate, window));
            Conditions::idle(Arc::new(Classifier::new(vec![route])), Instant::now())
        };
        let limit = |conditions: &Conditions| {
            let used = conditions.limit(0);
            (used.rate, used.origin.name())
        };
        assert_eq!(limit(&of(50.0, 10)), (50.0, "config"));
        let mut throttled = of(50.0, 10);
        throttled.routes[0].rate_now = 20.0;
        assert_eq!(limit(&throttled), (20.0, "learned"));
        throttled.routes[0].up = false;
        assert_eq!(limit(&throttled), (50.0, "config"), "a route that is down has no rate");
        let mut slow = of(50.0, 10);
        slow.routes[0].sessions = 2;
        let mut days = RouteDays::default();
        days.today(Timestamp(0)).answers.note_ms(1_000);
        slow.days.insert("r".into(), days);
        assert_eq!(limit(&slow), (20.0, "window"), "twenty are under way, each for a second");
        slow.routes[0].sessions = 0;
        assert_eq!(limit(&slow), (50.0, "config"), "without sessions nothing follows from a window");
    }
}
