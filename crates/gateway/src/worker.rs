//! Worker: the task of a route whose one session is this process, what it takes from the queue, and what
//! stops it.

use crate::context::Stop;
use crate::dispatcher::{ChannelEncoder, Job, RouteDispatcher, RouteLimit};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// A task that works until it is told to stop.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    running: Option<(watch::Sender<bool>, JoinHandle<()>)>,
}

impl Worker {
    /// Begins it on this runtime. The future ends in order soon after its [`Stop`] says so.
    pub(crate) fn begin<F>(&mut self, work: impl FnOnce(Stop) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopping) = Stop::pair();
        self.running = Some((stop, tokio::spawn(work(stopping))));
    }

    /// Stops it, and waits for its end.
    pub(crate) async fn end(self) {
        let Some((stop, task)) = self.running else { return };
        let _ = stop.send(true);
        if let Err(error) = task.await {
            tracing::error!(%error, "the task of a route ended in a panic");
        }
    }
}

/// Entries taken in one turn at most.
pub(crate) const TURN_MAX: usize = 64;
/// It is looked for work at least so often.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// Takes a route's entries in turns, as many as its rate allows.
pub(crate) struct Turns<C: ChannelEncoder> {
    dispatcher: Arc<RouteDispatcher<C>>,
    limit: Arc<RouteLimit<C>>,
    work: Arc<Notify>,
}

impl<C: ChannelEncoder> Turns<C> {
    /// Takes part in the work of the route from now on.
    pub(crate) fn begin(dispatcher: &Arc<RouteDispatcher<C>>, limit: &Arc<RouteLimit<C>>) -> Turns<C> {
        let work = dispatcher.listen();
        dispatcher.session_up();
        Turns { dispatcher: Arc::clone(dispatcher), limit: Arc::clone(limit), work }
    }

    /// The entries that may be carried out now; empty if there are none.
    pub(crate) fn take(&self) -> Vec<Job<C::Prepared>> {
        let mut jobs = Vec::new();
        while jobs.len() < TURN_MAX && self.limit.grant(Instant::now()) {
            match self.dispatcher.next() {
                Some(job) => jobs.push(job),
                None => {
                    self.limit.unused();
                    break;
                }
            }
        }
        jobs
    }

    /// Waits until there may be more.
    pub(crate) async fn wait(&self) {
        let now = Instant::now();
        let credit = self.limit.next(now).filter(|_| self.dispatcher.has_work());
        tokio::select! {
            () = self.work.notified() => {}
            () = tokio::time::sleep_until(credit.unwrap_or(now + LOOK_EVERY).into()) => {}
        }
    }
}
