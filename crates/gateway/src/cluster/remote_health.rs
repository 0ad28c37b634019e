//! Health of a route at other processes, from the retained topic of routes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bus::{Bus, BusError, Retained};
use records::{NodeHealth, ROUTES, RouteHealth, health_of};

/// See the module.
pub(crate) struct RemoteHealth {
    node: String,
    routes: Arc<dyn Retained>,
    beat: AtomicU64,
    /// What each process's route was last heard to say, and since when.
    heard: Mutex<HashMap<String, (u64, Instant)>>,
}

impl RemoteHealth {
    pub(super) fn open(bus: &dyn Bus, node: &str) -> Result<RemoteHealth, BusError> {
        let routes = bus.retained(ROUTES)?;
        Ok(RemoteHealth { node: node.to_owned(), routes, beat: AtomicU64::new(0), heard: Mutex::default() })
    }

    /// Another process says that it can send by this route, and said so of late.
    pub(crate) fn is_up(&self, route: &str, now: Instant) -> bool {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.routes.all();
        // Of processes that are gone nothing is kept.
        heard.retain(|key, _| all.iter().any(|(other, _)| other == key));
        let mut up = false;
        for (key, value) in all {
            let ours = health_of(&key).is_none_or(|(node, of)| node == self.node || of != route);
            let Some(said) = NodeHealth::decode(&value).ok().filter(|_| !ours) else { continue };
            let last = heard.entry(key).or_insert((said.beat, now));
            if last.0 != said.beat {
                *last = (said.beat, now);
            }
            let lasts = Duration::from_millis(u64::from(said.lasts_ms));
            up |= said.health.up && now.saturating_duration_since(last.1) < lasts;
        }
        up
    }

    /// What to say of a route here, for a lease.
    pub(crate) fn say(&self, health: &RouteHealth, lease: Duration) -> Vec<u8> {
        let beat = self.beat.fetch_add(1, Ordering::Relaxed) + 1;
        let lasts_ms = u32::try_from(lease.as_millis()).unwrap_or(u32::MAX);
        NodeHealth { beat, lasts_ms, health: health.clone() }.encode()
    }
}
