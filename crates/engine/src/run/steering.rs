//! The sender's hand on a running alert; and looks at it.

use super::actor::{EngineActor, store_error};
use super::command::{Health, Reply, Wanted};
use super::solving::is_unsolved;
use crate::api::{EngineError, Steer};
use records::{Alert, AlertNo, AlertState, Control, ControlState, Delivery, DeliveryState, Reason};

/// Deliveries looked through for one page at most; a page may be short, its cursor goes on.
const LOOKED_THROUGH_MAX: usize = 1_000_000;
/// A cancelled alert's version is so far above the one that was read that neither the note of the solve that
/// failed nor a solve that begins meanwhile writes over it: each adds one.
const ABOVE: u32 = 3;
/// The note of an alert that was cancelled.
const CANCELLED: &str = "cancelled by its sender";

impl EngineActor {
    /// Changes an alert's course. The reply comes when it is on disk.
    pub fn steer(&mut self, no: AlertNo, verb: Steer, reply: Reply<Alert>) {
        if self.solving.holds(no) {
            return self.solving.defer(no, verb, reply);
        }
        if !self.alerts.live.contains_key(&no) && !self.read_back(no) {
            return self.steer_unsolved(no, verb, reply);
        }
        let Some(live) = self.alerts.live.get(&no) else { return };
        let state = live.alert.state;
        // What stands in it is its clients' to take back; only the flow is ours to hold.
        if live.metas.is_some() && !matches!(verb, Steer::Pause | Steer::Resume) {
            let _ = reply.send(Err(EngineError::WrongState { state: "standing", verb: verb.name() }));
            return;
        }
        let next = match (verb, state) {
            (Steer::Cancel, AlertState::Running | AlertState::Paused | AlertState::AwaitingApproval) => {
                AlertState::Cancelled
            }
            (Steer::Pause, AlertState::Running) => AlertState::Paused,
            (Steer::Resume, AlertState::Paused) => AlertState::Running,
            (Steer::RetryFailed, AlertState::Running | AlertState::Paused) => state,
            (Steer::RetryFailed, AlertState::Done) => AlertState::Running,
            _ => {
                let _ = reply.send(Err(EngineError::WrongState { state: state.name(), verb: verb.name() }));
                return;
            }
        };
        self.carry_out_verb(no, verb, next);
        self.write_and_reply(no, next, reply);
    }

    /// One that could not be solved waits to be tried again: it can be cancelled, and that is all.
    fn steer_unsolved(&mut self, no: AlertNo, verb: Steer, reply: Reply<Alert>) {
        let (store, now) = (self.context.parts.store.clone(), self.context.now());
        self.context.spawn_logged(async move {
            let found = store.alert_by_no(no).await.map_err(store_error);
            let steered = match found {
                Ok(Some(alert)) if verb != Steer::Cancel || !is_unsolved(&alert) => {
                    Err(EngineError::WrongState { state: alert.state.name(), verb: verb.name() })
                }
                Ok(Some(alert)) => {
                    let (state, version) = (AlertState::Cancelled, alert.version + ABOVE);
                    let alert = Alert { state, version, note: CANCELLED.to_owned(), ..alert };
                    let written = store.set_alert_state(no, state, version, CANCELLED, now).await;
                    written.map(|()| alert).map_err(store_error)
                }
                Ok(None) => Err(EngineError::NotFound),
                Err(error) => Err(error),
            };
            let _ = reply.send(steered);
            Ok(())
        });
    }

    fn carry_out_verb(&mut self, no: AlertNo, verb: Steer, next: AlertState) {
        let now = self.context.now();
        let Some(live) = self.alerts.live.get_mut(&no) else { return };
        live.alert.state = next;
        live.alert.version += 1;
        live.alert.note.clear();
        match verb {
            Steer::Cancel => {
                live.end_waiting(Reason::Cancelled, now);
                live.alert.note = CANCELLED.to_owned();
                live.finished = Some(now);
                self.alerts.running.remove(&no);
                self.publisher.note_end(no);
            }
            Steer::RetryFailed => {
                live.retry_failed(now);
                live.finished = None;
                self.alerts.running.insert(no);
            }
            Steer::Pause | Steer::Resume | Steer::Approve => {}
        }
        self.alerts.touch(no);
    }

    /// Gateways are told first: what SQL says must already hold.
    fn write_and_reply(&mut self, no: AlertNo, state: AlertState, reply: Reply<Alert>) {
        let Some(live) = self.alerts.live.get(&no) else { return };
        let alert = live.alert.clone();
        let (retained, store, at) =
            (self.control.clone(), self.context.parts.store.clone(), self.context.now());
        let told = match state {
            AlertState::Cancelled => ControlState::Stop,
            AlertState::Paused => ControlState::Pause,
            _ => ControlState::Run,
        };
        self.context.spawn_logged(async move {
            let control = Control { alert: no, state: told, version: alert.version }.encode();
            let set = retained.set(&no.to_string(), &control).await.map_err(super::actor::bus_error);
            let written = match set {
                Ok(()) => {
                    match store.set_alert_state(no, alert.state, alert.version, &alert.note, at).await {
                        // A later state (a retry of nothing is done at once) was written meanwhile: that is
                        // the one to keep.
                        Ok(()) | Err(store::StoreError::Conflict { .. }) => Ok(()),
                        Err(error) => Err(super::actor::store_error(error)),
                    }
                }
                Err(error) => Err(error),
            };
            let result = written.as_ref().copied().map_err(ToString::to_string);
            let _ = reply.send(written.map(|()| alert));
            result
        });
    }

    /// A page of deliveries of an alert in memory.
    pub fn deliveries(&self, no: AlertNo, wanted: Wanted) -> Option<Vec<Delivery>> {
        let live = self.alerts.live.get(&no)?;
        let fits = |state: DeliveryState| wanted.state.is_none_or(|wanted| wanted == state);
        let found = live
            .each()
            .skip(wanted.from.0 as usize)
            .take(LOOKED_THROUGH_MAX)
            .filter(|(_, cell)| fits(cell.state))
            .take(wanted.limit);
        Some(found.filter_map(|(endpoint, _)| live.delivery(endpoint, &self.alerts.strings)).collect())
    }

    /// How things stand.
    pub fn how_it_stands(&self) -> Health {
        let routes = self.dispatcher.routes.classifier.routes().iter().zip(&self.dispatcher.routes.list);
        Health {
            routes: routes.map(|(route, way)| (route.clone(), way.health.clone())).collect(),
            backlog: self.outcomes.topic.head().saturating_sub(self.outcomes.next),
            intake: self.intake.waiting(),
            alerts: self.alerts.live.len(),
            running: self.alerts.running.len(),
            deliveries: self.alerts.live.values().map(crate::record::LiveAlert::len).sum(),
            carrier_ids: self.outcomes.carrier_ids.len(),
            unmatched_receipts: self.outcomes.carrier_ids.unmatched,
        }
    }
}
