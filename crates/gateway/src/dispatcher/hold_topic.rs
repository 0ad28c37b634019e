//! Hold topic follows the retained topic by which operators stop the use of a route.

use std::sync::Arc;
use std::time::Instant;

use bus::{BusError, Retained};
use futures_util::future::BoxFuture;
use records::ROUTE_HOLDS;

use crate::GatewayContext;

pub(super) struct HoldTopic {
    route: String,
    topic: Arc<dyn Retained>,
    seen: Option<u64>,
    since: Option<Instant>,
}

impl HoldTopic {
    pub(super) fn open(context: &GatewayContext, route: &str) -> Result<HoldTopic, BusError> {
        let topic = context.bus.retained(ROUTE_HOLDS)?;
        Ok(HoldTopic { route: route.to_owned(), topic, seen: None, since: None })
    }

    /// Looks at the topic, if it has changed since the last look.
    pub(super) fn look(&mut self, now: Instant) {
        let version = self.topic.version();
        if self.seen.replace(version) == Some(version) {
            return;
        }
        let is_held = self.topic.value(&self.route).is_some();
        if is_held != self.since.is_some() {
            tracing::info!(
                route = self.route,
                is_held,
                "an operator stopped the use of a route, or took it up"
            );
        }
        self.since = is_held.then(|| self.since.unwrap_or(now));
    }

    /// Since when nothing may be given to the route, as far as was seen here.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Resolves when there is something to look at.
    pub(super) fn changed(&self) -> BoxFuture<'static, ()> {
        match self.seen {
            Some(seen) => self.topic.changed(seen),
            None => Box::pin(std::future::ready(())),
        }
    }
}
