//! Duties of the engine's actor as one of several processes: it looks whether it still leads, reads the bus
//! without waiting for it, appends segments at a head it knows, reads of accepted alerts, and answers
//! requests of others.

use super::actor::{BackgroundResult, EngineActor, bus_error, store_error};
use super::command::{ActorCommand, Reply, Solved};
use super::solving::is_unsolved;
use crate::api::{EngineError, Parts};
use crate::messages::Steered;
use crate::shared::{Nodes, RpcCall, RpcRequest, RpcResponse, RpcResult, kept_briefly, latest};
use futures_util::future::{BoxFuture, FutureExt};
use records::{Alert, AlertNo, Timestamp};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Records of each source taken in one go, and their octets.
const RECORDS_AT_ONCE: usize = 512;
const OCTETS_AT_ONCE: usize = 1024 * 1024;
/// After a failure a source is read again so much later, and an append is tried again.
const PAUSE: Duration = Duration::from_millis(200);
/// The store is asked for unsolved alerts so often: what a lost word costs.
const UNSOLVED_EVERY: Duration = Duration::from_secs(3);
/// Questions of others that wait for their answers; more are refused.
const ANSWERING_MAX: usize = 16_384;
/// Processes whose topics of answers are kept open; the memory begins anew when it is full.
const ASKERS_MAX: usize = 256;
/// Keys of processes that are gone are looked for so often.
const FORGET_EVERY: Duration = Duration::from_secs(30);

/// What is read from the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusSource {
    Outcomes,
    Intake,
    Accepted,
    Asks,
}

/// What only one of several processes needs.
pub struct Sharing {
    nodes: Nodes,
    accepted: Followed,
    asks: Followed,
    /// Reads under way, by [`BusSource`].
    reading: [bool; 4],
    askers: FxHashMap<String, Arc<dyn bus::Topic>>,
    answering: usize,
    unsolved_at: Option<Instant>,
    unsolved_asked: bool,
    forgot_at: Instant,
}

/// A topic that is read on and on.
struct Followed {
    topic: Arc<dyn bus::Topic>,
    next: u64,
}

impl Sharing {
    /// Opens its topics; may block.
    pub fn open(parts: &Parts) -> Result<Sharing, EngineError> {
        let followed = |topic: Arc<dyn bus::Topic>| Followed { next: topic.head(), topic };
        let asks = parts.bus.topic_with(records::ASKS, &kept_briefly()).map_err(bus_error)?;
        Ok(Sharing {
            nodes: Nodes::default(),
            accepted: followed(parts.bus.topic(records::ACCEPTED).map_err(bus_error)?),
            asks: followed(asks),
            reading: [false; 4],
            askers: FxHashMap::default(),
            answering: 0,
            unsolved_at: None,
            unsolved_asked: false,
            forgot_at: Instant::now(),
        })
    }

    /// Goes to where the topics end now: what is accepted before is in the store, and who asked before asks
    /// another.
    pub async fn catch_up(&mut self) -> Result<(), EngineError> {
        self.accepted.next = latest(&*self.accepted.topic).await?;
        self.asks.next = latest(&*self.asks.topic).await?;
        Ok(())
    }

    fn followed(&mut self, source: BusSource) -> Option<&mut Followed> {
        match source {
            BusSource::Accepted => Some(&mut self.accepted),
            BusSource::Asks => Some(&mut self.asks),
            BusSource::Outcomes | BusSource::Intake => None,
        }
    }
}

impl EngineActor {
    /// A read of this source is under way: no use to wait until there is something to read.
    pub fn is_reading(&self, source: BusSource) -> bool {
        self.sharing.as_ref().is_some_and(|sharing| sharing.reading[source as usize])
    }

    /// Resolves when others have said something.
    pub fn hinted(&self) -> BoxFuture<'static, ()> {
        let Some(sharing) = &self.sharing else { return futures_util::future::pending().boxed() };
        let readable = |followed: &Followed, source: BusSource| match sharing.reading[source as usize] {
            true => futures_util::future::pending().boxed(),
            false => followed.topic.readable(followed.next),
        };
        let accepted = readable(&sharing.accepted, BusSource::Accepted);
        let asks = match sharing.answering < ANSWERING_MAX {
            true => readable(&sharing.asks, BusSource::Asks),
            false => futures_util::future::pending().boxed(),
        };
        futures_util::future::select(accepted, asks).map(|_| ()).boxed()
    }

    /// Begins to read what came.
    pub fn read_what_is_there(&mut self) {
        if self.context.is_stopping() {
            return;
        }
        let Some(sharing) = &self.sharing else { return };
        let accepted = sharing.accepted.topic.head() > sharing.accepted.next;
        let asks = sharing.asks.topic.head() > sharing.asks.next && sharing.answering < ANSWERING_MAX;
        let takes = !self.status_events.is_full();
        let outcomes = takes && self.outcomes.waiting() > 0;
        let intake = takes && self.intake.waiting() > 0 && self.intake.is_open(self.context.now());
        let there = [
            (BusSource::Outcomes, outcomes),
            (BusSource::Intake, intake),
            (BusSource::Accepted, accepted),
            (BusSource::Asks, asks),
        ];
        there.into_iter().filter(|(_, is_there)| *is_there).for_each(|(source, _)| self.read(source));
    }

    fn read(&mut self, source: BusSource) {
        let Some(sharing) = &mut self.sharing else { return };
        if std::mem::replace(&mut sharing.reading[source as usize], true) {
            return;
        }
        let (topic, next) = match sharing.followed(source) {
            Some(followed) => (followed.topic.clone(), followed.next),
            None if source == BusSource::Intake => (self.intake.topic.clone(), self.intake.next),
            None => (self.outcomes.topic.clone(), self.outcomes.next),
        };
        self.context.background.push(Box::pin(async move {
            let read = topic.fetch(next, RECORDS_AT_ONCE, OCTETS_AT_ONCE).await;
            if read.as_ref().map_or(true, Vec::is_empty) {
                // Servers that do not answer, or do not have yet what we have heard of.
                tokio::time::sleep(PAUSE).await;
            }
            BackgroundResult::Read(source, read)
        }));
    }

    /// Something was read.
    pub fn was_read(&mut self, source: BusSource, read: Result<Vec<bus::Record>, bus::BusError>) {
        let Some(sharing) = &mut self.sharing else { return };
        sharing.reading[source as usize] = false;
        let records = match read {
            Ok(records) => records,
            Err(error) => {
                tracing::warn!(?source, %error, "the bus cannot be read now; it will be tried again");
                return;
            }
        };
        if let (Some(followed), Some(last)) = (sharing.followed(source), records.last()) {
            followed.next = last.index + 1;
            let _ = followed.topic.trim(followed.next);
        }
        let now = self.context.now();
        match source {
            BusSource::Outcomes => self.take_outcome_records(&records),
            BusSource::Intake if self.intake.is_open(now) && self.context.stopping.is_none() => {
                self.take_records(&records, now);
            }
            BusSource::Intake => {}
            BusSource::Accepted => self.take_accepted(&records),
            BusSource::Asks => records.iter().for_each(|record| self.take_ask(record)),
        }
    }

    fn take_accepted(&mut self, records: &[bus::Record]) {
        for record in records {
            // A hint alone: the store is asked too.
            match records::decode_accepted(&record.octets) {
                Ok(no) => self.look_up(no, None),
                Err(error) => tracing::error!(
                    topic = records::ACCEPTED, index = record.index, %error, "an accepted alert's number is skipped"
                ),
            }
        }
    }

    /// Solves an alert of the store, if that was not done.
    fn look_up(&mut self, no: AlertNo, reply: Option<Reply<Solved>>) {
        if self.alerts.live.contains_key(&no) || self.solving.holds(no) {
            return self.solve_once(no, None, reply);
        }
        let store = self.context.parts.store.clone();
        self.context.background.push(Box::pin(async move {
            let found = store.alert_by_no(no).await.map_err(store_error);
            BackgroundResult::Found(no, found.map(|alert| alert.map(Box::new)), reply)
        }));
    }

    /// An alert was looked for.
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
                    let now = self.context.now();
                    self.solving.note_failed(no, now);
                }
            }
        }
    }

    /// However often it is heard of, an alert is solved once.
    pub fn solve_once(&mut self, no: AlertNo, alert: Option<Box<Alert>>, reply: Option<Reply<Solved>>) {
        if self.solving.holds(no) {
            return self.solving.wait_too(no, reply);
        }
        if self.alerts.live.contains_key(&no) {
            let solved = self.solved_as_told(no);
            if let Some(reply) = reply {
                let _ = reply.send(solved.ok_or(EngineError::NotFound));
            }
            return;
        }
        match alert {
            Some(alert) if is_unsolved(&alert) => {
                self.observe_all(&alert, Vec::new(), self.context.now());
                self.solve(alert, reply);
            }
            _ => reply.into_iter().for_each(|reply| _ = reply.send(Err(EngineError::NotFound))),
        }
    }

    /// What could not be solved before is looked for once more. Several processes find it in the store
    /// anyway.
    pub fn solve_again(&mut self, now: Timestamp) {
        if self.context.stopping.is_none() {
            self.solving.take_again(now).into_iter().for_each(|no| self.look_up(no, None));
        }
    }

    /// Every few seconds the store is asked for alerts that nobody has told us of.
    pub fn look_for_unsolved(&mut self) {
        let Some(sharing) = &mut self.sharing else { return };
        let is_time = sharing.unsolved_at.is_none_or(|at| at.elapsed() >= UNSOLVED_EVERY);
        if !is_time || sharing.unsolved_asked || self.context.is_stopping() {
            return;
        }
        sharing.unsolved_asked = true;
        let store = self.context.parts.store.clone();
        self.context.background.push(Box::pin(async move {
            BackgroundResult::Unsolved(store.unfinished_alerts().await.map_err(store_error))
        }));
    }

    /// What the store said.
    pub fn unsolved(&mut self, found: Result<Vec<Alert>, EngineError>) {
        let Some(sharing) = &mut self.sharing else { return };
        sharing.unsolved_asked = false;
        sharing.unsolved_at = Some(Instant::now());
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, "the store cannot be asked for unsolved alerts now");
                return;
            }
        };
        for alert in found.into_iter().filter(is_unsolved) {
            if self.solving.may_try(alert.no, self.context.now()) {
                self.solve_once(alert.no, Some(Box::new(alert)), None);
            }
        }
    }

    /// How the routes are, over all processes.
    pub fn look_at_nodes(&mut self) {
        let Some(sharing) = &mut self.sharing else { return };
        let now = Instant::now();
        sharing.nodes.hear(&*self.dispatcher.health, now);
        for (i, route) in self.dispatcher.routes.classifier.routes().iter().enumerate() {
            self.dispatcher.routes.list[i].health = sharing.nodes.health(&route.name, now);
        }
        if now.duration_since(sharing.forgot_at) < FORGET_EVERY {
            return;
        }
        sharing.forgot_at = now;
        let gone = sharing.nodes.forgotten(now);
        let health = self.dispatcher.health.clone();
        if !gone.is_empty() {
            self.context.spawn_logged(async move {
                for key in gone {
                    health.set(&key, &[]).await.map_err(|error| error.to_string())?;
                }
                Ok(())
            });
        }
    }

    /// Another process asks.
    fn take_ask(&mut self, record: &bus::Record) {
        let Some(RpcRequest { from, id, question }) = RpcRequest::decode(&record.octets) else {
            tracing::warn!(index = record.index, "a question of another process cannot be read");
            return;
        };
        let answer = self.put(question);
        if let Some(sharing) = &mut self.sharing {
            sharing.answering += 1;
        }
        self.context.background.push(Box::pin(async move {
            let said = answer.await.map_err(Into::into);
            BackgroundResult::Answered(from, RpcResponse { id, said })
        }));
    }

    /// Puts a question to ourselves.
    fn put(&mut self, question: RpcCall) -> BoxFuture<'static, Result<RpcResult, EngineError>> {
        match question {
            RpcCall::Solve { no } => {
                let (reply, answer) = oneshot::channel();
                self.look_up(no, Some(reply));
                said(answer, RpcResult::from)
            }
            RpcCall::Steer { no, verb } => {
                let (reply, answer) = oneshot::channel();
                self.obey(ActorCommand::Steer { no, verb, reply });
                said(answer, |alert| RpcResult::Alert(Box::new(alert)))
            }
            RpcCall::Observe { no, observer, request } => {
                self.obey(ActorCommand::Observe { no, observer, request });
                done()
            }
            RpcCall::Unobserve { no, observer } => {
                self.obey(ActorCommand::Unobserve { no, observer });
                done()
            }
            RpcCall::Message { account, id } => {
                let (reply, answer) = oneshot::channel();
                self.obey(ActorCommand::Message { account, id, reply });
                said(answer, |look| RpcResult::Message(look.map(|look| Box::new(look.into()))))
            }
            RpcCall::CancelMessage { account, id } => {
                self.put_change(|reply| ActorCommand::CancelMessage { account, id, reply })
            }
            RpcCall::ReplaceMessage { account, id, change } => {
                self.put_change(|reply| ActorCommand::ReplaceMessage { account, id, change, reply })
            }
            RpcCall::CancelMessages { account, wanted } => {
                let (reply, answer) = oneshot::channel();
                self.obey(ActorCommand::CancelMessages { account, wanted, reply });
                said(answer, RpcResult::Count)
            }
        }
    }

    fn put_change(
        &mut self,
        command: impl FnOnce(Reply<Steered>) -> ActorCommand,
    ) -> BoxFuture<'static, Result<RpcResult, EngineError>> {
        let (reply, answer) = oneshot::channel();
        self.obey(command(reply));
        said(answer, RpcResult::Steered)
    }

    /// An answer is to be told.
    pub fn answered(&mut self, to: String, answered: &RpcResponse) {
        let guard = self.context.guard();
        let Some(sharing) = &mut self.sharing else { return };
        sharing.answering = sharing.answering.saturating_sub(1);
        let topic = match sharing.askers.get(&to) {
            Some(topic) => topic.clone(),
            None => {
                let name = records::answers_topic(&to);
                match self.context.parts.bus.topic_with(&name, &kept_briefly()) {
                    Ok(topic) => {
                        if sharing.askers.len() >= ASKERS_MAX {
                            sharing.askers.clear();
                        }
                        sharing.askers.insert(to, topic.clone());
                        topic
                    }
                    Err(error) => {
                        tracing::warn!(to, %error, "a question of another process cannot be answered");
                        return;
                    }
                }
            }
        };
        let record = answered.encode();
        self.context.spawn_logged(async move {
            if !guard.holds() {
                return Ok(());
            }
            topic.append(&[&record]).await.map(|_| ()).map_err(|error| format!("an answer: {error}"))
        });
    }
}

fn said<T: Send + 'static>(
    answer: oneshot::Receiver<Result<T, EngineError>>,
    say: impl FnOnce(T) -> RpcResult + Send + 'static,
) -> BoxFuture<'static, Result<RpcResult, EngineError>> {
    answer.map(|answer| answer.unwrap_or_else(|_| Err(super::gone())).map(say)).boxed()
}

fn done() -> BoxFuture<'static, Result<RpcResult, EngineError>> {
    futures_util::future::ready(Ok(RpcResult::Done)).boxed()
}
