//! Edge sites: an alert's text, CAP and attachments, as one bundle, pushed to sirens, signs and studios by paced UDP.
//!
//! ```text
//! config    what a route is told, and where its sites are
//! bundle    one archive of it, and back
//! push      to all sites of a segment at once, by cast's push
//! outcome   what a site's end means on record
//! ```
//!
//! Invariant worth naming: a bundle has the same octets and name whenever it is made of the same alert and text. So a push after a crash
//! goes on where the one before it was, a site never has two copies, and what a crash left under way is planned again at once.

pub mod bundle;
mod config;
mod outcome;
mod push;
mod signing;
#[cfg(test)]
mod tests;

pub use config::{EdgeRoute, EdgeSite, PUSHES_MAX, site_problems};
pub use signing::read_signing_key;

use crate::context::{GatewayContext, Problem, Running, Stop};
use crate::dispatcher::{ChannelEncoder, DispatcherSettings, Job, RouteDispatcher};
use ::pace::Limiter;
use push::Push;
use records::{AttemptResult, Entry, Lane, NotTried, Segment, Timestamp};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Copies that may be without a durable outcome: those of all pushes under way, and as many that wait.
const SLOTS: u32 = 8_192;
/// Copies that are begun at a time.
const AT_ONCE: usize = cast::push::SITES_MAX;
/// Pushes beyond those of the config that an emergency may begin.
const EMERGENCY_PUSHES: usize = 4;
/// A route whose topics cannot be opened tries again after so long.
const REOPEN: Duration = Duration::from_secs(5);
/// Its session is this process: it does not go down, but a stop.
const ROUTE_DOWN_AFTER: Duration = Duration::from_secs(30);
/// It is looked for work at least so often.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// There is nothing to make of a segment once.
struct EdgeEncoder;

impl ChannelEncoder for EdgeEncoder {
    type Prepared = ();

    /// A bundle is the same whenever it is made: a site that has it says so, and one that has a part of it goes on.
    const REPEATABLE: bool = true;

    fn prepare(&self, _segment: &Segment) {}

    fn units(&self, _segment: &Segment, (): &(), _entry: &Entry) -> u8 {
        1
    }
}

type EdgeJob = Job<()>;

/// Starts a route.
///
/// # Errors
/// Everything that is wrong with its settings, or a folder for bundles that cannot be made.
pub fn start(config: EdgeRoute, context: &GatewayContext) -> Result<Running, Vec<Problem>> {
    let mut problems = config.problems();
    let folder = config.work.join(&config.name);
    if !problems.is_empty() {
        return Err(problems);
    }
    if let Err(error) = empty_folder(&folder) {
        problems.push(Problem { field: "name", reason: format!("no folder {}: {error}", folder.display()) });
        return Err(problems);
    }
    let signing_key = signing::open(&config.signing_key)
        .map_err(|reason| vec![Problem { field: "signing_key", reason }])?;
    let (name, core, given) = (config.name.clone(), context.cores.next(), context.clone());
    Ok(Running::start(&name, context, core, move |stop| run(config, signing_key, folder, given, stop)))
}

/// A folder with nothing in it: bundles of a process that was killed are made anew.
fn empty_folder(folder: &std::path::Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir_all(folder),
    }
}

async fn run(
    config: EdgeRoute,
    signing_key: [u8; 32],
    folder: PathBuf,
    context: GatewayContext,
    mut stop: Stop,
) {
    let dispatcher = loop {
        let settings = DispatcherSettings {
            route: config.name.clone(),
            slots: SLOTS,
            rate: config.rate,
            rests: false,
            down_after: ROUTE_DOWN_AFTER,
        };
        match RouteDispatcher::open(&context, settings, EdgeEncoder).await {
            Ok(dispatcher) => break dispatcher,
            Err(error) => tracing::error!(route = config.name, %error, "the route cannot start yet"),
        }
        tokio::select! {
            () = tokio::time::sleep(REOPEN) => {}
            () = stop.wait() => return,
        }
    };
    let dispatching = tokio::spawn({
        let dispatcher = Arc::clone(&dispatcher);
        async move { dispatcher.run().await }
    });
    Depot::new(config, signing_key, folder, &context, &dispatcher).serve(&mut stop).await;
    dispatcher.finish();
    let _ = dispatching.await;
}

/// A route at work.
struct Depot<'a> {
    config: Arc<EdgeRoute>,
    signing_key: [u8; 32],
    folder: PathBuf,
    context: &'a GatewayContext,
    dispatcher: &'a Arc<RouteDispatcher<EdgeEncoder>>,
    limiter: Limiter,
    /// Pushes under way.
    pushes: JoinSet<()>,
    /// Copies of a bundle whose push is still to begin, where there are more bundles than may be pushed at a time.
    waiting: Vec<Vec<EdgeJob>>,
    /// Pushes so far, for the names of their files.
    begun: u64,
}

impl<'a> Depot<'a> {
    fn new(
        config: EdgeRoute,
        signing_key: [u8; 32],
        folder: PathBuf,
        context: &'a GatewayContext,
        dispatcher: &'a Arc<RouteDispatcher<EdgeEncoder>>,
    ) -> Depot<'a> {
        let now = Instant::now();
        // The process before us may have begun some until a moment ago: a second passes without credit.
        let mut limiter = Limiter::new(config.rate, now);
        limiter.start(now);
        if let Some(at) = limiter.next(now) {
            dispatcher.begin_at(at);
        }
        let (config, pushes, waiting) = (Arc::new(config), JoinSet::new(), Vec::new());
        Depot { config, signing_key, folder, context, dispatcher, limiter, pushes, waiting, begun: 0 }
    }

    /// Until it is time to stop; then what is under way goes back, to be planned again.
    async fn serve(&mut self, stop: &mut Stop) {
        let work = self.dispatcher.listen();
        self.dispatcher.session_up();
        while !stop.is_set() {
            let jobs = self.take();
            if !jobs.is_empty() {
                self.sort(jobs);
                self.begin(stop);
                continue;
            }
            let now = Instant::now();
            let credit =
                self.limiter.next(now).filter(|_| self.lane().is_some() && self.dispatcher.has_work());
            tokio::select! {
                () = work.notified() => {}
                Some(ended) = self.pushes.join_next(), if !self.pushes.is_empty() => {
                    if let Err(error) = ended {
                        tracing::error!(route = self.config.name, %error, "a push ended in a panic");
                    }
                    self.begin(stop);
                }
                () = tokio::time::sleep_until(credit.unwrap_or(now + LOOK_EVERY).into()) => {}
                () = stop.wait() => {}
            }
        }
        self.dispatcher.close();
        for job in self.waiting.drain(..).flatten() {
            self.dispatcher.whole(&job, &AttemptResult::NotTried { why: NotTried::Closing });
        }
        // They see the stop as well.
        while self.pushes.join_next().await.is_some() {}
    }

    /// Pushes of a lane may begin while fewer than this are under way.
    fn most(&self, lane: Lane) -> usize {
        self.config.pushes + if lane == Lane::Emergency { EMERGENCY_PUSHES } else { 0 }
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
        while jobs.len() < AT_ONCE && self.limiter.grant(Instant::now(), 1) == 1 {
            let before = jobs.len();
            self.dispatcher.take_ready(lane, 1, self.context.now(), |job| jobs.push(job));
            if jobs.len() == before {
                self.limiter.unused(1);
                break;
            }
        }
        jobs
    }

    /// Puts together what gets the same bundle.
    fn sort(&mut self, jobs: Vec<EdgeJob>) {
        self.limiter.wrote(Instant::now(), jobs.len());
        for job in jobs {
            match self.waiting.iter_mut().find(|others| is_same(&others[0], &job)) {
                Some(others) => others.push(job),
                None => self.waiting.push(vec![job]),
            }
        }
    }

    /// Begins as many pushes as may be under way, emergencies first.
    fn begin(&mut self, stop: &Stop) {
        self.waiting.sort_by_key(|jobs| jobs[0].leased.lane());
        while let Some(jobs) = self.waiting.first()
            && self.pushes.len() < self.most(jobs[0].leased.lane())
        {
            let jobs = self.waiting.remove(0);
            if let Some(why) = self.dispatcher.refusal(&jobs[0]) {
                jobs.iter().for_each(|job| self.dispatcher.whole(job, &AttemptResult::NotTried { why }));
                continue;
            }
            self.begun += 1;
            let push = Push {
                config: Arc::clone(&self.config),
                signing_key: self.signing_key,
                context: self.context.clone(),
                dispatcher: Arc::clone(self.dispatcher),
                file: self.folder.join(format!("{}.tar", self.begun)),
                jobs,
                stop: stop.clone(),
            };
            self.pushes.spawn(push.run());
        }
    }
}

/// Both get the same bundle, until the same moment, and what is said of one's segment holds for the other.
fn is_same(one: &EdgeJob, other: &EdgeJob) -> bool {
    let ends = |job: &EdgeJob| job.entry().expires.unwrap_or(Timestamp(i64::MAX));
    let body = |job: &EdgeJob| job.leased.segment.body(job.entry()).cloned();
    Arc::ptr_eq(&one.leased, &other.leased) && ends(one) == ends(other) && body(one) == body(other)
}
