//! Timers runs what is due: retries and quiet hours that end, escalation, the end of alerts, alerts that
//! leave memory. It owns the times of its last runs.

use super::alerts::Alerts;
use super::folding::{StateChange, may_leave};
use super::route_table::RouteTable;
use crate::plan::Move;
use crate::record::LiveAlert;
use crate::record::delivery_cell::{ESCALATED, moment};
use records::{AlertNo, AlertState, DeliveryState, EndpointNo, Reason, Strategy, Timestamp};

/// How often timers are run, in microseconds.
const RUN_EVERY_US: i64 = 50_000;
/// How often orders of devices are looked through, in microseconds.
const ESCALATE_EVERY_US: i64 = 500_000;
/// Alerts in memory, running ones apart: of more, those that finished first leave before their time.
const ALERTS_KEPT_MAX: usize = 5_000;
/// Messages in finished message streams that stay in memory for late receipts; of more, the oldest leave
/// before their time.
const LINGERING_MESSAGES_MAX: usize = 4_000_000;
/// How often alerts that may leave memory are looked for, in microseconds.
const EVICT_EVERY_US: i64 = 1_000_000;

/// See the module.
#[derive(Default)]
pub struct Timers {
    run_at: Timestamp,
    evicted_at: Timestamp,
}

impl Timers {
    /// Is it time to run timers? They count as run with this.
    pub fn are_due(&mut self, now: Timestamp) -> bool {
        is_time(&mut self.run_at, RUN_EVERY_US, now)
    }

    /// Is it time to look for alerts that may leave memory?
    pub fn eviction_is_due(&mut self, now: Timestamp) -> bool {
        is_time(&mut self.evicted_at, EVICT_EVERY_US, now)
    }
}

fn is_time(last: &mut Timestamp, every_us: i64, now: Timestamp) -> bool {
    let is_time = now.us_since(*last) >= every_us || now < *last;
    if is_time {
        *last = now;
    }
    is_time
}

/// Runs the timers of an alert. Gives its change of state if its time ran out.
pub fn run(
    no: AlertNo,
    alerts: &mut Alerts,
    routes: &RouteTable,
    receipt_timeout_s: u32,
    now: Timestamp,
) -> Option<StateChange> {
    let live = alerts.live.get(&no)?;
    let is_due = live.next_due().is_some_and(|due| due <= now);
    if !is_due && live.chains.is_none() && live.alert.request.expires > now {
        return None;
    }
    free_due(no, alerts, now);
    escalate(no, alerts, routes, receipt_timeout_s, now);
    expire(no, alerts, now)
}

fn free_due(no: AlertNo, alerts: &mut Alerts, now: Timestamp) {
    let Some(live) = alerts.live.get_mut(&no).filter(|live| live.alert.may_send()) else { return };
    if live.next_due().is_some_and(|due| due <= now) {
        live.free_due(now);
        alerts.touch(no);
    }
}

/// A person who was not reached in time by one device is sent to by their next.
fn escalate(no: AlertNo, alerts: &mut Alerts, routes: &RouteTable, receipt_timeout_s: u32, now: Timestamp) {
    let Some(live) = alerts.live.get_mut(&no) else { return };
    if live.chains.is_none()
        || now.us_since(live.escalated_at) < ESCALATE_EVERY_US
        || live.alert.state != AlertState::Running
    {
        return;
    }
    live.escalated_at = now;
    for endpoint in overdue(live, receipt_timeout_s, now) {
        let Some(live) = alerts.live.get_mut(&no) else { return };
        live.edit(endpoint, now, |cell| cell.flags |= ESCALATED);
        let live = &*live;
        let moves: Vec<Move> = live.chains.as_ref().map_or_else(Vec::new, |chains| {
            chains.next(endpoint, |at| live.device_state(at, |route| routes.has_receipts(route)))
        });
        alerts.apply_moves(no, &moves, now);
    }
}

fn overdue(live: &LiveAlert, receipt_timeout_s: u32, now: Timestamp) -> Vec<EndpointNo> {
    let Some(chains) = &live.chains else { return Vec::new() };
    let timeout_s = i64::from(receipt_timeout_s);
    let is_overdue = |endpoint: EndpointNo, since: Timestamp, state: DeliveryState| {
        chains.strategies(endpoint).any(|strategy| match strategy {
            Strategy::All => false,
            Strategy::FirstReachable => {
                matches!(state, DeliveryState::Accepted | DeliveryState::Unknown)
                    && since.plus_s(timeout_s) <= now
            }
            Strategy::EscalateAfter { seconds } => since.plus_s(i64::from(seconds)) <= now,
        })
    };
    live.each()
        .filter(|(_, cell)| cell.flags & ESCALATED == 0)
        .filter(|(_, cell)| {
            matches!(cell.state, DeliveryState::Accepted | DeliveryState::Delivered | DeliveryState::Unknown)
        })
        .filter_map(|(endpoint, cell)| {
            let since = moment(live.alert.created, cell.accepted.max(cell.submitted))?;
            is_overdue(endpoint, since, cell.state).then_some(endpoint)
        })
        .collect()
}

fn expire(no: AlertNo, alerts: &mut Alerts, now: Timestamp) -> Option<StateChange> {
    let live = alerts.live.get_mut(&no)?;
    if live.alert.request.expires > now || live.alert.state.is_final() {
        return None;
    }
    live.end_waiting(Reason::Expired, now);
    alerts.end(no, AlertState::Expired, "its time ran out", now)
}

/// Alerts that have been final for a while (seconds), or are too many, and of which SQL has everything: they
/// may leave memory.
pub fn evictable(alerts: &Alerts, linger_s: u32, now: Timestamp) -> Vec<AlertNo> {
    if alerts.live.len() == alerts.running.len() {
        return Vec::new();
    }
    let mut finished: Vec<(Timestamp, AlertNo)> = alerts
        .live
        .values()
        .filter(|live| may_leave(live) && !alerts.unfolded.contains(&live.alert.no))
        .filter_map(|live| Some((live.finished?, live.alert.no)))
        .collect();
    finished.sort_unstable();
    let over = alerts.live.len().saturating_sub(ALERTS_KEPT_MAX).max(over_messages(alerts, &finished));
    let linger = i64::from(linger_s);
    let is_old = |(place, (at, _)): &(usize, (Timestamp, AlertNo))| *place < over || at.plus_s(linger) < now;
    finished.into_iter().enumerate().filter(is_old).map(|(_, (_, no))| no).collect()
}

/// How many of the finished, oldest first, must go so that the messages of the rest are within the limit.
fn over_messages(alerts: &Alerts, finished: &[(Timestamp, AlertNo)]) -> usize {
    let len = |no: &AlertNo| {
        let live = alerts.live.get(no).filter(|live| live.metas.is_some());
        live.map_or(0, LiveAlert::len)
    };
    let mut kept: usize = finished.iter().map(|(_, no)| len(no)).sum();
    finished
        .iter()
        .take_while(|(_, no)| {
            let is_over = kept > LINGERING_MESSAGES_MAX;
            kept -= len(no);
            is_over
        })
        .count()
}
