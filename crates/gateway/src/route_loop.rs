//! Route loop: opens the dispatcher of a route, shares its rate over processes, applies changes, drains and
//! stops.
//!
//! One loop for every channel. A channel brings its [`RouteSettings`] and its [`RouteSessions`]; it cannot
//! send before the loop has begun to share the rate, and it does not decide when the dispatcher closes.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use bus::BusError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::context::{GatewayContext, RouteProblem, RunningGateway, Stop};
use crate::dispatcher::{ChannelEncoder, DispatcherSettings, RateHolder, RouteDispatcher, begin_sharing};

/// A route whose topics cannot be opened tries again after so long.
const REOPEN: Duration = Duration::from_secs(5);
/// Changes that may wait for a route.
const CHANGES_MAX: usize = 4;

/// The settings of a route of one channel: what its `[[route]]` says, checked as a whole.
pub trait RouteSettings: Clone + Debug + PartialEq + Send + Sync + 'static {
    /// The route's name; it stays the same for as long as the route runs.
    fn name(&self) -> &str;

    /// Everything that is wrong; empty if the route can be started. Files may be read.
    fn problems(&self) -> Vec<RouteProblem>;

    /// Messages (parts) per second that were agreed for the whole route, over all processes; 0 is unlimited.
    fn rate(&self) -> f64;

    /// Units that may be without a durable outcome: sessions x window.
    fn slots(&self) -> u32;

    /// The protocol that it speaks, where its channel has a name for it of its own.
    fn protocol(&self) -> Option<&'static str> {
        None
    }

    /// Sessions that it keeps while there is work; nothing: it has none that are counted.
    fn sessions(&self) -> Option<u32> {
        None
    }

    /// It connects when there is work, and counts as up until that fails.
    fn rests(&self) -> bool {
        false
    }

    /// Down for longer, it gives back what it has, so that another route can be tried.
    fn down_after(&self) -> Duration;

    /// The least that has to be done to go on with other settings.
    fn step_to(&self, to: &Self) -> ChangeScope;

    /// A simulator of this process listens here; the route connects to it in place of its own address.
    fn connect_to(&mut self, _simulator: &str) {}
}

/// The reach of a change of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeScope {
    /// Nothing changed.
    None,
    /// Sessions stay as they are.
    InPlace,
    /// Sessions end in order, and begin anew.
    Rebind,
    /// So do they, and what is in hand goes back to the bus first: its octets were made by the old settings.
    Reopen,
}

/// What became of a change of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// There was nothing to change.
    Nothing,
    /// It goes on by the new settings, with the sessions it has.
    InPlace,
    /// Its sessions end in order and begin anew.
    Rebound,
}

impl From<ChangeScope> for Changed {
    fn from(step: ChangeScope) -> Changed {
        match step {
            ChangeScope::None => Changed::Nothing,
            ChangeScope::InPlace => Changed::InPlace,
            ChangeScope::Rebind | ChangeScope::Reopen => Changed::Rebound,
        }
    }
}

/// The sessions of a route of one channel: they take entries from the dispatcher and write them.
pub(crate) trait RouteSessions: Send + Sized + 'static {
    /// See [`RouteSettings`].
    type Settings: RouteSettings;
    /// What is made of the settings' files and keys once: TLS, signing keys.
    type Material: Clone + Send + Sync + 'static;
    /// What knows how the channel's segments are prepared and counted.
    type Encoder: ChannelEncoder;

    /// Makes it.
    ///
    /// # Errors
    /// A file or key that cannot be used, by the key that names it.
    fn prepare(
        settings: &Self::Settings,
        context: &GatewayContext,
    ) -> Result<Self::Material, Vec<RouteProblem>>;

    /// The channel's encoder for these settings.
    fn encoder(settings: &Self::Settings, material: &Self::Material) -> Self::Encoder;

    /// Sessions that have not begun yet.
    ///
    /// # Errors
    /// The bus's.
    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<Self::Encoder>>,
    ) -> Result<Self, BusError>;

    /// The route's limit, asked before every write. The loop tells it this process's share.
    fn limit(&self) -> Arc<dyn RateHolder>;

    /// From now on they take entries and write them. The limit knows its share by now.
    fn begin(&mut self);

    /// The route has been down for so long that what it has goes back.
    fn went_down(&self) {}

    /// Goes on by other settings: [`ChangeScope::InPlace`] or [`ChangeScope::Rebind`]. The dispatcher and the
    /// share have them already.
    fn change(&mut self, step: ChangeScope, route: Checked<Self>) -> impl Future<Output = ()> + Send;

    /// Ends in order. The dispatcher hands nothing out any more; every entry in hand has its outcome
    /// afterwards.
    fn end(self) -> impl Future<Output = ()> + Send;
}

/// Settings that were checked, and what was made of their files.
pub(crate) struct Checked<S: RouteSessions> {
    pub(crate) settings: S::Settings,
    pub(crate) material: S::Material,
}

impl<S: RouteSessions> Checked<S> {
    /// Checks everything, files included.
    pub(crate) fn new(
        settings: S::Settings,
        context: &GatewayContext,
    ) -> Result<Checked<S>, Vec<RouteProblem>> {
        let problems = settings.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let material = S::prepare(&settings, context)?;
        Ok(Checked { settings, material })
    }

    fn dispatcher_settings(&self) -> DispatcherSettings {
        let settings = &self.settings;
        DispatcherSettings {
            route: settings.name().to_owned(),
            slots: settings.slots(),
            rate: settings.rate(),
            rests: settings.rests(),
            down_after: settings.down_after(),
        }
    }
}

/// Other settings on their way to a route, and where the answer goes.
pub(crate) struct SettingsChange {
    pub(crate) settings: Box<dyn Any + Send>,
    pub(crate) answer: oneshot::Sender<Result<Changed, Vec<RouteProblem>>>,
}

/// Starts a route.
///
/// # Errors
/// Everything that is wrong with its settings.
pub(crate) fn start<S: RouteSessions>(
    settings: S::Settings,
    context: &GatewayContext,
) -> Result<RunningGateway, Vec<RouteProblem>> {
    let route = Checked::<S>::new(settings, context)?;
    let (name, core, given) = (route.settings.name().to_owned(), context.cores.next(), context.clone());
    let (changes, changed) = mpsc::channel(CHANGES_MAX);
    let running = RunningGateway::start(&name, context, core, move |stop| {
        RouteLoop { route, context: given, changed, stop }.run()
    });
    Ok(running.with_changes(changes))
}

struct RouteLoop<S: RouteSessions> {
    route: Checked<S>,
    context: GatewayContext,
    changed: mpsc::Receiver<SettingsChange>,
    stop: Stop,
}

/// A route that was opened: its dispatcher, and its sessions.
type Opened<S> = (Arc<RouteDispatcher<<S as RouteSessions>::Encoder>>, S);

impl<S: RouteSessions> RouteLoop<S> {
    async fn run(mut self) {
        while let Some((dispatcher, sessions)) = self.open().await {
            match self.serve(dispatcher, sessions).await {
                Some(other) => self.route = other,
                None => return,
            }
        }
    }

    fn name(&self) -> &str {
        self.route.settings.name()
    }

    /// Opens the route's topics, however long that takes; nothing if it is stopped before.
    async fn open(&mut self) -> Option<Opened<S>> {
        loop {
            match self.open_now().await {
                Ok(opened) => return Some(opened),
                Err(error) => tracing::error!(route = self.name(), %error, "the route cannot start yet"),
            }
            tokio::select! {
                () = tokio::time::sleep(REOPEN) => {}
                Some(change) = self.changed.recv() => {
                    if let Some((_, other)) = self.accept(change) {
                        self.route = other;
                    }
                }
                () = self.stop.wait() => return None,
            }
        }
    }

    async fn open_now(&self) -> Result<Opened<S>, BusError> {
        let encoder = S::encoder(&self.route.settings, &self.route.material);
        let dispatcher =
            RouteDispatcher::open(&self.context, self.route.dispatcher_settings(), encoder).await?;
        let sessions = S::open(&self.route, &self.context, &dispatcher)?;
        begin_sharing(&dispatcher, &sessions.limit(), self.route.settings.rate());
        Ok((dispatcher, sessions))
    }

    /// Looks at a change, and answers it: its reach and the settings, if there is something to change.
    fn accept(&self, change: SettingsChange) -> Option<(ChangeScope, Checked<S>)> {
        let checked = match change.settings.downcast::<S::Settings>() {
            Ok(settings) if settings.name() == self.name() => Checked::new(*settings, &self.context),
            Ok(_) => Err(vec![RouteProblem {
                field: "name",
                reason: "the name of a running route cannot change".to_owned(),
            }]),
            Err(_) => Err(vec![RouteProblem {
                field: "channel",
                reason: "the channel of a running route cannot change".to_owned(),
            }]),
        };
        // The caller may have gone: the change is made even so.
        match checked {
            Ok(other) => {
                let step = self.route.settings.step_to(&other.settings);
                let _ = change.answer.send(Ok(step.into()));
                (step != ChangeScope::None).then_some((step, other))
            }
            Err(problems) => {
                let _ = change.answer.send(Err(problems));
                None
            }
        }
    }

    /// Until the route is stopped, or until settings come that it has to be opened anew for.
    async fn serve(
        &mut self,
        dispatcher: Arc<RouteDispatcher<S::Encoder>>,
        mut sessions: S,
    ) -> Option<Checked<S>> {
        let mut dispatching = tokio::spawn({
            let dispatcher = Arc::clone(&dispatcher);
            async move { dispatcher.run().await }
        });
        sessions.begin();
        let other = loop {
            tokio::select! {
                () = self.stop.wait() => break None,
                // When the bus is closing, or by a fault of ours.
                ended = &mut dispatching => {
                    tracing::error!(route = self.name(), ?ended, "the route's dispatcher has ended");
                    break None;
                }
                () = dispatcher.went_down() => sessions.went_down(),
                Some(change) = self.changed.recv() => {
                    let Some((step, other)) = self.accept(change) else { continue };
                    tracing::info!(route = self.name(), ?step, "the route has other settings");
                    if step == ChangeScope::Reopen {
                        break Some(other);
                    }
                    self.change(&dispatcher, &mut sessions, step, other).await;
                }
            }
        };
        dispatcher.close();
        sessions.end().await;
        dispatcher.finish();
        end_dispatcher(self.name(), dispatching).await;
        other
    }

    async fn change(
        &mut self,
        dispatcher: &RouteDispatcher<S::Encoder>,
        sessions: &mut S,
        step: ChangeScope,
        other: Checked<S>,
    ) {
        let settings = other.settings.clone();
        dispatcher.set_rate(sessions.limit().set_rate(settings.rate()));
        dispatcher.set_slots(settings.slots());
        self.route = Checked { settings: settings.clone(), material: other.material.clone() };
        sessions.change(step, other).await;
        // Sessions that wait look at the settings again.
        dispatcher.signal();
    }
}

async fn end_dispatcher(route: &str, dispatching: JoinHandle<()>) {
    if !dispatching.is_finished()
        && let Err(error) = dispatching.await
    {
        tracing::error!(route, %error, "the route's dispatcher ended in a panic");
    }
}
