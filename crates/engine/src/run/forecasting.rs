//! Forecasting fixes the forecast of each alert when it is solved, before anything of it is sent, and notes
//! what routes do: times until carriers answer and networks confirm, losses, downtimes, and how forecasts
//! held. It owns what of that is not in the store yet.

use super::actor::EngineActor;
use super::alerts::Alerts;
use super::context::Context;
use super::forecast_records::{read_days, read_forecast, save_days, save_forecast, save_later};
use super::route_table::RouteTable;
use crate::plan::{AlertPlan, Conditions, CourseRules, Downtime, RouteDays, forecast};
use crate::record::LiveAlert;
use crate::record::delivery_cell::NO_ROUTE;
use records::{AlertNo, AlertState, DeliveryState, EndpointNo, Lane, Reason, Timestamp};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// How often what routes did is written, in microseconds.
const SAVE_EVERY_US: i64 = 10_000_000;
/// Running alerts that are looked at for the forecast of one: of more, some.
pub const ALERTS_MAX: usize = 1_000;
/// A forecast of less, in seconds, is not compared with what happened.
const COMPARED_S_MIN: f64 = 1.0;

/// What forecasts ask of the actor.
pub enum ForecastingCommand {
    /// The plan of an alert that was solved.
    Planned { no: AlertNo, plan: Box<AlertPlan> },
    /// The routes and what waits on them now, an alert's own devices left out.
    Look { but: Option<AlertNo>, reply: oneshot::Sender<ForecastLook> },
}

/// How things stand for a forecast.
pub struct ForecastLook {
    pub conditions: Conditions,
    /// Devices of alerts that came later than the one that was named, and do not go behind it.
    pub later: u64,
}

/// See the module.
#[derive(Default)]
pub struct Forecasting {
    /// Conditions in which alerts were solved whose plans are still made.
    awaited: FxHashMap<AlertNo, Box<Conditions>>,
    later: FxHashMap<AlertNo, u64>,
    /// What routes did, by their numbers, that is not in the store.
    days: FxHashMap<u16, RouteDays>,
    /// Whether a route is up, and since when.
    health: FxHashMap<u16, (bool, Timestamp)>,
    saved: Timestamp,
    is_urgent: bool,
}

/// Carries a command out.
pub fn obey(actor: &mut EngineActor, command: ForecastingCommand) {
    match command {
        ForecastingCommand::Planned { no, plan } => {
            actor.forecasting.planned(no, *plan, &actor.alerts, &actor.context);
        }
        ForecastingCommand::Look { but, reply } => {
            let conditions = actor.dispatcher.conditions(but, &actor.alerts, &actor.context);
            let later = but.and_then(|no| actor.forecasting.later.get(&no)).copied().unwrap_or(0);
            let _ = reply.send(ForecastLook { conditions, later });
        }
    }
}

impl Forecasting {
    /// An alert was solved: its forecast is made of these conditions once its plan is there. Those of its
    /// lane and behind it have more before them than was forecast.
    pub fn solved(&mut self, no: AlertNo, conditions: Conditions, alerts: &Alerts) {
        let Some(live) = alerts.live.get(&no) else { return };
        let devices = live.len() as u64 - u64::from(live.tally.in_state(DeliveryState::Excluded));
        let is_behind = |other: &&LiveAlert| {
            other.alert.no != no && !other.alert.is_stream() && other.lane() >= live.lane()
        };
        let running = alerts.running.iter().take(ALERTS_MAX).filter_map(|other| alerts.live.get(other));
        for other in running.filter(is_behind).filter(|other| other.ready_classes().next().is_some()) {
            *self.later.entry(other.alert.no).or_default() += devices;
        }
        self.awaited.insert(no, Box::new(conditions));
    }

    fn planned(&mut self, no: AlertNo, plan: AlertPlan, alerts: &Alerts, context: &Context) {
        let Some(mut conditions) = self.awaited.remove(&no) else { return };
        let Some(alert) = alerts.live.get(&no).map(|live| &live.alert) else { return };
        let (account, id, lane) = (alert.account.clone(), alert.id, Lane::from(alert.request.priority));
        let (store, now) = (context.parts.store.clone(), context.now());
        let receipt_timeout_s = context.parts.settings.receipt_timeout_s;
        context.spawn_logged(async move {
            conditions.days = read_days(&*store).await.map_err(|error| unwritten(no, &error))?;
            let work = move || forecast(&plan, &CourseRules::new(&conditions, lane, receipt_timeout_s));
            let made = tokio::task::spawn_blocking(work).await.map_err(|error| unwritten(no, &error))?;
            let saved = save_forecast(&*store, &account, id, made, now).await;
            saved.map_err(|error| unwritten(no, &error))
        });
    }

    /// A delivery got further.
    pub fn note_reached(&mut self, no: AlertNo, endpoint: EndpointNo, at: Timestamp, alerts: &Alerts) {
        let cell = alerts.live.get(&no).and_then(|live| live.cell(endpoint));
        let Some(cell) = cell.filter(|cell| cell.route != NO_ROUTE) else { return };
        let between = |from: u32, to: u32| (from != 0).then(|| u64::from(to.saturating_sub(from)));
        match cell.state {
            DeliveryState::Accepted => {
                if let Some(ms) = between(cell.submitted, cell.accepted) {
                    self.days.entry(cell.route).or_default().today(at).answers.note_ms(ms);
                }
            }
            DeliveryState::Delivered => {
                if let Some(ms) = between(cell.accepted, cell.delivered) {
                    self.days.entry(cell.route).or_default().today(at).confirmations.note_ms(ms);
                }
            }
            _ => {}
        }
    }

    /// A delivery failed on its route.
    pub fn note_missed(&mut self, no: AlertNo, endpoint: EndpointNo, at: Timestamp, alerts: &Alerts) {
        let cell = alerts.live.get(&no).and_then(|live| live.cell(endpoint));
        let Some(cell) = cell.filter(|cell| cell.route != NO_ROUTE) else { return };
        match cell.reason {
            Reason::Refused | Reason::AttemptsUsedUp => {
                self.days.entry(cell.route).or_default().today(at).refused += 1;
            }
            Reason::NotDelivered => self.days.entry(cell.route).or_default().today(at).lost += 1,
            _ => {}
        }
    }

    /// Notes which routes went down or came up, and writes what routes did if it is time.
    pub fn run(&mut self, routes: &RouteTable, alerts: &Alerts, context: &Context, now: Timestamp) {
        for entry in &routes.list {
            let Some(health) = &entry.health else { continue };
            let before = self.health.insert(entry.no, (health.up, health.since));
            let downtime = match (before, health.up) {
                (Some((true, _)), false) => Downtime { from: health.since, until: None },
                (Some((false, since)), true) => Downtime { from: since, until: Some(health.since) },
                _ => continue,
            };
            self.days.entry(entry.no).or_default().note_downtime(downtime);
            self.is_urgent = true;
        }
        let is_time = now.us_since(self.saved) >= SAVE_EVERY_US || now < self.saved;
        if self.days.is_empty() || !(is_time || self.is_urgent || context.is_stopping()) {
            return;
        }
        (self.saved, self.is_urgent) = (now, false);
        let named = self
            .days
            .drain()
            .filter_map(|(route, days)| Some((alerts.strings.route(route)?.to_owned(), days)));
        let (days, store): (BTreeMap<String, RouteDays>, _) = (named.collect(), context.parts.store.clone());
        context.spawn_logged(async move {
            save_days(&*store, &days, now).await.map_err(|error| format!("what routes did: {error}"))
        });
    }

    /// An alert is over: how its forecast held counts for its routes.
    pub fn ended(&mut self, no: AlertNo, state: AlertState, alerts: &Alerts, context: &Context) {
        let later = self.later.remove(&no).unwrap_or(0);
        self.is_urgent = true;
        let live = alerts.live.get(&no).filter(|live| !live.alert.origin.is_internal());
        let Some(live) = live.filter(|_| state == AlertState::Done) else { return };
        let seconds = seconds_by_route(live, alerts);
        let (account, id) = (live.alert.account.clone(), live.alert.id);
        let (store, now) = (context.parts.store.clone(), context.now());
        context.spawn_logged(async move {
            let work = async {
                let Some(kept) = read_forecast(&*store, &account, id).await? else { return Ok(()) };
                if later > 0 {
                    save_later(&*store, &account, id, later, now).await?;
                }
                let mut days: BTreeMap<String, RouteDays> = BTreeMap::new();
                for (route, fact_s) in seconds {
                    let forecast = kept.forecast.routes.get(&route).map(|route| route.seconds);
                    let Some(forecast_s) = forecast.filter(|seconds| *seconds >= COMPARED_S_MIN) else {
                        continue;
                    };
                    let today = days.entry(route).or_default().today(now);
                    (today.alerts, today.forecast_s, today.fact_s) = (1, forecast_s, fact_s);
                }
                save_days(&*store, &days, now).await
            };
            work.await.map_err(|error: store::StoreError| {
                format!("alert {}: how its forecast held could not be written: {error}", no.0)
            })
        });
    }

    /// An alert left memory.
    pub fn forget(&mut self, no: AlertNo) {
        self.later.remove(&no);
        self.awaited.remove(&no);
    }
}

fn unwritten(no: AlertNo, error: &dyn std::fmt::Display) -> String {
    format!("alert {}: its forecast could not be kept: {error}", no.0)
}

/// When an alert could be sent: it was accepted, approved, and its time had come.
pub fn start_of(alert: &records::Alert) -> Timestamp {
    let approval = alert.approval.as_deref();
    let approved = approval.and_then(|approval| approval.approvals.iter().map(|given| given.at).max());
    let alone = approval.and_then(|approval| approval.sent_alone.as_ref()).map(|sent| sent.at);
    let moments = [approved, alone, alert.request.not_before];
    moments.into_iter().flatten().fold(alert.created, Timestamp::max)
}

/// When the last delivery of each route was handed over, in seconds from the start.
fn seconds_by_route(live: &LiveAlert, alerts: &Alerts) -> BTreeMap<String, f64> {
    let mut last: FxHashMap<u16, u32> = FxHashMap::default();
    for (_, cell) in live.each().filter(|(_, cell)| cell.route != NO_ROUTE && cell.accepted != 0) {
        let known = last.entry(cell.route).or_default();
        *known = cell.accepted.max(*known);
    }
    let waited_s = start_of(&live.alert).us_since(live.alert.created).max(0) as f64 / 1e6;
    let seconds = |offset: u32| (f64::from(offset.saturating_sub(1)) / 1e3 - waited_s).max(0.0);
    let named = last
        .into_iter()
        .filter_map(|(route, offset)| Some((alerts.strings.route(route)?.to_owned(), seconds(offset))));
    named.collect()
}
