//! The shell of the engine: the handle that others hold, and the engine's actor behind it.

mod actor;
mod alert_feeds;
mod alerts;
mod approvals;
mod audience_source;
mod blocks;
mod callbacks;
mod command;
mod commands;
mod context;
mod device_forecast;
mod dispatcher;
mod event_publisher;
mod fenced_append;
mod folding;
mod forecast_records;
mod forecasting;
mod forecasts;
mod help_cases;
mod intake;
mod message_query;
mod meter;
mod mo_routing;
mod named_areas;
mod opt_outs;
mod outcome_reader;
mod outcomes;
mod people;
mod people_checks;
mod replace_if_present;
mod route_activity;
mod route_conditions;
mod route_holds;
mod route_states;
mod route_table;
mod routes;
mod sharing;
mod similar_alerts;
mod solving;
mod starting;
mod status_events;
mod steering;
mod stops;
mod story;
mod stream_index;
mod submit;
#[cfg(test)]
mod tests;
mod text_checks;
mod timers;
mod told_before;
mod turns;
mod unmatched_log;
mod views;

pub(crate) use audience_source::{AudienceOf, SolveInputs, group_of};
pub(crate) use told_before::ToldBefore;

pub use actor::{EngineActor, Lags, StopReason, bus_error, store_error};
pub use alert_feeds::{AlertChange, AlertFeed, FeedItems, RouteStanding};
pub use callbacks::Callbacks;
pub use command::{ActorCommand, DeliveryPage, Health, Question, Reply, Solved};
pub use forecasts::{Forecasts, ReplayRequest};
pub use help_cases::forget_words as forget_help_words;
pub use message_query::MessageLook;
pub use people::{
    AlertPeople, AnswerFilter, MatchedEntry, PeopleFilter, PeoplePage, PersonPlace, RECORDED_BY,
    WhyConstraints, WhyPerson,
};
pub use route_activity::{ConfirmationTimes, RouteError, RoutePoint};
pub use route_states::{RouteStatus, RouteSubstitute};
pub use route_table::GATEWAYS;
pub use routes::{RouteTest, Routes, TEST_LASTS_S};
pub use starting::start;
pub use stops::Stops;
pub use story::{AlertStory, CurvePoint, MarkKind, StoryMark};
pub use views::view as delivery_view;

use crate::api::{AnswerGiven, EngineError, Event, Keywords, MessageClientSettings, Parts, Problem, Steer};
use crate::approval::ApprovalPolicy;
use crate::messages::Messages;
use crate::plan::AcceptingRoutes;
use crate::services::{ServiceDesk, ServiceRules};
use crate::shared::{self, Leader, Node, NodeHandle};
use records::{Alert, AlertId, CallbackRequest, ChannelNumber, Intake, MessageId, Mode, Outcome, Route};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, Weak};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::AbortHandle;

/// Commands that may wait for the actor.
const COMMANDS_MAX: usize = 16_384;
/// A free answer has at most so many characters.
const ANSWER_CHARACTERS_MAX: usize = 1_000;

/// The engine, as others hold it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

/// The engine, as what serves it holds it: it does not keep it from ending.
#[derive(Clone)]
pub(crate) struct WeakEngine {
    inner: Weak<Inner>,
}

impl WeakEngine {
    /// The engine, if anybody holds it.
    pub(crate) fn upgrade(&self) -> Option<Engine> {
        Some(Engine { inner: self.inner.upgrade()? })
    }
}

struct Inner {
    parts: Arc<Parts>,
    commands: mpsc::Sender<ActorCommand>,
    outcomes: Arc<dyn bus::Topic>,
    routes: arc_swap::ArcSwap<Vec<Route>>,
    keywords: arc_swap::ArcSwap<Keywords>,
    approval: arc_swap::ArcSwap<ApprovalPolicy>,
    takers: Arc<arc_swap::ArcSwap<AcceptingRoutes>>,
    behind: Arc<AtomicBool>,
    messages: Messages,
    fencing_record: Option<NodeHandle>,
    desk: OnceLock<AbortHandle>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end_services();
    }
}

impl Inner {
    fn end_services(&self) {
        if let Some(desk) = self.desk.get() {
            desk.abort();
        }
    }
}

impl Engine {
    /// Picks up what the last run left, then runs on a thread of its own until [`Engine::stop`].
    pub async fn start(parts: Parts) -> Result<Engine, EngineError> {
        take_first_id(&parts).await?;
        let (commands, received) = mpsc::channel(COMMANDS_MAX);
        let lags = Lags::default();
        let (up, is_up) = oneshot::channel();
        let for_owner = Arc::new(parts.clone());
        let (me, for_lags) = (commands.downgrade(), lags.clone());
        Engine::spawn(move |runtime| runtime.block_on(alone(for_owner, me, for_lags, received, up)))?;
        is_up.await.map_err(|_| ended_early())??;
        Engine::new(parts, commands, lags, None)
    }

    /// The same as one of several processes over the same bus and store, which may be as far from each other
    /// as a network allows: one of them leads at a time. Resolves when this one leads or follows.
    ///
    /// # Errors
    /// A node whose name or lease cannot be; what bus or store say at the start.
    pub async fn join(parts: Parts, node: Node) -> Result<Engine, EngineError> {
        take_first_id(&parts).await?;
        let (commands, received) = mpsc::channel(COMMANDS_MAX);
        let lags = Lags::default();
        let (up, is_up) = oneshot::channel();
        let (member, fencing_record) = shared::enter(&parts, node, lags.clone(), commands.downgrade())?;
        Engine::spawn(move |runtime| runtime.block_on(member.run(received, up)))?;
        is_up.await.map_err(|_| ended_early())??;
        Engine::new(parts, commands, lags, Some(fencing_record))
    }

    fn spawn(run: impl FnOnce(&tokio::runtime::Runtime) + Send + 'static) -> Result<(), EngineError> {
        let runtime = shared::runtime()
            .map_err(|error| EngineError::Internal(format!("no runtime for the engine: {error}")))?;
        let spawned = std::thread::Builder::new().name("engine".into()).spawn(move || run(&runtime));
        spawned
            .map(|_| ())
            .map_err(|error| EngineError::Internal(format!("no thread for the engine: {error}")))
    }

    fn new(
        parts: Parts,
        commands: mpsc::Sender<ActorCommand>,
        lags: Lags,
        fencing_record: Option<NodeHandle>,
    ) -> Result<Engine, EngineError> {
        let parts = Arc::new(parts);
        let outcomes = parts.bus.topic(records::OUTCOMES).map_err(bus_error)?;
        let intake = parts.bus.topic(records::INTAKE).map_err(bus_error)?;
        let routes = arc_swap::ArcSwap::from_pointee(parts.routes.clone());
        let keywords = arc_swap::ArcSwap::from_pointee(parts.settings.keywords.clone());
        let approval = arc_swap::ArcSwap::from_pointee(parts.settings.approval.clone());
        let takers = Arc::new(arc_swap::ArcSwap::from_pointee(AcceptingRoutes::new(&parts.routes)));
        let messages = Messages::new(parts.clone(), intake, takers.clone(), lags.taken, commands.clone());
        let behind = lags.behind;
        let engine = Engine {
            inner: Arc::new(Inner {
                parts,
                commands,
                outcomes,
                routes,
                keywords,
                approval,
                takers,
                behind,
                messages,
                fencing_record,
                desk: OnceLock::new(),
            }),
        };
        let desk = tokio::spawn(ServiceDesk::run(WeakEngine { inner: Arc::downgrade(&engine.inner) }));
        let _ = engine.inner.desk.set(desk.abort_handle());
        Ok(engine)
    }

    /// Who leads, of several processes; one that is alone does.
    pub fn leader(&self) -> Leader {
        self.inner
            .fencing_record
            .as_ref()
            .map_or(Leader::Here, |fencing_record| fencing_record.leader.borrow().clone())
    }

    /// Changes whenever another leads, or nobody; never where a process is alone.
    pub fn term_changed(&self) -> watch::Receiver<Leader> {
        match &self.inner.fencing_record {
            Some(fencing_record) => fencing_record.leader.clone(),
            None => watch::channel(Leader::Here).1,
        }
    }

    /// What the doors of platforms hold.
    pub fn messages(&self) -> Messages {
        self.inner.messages.clone()
    }

    /// Folds what is in memory into SQL and ends.
    pub async fn stop(&self) {
        self.inner.end_services();
        let (reply, done) = oneshot::channel();
        if self.inner.commands.send(ActorCommand::Stop { reply }).await.is_ok() {
            let _ = done.await;
        }
    }

    /// Changes an alert's course; resolves when that is on disk.
    pub async fn steer(&self, account: &str, id: AlertId, verb: Steer) -> Result<Alert, EngineError> {
        let no = self.stored(account, id).await?.no;
        self.request(|reply| ActorCommand::Steer { no, verb, reply }).await?
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
        self.request(|reply| ActorCommand::Watch { no, reply }).await
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
        self.send(ActorCommand::Observe { no, observer, request }).await?;
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
        self.send(ActorCommand::Unobserve { no, observer }).await?;
        Ok(removed)
    }

    /// Routes changed in the config.
    pub async fn change_routes(&self, routes: Vec<Route>) -> Result<(), EngineError> {
        self.inner.routes.store(Arc::new(routes.clone()));
        self.inner.takers.store(Arc::new(AcceptingRoutes::new(&routes)));
        self.request(|reply| ActorCommand::Routes { routes, reply }).await?
    }

    /// Clients or keywords changed in the config.
    pub async fn change_clients(
        &self,
        clients: Vec<MessageClientSettings>,
        keywords: Keywords,
    ) -> Result<(), EngineError> {
        self.inner.keywords.store(Arc::new(keywords.clone()));
        self.request(|reply| ActorCommand::Clients { clients, keywords, reply }).await
    }

    /// Record is so far behind the outcomes that gateways should take nothing new, emergencies excepted.
    pub fn behind(&self) -> Arc<AtomicBool> {
        self.inner.behind.clone()
    }

    /// What is wrong with the servers behind the bus now.
    pub fn bus_trouble(&self) -> Option<records::ServerTrouble> {
        self.inner.parts.bus.trouble()
    }

    /// How it stands.
    pub async fn health(&self) -> Result<Health, EngineError> {
        self.request(|reply| ActorCommand::Health { reply }).await
    }

    /// The alert as stored, if it is this account's.
    async fn stored(&self, account: &str, id: AlertId) -> Result<Alert, EngineError> {
        self.inner.parts.store.alert(account, id).await.map_err(store_error)?.ok_or(EngineError::NotFound)
    }

    async fn solved(&self, alert: Alert) -> Result<Solved, EngineError> {
        self.request(|reply| ActorCommand::Accepted { alert: Box::new(alert), solved: Some(reply) }).await?
    }

    pub(crate) async fn send(&self, command: ActorCommand) -> Result<(), EngineError> {
        self.inner.commands.send(command).await.map_err(|_| gone())
    }

    /// SQL, for what does not need the actor.
    pub(crate) fn store(&self) -> store::SharedStore {
        self.inner.parts.store.clone()
    }

    /// Everything that it has from outside.
    pub(crate) fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    /// What people may do from their devices.
    pub(crate) fn services(&self) -> Arc<ServiceRules> {
        self.inner.keywords.load().services.clone()
    }

    pub(crate) async fn request<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<T>) -> ActorCommand,
    ) -> Result<T, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.send(command(reply)).await?;
        answer.await.map_err(|_| gone())
    }
}

/// The routes of an engine, as configured now.
pub(crate) fn routes_of(engine: &Engine) -> Arc<Vec<Route>> {
    engine.inner.routes.load_full()
}

/// How far stops go, as configured now.
pub(crate) fn opt_out_rules(engine: &Engine) -> crate::api::OptOutRules {
    engine.inner.keywords.load().opt_out.clone()
}

/// Channels with a live route that takes what an account sends.
pub(crate) fn live_channels(engine: &Engine, account: &str) -> Vec<ChannelNumber> {
    let routes = routes_of(engine);
    let is_its = |route: &Route| route.accounts.is_empty() || route.accounts.iter().any(|own| own == account);
    let takes = |channel: ChannelNumber| {
        let mut live = routes.iter().filter(|route| route.mode == Mode::Live && is_its(route));
        live.any(|route| route.channel == channel)
    };
    channels::numbers().filter(|channel| takes(*channel)).collect()
}

/// No message has the id 0, which many clients take for none: the first record of intake changes nothing.
async fn take_first_id(parts: &Parts) -> Result<(), EngineError> {
    let topic = parts.bus.topic(records::INTAKE).map_err(bus_error)?;
    if topic.head() > 0 {
        return Ok(());
    }
    let nothing = Intake::Cancel { id: MessageId(u64::MAX), at: (parts.clock)() };
    match topic.append_at(0, &[&nothing.encode()]).await {
        // There are messages already.
        Ok(_) | Err(bus::BusError::Moved { .. }) => Ok(()),
        Err(error) => Err(bus_error(error)),
    }
}

pub fn gone() -> EngineError {
    EngineError::Busy("the server is closing, or another one goes on with its work; try again".into())
}

fn ended_early() -> EngineError {
    EngineError::Internal("the engine ended while it started".into())
}

/// One process alone.
async fn alone(
    parts: Arc<Parts>,
    me: mpsc::WeakSender<ActorCommand>,
    lags: Lags,
    mut commands: mpsc::Receiver<ActorCommand>,
    up: oneshot::Sender<Result<(), EngineError>>,
) {
    let started = match EngineActor::new(parts, me, lags, None) {
        Ok(mut owner) => starting::start(&mut owner).await.map(|()| owner),
        Err(error) => Err(error),
    };
    match started {
        Ok(mut owner) => {
            let _ = up.send(Ok(()));
            if let StopReason::Stopped(done) = owner.run(&mut commands).await {
                let _ = done.send(());
            }
        }
        Err(error) => _ = up.send(Err(error)),
    }
}
