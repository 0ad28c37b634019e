//! RouteHolds reads and writes the retained topic of routes whose use somebody stopped. Every process reads
//! it, and a restart finds it as it was.

use super::actor::bus_error;
use crate::api::EngineError;
use records::{ROUTE_HOLDS, RouteHold};
use std::sync::Arc;

/// See the module.
pub struct RouteHolds {
    topic: Arc<dyn bus::Retained>,
    seen: Option<u64>,
}

impl RouteHolds {
    pub fn open(bus: &dyn bus::Bus) -> Result<RouteHolds, EngineError> {
        Ok(RouteHolds { topic: bus.retained(ROUTE_HOLDS).map_err(bus_error)?, seen: None })
    }

    /// Whether there is something to read that was not read before.
    pub fn is_news(&mut self) -> bool {
        let version = self.topic.version();
        self.seen.replace(version) != Some(version)
    }

    /// All are to be read again.
    pub fn forget(&mut self) {
        self.seen = None;
    }

    /// The hold of a route. One that cannot be read holds it as well: a newer program may have written it.
    pub fn of(&self, route: &str) -> Option<RouteHold> {
        let octets = self.topic.value(route)?;
        Some(RouteHold::decode(&octets).unwrap_or_else(|error| {
            tracing::error!(route, %error, "the route is not used: its hold cannot be read");
            let (token, by) = (String::new(), String::new());
            RouteHold { since: records::Timestamp(0), token, by, reason: error.to_string() }
        }))
    }

    /// Sets a hold, or ends it; resolves when that is on disk.
    pub async fn set(&self, route: &str, hold: Option<&RouteHold>) -> Result<(), EngineError> {
        let octets = hold.map(RouteHold::encode).unwrap_or_default();
        self.topic.set(route, &octets).await.map_err(bus_error)
    }
}
