//! Several processes over one bus and one store: one of them leads, by a lease, and the others follow.
//!
//! Invariants worth naming:
//! - Who leads owns the hot state. Its writes to the store are fenced by its epoch; what it appends to a
//!   topic of segments it appends at a head that it knows, and each new leader moves that head before it
//!   looks what is there (a fencing record). So whatever a process that no longer leads still has on its way
//!   is refused.
//! - A term is counted by its holder from before the lease was asked for: it stops before another can begin.
//! - An alert is accepted when the store has it. That a leader is told of it by the bus is only faster than
//!   its own asking.
//! - A question to the leader waits for a bounded time. A change that was answered is on the bus: the next
//!   leader reads it first.

mod follower;
mod leader_client;
mod leader_lease;
mod leader_rpc;
mod nodes;
mod term;

pub use leader_client::kept_briefly;
pub use leader_rpc::{RpcCall, RpcRequest, RpcResponse, RpcResult};
pub use nodes::Nodes;
pub use term::Term;

use crate::api::{EngineError, Parts};
use crate::run::{ActorCommand, EngineActor, Lags, StopReason, bus_error};
use follower::{Follower, FollowerEnd};
use leader_lease::{LeaderLease, LeaseRequest, Turn};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// A name of a process has at most so many octets.
const NAME_OCTETS_MAX: usize = 64;
/// A lease is at least so long: a database's hiccup is no reason to change hands.
const LEASE_MIN: Duration = Duration::from_millis(300);
/// Wishes that may wait for the leader lease.
const WISHES_MAX: usize = 16;
/// After a term that could not begin, the next one is not begun sooner.
const REST: Duration = Duration::from_millis(200);

/// One of several processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name, one for each, 1 to 64 octets: answers to its questions go by it.
    pub name: String,
    /// Where others reach its HTTP door, as `host:port`; empty: nowhere.
    pub address: String,
    /// It may lead. One that may not takes alerts and platforms' messages all the same.
    pub leads: bool,
    /// Who leads is taken to be gone after so long without a word; 300 ms at least.
    pub lease: Duration,
}

/// Who leads, as far as this process knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leader {
    /// This process.
    Here,
    /// Another.
    There {
        /// Where its HTTP door is reached, as `host:port`; empty if nowhere.
        address: String,
    },
    /// Nobody just now: a lease runs out, or a leader begins.
    Nobody,
}

/// What the handle of an engine holds of it.
pub struct NodeHandle {
    pub leader: watch::Receiver<Leader>,
}

/// What runs on the engine's thread.
pub struct Member {
    parts: Parts,
    node: Node,
    lags: Lags,
    me: mpsc::WeakSender<ActorCommand>,
    leader: watch::Sender<Leader>,
    turns: watch::Receiver<Turn>,
    wishes: mpsc::Sender<LeaseRequest>,
}

type Up = oneshot::Sender<Result<(), EngineError>>;

/// Starts the leader lease; what comes back is to be [run](Member::run) on a thread of its own.
pub fn enter(
    parts: &Parts,
    node: Node,
    lags: Lags,
    me: mpsc::WeakSender<ActorCommand>,
) -> Result<(Member, NodeHandle), EngineError> {
    check(&node)?;
    let (leader, leads) = watch::channel(Leader::Nobody);
    let (turn, turns) = watch::channel(Turn::Unknown);
    let (wishes, wished) = mpsc::channel(WISHES_MAX);
    let keeper =
        LeaderLease::new(parts.store.clone(), parts.bus.clone(), node.clone(), turn, leader.clone(), wished);
    let keep = move || match runtime() {
        Ok(runtime) => runtime.block_on(keeper.keep()),
        Err(error) => tracing::error!(%error, "no lease can be kept"),
    };
    let spawned = std::thread::Builder::new().name("lease".into()).spawn(keep);
    spawned.map_err(|error| EngineError::Internal(format!("no thread for the lease: {error}")))?;
    let member = Member { parts: parts.clone(), node, lags, me, leader, turns, wishes };
    Ok((member, NodeHandle { leader: leads }))
}

fn check(node: &Node) -> Result<(), EngineError> {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_' | b'.');
    if node.name.is_empty() || node.name.len() > NAME_OCTETS_MAX || !node.name.bytes().all(is_plain) {
        return Err(EngineError::Internal(format!(
            "a process's name has 1 to {NAME_OCTETS_MAX} letters, digits, '-', '_' or '.'; {:?} is none",
            node.name
        )));
    }
    if node.lease < LEASE_MIN {
        return Err(EngineError::Internal(format!(
            "a lease of {:?} is too short; {LEASE_MIN:?} is the least",
            node.lease
        )));
    }
    Ok(())
}

pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_time().build()
}

/// How a term ended.
enum TermEnd {
    /// It was told to stop.
    Stopped(oneshot::Sender<()>),
    /// Nobody holds the engine any more.
    Gone,
    /// It passed to another, or could not begin.
    Over,
}

impl Member {
    /// Follows and leads, in turn, until it is told to stop; `up` hears when it does either.
    pub async fn run(mut self, mut commands: mpsc::Receiver<ActorCommand>, up: Up) {
        let mut up = Some(up);
        let mut follower = match Follower::open(self.parts.clone(), &self.node.name, self.lags.clone()) {
            Ok(follower) => follower,
            Err(error) => return self.fail(up, error).await,
        };
        // Who comes first hears within a lease whether they lead.
        let _ = tokio::time::timeout(self.node.lease, self.turns.changed()).await;
        loop {
            let turn = self.turns.borrow_and_update().clone();
            let ended = match turn {
                Turn::Ours(term) if term.holds() => {
                    match self.lead(&term, &mut follower.parts, &mut commands, &mut up).await {
                        Ok(ended) => ended,
                        Err(error) => return self.fail(up, error).await,
                    }
                }
                _ => {
                    up.take().map(|up| up.send(Ok(())));
                    match follower.follow(&mut commands, &mut self.turns).await {
                        FollowerEnd::Turn => TermEnd::Over,
                        FollowerEnd::Stopped(done) => TermEnd::Stopped(done),
                        FollowerEnd::Gone => TermEnd::Gone,
                    }
                }
            };
            match ended {
                TermEnd::Over => {}
                TermEnd::Gone => return,
                TermEnd::Stopped(done) => {
                    self.leave().await;
                    let _ = done.send(());
                    return;
                }
            }
        }
    }

    /// One term, from the picking up to its end. An error ends the process's start; a later one only the
    /// term.
    async fn lead(
        &mut self,
        term: &Term,
        parts: &mut Parts,
        commands: &mut mpsc::Receiver<ActorCommand>,
        up: &mut Option<Up>,
    ) -> Result<TermEnd, EngineError> {
        let begun = self.begin(term, parts.clone()).await;
        let mut owner = match begun {
            Ok(owner) => owner,
            Err(error @ EngineError::Internal(_)) if up.is_some() => return Err(error),
            Err(error) => {
                tracing::error!(%error, "this process cannot lead now; another may, or it tries again");
                up.take().map(|up| up.send(Ok(())));
                tokio::time::sleep(REST).await;
                self.over(term);
                return Ok(TermEnd::Over);
            }
        };
        self.leader.send_if_modified(|leader| {
            // The leader lease ends a term before it says who leads instead.
            let leads = term.holds();
            if leads {
                *leader = Leader::Here;
            }
            leads
        });
        up.take().map(|up| up.send(Ok(())));
        let rest = owner.run(commands).await;
        parts.routes = owner.context.parts.routes.clone();
        parts.clients = owner.context.parts.clients.clone();
        parts.settings = owner.context.parts.settings.clone();
        drop(owner);
        Ok(match rest {
            StopReason::Stopped(done) => TermEnd::Stopped(done),
            StopReason::Gone => TermEnd::Gone,
            StopReason::Over => {
                tracing::warn!(epoch = term.epoch(), "this process no longer leads");
                self.over(term);
                TermEnd::Over
            }
        })
    }

    async fn begin(&self, term: &Term, parts: Parts) -> Result<EngineActor, EngineError> {
        let fence = store::Fence { lease: leader_lease::LEASE.to_owned(), epoch: term.epoch() };
        let parts = Arc::new(Parts { store: parts.store.fenced(fence), ..parts });
        let mut owner = EngineActor::new(parts, self.me.clone(), self.lags.clone(), Some(term.clone()))?;
        crate::run::start(&mut owner).await?;
        Ok(owner)
    }

    fn over(&self, term: &Term) {
        term.end();
        // If it cannot hear now it looks by itself soon.
        let _ = self.wishes.try_send(LeaseRequest::Ended);
    }

    async fn leave(&self) {
        let (done, left) = oneshot::channel();
        if self.wishes.send(LeaseRequest::Stop(done)).await.is_ok() {
            let _ = left.await;
        }
    }

    async fn fail(&self, up: Option<Up>, error: EngineError) {
        self.leave().await;
        if let Some(up) = up {
            let _ = up.send(Err(error));
        }
    }
}

/// Reading the head as the servers have it: what anybody appended before is below.
pub async fn latest(topic: &dyn bus::Topic) -> Result<u64, EngineError> {
    topic.latest().await.map_err(bus_error)
}
