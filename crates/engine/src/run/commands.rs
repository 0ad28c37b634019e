//! EngineActor carries out commands: of doors, of other processes, and of solves that have ended.

use super::actor::{BackgroundResult, EngineActor, store_error};
use super::command::{ActorCommand, Health, Look, Reply, Solved};
use super::event_publisher::report;
use super::sharing::{Request, decode_request, request_of};
use super::solving::is_unsolved;
use super::steering::steer_unsolved;
use crate::api::{EngineError, Steer};
use crate::plan::Classifier;
use crate::record::LiveAlert;
use records::{Alert, AlertNo, Route, Timestamp};
use std::sync::Arc;

impl EngineActor {
    pub fn obey(&mut self, command: ActorCommand) {
        match command {
            ActorCommand::Accepted { alert, solved } => {
                if self.context.is_shared() {
                    // It may have been found in the store before.
                    return self.solve_once(alert.no, Some(alert), solved);
                }
                self.solve(alert, solved);
            }
            ActorCommand::Solved { no, epoch, classifier, result } if epoch == self.context.epoch() => {
                self.solved(no, &classifier, result);
            }
            // Of an earlier term of ours: it was begun anew.
            ActorCommand::Solved { .. } => {}
            ActorCommand::Look { no, reply } => {
                let alert = self.alerts.live.get(&no).map(|live| live.alert.clone());
                let report = report(no, &self.alerts, &self.dispatcher, self.context.now());
                let _ = reply.send(alert.zip(report).map(|(alert, report)| Look { alert, report }));
            }
            ActorCommand::Deliveries { no, page, reply } => {
                let _ = reply.send(self.alerts.deliveries(no, page));
            }
            ActorCommand::Steer { no, verb, reply } => self.steer(no, verb, reply),
            ActorCommand::Watch { no, reply } => {
                let watch = self.alerts.running.contains(&no) || self.solving.holds(no);
                let _ = reply.send(watch.then(|| self.publisher.watch(no)));
            }
            ActorCommand::Observe { no, observer, request } => {
                self.publisher.observe(no, observer, request, self.context.now());
            }
            ActorCommand::Unobserve { no, observer } => self.publisher.unobserve(no, observer),
            ActorCommand::Routes { routes, reply } => _ = reply.send(self.change_routes(routes)),
            ActorCommand::Clients { clients, keywords, reply } => {
                let parts = Arc::make_mut(&mut self.context.parts);
                parts.parties.clone_from(&clients);
                parts.settings.keywords = keywords.clone();
                self.mo_routing.change(clients, keywords);
                let _ = reply.send(());
            }
            ActorCommand::Message { .. }
            | ActorCommand::CancelMessage { .. }
            | ActorCommand::ReplaceMessage { .. }
            | ActorCommand::CancelMessages { .. } => {
                self.queries.obey(command, &self.intake, &mut self.alerts, &self.context);
            }
            ActorCommand::Health { reply } => _ = reply.send(self.health()),
            ActorCommand::Stop { reply } => self.context.stopping = Some(reply),
        }
    }

    /// An alert has to be solved.
    fn solve(&mut self, alert: Box<Alert>, reply: Option<Reply<Solved>>) {
        self.publisher.observe_all(&alert, Vec::new(), self.context.now());
        self.solving.solve(alert, reply, &self.dispatcher.routes.classifier, &self.context);
    }

    /// A solve is through. Routes that changed meanwhile have other classes than those that it gave.
    fn solved(
        &mut self,
        no: AlertNo,
        classifier: &Arc<Classifier>,
        result: Result<(Box<LiveAlert>, u64), EngineError>,
    ) {
        let routes = &self.dispatcher.routes;
        let waiters = self.solving.ended(no, &routes.classifier, &self.context);
        match result {
            Ok((live, _people)) => {
                self.alerts.insert(*live);
                if !Arc::ptr_eq(classifier, &routes.classifier) {
                    self.alerts.reclassify(no, &routes.classifier);
                }
                let solved = self.alerts.solved(no, self.context.now());
                for waiter in waiters {
                    let _ = waiter.send(solved.clone().ok_or(EngineError::NotFound));
                }
            }
            Err(error) => self.solving.failed(no, error, waiters, &self.context),
        }
        for (verb, reply) in self.solving.take_deferred(no) {
            self.steer(no, verb, reply);
        }
    }

    /// However often it is announced, an alert is solved once.
    fn solve_once(&mut self, no: AlertNo, alert: Option<Box<Alert>>, reply: Option<Reply<Solved>>) {
        if self.solving.holds(no) {
            return self.solving.wait_too(no, reply);
        }
        if self.alerts.live.contains_key(&no) {
            let solved = self.alerts.solved(no, self.context.now());
            if let Some(reply) = reply {
                let _ = reply.send(solved.ok_or(EngineError::NotFound));
            }
            return;
        }
        match alert {
            Some(alert) if is_unsolved(&alert) => self.solve(alert, reply),
            _ => reply.into_iter().for_each(|reply| _ = reply.send(Err(EngineError::NotFound))),
        }
    }

    /// Solves an alert of the store, if that was not done.
    fn look_up(&mut self, no: AlertNo, reply: Option<Reply<Solved>>) {
        if self.alerts.live.contains_key(&no) || self.solving.holds(no) {
            return self.solve_once(no, None, reply);
        }
        let store = self.context.parts.store.clone();
        self.context.spawn(async move {
            let found = store.alert_by_no(no).await.map_err(store_error);
            BackgroundResult::Found(no, found.map(|alert| alert.map(Box::new)), reply)
        });
    }

    /// An alert was read from the store.
    pub fn found(
        &mut self,
        no: AlertNo,
        found: Result<Option<Box<Alert>>, EngineError>,
        reply: Option<Reply<Solved>>,
    ) {
        match (found, reply) {
            (Ok(alert), reply) => self.solve_once(no, alert, reply),
            (Err(error), Some(reply)) => _ = reply.send(Err(error)),
            (Err(error), None) => {
                tracing::warn!(alert = no.0, %error, "an accepted alert could not be read; it will be tried again");
                if !self.context.is_shared() {
                    self.solving.note_failed(no, self.context.now());
                }
            }
        }
    }

    /// Alerts that could not be solved before are looked up once more. Several processes find them in the store
    /// anyway.
    pub fn retry_solves(&mut self, now: Timestamp) {
        if !self.context.is_stopping() {
            self.solving.take_again(now).into_iter().for_each(|no| self.look_up(no, None));
        }
    }

    /// Unfinished alerts were read from the store.
    pub fn found_unsolved(&mut self, found: Result<Vec<Alert>, EngineError>) {
        let Some(sharing) = &mut self.sharing else { return };
        for alert in sharing.found_unsolved(found) {
            if self.solving.may_try(alert.no, self.context.now()) {
                self.solve_once(alert.no, Some(Box::new(alert)), None);
            }
        }
    }

    /// Other processes accepted alerts.
    pub fn take_accepted(&mut self, records: &[bus::Record]) {
        for record in records {
            // It only makes a solve begin sooner: the store is queried too.
            match records::decode_accepted(&record.octets) {
                Ok(no) => self.look_up(no, None),
                Err(error) => tracing::error!(
                    topic = records::ACCEPTED, index = record.index, %error, "an accepted alert's number is skipped"
                ),
            }
        }
    }

    /// Another process sent a request.
    pub fn take_request(&mut self, record: &bus::Record) {
        let Some(request) = decode_request(record) else { return };
        let (carried_out, response) = request_of(request.question);
        match carried_out {
            Request::Solve(no, reply) => self.look_up(no, Some(reply)),
            Request::Command(command) => self.obey(command),
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.await_response(request.from, request.id, response, &self.context);
        }
    }

    /// Changes an alert's course. The reply comes when it is on disk.
    fn steer(&mut self, no: AlertNo, verb: Steer, reply: Reply<Alert>) {
        if self.solving.holds(no) {
            return self.solving.defer(no, verb, reply);
        }
        if !self.alerts.live.contains_key(&no) && !self.read_back(no) {
            return steer_unsolved(no, verb, reply, &self.context);
        }
        if self.control.steer(no, verb, reply, &mut self.alerts, &self.context) {
            self.publisher.note_end(no);
        }
    }

    /// Routes changed: the class of each waiting endpoint is given anew.
    fn change_routes(&mut self, routes: Vec<Route>) -> Result<(), EngineError> {
        self.dispatcher.change_routes(routes.clone(), &mut self.alerts, &self.context)?;
        Arc::make_mut(&mut self.context.parts).routes = routes;
        let running: Vec<AlertNo> = self.alerts.running.iter().copied().collect();
        for no in running {
            self.alerts.reclassify(no, &self.dispatcher.routes.classifier);
            self.alerts.touch(no);
        }
        Ok(())
    }

    fn health(&self) -> Health {
        let routes = &self.dispatcher.routes;
        let routes = routes.classifier.routes().iter().zip(&routes.list);
        Health {
            routes: routes.map(|(route, entry)| (route.clone(), entry.health.clone())).collect(),
            backlog: self.outcomes.waiting(),
            intake: self.intake.waiting(),
            alerts: self.alerts.live.len(),
            running: self.alerts.running.len(),
            deliveries: self.alerts.live.values().map(LiveAlert::len).sum(),
            carrier_ids: self.outcomes.carrier_ids.len(),
            unmatched_receipts: self.outcomes.carrier_ids.unmatched,
        }
    }
}
