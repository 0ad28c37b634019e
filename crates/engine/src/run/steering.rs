//! AlertControl changes the course of an alert (pause, resume, cancel, retry-failed) and publishes to
//! gateways whether it may be sent. It owns the retained topic `control`.

use super::actor::{bus_error, store_error};
use super::alerts::Alerts;
use super::command::Reply;
use super::context::Context;
use super::solving::is_unsolved;
use crate::api::{EngineError, Parts, Problem, Steer};
use records::{Alert, AlertNo, AlertState, Control, ControlState, Reason, Timestamp};
use std::sync::Arc;

/// A cancelled alert's version is so far above the one that was read that neither the note of the solve that
/// failed nor a solve that begins meanwhile writes over it: each adds one.
const ABOVE: u32 = 3;
/// The note of an alert that was cancelled.
const CANCELLED: &str = "cancelled by its sender";

/// As a sentence has it: "cannot VERB an alert".
const EXTEND: &str = "extend";

/// See the module.
pub struct AlertControl {
    topic: Arc<dyn bus::Retained>,
}

impl AlertControl {
    pub fn new(parts: &Parts) -> Result<AlertControl, EngineError> {
        Ok(AlertControl { topic: parts.bus.retained(records::CONTROL).map_err(bus_error)? })
    }

    /// Changes the course of an alert in memory. The reply comes when it is on disk. True if the alert ended.
    pub fn steer(
        &self,
        no: AlertNo,
        verb: Steer,
        reply: Reply<Alert>,
        alerts: &mut Alerts,
        context: &Context,
    ) -> bool {
        let Some(live) = alerts.live.get(&no) else { return false };
        let state = live.alert.state;
        // Messages of a stream are cancelled one by one; only the flow is held here.
        if live.metas.is_some() && !matches!(verb, Steer::Pause | Steer::Resume) {
            let _ = reply.send(Err(EngineError::WrongState { state: "standing", verb: verb.name() }));
            return false;
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
                return false;
            }
        };
        carry_out(no, verb, next, alerts, context);
        self.write_and_reply(no, next, reply, alerts, context);
        verb == Steer::Cancel
    }

    /// Gateways get it first: the state in SQL must already hold.
    fn write_and_reply(
        &self,
        no: AlertNo,
        state: AlertState,
        reply: Reply<Alert>,
        alerts: &Alerts,
        context: &Context,
    ) {
        let Some(live) = alerts.live.get(&no) else { return };
        let alert = live.alert.clone();
        let (topic, store, at) = (self.topic.clone(), context.parts.store.clone(), context.now());
        let control = match state {
            AlertState::Cancelled => ControlState::Stop,
            AlertState::Paused => ControlState::Pause,
            _ => ControlState::Run,
        };
        context.spawn_logged(async move {
            let control = Control { alert: no, state: control, version: alert.version }.encode();
            let set = topic.set(&no.to_string(), &control).await.map_err(bus_error);
            let written = match set {
                Ok(()) => {
                    match store.set_alert_state(no, alert.state, alert.version, &alert.note, at).await {
                        // A later state (a retry of nothing is done at once) was written meanwhile: that is
                        // the one to keep.
                        Ok(()) | Err(store::StoreError::Conflict { .. }) => Ok(()),
                        Err(error) => Err(store_error(error)),
                    }
                }
                Err(error) => Err(error),
            };
            let result = written.as_ref().copied().map_err(ToString::to_string);
            let _ = reply.send(written.map(|()| alert));
            result
        });
    }

    /// An alert is not to be sent any more.
    pub fn stop(&self, no: AlertNo, alerts: &Alerts, context: &Context) {
        let Some(live) = alerts.live.get(&no) else { return };
        let control = Control { alert: no, state: ControlState::Stop, version: live.alert.version }.encode();
        let topic = self.topic.clone();
        context.spawn_logged(async move {
            let set = topic.set(&no.to_string(), &control).await;
            set.map_err(|error| format!("control of alert {no}: {error}"))
        });
    }

    /// An alert left memory: gateways need not know of it any more.
    pub fn clear(&self, no: AlertNo, context: &Context) {
        let (topic, key) = (self.topic.clone(), no.to_string());
        if topic.value(&key).is_some() {
            context
                .spawn_logged(async move { topic.set(&key, &[]).await.map_err(|error| error.to_string()) });
        }
    }
}

fn carry_out(no: AlertNo, verb: Steer, next: AlertState, alerts: &mut Alerts, context: &Context) {
    let now = context.now();
    let Some(live) = alerts.live.get_mut(&no) else { return };
    live.alert.state = next;
    live.alert.version += 1;
    live.alert.set_note(if verb == Steer::Cancel { CANCELLED } else { "" });
    match verb {
        Steer::Cancel => {
            live.end_waiting(Reason::Cancelled, now);
            live.finished = Some(now);
            alerts.running.remove(&no);
        }
        Steer::RetryFailed => {
            live.retry_failed(now);
            live.finished = None;
            alerts.running.insert(no);
        }
        Steer::Pause | Steer::Resume => {}
    }
    alerts.touch(no);
}

/// Lets an alert in memory end later. The reply comes when that is on disk.
pub fn extend(no: AlertNo, expires: Timestamp, reply: Reply<Alert>, alerts: &mut Alerts, context: &Context) {
    let Some(live) = alerts.live.get_mut(&no) else {
        // It is over, or not solved yet.
        let _ = reply.send(Err(EngineError::WrongState { state: "not running", verb: EXTEND }));
        return;
    };
    let state = live.alert.state;
    if !matches!(state, AlertState::Running | AlertState::Paused) {
        let _ = reply.send(Err(EngineError::WrongState { state: state.name(), verb: EXTEND }));
        return;
    }
    if expires <= live.alert.request.expires {
        let reason = "is not later than the alert ends already: an alert is only extended".to_owned();
        let problem = Problem { field: "expires".into(), reason };
        let _ = reply.send(Err(EngineError::Unprocessable(vec![problem])));
        return;
    }
    live.alert.request.expires = expires;
    live.alert.version += 1;
    let alert = live.alert.clone();
    alerts.touch(no);
    let (store, now) = (context.parts.store.clone(), context.now());
    context.spawn_logged(async move {
        let written = async {
            store.rewrite_request(no, &alert.request).await?;
            match store.set_alert_state(no, alert.state, alert.version, &alert.note, now).await {
                // A later state was written meanwhile: that is the one to keep.
                Ok(()) | Err(store::StoreError::Conflict { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        };
        let written = written.await.map_err(store_error);
        let result = written.as_ref().copied().map_err(ToString::to_string);
        let _ = reply.send(written.map(|()| alert));
        result
    });
}

/// An alert that could not be solved waits to be tried again: it can be cancelled, and that is all.
pub fn steer_unsolved(no: AlertNo, verb: Steer, reply: Reply<Alert>, context: &Context) {
    let (store, now) = (context.parts.store.clone(), context.now());
    context.spawn_logged(async move {
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
