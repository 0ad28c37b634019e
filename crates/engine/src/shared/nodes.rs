//! Health of routes over several processes: up if one is up at any process that still lives.

use records::{NodeHealth, RouteHealth, health_of};
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// A process without a new report for so many times as long as one lasts is forgotten.
const FORGOTTEN_AFTER: u32 = 10;

/// What each process last reported of each of its routes, and when that was new here.
#[derive(Default)]
pub struct Nodes {
    seen: Option<u64>,
    reports: FxHashMap<String, NodeReport>,
}

struct NodeReport {
    health: NodeHealth,
    at: Instant,
}

impl NodeReport {
    fn lasts(&self) -> Duration {
        Duration::from_millis(u64::from(self.health.lasts_ms))
    }
}

impl Nodes {
    /// Takes in what changed.
    pub fn read(&mut self, retained: &dyn bus::Retained, now: Instant) {
        let version = retained.version();
        if self.seen == Some(version) {
            return;
        }
        self.seen = Some(version);
        let all = retained.all();
        self.reports.retain(|key, _| all.iter().any(|(known, _)| known == key));
        for (key, octets) in all {
            let Ok(health) = NodeHealth::decode(&octets) else { continue };
            if health_of(&key).is_none() {
                continue;
            }
            if self.reports.get(&key).is_none_or(|known| known.health.beat != health.beat) {
                self.reports.insert(key, NodeReport { health, at: now });
            }
        }
    }

    /// How a route is, over all processes that live.
    pub fn health(&self, route: &str, now: Instant) -> Option<RouteHealth> {
        let is_of = |key: &str| health_of(key).is_some_and(|(_, of)| of == route);
        let mut alive: Vec<&RouteHealth> = self
            .reports
            .iter()
            .filter(|(key, heard)| is_of(key) && now.duration_since(heard.at) <= heard.lasts())
            .map(|(_, heard)| &heard.health.health)
            .collect();
        // Those that are up count alone, if any is.
        if alive.iter().any(|health| health.up) {
            alive.retain(|health| health.up);
        }
        let first = *alive.iter().min_by_key(|health| health.since)?;
        let unlimited = alive.iter().any(|health| health.rate_now <= 0.0);
        Some(RouteHealth {
            up: first.up,
            since: first.since,
            sessions: alive.iter().map(|health| health.sessions).sum(),
            rate_now: if unlimited { 0.0 } else { alive.iter().map(|health| health.rate_now).sum() },
            note: first.note.clone(),
        })
    }

    /// Keys of processes that are gone for good.
    pub fn forgotten(&self, now: Instant) -> Vec<String> {
        let is_gone = |heard: &NodeReport| now.duration_since(heard.at) > heard.lasts() * FORGOTTEN_AFTER;
        self.reports.iter().filter(|(_, heard)| is_gone(heard)).map(|(key, _)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{Timestamp, health_key};

    fn said(up: bool, beat: u64, rate_now: f64) -> Vec<u8> {
        let note = if up { "" } else { "no session" };
        let health = RouteHealth { up, since: Timestamp(5), sessions: 2, rate_now, note: note.into() };
        NodeHealth { beat, lasts_ms: 1_000, health }.encode()
    }

    async fn tell(retained: &dyn bus::Retained, node: &str, octets: &[u8]) {
        retained.set(&health_key(node, "sms"), octets).await.unwrap();
    }

    #[tokio::test]
    async fn a_route_is_up_while_any_living_process_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let bus = bus::embedded::open(dir.path().join("bus"), Default::default()).unwrap();
        let retained = bus.retained(records::ROUTES).unwrap();
        // As one process alone says it: not of one of several.
        retained.set("sms", &said(true, 1, 1.0)).await.unwrap();
        let (mut nodes, start) = (Nodes::default(), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        nodes.read(&*retained, start);
        assert_eq!(nodes.health("sms", start), None);
        tell(&*retained, "a", &said(true, 1, 10.0)).await;
        tell(&*retained, "b", &said(false, 1, 0.0)).await;
        nodes.read(&*retained, start);
        let health = nodes.health("sms", after(1_000)).unwrap();
        assert_eq!((health.up, health.sessions, health.rate_now), (true, 2, 10.0));
        assert_eq!(nodes.health("other", start), None);
        // Only b goes on telling.
        tell(&*retained, "b", &said(false, 2, 0.0)).await;
        nodes.read(&*retained, after(900));
        let health = nodes.health("sms", after(1_100)).unwrap();
        assert_eq!((health.up, health.note.as_str()), (false, "no session"));
        tell(&*retained, "b", &said(true, 3, 7.0)).await;
        tell(&*retained, "a", &said(true, 2, 10.0)).await;
        nodes.read(&*retained, after(1_200));
        let health = nodes.health("sms", after(1_300)).unwrap();
        assert_eq!((health.sessions, health.rate_now), (4, 17.0));
        // Nobody is heard any more.
        assert_eq!(nodes.health("sms", after(2_300)), None);
        assert_eq!(nodes.forgotten(after(10_000)).len(), 0);
        let mut gone = nodes.forgotten(after(11_300));
        gone.sort();
        assert_eq!(gone, ["a/sms", "b/sms"]);
        retained.set("a/sms", &[]).await.unwrap();
        nodes.read(&*retained, after(11_400));
        assert_eq!(nodes.forgotten(after(11_400)), ["b/sms"]);
    }
}
