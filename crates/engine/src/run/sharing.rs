//! Sharing is for one of several processes: it reads the bus in the background, finds accepted alerts, reads
//! the health of all nodes, and answers requests of other processes. It owns the reads and responses under
//! way.

use super::actor::{BackgroundResult, bus_error, store_error};
use super::command::{ActorCommand, Reply};
use super::context::Context;
use super::dispatcher::Dispatcher;
use super::solving::is_unsolved;
use crate::api::{EngineError, Parts};
use crate::shared::{Nodes, RpcCall, RpcRequest, RpcResponse, RpcResult, kept_briefly, latest};
use futures_util::future::{BoxFuture, FutureExt};
use records::{Alert, AlertNo};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Records of each source taken in one go, and their octets.
const RECORDS_AT_ONCE: usize = 512;
const OCTETS_AT_ONCE: usize = 1024 * 1024;
/// After a failure a source is read again so much later.
const PAUSE: Duration = Duration::from_millis(200);
/// The store is queried for unsolved alerts so often: the cost of a lost announcement.
const UNSOLVED_EVERY: Duration = Duration::from_secs(3);
/// Requests of others that wait for their responses; more are not read.
const RESPONDING_MAX: usize = 16_384;
/// Processes whose topics of responses are kept open; the memory begins anew when it is full.
const REQUESTERS_MAX: usize = 256;
/// Keys of processes that are gone are looked for so often.
const FORGET_EVERY: Duration = Duration::from_secs(30);

/// A topic that is read in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusSource {
    Outcomes,
    Intake,
    Accepted,
    Requests,
}

/// See the module.
pub struct Sharing {
    nodes: Nodes,
    accepted: Followed,
    requests: Followed,
    /// Reads under way, by [`BusSource`].
    reading: [bool; 4],
    /// Topics of responses, by process.
    requesters: FxHashMap<String, Arc<dyn bus::Topic>>,
    responding: usize,
    unsolved_at: Option<Instant>,
    unsolved_queried: bool,
    forgot_at: Instant,
}

/// A topic that is read on and on.
struct Followed {
    topic: Arc<dyn bus::Topic>,
    next: u64,
}

/// A request of another process, as the actor carries it out.
pub enum LeaderRequest {
    /// Solve an alert of the store, if that was not done; the reply comes when it is solved.
    Solve(AlertNo, Reply<super::Solved>),
    Command(ActorCommand),
}

/// The response to a request, once it is there.
pub type PendingResponse = BoxFuture<'static, Result<RpcResult, EngineError>>;

impl Sharing {
    /// Opens its topics; may block.
    pub fn open(parts: &Parts) -> Result<Sharing, EngineError> {
        let followed = |topic: Arc<dyn bus::Topic>| Followed { next: topic.head(), topic };
        let requests = parts.bus.topic_with(records::ASKS, &kept_briefly()).map_err(bus_error)?;
        Ok(Sharing {
            nodes: Nodes::default(),
            accepted: followed(parts.bus.topic(records::ACCEPTED).map_err(bus_error)?),
            requests: followed(requests),
            reading: [false; 4],
            requesters: FxHashMap::default(),
            responding: 0,
            unsolved_at: None,
            unsolved_queried: false,
            forgot_at: Instant::now(),
        })
    }

    /// Goes to where the topics end now: alerts accepted before are in the store, and a process that sent a
    /// request before sends it to another leader.
    pub async fn catch_up(&mut self) -> Result<(), EngineError> {
        self.accepted.next = latest(&*self.accepted.topic).await?;
        self.requests.next = latest(&*self.requests.topic).await?;
        Ok(())
    }

    /// A read of this source is under way: no use to wait until there is something to read.
    pub fn is_reading(&self, source: BusSource) -> bool {
        self.reading[source as usize]
    }

    /// Resolves when other processes have published something.
    pub fn readable(&self) -> BoxFuture<'static, ()> {
        let readable = |followed: &Followed, source: BusSource| match self.is_reading(source) {
            true => futures_util::future::pending().boxed(),
            false => followed.topic.readable(followed.next),
        };
        let accepted = readable(&self.accepted, BusSource::Accepted);
        let requests = match self.responding < RESPONDING_MAX {
            true => readable(&self.requests, BusSource::Requests),
            false => futures_util::future::pending().boxed(),
        };
        futures_util::future::select(accepted, requests).map(|_| ()).boxed()
    }

    /// Begins to read accepted alerts and requests, where there are any.
    pub fn read_own(&mut self, context: &Context) {
        if self.accepted.is_behind() {
            let (topic, next) = (self.accepted.topic.clone(), self.accepted.next);
            self.read(BusSource::Accepted, topic, next, context);
        }
        if self.requests.is_behind() && self.responding < RESPONDING_MAX {
            let (topic, next) = (self.requests.topic.clone(), self.requests.next);
            self.read(BusSource::Requests, topic, next, context);
        }
    }

    /// Begins to read a source, unless that is under way.
    pub fn read(&mut self, source: BusSource, topic: Arc<dyn bus::Topic>, next: u64, context: &Context) {
        if std::mem::replace(&mut self.reading[source as usize], true) {
            return;
        }
        context.spawn(async move {
            let read = topic.fetch(next, RECORDS_AT_ONCE, OCTETS_AT_ONCE).await;
            if read.as_ref().map_or(true, Vec::is_empty) {
                // Servers that do not answer, or do not have yet what was announced.
                tokio::time::sleep(PAUSE).await;
            }
            BackgroundResult::Read(source, read)
        });
    }

    /// A read has ended. Gives its records; none if it failed.
    pub fn end_read(
        &mut self,
        source: BusSource,
        read: Result<Vec<bus::Record>, bus::BusError>,
    ) -> Vec<bus::Record> {
        self.reading[source as usize] = false;
        let records = read.unwrap_or_else(|error| {
            tracing::warn!(?source, %error, "the bus cannot be read now; it will be tried again");
            Vec::new()
        });
        let followed = match source {
            BusSource::Accepted => Some(&mut self.accepted),
            BusSource::Requests => Some(&mut self.requests),
            BusSource::Outcomes | BusSource::Intake => None,
        };
        if let (Some(followed), Some(last)) = (followed, records.last()) {
            followed.next = last.index + 1;
            let _ = followed.topic.trim(followed.next);
        }
        records
    }

    /// Every few seconds the store is queried for alerts whose announcement was lost.
    pub fn find_unsolved(&mut self, context: &Context) {
        let is_time = self.unsolved_at.is_none_or(|at| at.elapsed() >= UNSOLVED_EVERY);
        if !is_time || self.unsolved_queried || context.is_stopping() {
            return;
        }
        self.unsolved_queried = true;
        let store = context.parts.store.clone();
        context.spawn(async move {
            BackgroundResult::Unsolved(store.unfinished_alerts().await.map_err(store_error))
        });
    }

    /// The store has answered.
    pub fn found_unsolved(&mut self, found: Result<Vec<Alert>, EngineError>) -> Vec<Alert> {
        self.unsolved_queried = false;
        self.unsolved_at = Some(Instant::now());
        let mut found = found.unwrap_or_else(|error| {
            tracing::warn!(%error, "the store cannot be queried for unsolved alerts now");
            Vec::new()
        });
        found.retain(is_unsolved);
        found
    }

    /// The health of routes, over all processes.
    pub fn read_health(&mut self, dispatcher: &mut Dispatcher, context: &Context) {
        let now = Instant::now();
        self.nodes.read(&*dispatcher.health, now);
        let clock = context.now();
        for (i, route) in dispatcher.routes.classifier.routes().iter().enumerate() {
            dispatcher.routes.list[i].set_health(self.nodes.health(&route.name, now), clock);
        }
        if now.duration_since(self.forgot_at) < FORGET_EVERY {
            return;
        }
        self.forgot_at = now;
        let gone = self.nodes.forgotten(now);
        let health = dispatcher.health.clone();
        if !gone.is_empty() {
            context.spawn_logged(async move {
                for key in gone {
                    health.set(&key, &[]).await.map_err(|error| error.to_string())?;
                }
                Ok(())
            });
        }
    }

    /// The response to a request of another process is awaited in the background.
    pub fn await_response(&mut self, from: String, id: u64, response: PendingResponse, context: &Context) {
        self.responding += 1;
        context.spawn(async move {
            let result = response.await.map_err(Into::into);
            BackgroundResult::Answered(from, RpcResponse { id, result })
        });
    }

    /// A response is there: it is put on the topic of the process that sent the request.
    pub fn respond(&mut self, to: String, response: &RpcResponse, context: &Context) {
        let guard = context.guard();
        self.responding = self.responding.saturating_sub(1);
        let topic = match self.requesters.get(&to) {
            Some(topic) => topic.clone(),
            None => match context.parts.bus.topic_with(&records::answers_topic(&to), &kept_briefly()) {
                Ok(topic) => {
                    if self.requesters.len() >= REQUESTERS_MAX {
                        self.requesters.clear();
                    }
                    self.requesters.insert(to, topic.clone());
                    topic
                }
                Err(error) => {
                    tracing::warn!(to, %error, "a request of another process cannot be answered");
                    return;
                }
            },
        };
        let record = response.encode();
        context.spawn_logged(async move {
            if !guard.holds() {
                return Ok(());
            }
            topic.append(&[&record]).await.map(|_| ()).map_err(|error| format!("an answer: {error}"))
        });
    }
}

impl Followed {
    fn is_behind(&self) -> bool {
        self.topic.head() > self.next
    }
}

/// A request of another process, with its sender and number; nothing if it cannot be read.
pub fn decode_request(record: &bus::Record) -> Option<RpcRequest> {
    let request = RpcRequest::decode(&record.octets);
    if request.is_none() {
        tracing::warn!(index = record.index, "a request of another process cannot be read");
    }
    request
}

/// A call as the actor carries it out, and its response.
pub fn request_of(call: RpcCall) -> (LeaderRequest, PendingResponse) {
    match call {
        RpcCall::Solve { no } => {
            let (reply, answer) = oneshot::channel();
            (LeaderRequest::Solve(no, reply), result_of(answer, RpcResult::from))
        }
        RpcCall::Steer { no, verb } => {
            let to_result = |alert| RpcResult::Alert(Box::new(alert));
            command(|reply| ActorCommand::Steer { no, verb, reply }, to_result)
        }
        RpcCall::Observe { no, observer, request } => {
            (LeaderRequest::Command(ActorCommand::Observe { no, observer, request }), done())
        }
        RpcCall::Unobserve { no, observer } => {
            (LeaderRequest::Command(ActorCommand::Unobserve { no, observer }), done())
        }
        RpcCall::OptOut { account, numbers, sender, at } => {
            (LeaderRequest::Command(ActorCommand::OptOut { account, numbers, sender, at }), done())
        }
        RpcCall::Present { channel, address } => {
            (LeaderRequest::Command(ActorCommand::Present { channel, address }), done())
        }
        RpcCall::Message { account, id } => {
            let to_result =
                |look: Option<super::MessageLook>| RpcResult::Message(look.map(|look| Box::new(look.into())));
            command(|reply| ActorCommand::Message { account, id, reply }, to_result)
        }
        RpcCall::CancelMessage { account, id } => {
            command(|reply| ActorCommand::CancelMessage { account, id, reply }, RpcResult::Steered)
        }
        RpcCall::ReplaceMessage { account, id, change } => {
            command(|reply| ActorCommand::ReplaceMessage { account, id, change, reply }, RpcResult::Steered)
        }
        RpcCall::CancelMessages { account, wanted } => {
            command(|reply| ActorCommand::CancelMessages { account, wanted, reply }, RpcResult::Count)
        }
    }
}

fn command<T: Send + 'static>(
    command: impl FnOnce(Reply<T>) -> ActorCommand,
    to_result: impl FnOnce(T) -> RpcResult + Send + 'static,
) -> (LeaderRequest, PendingResponse) {
    let (reply, answer) = oneshot::channel();
    (LeaderRequest::Command(command(reply)), result_of(answer, to_result))
}

fn result_of<T: Send + 'static>(
    answer: oneshot::Receiver<Result<T, EngineError>>,
    to_result: impl FnOnce(T) -> RpcResult + Send + 'static,
) -> PendingResponse {
    answer.map(|answer| answer.unwrap_or_else(|_| Err(super::gone())).map(to_result)).boxed()
}

fn done() -> PendingResponse {
    futures_util::future::ready(Ok(RpcResult::Done)).boxed()
}
