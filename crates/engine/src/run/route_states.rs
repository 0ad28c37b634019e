//! Dispatcher reports how each route stands: what waits for it, what it did lately, what takes its place. It
//! obeys the holds of routes.

use super::alerts::Alerts;
use super::dispatcher::Dispatcher;
use super::route_activity::{ConfirmationTimes, RouteError, RoutePoint};
use super::route_table::RouteEntry;
use crate::plan::{SubstituteRoute, substitutes};
use crate::record::delivery_cell::DeliveryCell;
use records::{AlertState, AttemptResult, Lane, Route, RouteHealth, RouteHold, Timestamp};

/// What waits for each route is measured so often, in microseconds.
const MEASURE_EVERY_US: i64 = 1_000_000;

/// A route as it stands.
#[derive(Debug, Clone)]
pub struct RouteStatus {
    /// As configured.
    pub route: Route,
    /// The health its gateway published last; nothing: it has published none.
    pub health: Option<RouteHealth>,
    /// Somebody stopped its use.
    pub hold: Option<RouteHold>,
    /// What waits for it by [`Lane`]: messages (SMS: parts) that were given to it, and those ready to be.
    pub waiting: [u64; 3],
    /// Messages a second that the carrier took lately; nothing: not measured yet.
    pub sent_per_s: Option<f64>,
    /// Of the last 15 minutes; nothing: none was confirmed.
    pub confirmations: Option<ConfirmationTimes>,
    /// The last errors, the latest first.
    pub errors: Vec<RouteError>,
    /// The routes that take its messages while it cannot be used, in this order.
    pub substitutes: Vec<RouteSubstitute>,
}

/// A route that takes another's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteSubstitute {
    /// Its name.
    pub name: String,
    /// It could do so now: it is up, and its use is not stopped.
    pub can_send: bool,
    /// It takes all that the other takes; otherwise a part of it.
    pub takes_all: bool,
}

impl Dispatcher {
    /// Reads the holds of routes, if they changed.
    pub fn read_holds(&mut self) {
        if !self.holds.is_news() {
            return;
        }
        for (route, entry) in self.routes.classifier.routes().iter().zip(&mut self.routes.list) {
            entry.hold = self.holds.of(&route.name);
        }
    }

    /// The carrier answered a submission by a route, or did not.
    pub fn note_attempt(&mut self, route: u16, at: Timestamp, result: &AttemptResult) {
        let Some(place) = self.routes.place(route) else { return };
        let activity = &mut self.routes.list[place].activity;
        match result {
            AttemptResult::Accepted { .. } => activity.note_sent(at),
            AttemptResult::Refused { code, text, .. } => activity.note_refused(at, code, text),
            AttemptResult::Unknown { text } => activity.note_error(at, "unknown", text),
            AttemptResult::NotTried { .. } => {}
        }
    }

    /// The network confirmed a delivery.
    pub fn note_confirmed(&mut self, cell: &DeliveryCell, at: Timestamp) {
        let Some(place) = self.routes.place(cell.route) else { return };
        // A receipt may come before the answer to the submission.
        if cell.accepted > 0 {
            let after_ms = cell.delivered.saturating_sub(cell.accepted);
            self.routes.list[place].activity.note_confirmed(at, after_ms);
        }
    }

    /// Measures what waits for each route, from time to time.
    pub fn measure_routes(&mut self, alerts: &Alerts, now: Timestamp) {
        // Also when the clock was set back.
        let is_due =
            self.measured.is_none_or(|before| now.us_since(before).unsigned_abs() >= MEASURE_EVERY_US as u64);
        if !is_due {
            return;
        }
        self.measured = Some(now);
        let waiting = self.waiting(alerts);
        for (entry, waiting) in self.routes.list.iter_mut().zip(waiting) {
            entry.activity.measure(now, waiting.iter().sum());
        }
    }

    /// What waits for each route, by lane. What several equal routes could take waits for each of them.
    fn waiting(&self, alerts: &Alerts) -> Vec<[u64; 3]> {
        let given = self.routes.list.iter().map(|entry| entry.lanes.each_ref().map(|lane| lane.under_way));
        let mut waiting: Vec<[u64; 3]> = given.collect();
        for live in alerts.running.iter().filter_map(|no| alerts.live.get(no)) {
            if live.alert.state != AlertState::Running || !live.alert.may_send() {
                continue;
            }
            let (lane, estimates): (Lane, _) = (live.lane(), self.estimates.get(&live.alert.no));
            for class in live.ready_classes() {
                for place in self.routes.awaited(class) {
                    let units = estimates.and_then(|estimates| estimates.get(&place)).copied().unwrap_or(1);
                    waiting[place][lane as usize] += u64::from(live.ready_in(class)) * units;
                }
            }
        }
        waiting
    }

    /// Each route, in the order of the configuration.
    pub fn route_states(&self, alerts: &Alerts, now: Timestamp) -> Vec<RouteStatus> {
        let routes = self.routes.classifier.routes();
        let states = routes.iter().zip(&self.routes.list).zip(self.waiting(alerts)).enumerate();
        let status = |(place, ((route, entry), waiting)): (usize, ((&Route, &RouteEntry), [u64; 3]))| {
            let other = |one: SubstituteRoute| RouteSubstitute {
                name: routes[one.place].name.clone(),
                can_send: self.routes.list[one.place].can_send(),
                takes_all: one.takes_all,
            };
            RouteStatus {
                route: route.clone(),
                health: entry.health.clone(),
                hold: entry.hold.clone(),
                waiting,
                sent_per_s: entry.activity.rate(now),
                confirmations: entry.activity.confirmations(now),
                errors: entry.activity.errors(),
                substitutes: substitutes(routes, place).into_iter().map(other).collect(),
            }
        };
        states.map(status).collect()
    }

    /// What a route did in the last 15 minutes; nothing: there is no such route.
    pub fn route_history(&self, name: &str, now: Timestamp) -> Option<Vec<RoutePoint>> {
        let place = self.routes.classifier.routes().iter().position(|route| route.name == name)?;
        Some(self.routes.list[place].activity.history(now))
    }
}
