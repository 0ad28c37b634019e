//! Keys of a route of channel `line`, and its settings made of them.

use super::LineRoute;
use crate::context::RouteProblem;
use crate::route_keys::RouteKeys;
use crate::surroundings::Surroundings;
use crate::topic::TextTopics;
use settings::section;
use std::time::Duration;

section! {
    /// Sessions of the topic protocol in which people have logged in (telnet, nc): an alert to `line:ID`
    /// appears in the open sessions of that id, and is answered by typing. Needs `[topics]`.
    /// [Line](line.md) describes it.
    LineKeys {
        /// Time in which a session must take the octets of an alert, 100ms to 60s.
        take_within: Duration = LineRoute::default().take_within,
    }
}

impl LineKeys {
    /// Settings of a route with these keys.
    pub(super) fn route(&self, common: &RouteKeys, around: &Surroundings) -> Result<LineRoute, RouteProblem> {
        if around.get::<TextTopics>().is_none() {
            let reason = "a route of channel line needs a section [topics]: people log in at that door";
            return Err(RouteProblem { field: "channel", reason: reason.to_owned() });
        }
        Ok(LineRoute { name: common.name.clone(), rate: common.rate, take_within: self.take_within })
    }
}
