//! EngineActor carries out commands: of doors, of other processes, and of solves that have ended.

use super::actor::EngineActor;
use super::alert_feeds::AlertFeed;
use super::approvals::WaitingStep;
use super::command::{ActorCommand, Health, Look, Reply, RouteQuestion, Solved};
use super::event_publisher::report;
use super::forecasting;
use super::route_table::RouteEntry;
use super::sharing::{LeaderRequest, decode_request, request_of};
use super::solving::{SolveTargets, Solving};
use super::steering::steer_unsolved;
use crate::api::{EngineError, Keywords, MessageClientSettings, Steer};
use crate::approval::ApprovalPolicy;
use crate::plan::Classifier;
use crate::record::LiveAlert;
use records::{Alert, AlertNo, Route, RouteHealth, Timestamp};
use std::sync::Arc;

impl EngineActor {
    pub fn obey(&mut self, command: ActorCommand) {
        match command {
            ActorCommand::Accepted { alert, solved } => {
                let is_shared = self.context.is_shared();
                let (solving, mut targets) = self.solving();
                match is_shared {
                    // It may have been found in the store before.
                    true => solving.solve_once(alert.no, Some(alert), solved, &mut targets),
                    false => solving.solve_new(alert, solved, &mut targets),
                }
            }
            ActorCommand::Solved { no, epoch, classifier, result } if epoch == self.context.epoch() => {
                self.solved(no, &classifier, result);
            }
            // Of an earlier term of ours: it was begun anew.
            ActorCommand::Solved { .. } => {}
            ActorCommand::Look { no, reply } => _ = reply.send(look(self, no)),
            ActorCommand::Deliveries { no, page, reply } => _ = reply.send(self.alerts.deliveries(no, page)),
            ActorCommand::People { no, question } => {
                question.answer(no, &mut self.alerts, &mut self.publisher, &self.context);
            }
            ActorCommand::Forget { no, endpoints, request, reply } => {
                let _ = reply.send(!self.solving.holds(no) && self.alerts.forget(no, &endpoints, request));
            }
            ActorCommand::Steer { no, verb, reply } => self.steer(no, verb, reply),
            ActorCommand::Decide { no, decision, reply } => self.decide(no, decision, Some(reply)),
            ActorCommand::Watch { no, reply } => {
                let watch = self.alerts.running.contains(&no) || self.solving.holds(no);
                let _ = reply.send(watch.then(|| self.publisher.watch(no)));
            }
            ActorCommand::Follow { account, reply } => _ = reply.send(follow(self, account)),
            ActorCommand::Observe { no, observer, request } => {
                self.publisher.observe(no, observer, request, self.context.now());
            }
            ActorCommand::Unobserve { no, observer } => self.publisher.unobserve(no, observer),
            ActorCommand::Routes { routes, reply } => _ = reply.send(self.change_routes(routes)),
            ActorCommand::Clients { clients, keywords, reply } => {
                change_clients(self, clients, keywords);
                let _ = reply.send(());
            }
            ActorCommand::ApprovalRules { policy, reply } => {
                self.change_approval(policy);
                let _ = reply.send(());
            }
            ActorCommand::OptOut { account, numbers, sender, at } => {
                note_stops(self, &account, &numbers, (sender.as_deref(), Some(at)));
            }
            ActorCommand::OptIn { account, numbers } => note_stops(self, &account, &numbers, (None, None)),
            ActorCommand::Declined(call) => {
                let keyword = self.messages.mo_routing.keyword(&call.inbound);
                self.take_words(&call.inbound, call.asked, keyword, call.position);
            }
            ActorCommand::Asked { account, addresses, reply } => {
                let _ = reply.send(self.alerts.asked_of(&account, &addresses));
            }
            ActorCommand::Present { channel, address } => {
                self.alerts.present(channel, &address, self.context.now());
            }
            ActorCommand::Message { .. }
            | ActorCommand::CancelMessage { .. }
            | ActorCommand::ReplaceMessage { .. }
            | ActorCommand::CancelMessages { .. } => {
                self.messages.queries.obey(command, &self.messages.intake, &mut self.alerts, &self.context);
            }
            ActorCommand::Forecasting(command) => forecasting::obey(self, command),
            ActorCommand::OfRoutes(question) => answer_of_routes(self, question),
            ActorCommand::Health { reply } => _ = reply.send(health(self)),
            ActorCommand::Stop { reply } => self.context.stopping = Some(reply),
        }
    }

    /// The part that solves, and the parts it works on.
    fn solving(&mut self) -> (&mut Solving, SolveTargets<'_>) {
        let (alerts, publisher, context) = (&self.alerts, &mut self.publisher, &self.context);
        let classifier = &self.dispatcher.routes.classifier;
        (&mut self.solving, SolveTargets { alerts, publisher, classifier, context })
    }

    /// A solve is through. Routes that changed meanwhile have other classes than those that it gave.
    fn solved(
        &mut self,
        no: AlertNo,
        classifier: &Arc<Classifier>,
        result: Result<(Box<LiveAlert>, u64), EngineError>,
    ) {
        let of_now = self.dispatcher.routes.classifier.clone();
        let waiters = self.solving.ended(no, &of_now, &self.context);
        match result {
            Ok((live, _people)) => {
                let is_forecast = !live.alert.origin.is_internal();
                self.alerts.insert(*live);
                if is_forecast {
                    let conditions = self.dispatcher.conditions(Some(no), &self.alerts, &self.context);
                    self.forecasting.solved(no, conditions, &self.alerts);
                }
                if !Arc::ptr_eq(classifier, &of_now) {
                    self.alerts.reclassify(no, &of_now);
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

    /// An alert was read from the store.
    pub fn found(
        &mut self,
        no: AlertNo,
        found: Result<Option<Box<Alert>>, EngineError>,
        reply: Option<Reply<Solved>>,
    ) {
        let (solving, mut targets) = self.solving();
        solving.found(no, found, reply, &mut targets);
    }

    /// Alerts that could not be solved before are looked up once more. Several processes find them in the
    /// store anyway.
    pub fn retry_solves(&mut self, now: Timestamp) {
        if !self.context.is_stopping() {
            let (solving, mut targets) = self.solving();
            solving.take_again(now).into_iter().for_each(|no| solving.look_up(no, None, &mut targets));
        }
    }

    /// Unfinished alerts were read from the store.
    pub fn found_unsolved(&mut self, found: Result<Vec<Alert>, EngineError>) {
        let Some(sharing) = &mut self.sharing else { return };
        let found = sharing.found_unsolved(found);
        let (solving, mut targets) = self.solving();
        for alert in found {
            if solving.may_try(alert.no, targets.context.now()) {
                solving.solve_once(alert.no, Some(Box::new(alert)), None, &mut targets);
            }
        }
    }

    /// Other processes accepted alerts.
    pub fn take_accepted(&mut self, records: &[bus::Record]) {
        let (solving, mut targets) = self.solving();
        for record in records {
            // It only makes a solve begin sooner: the store is queried too.
            match records::decode_accepted(&record.octets) {
                Ok(no) => solving.look_up(no, None, &mut targets),
                Err(error) => tracing::error!(
                    topic = records::ACCEPTED, index = record.index, %error, "an accepted alert's number is skipped"
                ),
            }
        }
    }

    /// Another process sent a request.
    pub fn take_request(&mut self, record: &bus::Record) {
        let Some(request) = decode_request(record) else { return };
        let (carried_out, response) = request_of(request.call);
        match carried_out {
            LeaderRequest::Solve(no, reply) => {
                let (solving, mut targets) = self.solving();
                solving.look_up(no, Some(reply), &mut targets);
            }
            LeaderRequest::Command(command) => self.obey(command),
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.await_response(request.from, request.id, response, &self.context);
        }
    }

    /// Changes an alert's course. The reply comes when it is on disk.
    fn steer(&mut self, no: AlertNo, verb: Steer, reply: Reply<Alert>) {
        if self.approvals.is_under_way(no) {
            return self.approvals.defer(no, WaitingStep::Steering(verb, reply));
        }
        self.steer_now(no, verb, reply);
    }

    /// The same, whatever is under way.
    pub fn steer_now(&mut self, no: AlertNo, verb: Steer, reply: Reply<Alert>) {
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

    /// Rules of approval changed: alerts that wait stay as they are.
    fn change_approval(&mut self, policy: ApprovalPolicy) {
        Arc::make_mut(&mut self.context.parts).settings.approval = policy;
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
}

fn answer_of_routes(actor: &EngineActor, question: RouteQuestion) {
    let now = actor.context.now();
    match question {
        RouteQuestion::States { reply } => {
            let _ = reply.send(actor.dispatcher.route_states(&actor.alerts, now));
        }
        RouteQuestion::History { name, reply } => {
            let _ = reply.send(actor.dispatcher.route_history(&name, now));
        }
    }
}

fn health(actor: &EngineActor) -> Health {
    let routes = &actor.dispatcher.routes;
    let routes = routes.classifier.routes().iter().zip(&routes.list);
    // A route whose use was stopped cannot send, whatever its sessions are.
    let health = |entry: &RouteEntry| {
        let up = entry.can_send();
        entry.health.as_ref().map(|health| RouteHealth { up, ..health.clone() })
    };
    Health {
        routes: routes.map(|(route, entry)| (route.clone(), health(entry))).collect(),
        backlog: actor.outcomes.waiting(),
        intake: actor.messages.intake.waiting(),
        alerts: actor.alerts.live.len(),
        running: actor.alerts.running.len(),
        deliveries: actor.alerts.live.values().map(LiveAlert::len).sum(),
        carrier_ids: actor.outcomes.carrier_ids.len(),
        unmatched_receipts: actor.outcomes.carrier_ids.unmatched,
    }
}

/// The feed of somebody who follows an account.
fn follow(actor: &mut EngineActor, account: String) -> AlertFeed {
    let (now, feeds) = (actor.context.now(), &mut actor.publisher.feeds);
    feeds.follow(account, &actor.alerts, &actor.dispatcher, now)
}

/// An alert in memory, with its report.
fn look(actor: &EngineActor, no: AlertNo) -> Option<Look> {
    let alert = actor.alerts.live.get(&no)?.alert.clone();
    let report = report(no, &actor.alerts, &actor.dispatcher, actor.context.now())?;
    Some(Look { alert, report })
}

fn change_clients(actor: &mut EngineActor, clients: Vec<MessageClientSettings>, keywords: Keywords) {
    let parts = Arc::make_mut(&mut actor.context.parts);
    parts.clients.clone_from(&clients);
    parts.settings.keywords = keywords.clone();
    actor.messages.intake.opt_outs.change(keywords.opt_out.clone());
    actor.messages.mo_routing.change(clients, keywords);
}

/// Somebody said STOP to a sender or to all at a time, or took it back.
fn note_stops(
    actor: &mut EngineActor,
    account: &str,
    numbers: &[String],
    (sender, at): (Option<&str>, Option<Timestamp>),
) {
    for number in numbers {
        actor.messages.intake.opt_outs.note(account, number, sender, at);
    }
}
