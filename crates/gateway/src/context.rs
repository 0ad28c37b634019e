//! Gateway context: the handles that every gateway is given; and the handle of a running gateway.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bus::{Bus, BusError};
use net::{Cores, OutboundPolicy};
use records::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::callback_urls::CallbackUrls;
use crate::cluster::Cluster;
use crate::dispatcher::AccountLimits;
use crate::documents::AlertDocuments;
use crate::funds::Funds;
use crate::journal::recovery::Recovery;
use crate::line::LineSessions;
use crate::route_loop::{Changed, RouteSettings, SettingsChange};

/// The consumer group of all gateways on the topics of segments.
pub(crate) const SEGMENT_GROUP: &str = "gateway";

/// The wall clock as a function, so that tests own time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Whether record is so far behind that no new segment should be taken, emergencies excepted.
pub type Behind = Arc<dyn Fn() -> bool + Send + Sync>;

/// Told of every write: route, parts, an instant before the write, one after it.
pub type WriteObserver = Arc<dyn Fn(&str, usize, Instant, Instant) + Send + Sync>;

/// What every gateway is given. One for the process; cheap to clone.
#[derive(Clone)]
pub struct GatewayContext {
    /// Topics.
    pub bus: Arc<dyn Bus>,
    /// The wall clock.
    pub clock: Clock,
    /// Where connections live.
    pub cores: Arc<Cores>,
    /// Backpressure; never by default.
    pub behind: Behind,
    /// Who wants to see the writes; nobody by default.
    pub write_observer: Option<WriteObserver>,
    /// Other processes may serve the same routes; nothing by default: this one is alone.
    pub shared: Option<Arc<Cluster>>,
    /// A bus of this machine alone, for what cannot be told while that of all processes is out of reach;
    /// nothing by default.
    pub outbox: Option<Arc<dyn Bus>>,
    /// Who pays for messages; nothing by default: they cost nothing.
    pub funds: Option<Arc<dyn Funds>>,
    /// What alerts consist of beside their texts; nothing by default: then edge routes have nothing to push.
    pub documents: Option<Arc<dyn AlertDocuments>>,
    /// Whom to call for others than the operator; a reload may store another policy here. Public addresses
    /// by default.
    pub outbound: Arc<ArcSwap<OutboundPolicy>>,
    /// Makes the URLs by which endpoints and carriers report back; nothing by default: there are none.
    pub callback_urls: Option<Arc<dyn CallbackUrls>>,
    /// Signs what comes back by itself: addresses that replies go to. Empty by default.
    pub signing_key: Arc<[u8]>,
    /// Sessions of the line protocol that are open in this process: the topic door enters them. None by
    /// default.
    pub lines: Arc<LineSessions>,
    /// The rates agreed with carriers, by account: routes may share one.
    pub limits: Arc<AccountLimits>,
    /// What earlier processes left half done, found once for all routes.
    pub(crate) recovery: Arc<Recovery>,
}

impl GatewayContext {
    /// A context over a bus that was just opened.
    pub fn new(bus: Arc<dyn Bus>, clock: Clock, cores: Arc<Cores>) -> GatewayContext {
        let recovery = Arc::new(Recovery::new(Arc::clone(&bus)));
        GatewayContext {
            bus,
            clock,
            cores,
            behind: Arc::new(|| false),
            write_observer: None,
            shared: None,
            outbox: None,
            funds: None,
            documents: None,
            outbound: Arc::default(),
            callback_urls: None,
            signing_key: Arc::default(),
            lines: Arc::default(),
            limits: Arc::default(),
            recovery,
        }
    }

    /// From now on other processes serve the same routes over the same bus. `node` is this process's name,
    /// another at every start; `lease` is how long a segment is a process's without a word: as the bus was
    /// told, and the same in all of them. May ask servers, and take its time.
    ///
    /// # Errors
    /// The bus's.
    pub fn share(&mut self, node: &str, lease: Duration) -> Result<(), BusError> {
        self.shared = Some(Cluster::open(&self.bus, &self.cores, node, lease)?);
        Ok(())
    }

    /// The wall clock's time.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }
}

/// A gateway at work.
#[derive(Debug)]
pub struct RunningGateway {
    name: String,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    changes: Option<mpsc::Sender<SettingsChange>>,
}

impl RunningGateway {
    /// Starts what `work` makes on a core. The future is handed a [`Stop`], and ends in order soon after that
    /// says so.
    pub fn start<W, F>(name: &str, context: &GatewayContext, core: usize, work: W) -> RunningGateway
    where
        W: FnOnce(Stop) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopping) = Stop::pair();
        let task = context.cores.spawn_on(core, work(stopping));
        RunningGateway { name: name.to_owned(), stop, task, changes: None }
    }

    /// The same of a gateway that takes changes.
    pub(crate) fn with_changes(self, changes: mpsc::Sender<SettingsChange>) -> RunningGateway {
        RunningGateway { changes: Some(changes), ..self }
    }

    /// Gives a running route other settings, under the same name and of the same channel. What needs no new
    /// session changes in place, such as the rate. Answers when the change is under way: sessions that have
    /// to begin anew do so by and by, what is under way on them first.
    ///
    /// # Errors
    /// Everything that is wrong with the settings: then nothing has changed.
    pub async fn change<S: RouteSettings>(&self, settings: S) -> Result<Changed, Vec<RouteProblem>> {
        self.change_erased(Box::new(settings)).await
    }

    pub(crate) async fn change_erased(
        &self,
        settings: Box<dyn Any + Send>,
    ) -> Result<Changed, Vec<RouteProblem>> {
        let refused = |reason: &str| Err(vec![RouteProblem { field: "name", reason: reason.to_owned() }]);
        let Some(changes) = &self.changes else { return refused("cannot change its settings while it runs") };
        let (answer, answered) = oneshot::channel();
        if changes.send(SettingsChange { settings, answer }).await.is_err() {
            return refused("the route has ended");
        }
        answered.await.unwrap_or_else(|_| refused("the route has ended"))
    }

    /// The route's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes nothing new, waits for what is under way, and gives the rest back. Bounded by the gateway's
    /// drain time.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        if let Err(error) = self.task.await {
            tracing::error!(route = self.name, %error, "a gateway ended in a panic");
        }
    }
}

/// Says when to stop.
#[derive(Debug, Clone)]
pub struct Stop {
    stopping: watch::Receiver<bool>,
}

impl Stop {
    /// One, and what sets it.
    pub(crate) fn pair() -> (watch::Sender<bool>, Stop) {
        let (stop, stopping) = watch::channel(false);
        (stop, Stop { stopping })
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        // Nobody can stop it any more once the handle is gone: then it goes on with the process.
        *self.stopping.borrow()
    }

    /// Resolves when it is time to stop; never if nobody can say so any more. Safe to drop.
    pub async fn wait(&mut self) {
        while !*self.stopping.borrow_and_update() {
            if self.stopping.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Something wrong with one key of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteProblem {
    /// The key.
    pub field: &'static str,
    /// In words.
    pub reason: String,
}

impl fmt::Display for RouteProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}
