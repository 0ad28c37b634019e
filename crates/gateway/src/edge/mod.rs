//! Edge sites: an alert's text, CAP and attachments, as one archive, pushed to sirens, signs and studios by
//! paced UDP.
//!
//! ```text
//! keys      keys of a `[[route]]` of this channel
//! config    what a route is told, and where its sites are
//! archive    one archive of it, and back
//! push      to all sites of a segment at once, by paced UDP's push
//! outcome   what a site's end means on record
//! ```
//!
//! Invariant worth naming: an archive has the same octets and name whenever it is made of the same alert and
//! text. So a push after a crash goes on where the one before it was, a site never has two copies, and what a
//! crash left under way is planned again at once.

pub mod archive;
mod config;
#[cfg(test)]
mod conformance;
mod keys;
mod outcome;
mod push;
mod signing;
#[cfg(test)]
mod tests;

pub use config::{EdgeRoute, EdgeSite, PUSHES_MAX, site_problems};
pub use keys::{EdgeKeys, EdgeSites};
pub use signing::read_signing_key;

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem, RunningGateway, Stop};
use crate::dispatcher::{ChannelEncoder, Job, RateHolder, RouteDispatcher, RouteLimit};
use crate::registry::ChannelGateway;
use crate::route_keys::RouteKeys;
use crate::route_loop::{self, ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use crate::worker::Worker;
use bus::BusError;
#[cfg(test)]
use futures_util::future::BoxFuture;
use push::Push;
use records::{AttemptResult, ChannelNumber, Entry, Lane, NotTried, Segment, Timestamp};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Copies that are begun at a time.
const AT_ONCE: usize = paced_udp::push::SITES_MAX;
/// Pushes beyond those of the config that an emergency may begin.
const EMERGENCY_PUSHES: usize = 4;
/// It is looked for work at least so often.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// There is nothing to make of a segment once.
pub(crate) struct EdgeEncoder;

impl ChannelEncoder for EdgeEncoder {
    type Prepared = ();

    /// An archive is the same whenever it is made: a site that has it says so, and one that has a part of it
    /// goes on.
    fn repeatable(&self) -> bool {
        true
    }

    fn prepare(&self, _segment: &Segment) {}

    fn units(&self, _segment: &Segment, (): &(), _entry: &Entry) -> u8 {
        1
    }
}

type EdgeJob = Job<()>;

/// Starts a route.
///
/// # Errors
/// Everything that is wrong with its settings, or a folder for archives that cannot be made.
pub fn start(config: EdgeRoute, context: &GatewayContext) -> Result<RunningGateway, Vec<RouteProblem>> {
    route_loop::start::<EdgeSessions>(config, context)
}

/// The settings of a route, and the key that signs its archives.
struct Signing {
    route: EdgeRoute,
    signing_key: [u8; 32],
}

impl Signing {
    /// Archives are made here.
    fn folder(&self) -> PathBuf {
        self.route.work.join(&self.route.name)
    }
}

/// The gateway of edge sites.
pub struct EdgeGateway;

impl ChannelGateway for EdgeGateway {
    type Sessions = EdgeSessions;
    type Keys = EdgeKeys;
    const CHANNEL: ChannelNumber = channels::EDGE;

    fn settings(
        common: &RouteKeys,
        keys: &EdgeKeys,
        around: &Surroundings,
    ) -> Result<EdgeRoute, RouteProblem> {
        keys.route(common, around)
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        Box::pin(async { Box::new(conformance::Sites::start()) as Box<dyn FarEnd> })
    }
}

/// The one session of a route: a task that begins pushes.
pub(crate) struct EdgeSessions {
    limit: Arc<RouteLimit<EdgeEncoder>>,
    route_task: Option<EdgeRouteTask>,
    settings: watch::Sender<Arc<Signing>>,
    worker: Worker,
}

impl RouteSessions for EdgeSessions {
    type Settings = EdgeRoute;
    type Material = [u8; 32];
    type Encoder = EdgeEncoder;

    fn prepare(settings: &EdgeRoute, _: &GatewayContext) -> Result<[u8; 32], Vec<RouteProblem>> {
        let folder = settings.work.join(&settings.name);
        let problem = |field, reason| vec![RouteProblem { field, reason }];
        std::fs::create_dir_all(&folder)
            .map_err(|error| problem("name", format!("no folder {}: {error}", folder.display())))?;
        signing::open(&settings.signing_key).map_err(|reason| problem("signing_key", reason))
    }

    fn encoder(_: &EdgeRoute, _: &[u8; 32]) -> EdgeEncoder {
        EdgeEncoder
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<EdgeEncoder>>,
    ) -> Result<EdgeSessions, BusError> {
        let limit = RouteLimit::new(dispatcher, route.settings.rate);
        let signing = Signing { route: route.settings.clone(), signing_key: route.material };
        remove_archives(&signing.folder());
        let (settings, config) = watch::channel(Arc::new(signing));
        let route_task = EdgeRouteTask {
            config,
            context: context.clone(),
            dispatcher: Arc::clone(dispatcher),
            limit: Arc::clone(&limit),
            pushes: JoinSet::new(),
            waiting: Vec::new(),
            begun: 0,
        };
        Ok(EdgeSessions { limit, route_task: Some(route_task), settings, worker: Worker::default() })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.limit) as Arc<dyn RateHolder>
    }

    fn begin(&mut self) {
        if let Some(route_task) = self.route_task.take() {
            self.worker.begin(|stop| route_task.serve(stop));
        }
    }

    async fn change(&mut self, _: ChangeScope, route: Checked<Self>) {
        self.settings.send_replace(Arc::new(Signing { route: route.settings, signing_key: route.material }));
    }

    async fn end(self) {
        self.worker.end().await;
    }
}

/// Archives of a process that was killed are made anew: what is there is of no use.
fn remove_archives(folder: &std::path::Path) {
    let emptied = std::fs::remove_dir_all(folder).and_then(|()| std::fs::create_dir_all(folder));
    if let Err(error) = emptied {
        tracing::warn!(folder = %folder.display(), %error, "archives of an earlier process could not be removed: they only take room");
    }
}

/// A route at work.
struct EdgeRouteTask {
    config: watch::Receiver<Arc<Signing>>,
    context: GatewayContext,
    dispatcher: Arc<RouteDispatcher<EdgeEncoder>>,
    limit: Arc<RouteLimit<EdgeEncoder>>,
    /// Pushes under way.
    pushes: JoinSet<()>,
    /// Copies of an archive whose push is still to begin, where there are more archives than may be pushed at
    /// a time.
    waiting: Vec<Vec<EdgeJob>>,
    /// Pushes so far, for the names of their files.
    begun: u64,
}

impl EdgeRouteTask {
    /// Until it is time to stop; then what is under way goes back, to be planned again.
    async fn serve(mut self, mut stop: Stop) {
        let work = self.dispatcher.listen();
        self.dispatcher.session_up();
        while !stop.is_set() {
            let jobs = self.take();
            if !jobs.is_empty() {
                self.sort(jobs);
                self.begin(&stop);
                continue;
            }
            let now = Instant::now();
            let credit = self.limit.next(now).filter(|_| self.lane().is_some() && self.dispatcher.has_work());
            tokio::select! {
                () = work.notified() => {}
                Some(ended) = self.pushes.join_next(), if !self.pushes.is_empty() => {
                    if let Err(error) = ended {
                        tracing::error!(route = self.dispatcher.route(), %error, "a push ended in a panic");
                    }
                    self.begin(&stop);
                }
                Ok(()) = self.config.changed() => self.begin(&stop),
                () = tokio::time::sleep_until(credit.unwrap_or(now + LOOK_EVERY).into()) => {}
                () = stop.wait() => {}
            }
        }
        for job in std::mem::take(&mut self.waiting).into_iter().flatten() {
            self.end_unbegun(&job, NotTried::Closing);
        }
        // They see the stop as well.
        while self.pushes.join_next().await.is_some() {}
    }

    /// Pushes of a lane may begin while fewer than this are under way.
    fn most(&self, lane: Lane) -> usize {
        self.config.borrow().route.pushes + if lane == Lane::Emergency { EMERGENCY_PUSHES } else { 0 }
    }

    /// The last lane that may begin a push now.
    fn lane(&self) -> Option<Lane> {
        let has_room = |lane| {
            let waits = |jobs: &Vec<EdgeJob>| jobs[0].leased.lane() <= lane;
            self.pushes.len() < self.most(lane) && !self.waiting.iter().any(waits)
        };
        [Lane::Routine, Lane::Emergency].into_iter().find(|lane| has_room(*lane))
    }

    /// What may be begun now.
    fn take(&mut self) -> Vec<EdgeJob> {
        let mut jobs = Vec::new();
        let Some(lane) = self.lane() else { return jobs };
        while jobs.len() < AT_ONCE && self.limit.grant(Instant::now()) {
            let before = jobs.len();
            self.dispatcher.take_ready(lane, 1, self.context.now(), |job| jobs.push(job));
            if jobs.len() == before {
                self.limit.unused();
                break;
            }
        }
        jobs
    }

    /// Puts together what gets the same archive.
    fn sort(&mut self, jobs: Vec<EdgeJob>) {
        for job in jobs {
            match self.waiting.iter_mut().find(|others| is_same(&others[0], &job)) {
                Some(others) => others.push(job),
                None => self.waiting.push(vec![job]),
            }
        }
    }

    /// Nothing of it was pushed, and nothing will be.
    fn end_unbegun(&self, job: &EdgeJob, why: NotTried) {
        self.limit.unused();
        self.dispatcher.whole(job, &AttemptResult::NotTried { why });
    }

    /// Begins as many pushes as may be under way, emergencies first.
    fn begin(&mut self, stop: &Stop) {
        self.waiting.sort_by_key(|jobs| jobs[0].leased.lane());
        while let Some(jobs) = self.waiting.first()
            && self.pushes.len() < self.most(jobs[0].leased.lane())
        {
            let jobs = self.waiting.remove(0);
            if let Some(why) = self.dispatcher.refusal(&jobs[0]) {
                jobs.iter().for_each(|job| self.end_unbegun(job, why));
                continue;
            }
            // The limit counts copies by the moment in which their push begins, however long they waited for
            // it.
            let now = Instant::now();
            self.limit.wrote(jobs.len(), now, now);
            self.begun += 1;
            let signing = Arc::clone(&self.config.borrow());
            let push = Push {
                file: signing.folder().join(format!("{}.tar", self.begun)),
                signing,
                context: self.context.clone(),
                dispatcher: Arc::clone(&self.dispatcher),
                jobs,
                stop: stop.clone(),
            };
            self.pushes.spawn(push.run());
        }
    }
}

/// Both get the same archive, until the same moment, and what is said of one's segment holds for the other.
fn is_same(one: &EdgeJob, other: &EdgeJob) -> bool {
    let ends = |job: &EdgeJob| job.entry().expires.unwrap_or(Timestamp(i64::MAX));
    let body = |job: &EdgeJob| job.leased.segment.body(job.entry()).cloned();
    Arc::ptr_eq(&one.leased, &other.leased) && ends(one) == ends(other) && body(one) == body(other)
}
