//! Settings of a route of channel `line`.

use super::WINDOW;
use crate::context::RouteProblem;
use crate::route_loop::{ChangeScope, RouteSettings};
use std::time::Duration;

/// The shortest time in which a session must take an alert.
const TAKE_WITHIN_MIN: Duration = Duration::from_millis(100);
/// And the longest: the next device waits for it.
const TAKE_WITHIN_MAX: Duration = Duration::from_secs(60);
/// Sessions are of this process: a route does not go down, but a stop.
const DOWN_AFTER: Duration = Duration::from_secs(30);

/// One `[[route]]` of channel `line`.
#[derive(Debug, Clone, PartialEq)]
pub struct LineRoute {
    /// The route's name.
    pub name: String,
    /// Messages per second; 0 is unlimited.
    pub rate: f64,
    /// A session must take an alert's octets within this.
    pub take_within: Duration,
}

impl Default for LineRoute {
    fn default() -> LineRoute {
        LineRoute { name: String::new(), rate: 0.0, take_within: Duration::from_secs(5) }
    }
}

impl RouteSettings for LineRoute {
    fn name(&self) -> &str {
        &self.name
    }

    fn problems(&self) -> Vec<RouteProblem> {
        let mut problems = Vec::new();
        let mut check = |field: &'static str, wrong: bool, reason: String| {
            if wrong {
                problems.push(RouteProblem { field, reason });
            }
        };
        check("name", self.name.is_empty(), "is needed".to_owned());
        let rate = self.rate;
        check("rate", !rate.is_finite() || rate < 0.0, format!("{rate} is not a rate"));
        let is_outside = !(TAKE_WITHIN_MIN..=TAKE_WITHIN_MAX).contains(&self.take_within);
        check("take_within", is_outside, "must be 100ms to 60s".to_owned());
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn slots(&self) -> u32 {
        WINDOW as u32
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    fn step_to(&self, to: &LineRoute) -> ChangeScope {
        if self == to { ChangeScope::None } else { ChangeScope::InPlace }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_key_is_named() {
        let good = LineRoute { name: "desks".to_owned(), ..LineRoute::default() };
        assert_eq!(good.problems(), vec![]);
        for (field, route) in [
            ("name", LineRoute::default()),
            ("rate", LineRoute { rate: -1.0, ..good.clone() }),
            ("take_within", LineRoute { take_within: Duration::from_secs(61), ..good.clone() }),
        ] {
            let fields: Vec<_> = route.problems().into_iter().map(|problem| problem.field).collect();
            assert_eq!(fields, [field]);
        }
    }
}
