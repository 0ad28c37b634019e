//! Writer of a route: takes entries as the rate allows and writes each into the sessions of its id, several
//! at a time, so that a session that does not read keeps nobody else waiting.

use super::sessions::ShowResult;
use super::{LineEncoder, LineJob, LineRoute, WINDOW, block};
use crate::GatewayContext;
use crate::context::Stop;
use crate::dispatcher::{RouteDispatcher, RouteLimit};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use records::{AttemptResult, channel_key};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// It is looked for work at least so often.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// A route at work.
pub(super) struct LineWriter {
    pub(super) config: watch::Receiver<LineRoute>,
    pub(super) context: GatewayContext,
    pub(super) dispatcher: Arc<RouteDispatcher<LineEncoder>>,
    pub(super) limit: Arc<RouteLimit<LineEncoder>>,
}

type Writes = FuturesUnordered<BoxFuture<'static, (LineJob, AttemptResult)>>;

impl LineWriter {
    /// Until it is time to stop; what is under way has its outcome then.
    pub(super) async fn write(mut self, mut stop: Stop) {
        let work = self.dispatcher.listen();
        self.dispatcher.session_up();
        let mut writes = Writes::new();
        while !stop.is_set() {
            let due = self.fill(&mut writes);
            tokio::select! {
                Some((job, result)) = writes.next(), if !writes.is_empty() => {
                    self.dispatcher.whole(&job, &result);
                }
                () = work.notified() => {}
                () = tokio::time::sleep_until(due.into()) => {}
                Ok(()) = self.config.changed() => {}
                () = stop.wait() => {}
            }
        }
        // Each ends within the time that a session may take.
        while let Some((job, result)) = writes.next().await {
            self.dispatcher.whole(&job, &result);
        }
    }

    /// Begins as many as window and rate allow; when there may be more.
    fn fill(&self, writes: &mut Writes) -> Instant {
        let now = Instant::now();
        while writes.len() < WINDOW {
            if !self.limit.grant(now) {
                let next = self.limit.next(now).filter(|_| self.dispatcher.has_work());
                return next.unwrap_or(now + LOOK_EVERY);
            }
            let Some(job) = self.dispatcher.next() else {
                self.limit.unused();
                break;
            };
            match self.dispatcher.refusal(&job) {
                Some(why) => {
                    self.limit.unused();
                    self.dispatcher.whole(&job, &AttemptResult::NotTried { why });
                }
                None => self.begin(job, writes),
            }
        }
        now + LOOK_EVERY
    }

    fn begin(&self, job: LineJob, writes: &mut Writes) {
        let (segment, entry) = (&job.leased.segment, job.entry());
        let address = entry.address.clone();
        let accepted = AttemptResult::Accepted {
            keys: vec![channel_key(channels::LINE, segment.alert, entry.endpoint)],
            id: block::id(segment, entry),
        };
        let before = Instant::now();
        let Some(block) = block::block(segment, entry) else {
            self.limit.unused();
            let result = refused(true, "line:empty", "there is no text for a session".to_owned());
            return self.dispatcher.whole(&job, &result);
        };
        let (lines, take_within) = (Arc::clone(&self.context.lines), self.config.borrow().take_within);
        self.limit.wrote(1, before, before);
        writes.push(Box::pin(async move {
            let shown = tokio::time::timeout(take_within, lines.show(&address, block)).await;
            let result = match shown {
                Ok(Some(ShowResult::Taken)) => accepted,
                Ok(Some(ShowResult::Ended)) => {
                    refused(false, "line:ended", format!("the session of {address} ended as it was written"))
                }
                Ok(Some(ShowResult::Full)) | Err(_) => {
                    refused(false, "line:stalled", format!("the session of {address} does not read"))
                }
                Ok(None) => refused(false, "line:nobody", format!("nobody is logged in as {address}")),
            };
            (job, result)
        }));
    }
}

fn refused(permanent: bool, code: &str, text: String) -> AttemptResult {
    AttemptResult::Refused { permanent, code: code.to_owned(), text }
}
