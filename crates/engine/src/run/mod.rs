//! The shell of the engine: the handle that others hold, and the owner of the hot state behind it.

mod blocks;
mod command;
mod fates;
mod folding;
mod hearing;
mod intake;
mod letters;
mod meter;
mod moments;
mod outcomes;
mod owner;
mod sending;
mod solving;
mod starting;
mod steering;
mod submit;
mod telling;
#[cfg(test)]
mod tests;
mod views;
mod ways;

pub use command::{Command, Health, Question};
pub use letters::MessageLook;
pub use owner::{bus_error, store_error};
pub use ways::GATEWAYS;

use crate::api::{AnswerGiven, EngineError, Event, Keywords, Parts, PartySettings, Problem, Steer};
use crate::messages::Messages;
use crate::plan::Takers;
use command::Solved;
use owner::{Lags, Owner};
use records::{Alert, AlertId, CallbackRequest, Outcome, Route};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{broadcast, mpsc, oneshot};

/// Commands that may wait for the owner.
const COMMANDS_MAX: usize = 16_384;
/// A free answer has at most so many characters.
const ANSWER_CHARACTERS_MAX: usize = 1_000;

/// The engine, as others hold it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Arc<Parts>,
    commands: mpsc::Sender<Command>,
    outcomes: Arc<dyn bus::Topic>,
    routes: arc_swap::ArcSwap<Vec<Route>>,
    takers: Arc<arc_swap::ArcSwap<Takers>>,
    behind: Arc<AtomicBool>,
    messages: Messages,
}

impl Engine {
    /// Picks up what the last run left, then runs on a thread of its own until [`Engine::stop`].
    pub async fn start(parts: Parts) -> Result<Engine, EngineError> {
        let parts = Arc::new(parts);
        let (commands, received) = mpsc::channel(COMMANDS_MAX);
        let routes = arc_swap::ArcSwap::from_pointee(parts.routes.clone());
        let outcomes = parts.bus.topic(records::OUTCOMES).map_err(bus_error)?;
        let intake = parts.bus.topic(records::INTAKE).map_err(bus_error)?;
        let takers = Arc::new(arc_swap::ArcSwap::from_pointee(Takers::new(&parts.routes)));
        let lags = Lags::default();
        lags.taken.store(intake.head(), Ordering::Relaxed);
        let (up, is_up) = oneshot::channel();
        let (for_owner, me, for_lags) = (parts.clone(), commands.downgrade(), lags.clone());
        let owner = move || run(for_owner, me, for_lags, received, up);
        let spawned = std::thread::Builder::new().name("engine".into()).spawn(owner);
        spawned.map_err(|error| EngineError::Internal(format!("no thread for the engine: {error}")))?;
        is_up.await.map_err(|_| EngineError::Internal("the engine ended while it started".into()))??;
        let messages = Messages::new(parts.clone(), intake, takers.clone(), lags.taken, commands.clone());
        Ok(Engine {
            inner: Arc::new(Inner {
                parts,
                commands,
                outcomes,
                routes,
                takers,
                behind: lags.behind,
                messages,
            }),
        })
    }

    /// What the doors of platforms hold.
    pub fn messages(&self) -> Messages {
        self.inner.messages.clone()
    }

    /// Folds what is in memory into SQL and ends.
    pub async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        if self.inner.commands.send(Command::Stop { reply }).await.is_ok() {
            let _ = done.await;
        }
    }

    /// Changes an alert's course; resolves when that is on disk.
    pub async fn steer(&self, account: &str, id: AlertId, verb: Steer) -> Result<Alert, EngineError> {
        let no = self.stored(account, id).await?.no;
        self.ask(|reply| Command::Steer { no, verb, reply }).await?
    }

    /// Takes an answer by link or API; resolves when it is on disk.
    pub async fn answer(&self, given: AnswerGiven) -> Result<(), EngineError> {
        let question = self.question(given.alert, given.endpoint).await?;
        if !question.open {
            return Err(EngineError::WrongState { state: "over", verb: "answer" });
        }
        let text = given.text.trim();
        let length = text.chars().count();
        if length == 0 || length > ANSWER_CHARACTERS_MAX {
            let reason = format!("has {length} characters; it needs 1 to {ANSWER_CHARACTERS_MAX}");
            return Err(EngineError::Unprocessable(vec![Problem { field: "text".into(), reason }]));
        }
        let at = (self.inner.parts.clock)();
        let outcome = Outcome::Answer {
            alert: given.alert,
            endpoint: given.endpoint,
            text: text.to_owned(),
            via: given.via,
            at,
        };
        let record = records::encode_outcomes(&[outcome]);
        self.inner.outcomes.append(&[&record]).await.map(|_| ()).map_err(bus_error)
    }

    /// Follows a running alert; for one that is over there is nothing to follow.
    pub async fn watch(
        &self,
        account: &str,
        id: AlertId,
    ) -> Result<Option<broadcast::Receiver<Event>>, EngineError> {
        let no = self.stored(account, id).await?.no;
        self.ask(|reply| Command::Watch { no, reply }).await
    }

    /// Adds an observer.
    pub async fn add_observer(
        &self,
        account: &str,
        id: AlertId,
        request: CallbackRequest,
    ) -> Result<u64, EngineError> {
        let no = self.stored(account, id).await?.no;
        let observer = self.inner.parts.store.put_observer(no, request.clone()).await.map_err(store_error)?;
        self.tell(Command::Observe { no, observer, request }).await?;
        Ok(observer)
    }

    /// The observers that registered later.
    pub async fn observers(
        &self,
        account: &str,
        id: AlertId,
    ) -> Result<Vec<(u64, CallbackRequest)>, EngineError> {
        let no = self.stored(account, id).await?.no;
        self.inner.parts.store.observers(no).await.map_err(store_error)
    }

    /// Removes an observer. False if there was none.
    pub async fn remove_observer(
        &self,
        account: &str,
        id: AlertId,
        observer: u64,
    ) -> Result<bool, EngineError> {
        let no = self.stored(account, id).await?.no;
        let removed = self.inner.parts.store.delete_observer(no, observer).await.map_err(store_error)?;
        self.tell(Command::Unobserve { no, observer }).await?;
        Ok(removed)
    }

    /// Routes changed in the config.
    pub async fn change_routes(&self, routes: Vec<Route>) -> Result<(), EngineError> {
        self.inner.routes.store(Arc::new(routes.clone()));
        self.inner.takers.store(Arc::new(Takers::new(&routes)));
        self.ask(|reply| Command::Routes { routes, reply }).await?
    }

    /// Parties or keywords changed in the config.
    pub async fn change_parties(
        &self,
        parties: Vec<PartySettings>,
        keywords: Keywords,
    ) -> Result<(), EngineError> {
        self.ask(|reply| Command::Parties { parties, keywords, reply }).await
    }

    /// Record is so far behind the outcomes that gateways should take nothing new, emergencies excepted.
    pub fn behind(&self) -> Arc<AtomicBool> {
        self.inner.behind.clone()
    }

    /// How it stands.
    pub async fn health(&self) -> Result<Health, EngineError> {
        self.ask(|reply| Command::Health { reply }).await
    }

    /// The alert as stored, if it is this account's.
    async fn stored(&self, account: &str, id: AlertId) -> Result<Alert, EngineError> {
        self.inner.parts.store.alert(account, id).await.map_err(store_error)?.ok_or(EngineError::NotFound)
    }

    async fn solved(&self, alert: Alert) -> Result<Solved, EngineError> {
        self.ask(|reply| Command::Accepted { alert: Box::new(alert), solved: Some(reply) }).await?
    }

    async fn tell(&self, command: Command) -> Result<(), EngineError> {
        self.inner.commands.send(command).await.map_err(|_| gone())
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.tell(command(reply)).await?;
        answer.await.map_err(|_| gone())
    }
}

pub fn gone() -> EngineError {
    EngineError::Busy("the server is closing; try again when it is back".into())
}

fn run(
    parts: Arc<Parts>,
    me: mpsc::WeakSender<Command>,
    lags: Lags,
    commands: mpsc::Receiver<Command>,
    up: oneshot::Sender<Result<(), EngineError>>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = up.send(Err(EngineError::Internal(format!("no runtime for the engine: {error}"))));
            return;
        }
    };
    runtime.block_on(async move {
        let started = match Owner::new(parts, me, lags) {
            Ok(mut owner) => starting::start(&mut owner).await.map(|()| owner),
            Err(error) => Err(error),
        };
        match started {
            Ok(owner) => {
                let _ = up.send(Ok(()));
                owner.run(commands).await;
            }
            Err(error) => _ = up.send(Err(error)),
        }
    });
}
