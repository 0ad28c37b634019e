//! Context holds the surroundings of every part: configuration with bus and store, the clock, tasks in the
//! background, and whether this process leads or stops.

use super::actor::BackgroundResult;
use super::command::ActorCommand;
use crate::api::Parts;
use crate::shared::Term;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use records::Timestamp;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// See the module.
pub struct Context {
    pub parts: Arc<Parts>,
    /// Commands to the actor itself.
    pub commands: mpsc::WeakSender<ActorCommand>,
    /// Tasks whose results come back to the actor: writes to SQL, appends, reads.
    pub background: FuturesUnordered<BoxFuture<'static, BackgroundResult>>,
    /// Everything is to be folded, and then this is replied to.
    pub stopping: Option<oneshot::Sender<()>>,
    /// Where several processes share the bus and the store: this one's term.
    term: Option<Term>,
    /// The bus or the store showed that another process leads.
    lead_lost: bool,
}

/// May what only the leader may do be done? One process alone always may.
#[derive(Clone)]
pub struct LeaderGuard(Option<Term>);

impl LeaderGuard {
    pub fn holds(&self) -> bool {
        self.0.as_ref().is_none_or(Term::holds)
    }

    /// The error of what was not done since another may lead.
    pub fn passed() -> bus::BusError {
        bus::BusError::Unreachable { why: "this process no longer leads; another does, or will".into() }
    }
}

impl Context {
    pub fn new(parts: Arc<Parts>, commands: mpsc::WeakSender<ActorCommand>, term: Option<Term>) -> Context {
        let background = FuturesUnordered::new();
        Context { parts, commands, background, stopping: None, term, lead_lost: false }
    }

    pub fn now(&self) -> Timestamp {
        (self.parts.clock)()
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }

    /// The term of this process, where it is one of several.
    pub fn term(&self) -> Option<&Term> {
        self.term.as_ref()
    }

    /// Is this one of several processes?
    pub fn is_shared(&self) -> bool {
        self.term.is_some()
    }

    /// Of the term; 0 for a process that is alone.
    pub fn epoch(&self) -> u64 {
        self.term.as_ref().map_or(0, Term::epoch)
    }

    /// Another process leads, or may.
    pub fn is_over(&self) -> bool {
        self.term.as_ref().is_some_and(|term| self.lead_lost || !term.holds())
    }

    /// The bus or the store refused a write, since another process leads.
    pub fn note_lead_lost(&mut self) {
        self.lead_lost = true;
    }

    pub fn guard(&self) -> LeaderGuard {
        LeaderGuard(self.term.clone())
    }

    /// Runs a task in the background.
    pub fn spawn(&self, task: impl Future<Output = BackgroundResult> + Send + 'static) {
        self.background.push(Box::pin(task));
    }

    /// Runs a task of which only the failure matters, unless another process leads by then.
    pub fn spawn_logged(&self, task: impl Future<Output = Result<(), String>> + Send + 'static) {
        let guard = self.guard();
        self.spawn(async move {
            if !guard.holds() {
                return BackgroundResult::Done(Err(LeaderGuard::passed().to_string()));
            }
            BackgroundResult::Done(task.await)
        });
    }
}
