//! Handle of the doors of platforms: hands messages in, queries them, changes those that have not left yet.

mod course;
mod search;

pub use course::MessageCourse;
pub use search::{MessageSearch, MessagesFound};

use crate::api::{EngineError, Parts};
use crate::plan::{AcceptingRoutes, NoRouteAccepts};
use crate::record::{error_in_words, state_in_words, status};
use crate::run::{ActorCommand, MessageLook};
use records::{
    AlertNo, Delivery, DeliveryState, DlrState, EndpointNo, MessageClient, MessageId, Mode, Reason,
    RosterEntry, RosterMessage, Short, Timestamp,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};

/// Records of intake that may wait for the engine before doors should throttle.
pub const INTAKE_WAITING_MAX: u64 = 1_000_000;

/// The engine, as the doors of platforms hold it. Cheap to clone.
#[derive(Clone)]
pub struct Messages {
    inner: Arc<MessagesInner>,
}

struct MessagesInner {
    parts: Arc<Parts>,
    intake: Arc<dyn bus::Topic>,
    takers: Arc<arc_swap::ArcSwap<AcceptingRoutes>>,
    taken: Arc<AtomicU64>,
    commands: mpsc::Sender<ActorCommand>,
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
    pub state: DlrState,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Steered {
    /// It is done, and on disk.
    Done,
    /// The account has no such message.
    NotFound,
    /// It has left us, or is about to, or is over.
    TooLate,
}

/// Which messages [`Messages::cancel_all`] means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageFilter {
    /// Who handed them in.
    pub party: MessageClient,
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
        takers: Arc<arc_swap::ArcSwap<AcceptingRoutes>>,
        taken: Arc<AtomicU64>,
        commands: mpsc::Sender<ActorCommand>,
    ) -> Messages {
        Messages { inner: Arc::new(MessagesInner { parts, intake, takers, taken, commands }) }
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
            NoRouteAccepts::NoRoute => Unroutable::NoRoute,
            NoRouteAccepts::UnknownRoute => Unroutable::UnknownRoute(route.unwrap_or_default().to_owned()),
        })
    }

    /// Takes encoded [`records::Intake::Message`]s as one unit; resolves to the first one's id when they are
    /// as durable as the bus promises. What several callers bring at a time is synced together.
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
        let found = self.found(account, id).await?;
        Ok(found.and_then(|(look, entry)| view(&look.delivery, look.lapsed, entry)))
    }

    /// A message of this account with its entry of the roster.
    async fn found(
        &self,
        account: &str,
        id: MessageId,
    ) -> Result<Option<(MessageLook, RosterEntry)>, EngineError> {
        let of = account.to_owned();
        let mut look = match self.ask(|reply| ActorCommand::Message { account: of, id, reply }).await?? {
            Some(look) => look,
            None => match self.stored(account, id).await? {
                Some(look) => look,
                None => return Ok(None),
            },
        };
        let (no, endpoint) = (look.delivery.alert, look.delivery.endpoint);
        let entry = match look.entry.take() {
            Some(entry) => Some(entry),
            None => {
                let parts = self.inner.parts.clone();
                let read = move || parts.store.roster_block(no, endpoint).map_err(crate::run::store_error);
                let block = blocking(read).await?;
                block.and_then(|block| {
                    let place = endpoint.0 - block.first.0;
                    block.entries.into_iter().nth(place as usize)
                })
            }
        };
        Ok(entry.map(|entry| (look, entry)))
    }

    /// A message of an alert that left memory.
    async fn stored(&self, account: &str, id: MessageId) -> Result<Option<MessageLook>, EngineError> {
        let alerts = self
            .inner
            .parts
            .store
            .standing_alerts_of(account, id.0)
            .await
            .map_err(crate::run::store_error)?;
        for no in alerts.into_iter().map(|alert| alert.no) {
            let parts = self.inner.parts.clone();
            let found =
                blocking(move || find(&*parts.store, no, id).map_err(crate::run::store_error)).await?;
            let Some((endpoint, entry)) = found else { continue };
            let store = &self.inner.parts.store;
            let rows = store.deliveries_from(no, endpoint, None, 1).await.map_err(crate::run::store_error)?;
            let row = rows.into_iter().find(|row| row.endpoint == endpoint);
            let delivery = row.unwrap_or_else(|| untouched(no, endpoint, &entry));
            return Ok(Some(MessageLook { delivery, lapsed: false, entry: Some(entry) }));
        }
        Ok(None)
    }

    /// Takes a message back that has not left us.
    pub async fn cancel(&self, account: &str, id: MessageId) -> Result<Steered, EngineError> {
        let of = account.to_owned();
        let steered = self.ask(|reply| ActorCommand::CancelMessage { account: of, id, reply }).await??;
        self.or_too_late(account, id, steered).await
    }

    /// What left memory is over.
    async fn or_too_late(
        &self,
        account: &str,
        id: MessageId,
        steered: Steered,
    ) -> Result<Steered, EngineError> {
        Ok(match steered {
            Steered::NotFound if self.stored(account, id).await?.is_some() => Steered::TooLate,
            steered => steered,
        })
    }

    /// Takes back every message of a client to one address that has not left us (SMPP 3.4, 4.9: `cancel_sm`
    /// without a message id); an empty service type means any. Resolves to how many.
    pub async fn cancel_all(
        &self,
        account: &str,
        party: &MessageClient,
        service_type: &str,
        source: &str,
        to: &str,
    ) -> Result<u64, EngineError> {
        let wanted = MessageFilter {
            party: party.clone(),
            service_type: service_type.to_owned(),
            source: source.to_owned(),
            to: to.to_owned(),
        };
        let account = account.to_owned();
        self.ask(|reply| ActorCommand::CancelMessages { account, wanted, reply }).await?
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
        let (of, at) = (account.to_owned(), (self.inner.parts.clock)());
        let change = records::Intake::Replace { id, short: Box::new(short), expires, not_before, at };
        let change = Box::new(change);
        let steered =
            self.ask(|reply| ActorCommand::ReplaceMessage { account: of, id, change, reply }).await??;
        self.or_too_late(account, id, steered).await
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> ActorCommand,
    ) -> Result<T, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.inner.commands.send(command(reply)).await.map_err(|_| crate::run::gone())?;
        answer.await.map_err(|_| crate::run::gone())
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
) -> Result<T, EngineError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| EngineError::Internal(error.to_string()))?
}

/// Looks for a message in a stored roster: ids grow with the endpoints.
fn find(
    store: &dyn store::Store,
    no: AlertNo,
    id: MessageId,
) -> Result<Option<(EndpointNo, RosterEntry)>, store::StoreError> {
    const BLOCK: u32 = records::ROSTER_BLOCK_ENDPOINTS as u32;
    /// Halvings of all blocks an alert can have.
    const LOOKS_MAX: usize = 32;
    let (mut low, mut high) = (0, u32::MAX / BLOCK);
    for _ in 0..LOOKS_MAX {
        if low >= high {
            break;
        }
        let middle = low + (high - low) / 2;
        let Some(block) = store.roster_block(no, EndpointNo(middle * BLOCK))? else {
            high = middle;
            continue;
        };
        let ids = |entry: &RosterEntry| entry.message.as_ref().map(|message| message.id);
        match (block.entries.first().and_then(ids), block.entries.last().and_then(ids)) {
            (Some(first), _) if id < first => high = middle,
            (_, Some(last)) if id > last => low = middle + 1,
            _ => {
                let place = block.entries.iter().position(|entry| ids(entry) == Some(id));
                let entry = place.and_then(|place| block.entries.into_iter().nth(place));
                return Ok(place
                    .zip(entry)
                    .map(|(place, entry)| (EndpointNo(block.first.0 + place as u32), entry)));
            }
        }
    }
    Ok(None)
}

/// A delivery that has no row is as the roster made it.
pub(crate) fn untouched(alert: AlertNo, endpoint: EndpointNo, entry: &RosterEntry) -> Delivery {
    let (state, reason) = match entry.excluded {
        Some(reason) => (DeliveryState::Excluded, reason),
        None => (DeliveryState::Planned, Reason::None),
    };
    Delivery {
        alert,
        endpoint,
        state,
        attempts: 0,
        last_attempt: 0,
        parts: 0,
        parts_accepted: 0,
        parts_delivered: 0,
        route: None,
        reason,
        detail: String::new(),
        submitted: None,
        accepted: None,
        delivered: None,
        due: None,
        answer: None,
    }
}

fn view(delivery: &Delivery, lapsed: bool, entry: RosterEntry) -> Option<MessageView> {
    let said = state_in_words(&delivery.detail);
    let state = match status(delivery.state, delivery.reason) {
        DlrState::Undeliverable => {
            said.unwrap_or(if lapsed { DlrState::Expired } else { DlrState::Undeliverable })
        }
        state => state,
    };
    let message = *entry.message?;
    let at = match delivery.state {
        DeliveryState::Delivered | DeliveryState::Answered => delivery.delivered.or(delivery.accepted),
        DeliveryState::Accepted => delivery.accepted,
        DeliveryState::Failed => delivery.due,
        DeliveryState::Excluded => Some(message.at),
        _ => None,
    };
    Some(MessageView {
        state,
        is_final: matches!(
            delivery.state,
            DeliveryState::Delivered
                | DeliveryState::Answered
                | DeliveryState::Failed
                | DeliveryState::Excluded
        ),
        at,
        error: if delivery.reason == Reason::NotDelivered { error_in_words(&delivery.detail) } else { 0 },
        message,
        to: entry.address,
    })
}
