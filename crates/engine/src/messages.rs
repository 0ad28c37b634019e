//! What the doors of platforms hold: messages in, how they stand, and the hand on those that have not left yet.

use crate::api::{EngineError, Parts};
use crate::plan::{NotTaken, Takers};
use crate::run::Command;
use records::{FateState, MessageId, Mode, Party, RosterMessage, Short, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};

/// Records of intake that may wait for the engine before doors should throttle.
pub const INTAKE_WAITING_MAX: u64 = 1_000_000;

/// The engine, as the doors of platforms hold it. Cheap to clone.
#[derive(Clone)]
pub struct Messages {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Arc<Parts>,
    intake: Arc<dyn bus::Topic>,
    takers: Arc<arc_swap::ArcSwap<Takers>>,
    taken: Arc<AtomicU64>,
    commands: mpsc::Sender<Command>,
}

/// Why no route takes a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unroutable {
    /// No route of the mode takes such an address, sender or account.
    NoRoute,
    /// There is no route of this name in the mode.
    UnknownRoute(String),
}

impl std::fmt::Display for Unroutable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unroutable::NoRoute => f.write_str("no route takes this address from this sender and account"),
            Unroutable::UnknownRoute(name) => write!(f, "there is no route {name:?} of this mode"),
        }
    }
}
impl std::error::Error for Unroutable {}

/// How a message stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageView {
    /// Its state in the words of SMPP.
    pub state: FateState,
    /// It will not change any more, as far as we know.
    pub is_final: bool,
    /// When it got there, where that is known.
    pub at: Option<Timestamp>,
    /// The network's error code, where it is a small number; else 0 (SMPP 3.4, 4.8.2: `error_code`).
    pub error: u8,
    /// As it was given, with what replaced it.
    pub message: RosterMessage,
    /// The address.
    pub to: String,
}

/// What became of a wish to change a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steered {
    /// It is done, and on disk.
    Done,
    /// The account has no such message.
    NotFound,
    /// It has left us, or is about to, or is over.
    TooLate,
}

/// Which messages [`Messages::cancel_all`] means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Who handed them in.
    pub party: Party,
    /// SMPP `service_type`; empty: any.
    pub service_type: String,
    /// The sender shown, as it was given.
    pub source: String,
    /// The address.
    pub to: String,
}

impl Messages {
    pub(crate) fn new(
        parts: Arc<Parts>,
        intake: Arc<dyn bus::Topic>,
        takers: Arc<arc_swap::ArcSwap<Takers>>,
        taken: Arc<AtomicU64>,
        commands: mpsc::Sender<Command>,
    ) -> Messages {
        Messages { inner: Arc::new(Inner { parts, intake, takers, taken, commands }) }
    }

    /// A route of the mode takes such a message, now or when it is up again. No lock and no allocation.
    pub fn routable(
        &self,
        mode: Mode,
        to: &str,
        sender: &str,
        account: &str,
        route: Option<&str>,
    ) -> Result<(), Unroutable> {
        self.inner.takers.load().look(mode, to, sender, account, route).map_err(|why| match why {
            NotTaken::NoRoute => Unroutable::NoRoute,
            NotTaken::UnknownRoute => Unroutable::UnknownRoute(route.unwrap_or_default().to_owned()),
        })
    }

    /// Takes encoded [`records::Intake::Message`]s as one unit; resolves to the first one's id when they are as durable as the bus
    /// promises. What several callers bring at a time is synced together.
    pub async fn accept(&self, records: &[&[u8]]) -> Result<MessageId, EngineError> {
        self.inner.intake.append(records).await.map(MessageId).map_err(crate::run::bus_error)
    }

    /// The engine is so far behind that doors should throttle.
    pub fn is_behind(&self) -> bool {
        let waiting = self.inner.intake.head().saturating_sub(self.inner.taken.load(Ordering::Relaxed));
        waiting > INTAKE_WAITING_MAX
    }

    /// How a message of this account stands. Nothing: there is none, or it is another account's.
    pub async fn message(&self, account: &str, id: MessageId) -> Result<Option<MessageView>, EngineError> {
        let account = account.to_owned();
        self.ask(|reply| Command::Message { account, id, reply }).await?
    }

    /// Takes a message back that has not left us.
    pub async fn cancel(&self, account: &str, id: MessageId) -> Result<Steered, EngineError> {
        let account = account.to_owned();
        self.ask(|reply| Command::CancelMessage { account, id, reply }).await?
    }

    /// Takes back every message of a party to one address that has not left us (SMPP 3.4, 4.9: `cancel_sm` without a message id);
    /// an empty service type means any. Resolves to how many.
    pub async fn cancel_all(
        &self,
        account: &str,
        party: &Party,
        service_type: &str,
        source: &str,
        to: &str,
    ) -> Result<u64, EngineError> {
        let wanted = Wanted {
            party: party.clone(),
            service_type: service_type.to_owned(),
            source: source.to_owned(),
            to: to.to_owned(),
        };
        let account = account.to_owned();
        self.ask(|reply| Command::CancelMessages { account, wanted, reply }).await?
    }

    /// Lets a message that has not left us say something else.
    pub async fn replace(
        &self,
        account: &str,
        id: MessageId,
        short: Short,
        expires: Option<Timestamp>,
        not_before: Option<Timestamp>,
    ) -> Result<Steered, EngineError> {
        let (account, at) = (account.to_owned(), (self.inner.parts.clock)());
        let change = records::Intake::Replace { id, short: Box::new(short), expires, not_before, at };
        self.ask(|reply| Command::ReplaceMessage { account, id, change: Box::new(change), reply }).await?
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.inner.commands.send(command(reply)).await.map_err(|_| crate::run::gone())?;
        answer.await.map_err(|_| crate::run::gone())
    }
}
