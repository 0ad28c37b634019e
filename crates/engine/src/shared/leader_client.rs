//! The asker's side: a call to whoever leads, by the bus, with a bounded wait for the answer.

use super::leader_rpc::{RpcCall, RpcRequest, RpcResponse, RpcResult, not_understood};
use crate::api::{EngineError, Parts};
use crate::messages::Steered;
use crate::run::{ActorCommand, MessageLook, Reply, Solved, bus_error};
use records::Alert;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An answer is waited for so long.
const WAIT: Duration = Duration::from_secs(10);
/// That an alert is solved is waited for so long: it may be large.
const WAIT_SOLVED: Duration = Duration::from_secs(60);
/// Questions that may wait for answers; more are refused.
const WAITING_MAX: usize = 10_000;
/// Questions that travel together.
pub const ASKED_AT_ONCE: usize = 256;

/// How topics of questions and answers are kept: who asks waits for a minute at most.
pub fn kept_briefly() -> bus::TopicSettings {
    /// Seconds; nobody waits for so long.
    const KEPT: Duration = Duration::from_secs(600);
    /// Whatever is asked, no more than this. Not a number of octets: servers would set them apart for each
    /// topic.
    const RECORDS: u64 = 100_000;
    bus::TopicSettings {
        retention: bus::Retention { age: Some(KEPT), octets: None, records: Some(RECORDS) },
        ..bus::TopicSettings::default()
    }
}

/// Who waits for an answer.
enum PendingCall {
    Solved(Reply<Solved>),
    Alert(Reply<Alert>),
    Message(Reply<Option<MessageLook>>),
    Steered(Reply<Steered>),
    Count(Reply<u64>),
    Nobody,
}

/// See the module.
pub struct LeaderClient {
    node: String,
    pub asks: Arc<dyn bus::Topic>,
    pub answers: Arc<dyn bus::Topic>,
    /// Answers below were read, or were for an earlier life.
    pub next: u64,
    /// The next call's number. It begins anywhere: what an earlier life asked is not taken for ours.
    id: u64,
    waiting: FxHashMap<u64, (PendingCall, Instant)>,
    /// To be appended.
    ready: Vec<RpcRequest>,
}

impl LeaderClient {
    /// Opens the topics; may block.
    pub fn open(parts: &Parts, node: &str) -> Result<LeaderClient, EngineError> {
        let open = |name: &str| parts.bus.topic_with(name, &kept_briefly()).map_err(bus_error);
        let answers = open(&records::answers_topic(node))?;
        Ok(LeaderClient {
            node: node.to_owned(),
            asks: open(records::ASKS)?,
            next: answers.head(),
            answers,
            id: uuid::Uuid::now_v7().as_u64_pair().1,
            waiting: FxHashMap::default(),
            ready: Vec::new(),
        })
    }

    /// Asks what a command asks; what cannot be asked of another process comes back.
    pub fn ask(&mut self, command: ActorCommand) -> Option<ActorCommand> {
        let (call, waiting) = match command {
            ActorCommand::Accepted { alert, solved: Some(reply) } => {
                (RpcCall::Solve { no: alert.no }, PendingCall::Solved(reply))
            }
            ActorCommand::Steer { no, verb, reply } => {
                (RpcCall::Steer { no, verb }, PendingCall::Alert(reply))
            }
            ActorCommand::Observe { no, observer, request } => {
                (RpcCall::Observe { no, observer, request }, PendingCall::Nobody)
            }
            ActorCommand::Unobserve { no, observer } => {
                (RpcCall::Unobserve { no, observer }, PendingCall::Nobody)
            }
            ActorCommand::OptOut { account, numbers, sender, at } => {
                (RpcCall::OptOut { account, numbers, sender, at }, PendingCall::Nobody)
            }
            ActorCommand::Present { channel, address } => {
                (RpcCall::Present { channel, address }, PendingCall::Nobody)
            }
            ActorCommand::Message { account, id, reply } => {
                (RpcCall::Message { account, id }, PendingCall::Message(reply))
            }
            ActorCommand::CancelMessage { account, id, reply } => {
                (RpcCall::CancelMessage { account, id }, PendingCall::Steered(reply))
            }
            ActorCommand::CancelMessages { account, wanted, reply } => {
                (RpcCall::CancelMessages { account, wanted }, PendingCall::Count(reply))
            }
            ActorCommand::ReplaceMessage { account, id, change, reply } => {
                (RpcCall::ReplaceMessage { account, id, change }, PendingCall::Steered(reply))
            }
            other => return Some(other),
        };
        if self.waiting.len() >= WAITING_MAX {
            waiting.refuse(EngineError::Busy(
                "too many questions wait for the process that leads; try again later".into(),
            ));
            return None;
        }
        self.id = self.id.wrapping_add(1);
        let wait = if matches!(waiting, PendingCall::Solved(_)) { WAIT_SOLVED } else { WAIT };
        if !matches!(waiting, PendingCall::Nobody) {
            self.waiting.insert(self.id, (waiting, Instant::now() + wait));
        }
        self.ready.push(RpcRequest { from: self.node.clone(), id: self.id, call });
        None
    }

    /// What is to be appended now: their numbers, and the records.
    pub fn take_ready(&mut self) -> Option<(Vec<u64>, Vec<Vec<u8>>)> {
        if self.ready.is_empty() {
            return None;
        }
        let count = self.ready.len().min(ASKED_AT_ONCE);
        let asks = self.ready.drain(..count);
        Some(asks.map(|ask| (ask.id, ask.encode())).unzip())
    }

    /// Questions that did not get onto the bus.
    pub fn not_asked(&mut self, ids: &[u64], error: &EngineError) {
        for id in ids {
            if let Some((waiting, _)) = self.waiting.remove(id) {
                waiting.refuse(error.clone());
            }
        }
    }

    /// Takes what was answered.
    pub fn take_answers(&mut self, records: &[bus::Record]) {
        for record in records {
            self.next = record.index + 1;
            let Some(answered) = RpcResponse::decode(&record.octets) else {
                tracing::warn!(index = record.index, "an answer cannot be read");
                continue;
            };
            if let Some((waiting, _)) = self.waiting.remove(&answered.id) {
                waiting.answer(answered.result.map_err(EngineError::from));
            }
        }
        let _ = self.answers.trim(self.next);
    }

    /// Somebody waits for an answer.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Who has waited long enough is told so.
    pub fn give_up(&mut self) {
        let now = Instant::now();
        if self.waiting.values().all(|(_, until)| *until > now) {
            return;
        }
        let late: Vec<u64> =
            self.waiting.iter().filter(|(_, (_, until))| *until <= now).map(|(id, _)| *id).collect();
        let why = "the process that leads did not answer in time; try again";
        self.not_asked(&late, &EngineError::Busy(why.into()));
    }

    /// Nobody will answer any more: another leads from now on.
    pub fn give_up_all(&mut self, why: &str) {
        self.ready.clear();
        for (_, (waiting, _)) in self.waiting.drain() {
            waiting.refuse(EngineError::Busy(why.to_owned()));
        }
    }
}

impl PendingCall {
    fn answer(self, said: Result<RpcResult, EngineError>) {
        let said = match said {
            Ok(said) => said,
            Err(error) => return self.refuse(error),
        };
        match (self, said) {
            (PendingCall::Solved(reply), RpcResult::Solved { alert, endpoints, excluded }) => {
                let _ = reply.send(Ok(Solved { alert: *alert, endpoints, excluded }));
            }
            (PendingCall::Alert(reply), RpcResult::Alert(alert)) => _ = reply.send(Ok(*alert)),
            (PendingCall::Message(reply), RpcResult::Message(looked)) => {
                let _ = reply.send(Ok(looked.map(|looked| (*looked).into())));
            }
            (PendingCall::Steered(reply), RpcResult::Steered(steered)) => _ = reply.send(Ok(steered)),
            (PendingCall::Count(reply), RpcResult::Count(count)) => _ = reply.send(Ok(count)),
            (waiting, _) => waiting.refuse(not_understood()),
        }
    }

    fn refuse(self, error: EngineError) {
        match self {
            PendingCall::Solved(reply) => _ = reply.send(Err(error)),
            PendingCall::Alert(reply) => _ = reply.send(Err(error)),
            PendingCall::Message(reply) => _ = reply.send(Err(error)),
            PendingCall::Steered(reply) => _ = reply.send(Err(error)),
            PendingCall::Count(reply) => _ = reply.send(Err(error)),
            PendingCall::Nobody => {}
        }
    }
}
