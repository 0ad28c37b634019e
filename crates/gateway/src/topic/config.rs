//! A topic route: how messages are kept that it publishes.

use crate::context::RouteProblem;
use crate::route_loop::{ChangeScope, RouteSettings};
use crate::worker::TURN_MAX;
use bus::TopicSettings;
use records::TEXT_TOPIC_OCTETS_MAX;
use std::time::Duration;

/// A message must have room for any one character.
const MESSAGE_OCTETS_MIN: usize = 4;

/// One `[[route]]` of channel `topic`.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicRoute {
    /// The route's name.
    pub name: String,
    /// Alerts per second; 0 is unlimited.
    pub rate: f64,
    /// How text topics are kept: as `[topics]` says.
    pub settings: TopicSettings,
    /// Octets of a topic with its `@`: as at the door, what is longer is cut.
    pub topic_octets_max: usize,
    /// Octets of a message; a longer text is published as several.
    pub message_octets_max: usize,
}

impl Default for TopicRoute {
    fn default() -> TopicRoute {
        TopicRoute {
            name: String::new(),
            rate: 0.0,
            settings: TopicSettings::default(),
            topic_octets_max: 140,
            message_octets_max: 140,
        }
    }
}

impl RouteSettings for TopicRoute {
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
        let most = TEXT_TOPIC_OCTETS_MAX;
        check("max_topic", self.topic_octets_max > most, format!("is over the limit of {most}"));
        let least = MESSAGE_OCTETS_MIN;
        check("max_message", self.message_octets_max < least, format!("must be at least {least}"));
        problems
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn slots(&self) -> u32 {
        TURN_MAX as u32
    }

    fn down_after(&self) -> Duration {
        DOWN_AFTER
    }

    fn step_to(&self, to: &TopicRoute) -> ChangeScope {
        if self == to { ChangeScope::None } else { ChangeScope::InPlace }
    }
}

/// Its session is this process: it does not go down, but a stop.
const DOWN_AFTER: Duration = Duration::from_secs(30);
