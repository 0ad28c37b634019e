//! Timers: retries and quiet hours that end, escalation, the end of alerts, alerts that leave memory.

use super::actor::EngineActor;
use super::folding::{StateChange, may_leave};
use crate::plan::Move;
use crate::record::delivery_cell::{ESCALATED, moment};
use records::{
    AlertNo, AlertState, Control, ControlState, DeliveryState, EndpointNo, Reason, Strategy, Timestamp,
};

/// How often orders of devices are looked through, in microseconds.
const ESCALATE_EVERY_US: i64 = 500_000;

/// Alerts in memory, running ones apart: of more, those that finished first leave before their time.
const ALERTS_KEPT_MAX: usize = 5_000;
/// Messages in finished message streams that stay in memory for late receipts; of more, the oldest leave
/// before their time.
const LINGERING_MESSAGES_MAX: usize = 4_000_000;
/// How often it is looked for alerts that may leave, in microseconds.
const LET_GO_EVERY_US: i64 = 1_000_000;

impl EngineActor {
    /// Looks at every running alert.
    pub fn look_at_moments(&mut self, now: Timestamp) {
        self.look_at_standing(now);
        self.forget_confirmations(now);
        let running: Vec<AlertNo> = self.alerts.running.iter().copied().collect();
        for no in running {
            self.free_due(no, now);
            self.escalate(no, now);
            self.expire(no, now);
        }
        if now.us_since(self.let_go_at) >= LET_GO_EVERY_US || now < self.let_go_at {
            self.let_go_at = now;
            self.let_go(now);
        }
    }

    fn free_due(&mut self, no: AlertNo, now: Timestamp) {
        let Some(live) = self.alerts.live.get_mut(&no) else { return };
        if live.next_due().is_some_and(|due| due <= now) {
            live.free_due(now);
            self.alerts.touch(no);
        }
    }

    /// Who was not heard of in time calls for their next device.
    fn escalate(&mut self, no: AlertNo, now: Timestamp) {
        let Some(live) = self.alerts.live.get_mut(&no) else { return };
        if live.chains.is_none()
            || now.us_since(live.escalated_at) < ESCALATE_EVERY_US
            || live.alert.state != AlertState::Running
        {
            return;
        }
        live.escalated_at = now;
        let overdue = self.overdue(no, now);
        for endpoint in overdue {
            let Some(live) = self.alerts.live.get_mut(&no) else { return };
            live.edit(endpoint, now, |cell| cell.flags |= ESCALATED);
            let live = &*live;
            let moves: Vec<Move> = live.chains.as_ref().map_or_else(Vec::new, |chains| {
                chains.next(endpoint, |at| {
                    live.device_state(at, |route| self.dispatcher.routes.has_receipts(route))
                })
            });
            self.alerts.apply_moves(no, &moves, now);
        }
    }

    fn overdue(&self, no: AlertNo, now: Timestamp) -> Vec<EndpointNo> {
        let Some(live) = self.alerts.live.get(&no) else { return Vec::new() };
        let Some(chains) = &live.chains else { return Vec::new() };
        let timeout_s = i64::from(self.context.parts.settings.receipt_timeout_s);
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
                matches!(
                    cell.state,
                    DeliveryState::Accepted | DeliveryState::Delivered | DeliveryState::Unknown
                )
            })
            .filter_map(|(endpoint, cell)| {
                let since = moment(live.alert.created, cell.accepted.max(cell.submitted))?;
                is_overdue(endpoint, since, cell.state).then_some(endpoint)
            })
            .collect()
    }

    fn expire(&mut self, no: AlertNo, now: Timestamp) {
        let Some(live) = self.alerts.live.get_mut(&no) else { return };
        if live.alert.request.expires > now || live.alert.state.is_final() {
            return;
        }
        live.end_waiting(Reason::Expired, now);
        self.end(no, AlertState::Expired, "its time ran out", now);
        self.set_control(no, ControlState::Stop);
    }

    /// Alerts whose every delivery is where it will stay.
    pub fn finish_what_is_done(&mut self, now: Timestamp) {
        if self.alerts.touched.is_empty() {
            return;
        }
        self.alerts.touched_last = None;
        let touched: Vec<AlertNo> = self.alerts.touched.drain().collect();
        for no in touched {
            self.publisher.note_change(no);
            // What ends after its time has expired, also when the gateways are the first to say so.
            let done = self.alerts.live.get(&no).is_some_and(|live| {
                live.alert.state == AlertState::Running
                    && live.metas.as_ref().is_none_or(|metas| metas.closed)
                    && live.tally.pending(|route| self.dispatcher.routes.has_receipts(route)) == 0
                    && live.alert.request.expires > now
            });
            if done {
                self.end(no, AlertState::Done, "", now);
            }
        }
    }

    /// Moves an alert to a final state. It is written when its deliveries are.
    pub fn end(&mut self, no: AlertNo, state: AlertState, note: &str, now: Timestamp) {
        let Some(live) = self.alerts.live.get_mut(&no) else { return };
        live.alert.state = state;
        live.alert.version += 1;
        live.alert.note = note.to_owned();
        live.finished = Some(now);
        let change = StateChange { no, state, version: live.alert.version, note: note.to_owned(), at: now };
        self.folding.finished.push(change);
        self.alerts.running.remove(&no);
        self.alerts.unfolded.insert(no);
        self.publisher.note_end(no);
    }

    /// Tells gateways whether an alert may be sent.
    pub fn set_control(&mut self, no: AlertNo, state: ControlState) {
        let Some(live) = self.alerts.live.get(&no) else { return };
        let control = Control { alert: no, state, version: live.alert.version }.encode();
        let retained = self.control.clone();
        self.context.spawn_logged(async move {
            retained
                .set(&no.to_string(), &control)
                .await
                .map_err(|error| format!("control of alert {no}: {error}"))
        });
    }

    /// Alerts that have been final for a while leave memory.
    fn let_go(&mut self, now: Timestamp) {
        if self.folding.is_under_way() || self.alerts.live.len() == self.alerts.running.len() {
            return;
        }
        let linger = i64::from(self.context.parts.settings.linger_s);
        let mut finished: Vec<(Timestamp, AlertNo)> = self
            .alerts
            .live
            .values()
            .filter(|live| may_leave(live) && !self.alerts.unfolded.contains(&live.alert.no))
            .filter_map(|live| Some((live.finished?, live.alert.no)))
            .collect();
        finished.sort_unstable();
        let over = self.alerts.live.len().saturating_sub(ALERTS_KEPT_MAX).max(self.over_messages(&finished));
        let is_old =
            |(place, (at, _)): &(usize, (Timestamp, AlertNo))| *place < over || at.plus_s(linger) < now;
        let old: Vec<AlertNo> =
            finished.into_iter().enumerate().filter(is_old).map(|(_, (_, no))| no).collect();
        for no in old {
            if let Some(live) = self.alerts.live.remove(&no) {
                self.intake.forget(&live.alert);
                if live.alert.request.require_answer && live.alert.request.expires <= now {
                    self.alerts.replies.forget(no);
                }
            }
            self.dispatcher.forget(no);
            self.publisher.forget(no);
            let (retained, key) = (self.control.clone(), no.to_string());
            if retained.value(&key).is_some() {
                self.context.spawn_logged(async move {
                    retained.set(&key, &[]).await.map_err(|error| error.to_string())
                });
            }
        }
    }

    /// How many of the finished, oldest first, must go so that the messages of the rest are within the limit.
    fn over_messages(&self, finished: &[(Timestamp, AlertNo)]) -> usize {
        let len = |no: &AlertNo| {
            self.alerts
                .live
                .get(no)
                .filter(|live| live.metas.is_some())
                .map_or(0, crate::record::LiveAlert::len)
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
}
