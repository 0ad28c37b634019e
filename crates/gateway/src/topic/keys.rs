//! Keys of a route of channel `topic`, and its settings made of them.

use super::TopicRoute;
use crate::context::RouteProblem;
use crate::route_keys::RouteKeys;
use crate::surroundings::Surroundings;
use bus::TopicSettings;
use settings::section;

section! {
    /// Text topics: alerts are published there. It has no keys of its own and needs the section
    /// [topics](#topics).
    TopicKeys {}
}

/// How the topic door keeps text topics: `[topics]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextTopics {
    /// Durability and retention.
    pub settings: TopicSettings,
    /// Octets of a topic with its `@`.
    pub topic_octets_max: usize,
    /// Octets of a message.
    pub message_octets_max: usize,
}

impl TopicKeys {
    /// Settings of a route with these keys.
    pub(super) fn route(
        &self,
        common: &RouteKeys,
        around: &Surroundings,
    ) -> Result<TopicRoute, RouteProblem> {
        let Some(kept) = around.get::<TextTopics>() else {
            let reason =
                "a route of channel topic needs a section [topics]: without it no client can read the topics"
                    .to_owned();
            return Err(RouteProblem { field: "channel", reason });
        };
        Ok(TopicRoute {
            name: common.name.clone(),
            rate: common.rate,
            settings: kept.settings,
            topic_octets_max: kept.topic_octets_max,
            message_octets_max: kept.message_octets_max,
        })
    }
}
