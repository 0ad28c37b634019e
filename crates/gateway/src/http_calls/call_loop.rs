//! Call loop: the one task of a route whose messages are requests. It takes an entry for each free
//! connection, and reports what became of it.
//!
//! A request that was surely not written because the far end cannot be reached goes back; the route is down
//! until a probe connects, if its calls say so ([`CallEnd::Unreached`]).

use crate::context::Stop;
use crate::dispatcher::{ChannelEncoder, Job, RouteDispatcher, RouteLimit, RouteRemark};
use crate::http_calls::observed_body::WriteMark;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use pace::Backoff;
use records::{AttemptResult, NotTried, Outcome};
use rustc_hash::FxHashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// It is looked for work at least so often.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// First wait before a far end that is gone is probed.
const PROBE_FIRST: Duration = Duration::from_millis(500);
/// Longest one.
const PROBE_MAX: Duration = Duration::from_secs(30);
/// How long requests under way may take when the route stops.
const DRAIN: Duration = Duration::from_secs(10);

/// What became of a request.
#[derive(Debug)]
pub(crate) enum CallEnd {
    /// The attempt has its result; more was told beside it.
    Done(AttemptResult, Vec<Outcome>),
    /// Surely nothing was written, since the route's one far end cannot be reached: why, in words.
    Unreached(String),
}

/// The calls of one route.
pub(crate) trait RouteCalls: Send + Sync + 'static {
    /// The channel's encoder.
    type Encoder: ChannelEncoder;

    /// Requests under way at a time.
    fn connections(&self) -> usize;

    /// Makes one request. `mark` is set as it is written.
    fn call(
        &self,
        job: &Job<<Self::Encoder as ChannelEncoder>::Prepared>,
        mark: &Arc<WriteMark>,
    ) -> impl Future<Output = CallEnd> + Send;

    /// The result of a request that the route's stop cut off after it was written.
    fn cut_off(&self) -> AttemptResult;

    /// Whether the route's one far end can be reached again.
    ///
    /// # Errors
    /// Why not, in words.
    fn probe(&self) -> impl Future<Output = Result<(), String>> + Send;
}

type JobOf<R> = Job<<<R as RouteCalls>::Encoder as ChannelEncoder>::Prepared>;

/// A request under way.
struct CallInFlight<P> {
    job: Job<P>,
    mark: Arc<WriteMark>,
}

/// A route at work.
pub(crate) struct CallLoop<R: RouteCalls> {
    calls: Arc<R>,
    dispatcher: Arc<RouteDispatcher<R::Encoder>>,
    limit: Arc<RouteLimit<R::Encoder>>,
    work: Arc<Notify>,
    in_flight: FxHashMap<u64, CallInFlight<<R::Encoder as ChannelEncoder>::Prepared>>,
    next_id: u64,
    down: Option<Outage>,
}

/// The far end is gone.
struct Outage {
    backoff: Backoff,
    /// It is probed again.
    at: Instant,
}

type UnderWay = FuturesUnordered<BoxFuture<'static, (u64, CallEnd)>>;

/// A probe under way, if there is one. What else is under way goes on meanwhile.
type Probing = Option<BoxFuture<'static, Result<(), String>>>;

impl<R: RouteCalls> CallLoop<R> {
    /// A loop that has not begun.
    pub(crate) fn new(
        calls: &Arc<R>,
        dispatcher: &Arc<RouteDispatcher<R::Encoder>>,
        limit: &Arc<RouteLimit<R::Encoder>>,
    ) -> CallLoop<R> {
        CallLoop {
            calls: Arc::clone(calls),
            work: dispatcher.listen(),
            dispatcher: Arc::clone(dispatcher),
            limit: Arc::clone(limit),
            in_flight: FxHashMap::default(),
            next_id: 0,
            down: None,
        }
    }

    /// Works until it is told to stop; every entry has its outcome then.
    pub(crate) async fn run(mut self, mut stop: Stop) {
        let (mut under_way, mut probing) = (UnderWay::new(), Probing::None);
        self.dispatcher.session_up();
        while !stop.is_set() {
            let has_room = self.fill(&mut under_way);
            let due = self.due(has_room, probing.is_some());
            tokio::select! {
                Some((id, end)) = under_way.next(), if !under_way.is_empty() => self.settle(id, end),
                result = probed(&mut probing), if probing.is_some() => {
                    probing = None;
                    self.take_probe(result);
                }
                () = self.work.notified() => {}
                () = tokio::time::sleep_until(due.into()) => {}
                () = stop.wait() => {}
            }
            if probing.is_none() && self.down.as_ref().is_some_and(|outage| outage.at <= Instant::now()) {
                let calls = Arc::clone(&self.calls);
                probing = Some(Box::pin(async move { calls.probe().await }));
            }
        }
        self.drain(under_way).await;
        if self.down.is_none() {
            self.dispatcher.session_rests();
        }
    }

    /// Begins as many requests as connections, limit and queue have; whether there is room for more.
    fn fill(&mut self, under_way: &mut UnderWay) -> bool {
        while self.down.is_none() && self.in_flight.len() < self.calls.connections() {
            if !self.limit.grant(Instant::now()) {
                return true;
            }
            let Some(job) = self.dispatcher.next() else {
                self.limit.unused();
                return true;
            };
            match self.dispatcher.refusal(&job) {
                None => self.begin(job, under_way),
                Some(why) => {
                    self.limit.unused();
                    self.dispatcher.whole(&job, &AttemptResult::NotTried { why });
                }
            }
        }
        false
    }

    fn begin(&mut self, job: JobOf<R>, under_way: &mut UnderWay) {
        let id = self.next_id;
        self.next_id += 1;
        let (limit, units) = (Arc::clone(&self.limit), usize::from(job.units));
        let mark = WriteMark::new(move || {
            let now = Instant::now();
            limit.wrote(units, now, now);
        });
        self.in_flight.insert(id, CallInFlight { job: job.clone(), mark: Arc::clone(&mark) });
        let (calls, limit) = (Arc::clone(&self.calls), Arc::clone(&self.limit));
        under_way.push(Box::pin(async move {
            grant_rest(&*limit, job.units).await;
            (id, calls.call(&job, &mark).await)
        }));
    }

    fn settle(&mut self, id: u64, end: CallEnd) {
        let Some(CallInFlight { job, mark }) = self.in_flight.remove(&id) else { return };
        if !mark.is_set() {
            self.give_back(job.units);
        }
        match end {
            CallEnd::Done(result, more) => {
                self.dispatcher.whole(&job, &result);
                for outcome in &more {
                    // Whoever told it tells it once: it is on disk with what comes next.
                    let _ = self.dispatcher.note(outcome);
                }
            }
            CallEnd::Unreached(why) => {
                self.dispatcher.put_back(job);
                self.go_down(&why);
            }
        }
    }

    fn give_back(&self, units: u8) {
        (0..units).for_each(|_| self.limit.unused());
    }

    fn go_down(&mut self, why: &str) {
        if self.down.is_some() {
            return self.dispatcher.remark(RouteRemark::WhileDown(why));
        }
        tracing::warn!(route = self.dispatcher.route(), why, "the far end cannot be reached");
        self.dispatcher.session_down(why);
        let mut backoff = Backoff::new(PROBE_FIRST, PROBE_MAX);
        let at = Instant::now() + backoff.wait(chance());
        self.down = Some(Outage { backoff, at });
    }

    /// The far end is back, or is probed again later.
    fn take_probe(&mut self, result: Result<(), String>) {
        let Some(mut outage) = self.down.take() else { return };
        match result {
            Ok(()) => {
                tracing::info!(route = self.dispatcher.route(), "the far end can be reached again");
                self.dispatcher.session_up();
            }
            Err(why) => {
                self.dispatcher.remark(RouteRemark::WhileDown(&why));
                outage.at = Instant::now() + outage.backoff.wait(chance());
                self.down = Some(outage);
            }
        }
    }

    fn due(&self, has_room: bool, is_probing: bool) -> Instant {
        let now = Instant::now();
        match &self.down {
            Some(_) if is_probing => now + LOOK_EVERY,
            Some(outage) => outage.at,
            None => {
                let credit = self.limit.next(now).filter(|_| has_room && self.dispatcher.has_work());
                credit.unwrap_or(now + LOOK_EVERY)
            }
        }
    }

    /// Waits for what is under way; what takes too long is cut off.
    async fn drain(&mut self, mut under_way: UnderWay) {
        let by = tokio::time::Instant::now() + DRAIN;
        while let Ok(Some((id, end))) = tokio::time::timeout_at(by, under_way.next()).await {
            self.settle(id, end);
        }
        drop(under_way);
        for CallInFlight { job, mark } in std::mem::take(&mut self.in_flight).into_values() {
            let result = match mark.is_set() {
                true => self.calls.cut_off(),
                false => {
                    self.give_back(job.units);
                    AttemptResult::NotTried { why: NotTried::Closing }
                }
            };
            self.dispatcher.whole(&job, &result);
        }
    }
}

/// The result of the probe; never without one.
async fn probed(probing: &mut Probing) -> Result<(), String> {
    match probing {
        Some(probe) => probe.await,
        None => std::future::pending().await,
    }
}

/// The limit granted one unit: waits for the others of a message of several parts.
async fn grant_rest<C: ChannelEncoder>(limit: &RouteLimit<C>, units: u8) {
    for _ in 1..units {
        while !limit.grant(Instant::now()) {
            let now = Instant::now();
            let at = limit.next(now).unwrap_or(now + Duration::from_millis(100));
            tokio::time::sleep_until(at.into()).await;
        }
    }
}

/// From 0 to 1: so that many routes cut off together do not come back together.
fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
