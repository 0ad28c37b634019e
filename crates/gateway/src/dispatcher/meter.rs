//! Numbers of a route for the metrics page. Handles are made once.

use metrics::{Counter, Gauge, counter, gauge};
use records::RouteHealth;

use crate::journal::Tally;

pub(super) struct RouteMeter {
    accepted: Counter,
    refused: Counter,
    unknown: Counter,
    not_tried: Counter,
    receipts: Counter,
    inbound: Counter,
    up: Gauge,
    sessions: Gauge,
    rate: Gauge,
}

impl RouteMeter {
    pub(super) fn new(route: &str) -> RouteMeter {
        let route = route.to_owned();
        let results = |result: &'static str| counter!("campanile_outcomes_total", "route" => route.clone(), "result" => result);
        RouteMeter {
            accepted: results("accepted"),
            refused: results("refused"),
            unknown: results("unknown"),
            not_tried: results("not_tried"),
            receipts: counter!("campanile_receipts_total", "route" => route.clone()),
            inbound: counter!("campanile_inbound_total", "route" => route.clone()),
            up: gauge!("campanile_route_up", "route" => route.clone()),
            sessions: gauge!("campanile_route_sessions", "route" => route.clone()),
            rate: gauge!("campanile_route_rate", "route" => route.clone()),
        }
    }

    /// What is on disk now.
    pub(super) fn count(&self, tally: &Tally) {
        let counters =
            [&self.accepted, &self.refused, &self.unknown, &self.not_tried, &self.receipts, &self.inbound];
        for (counter, count) in counters.into_iter().zip(*tally) {
            if count > 0 {
                counter.increment(count);
            }
        }
    }

    pub(super) fn tell(&self, health: &RouteHealth) {
        self.up.set(f64::from(u8::from(health.up)));
        self.sessions.set(f64::from(health.sessions));
        self.rate.set(health.rate_now);
    }
}
