//! Conditions of the routes for a forecast, as dispatch has them.

use super::alerts::Alerts;
use super::context::Context;
use super::dispatcher::Dispatcher;
use super::forecasting::ALERTS_MAX;
use crate::plan::{Conditions, RouteNow, WaitingUnits};
use records::{AlertNo, AlertState};
use std::collections::BTreeMap;
use std::time::Instant;

impl Dispatcher {
    /// The routes now, and what waits for them, an alert's own devices left out.
    pub fn conditions(&mut self, but: Option<AlertNo>, alerts: &Alerts, context: &Context) -> Conditions {
        let classifier = self.routes.classifier.clone();
        let routes = self.routes.list.iter().map(|entry| {
            let under_way = [0, 1, 2].map(|lane: usize| entry.lanes[lane].under_way);
            match &entry.health {
                Some(health) => RouteNow {
                    up: health.up && entry.hold.is_none(),
                    since: Some(health.since),
                    sessions: health.sessions,
                    rate_now: health.rate_now,
                    under_way,
                },
                None => RouteNow { under_way, ..RouteNow::default() },
            }
        });
        let routes = routes.collect();
        let (now, mut waiting) = (context.now(), Vec::new());
        for &no in alerts.running.iter().filter(|no| but != Some(**no)).take(ALERTS_MAX) {
            let Some(live) = alerts.live.get(&no) else { continue };
            let is_later = live.alert.request.not_before.is_some_and(|start| start > now);
            if live.alert.state != AlertState::Running || !live.alert.may_send() || is_later {
                continue;
            }
            for class in live.ready_classes() {
                let tiers = classifier.tiers(class);
                let Some(&place) = tiers.first().and_then(|tier| tier.first()) else { continue };
                let each = self.estimate(no, place, alerts, &context.parts);
                let units = u64::from(live.ready_in(class)) * each;
                waiting.push(WaitingUnits { class, lane: live.lane(), units });
            }
        }
        Conditions { classifier, routes, waiting, days: BTreeMap::new(), start: Instant::now() }
    }
}
