//! Sender of a route: connects, takes entries as the rate allows, and has several under way at a time.

use super::connection::{ImConnection, ImSetup};
use super::message::{ImMessage, SendResult};
use super::position::{Position, ReaderLease};
use super::reader::ImReader;
use super::{ImEncoder, ImJob};
use crate::GatewayContext;
use crate::context::Stop;
use crate::dispatcher::{RouteDispatcher, RouteLimit, RouteRemark};
use crate::route_loop::{ChangeScope, RouteSettings};
use crate::worker::Worker;
use ::pace::Backoff;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use records::{AttemptRef, AttemptResult};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc, watch};

/// First wait between attempts to connect.
const RECONNECT_FIRST: Duration = Duration::from_millis(500);
/// Longest one.
const RECONNECT_MAX: Duration = Duration::from_secs(30);
/// It is looked for work at least so often.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// A network that asks for a longer pause counts as down.
const SLOW_MAX: Duration = Duration::from_secs(60);
/// No pause that a network asks for is longer.
const PAUSE_MAX: Duration = Duration::from_secs(3_600);
/// What is under way when a route stops may take so long.
const DRAIN: Duration = Duration::from_secs(10);
/// A message with which the connection was lost so often ends as unknown.
const LOST_MAX: u8 = 3;

/// The sender.
pub(super) struct ImSender {
    pub(super) config: watch::Receiver<Arc<ImSetup>>,
    pub(super) context: GatewayContext,
    pub(super) dispatcher: Arc<RouteDispatcher<ImEncoder>>,
    pub(super) limit: Arc<RouteLimit<ImEncoder>>,
    /// How often the connection was lost with a message.
    pub(super) lost: FxHashMap<AttemptRef, u8>,
    /// The network asked not to be written to before.
    pub(super) paused_until: Option<Instant>,
}

/// Messages under way.
#[derive(Default)]
struct Flights {
    next: u64,
    jobs: FxHashMap<u64, ImJob>,
    results: FuturesUnordered<BoxFuture<'static, (u64, SendResult)>>,
}

/// Why sending ended.
enum Ending {
    Stopped,
    /// Other settings want another connection.
    Changed,
    /// In these words.
    Down(String),
}

impl ImSender {
    /// Until it is told to stop.
    pub(super) async fn run(mut self, mut stop: Stop) {
        let mut backoff = Backoff::new(RECONNECT_FIRST, RECONNECT_MAX);
        while !stop.is_set() {
            let setup = Arc::clone(&self.config.borrow_and_update());
            let opened = tokio::select! {
                opened = self.connect(&setup) => opened,
                () = stop.wait() => return,
            };
            let words = match opened {
                Ok((connection, reader, mut down)) => {
                    self.dispatcher.session_up();
                    let mut worker = Worker::default();
                    worker.begin(|stop| reader.run(stop));
                    let (ending, sent) = self.serve(&setup, &connection, &mut down, &mut stop).await;
                    worker.end().await;
                    if sent > 0 {
                        backoff.reset();
                    }
                    match ending {
                        Ending::Stopped | Ending::Changed => {
                            self.dispatcher.session_rests();
                            continue;
                        }
                        Ending::Down(words) => {
                            self.dispatcher.session_down(&words);
                            words
                        }
                    }
                }
                Err(words) => words,
            };
            self.dispatcher.trouble(&words);
            let pause = backoff.wait(super::chance()).max(self.pause());
            let (route, wait_ms) = (self.dispatcher.route(), pause.as_millis() as u64);
            tracing::warn!(route, trouble = words, wait_ms, "not connected");
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                Ok(()) = self.config.changed() => {}
                () = stop.wait() => {}
            }
        }
    }

    /// A connection, what reads from it, and how that tells that the network is gone.
    async fn connect(
        &self,
        setup: &ImSetup,
    ) -> Result<(Arc<ImConnection>, ImReader, mpsc::Receiver<String>), String> {
        let route = self.dispatcher.route();
        let connection = Arc::new(ImConnection::open(setup, &self.context).await?);
        let position = Position::open(&self.context, route, connection.account());
        let position = position.map_err(|error| error.to_string())?;
        if connection.begins_with_now() && position.load().is_none() {
            let first = connection.read(None, Duration::ZERO).await;
            let first =
                first.map_err(|error| format!("the homeserver's events cannot be read: {error:?}"))?;
            position.save(&first.position).await.map_err(|error| error.to_string())?;
        }
        let lease = ReaderLease::open(&self.context, route).await.map_err(|error| error.to_string())?;
        let (tell, down) = mpsc::channel(1);
        let reader = ImReader {
            connection: Arc::clone(&connection),
            dispatcher: Arc::clone(&self.dispatcher),
            position,
            lease,
            poll: setup.settings.poll,
            down: tell,
        };
        Ok((connection, reader, down))
    }

    /// Sends until something ends it; every message under way has its outcome then, or is back in its queue.
    /// Also gives how many messages the network took.
    async fn serve(
        &mut self,
        setup: &ImSetup,
        connection: &Arc<ImConnection>,
        down: &mut mpsc::Receiver<String>,
        stop: &mut Stop,
    ) -> (Ending, usize) {
        let (work, mut flights, mut sent) = (self.dispatcher.listen(), Flights::default(), 0);
        let ending = loop {
            let due = self.fill(connection, &mut flights);
            tokio::select! {
                Some((number, result)) = flights.results.next(), if !flights.results.is_empty() => {
                    sent += usize::from(matches!(result, SendResult::Accepted { .. }));
                    if let Some(words) = self.settle(&mut flights, number, result) {
                        break Ending::Down(words);
                    }
                }
                ending = self.wait(setup, &work, down, due, stop) => match ending {
                    Some(ending) => break ending,
                    None => continue,
                }
            }
        };
        sent += self.drain(&mut flights).await;
        (ending, sent)
    }

    /// Waits for anything else than a result; an ending, if it is one.
    async fn wait(
        &mut self,
        setup: &ImSetup,
        work: &Notify,
        down: &mut mpsc::Receiver<String>,
        due: Instant,
        stop: &mut Stop,
    ) -> Option<Ending> {
        tokio::select! {
            () = work.notified() => None,
            () = tokio::time::sleep_until(due.into()) => None,
            Ok(()) = self.config.changed() => {
                let new = Arc::clone(&self.config.borrow_and_update());
                let step = setup.settings.step_to(&new.settings);
                (step > ChangeScope::InPlace).then_some(Ending::Changed)
            }
            Some(words) = down.recv() => Some(Ending::Down(words)),
            () = stop.wait() => Some(Ending::Stopped),
        }
    }

    /// Begins as many messages as window and rate allow; when there may be more.
    fn fill(&mut self, connection: &Arc<ImConnection>, flights: &mut Flights) -> Instant {
        let now = Instant::now();
        if let Some(until) = self.paused_until.filter(|until| *until > now) {
            return until;
        }
        let window = self.config.borrow().settings.window;
        while flights.jobs.len() < window {
            if !self.limit.grant(now) {
                let next = self.limit.next(now).filter(|_| self.dispatcher.has_work());
                return next.unwrap_or(now + LOOK_EVERY);
            }
            let Some(job) = self.dispatcher.next() else {
                self.limit.unused();
                break;
            };
            flights.next += 1;
            let flight = MessageFlight {
                connection: Arc::clone(connection),
                dispatcher: Arc::clone(&self.dispatcher),
                limit: Arc::clone(&self.limit),
                job: job.clone(),
            };
            let number = flights.next;
            flights.jobs.insert(number, job);
            flights.results.push(Box::pin(async move { (number, flight.run().await) }));
        }
        now + LOOK_EVERY
    }

    /// Records what became of a message; words, if the route cannot go on.
    fn settle(&mut self, flights: &mut Flights, number: u64, result: SendResult) -> Option<String> {
        let job = flights.jobs.remove(&number)?;
        if let Some(warning) = result.warning() {
            self.dispatcher.remark(RouteRemark::WhileUp(warning));
        }
        let words = match &result {
            SendResult::Down { text } | SendResult::Unknown { text } => Some(text.clone()),
            SendResult::Slow { wait, text } => self.slow_down(*wait, text),
            _ => None,
        };
        if let Some(recorded) = result.recorded() {
            self.lost.remove(&job.whole());
            self.dispatcher.whole(&job, &recorded);
        } else if matches!(result, SendResult::Down { .. }) && self.count_loss(&job) >= LOST_MAX {
            self.lost.remove(&job.whole());
            let text =
                format!("the connection was lost {LOST_MAX} times: {}", words.clone().unwrap_or_default());
            self.dispatcher.whole(&job, &AttemptResult::Unknown { text });
        } else {
            self.dispatcher.put_back(job);
        }
        words
    }

    /// The network asks for less: words, if for so long that others should be tried.
    fn slow_down(&mut self, wait: Duration, words: &str) -> Option<String> {
        let wait = wait.min(PAUSE_MAX);
        let now = Instant::now();
        let rate = self.limit.refused_for_now(true, now);
        tracing::info!(
            route = self.dispatcher.route(),
            rate,
            wait_ms = wait.as_millis() as u64,
            words,
            "the network asks to wait"
        );
        self.paused_until = self.paused_until.max(Some(now + wait));
        (wait > SLOW_MAX).then(|| format!("{words}: it asks to wait {} s", wait.as_secs()))
    }

    /// How long the network wants to be left alone from now on.
    fn pause(&self) -> Duration {
        self.paused_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    fn count_loss(&mut self, job: &ImJob) -> u8 {
        // What went back and was then cancelled stays: rarely, and not for ever.
        if self.lost.len() > 10_000 {
            self.lost.clear();
        }
        let times = self.lost.entry(job.whole()).or_default();
        *times += 1;
        *times
    }

    /// Waits for what is under way, not for ever; gives how many of it the network took.
    async fn drain(&mut self, flights: &mut Flights) -> usize {
        let end = tokio::time::Instant::now() + DRAIN;
        let mut sent = 0;
        while let Ok(Some((number, result))) = tokio::time::timeout_at(end, flights.results.next()).await {
            sent += usize::from(matches!(result, SendResult::Accepted { .. }));
            self.settle(flights, number, result);
        }
        flights.results.clear();
        let is_repeatable = self.config.borrow().settings.network().is_repeatable();
        for (_, job) in flights.jobs.drain() {
            match is_repeatable {
                true => self.dispatcher.put_back(job),
                false => {
                    let text = "the route was stopped before the network answered".to_owned();
                    self.dispatcher.whole(&job, &AttemptResult::Unknown { text });
                }
            }
        }
        sent
    }
}

/// One message on its way.
struct MessageFlight {
    connection: Arc<ImConnection>,
    dispatcher: Arc<RouteDispatcher<ImEncoder>>,
    limit: Arc<RouteLimit<ImEncoder>>,
    job: ImJob,
}

impl MessageFlight {
    async fn run(self) -> SendResult {
        let prepared = self.prepare().await;
        // To find the place may have taken its time.
        let refusal = self.dispatcher.refusal(&self.job).map(|why| SendResult::NotTried { why });
        match prepared {
            Ok((message, target)) if refusal.is_none() => {
                let now = Instant::now();
                self.limit.wrote(1, now, now);
                self.connection.deliver(&target, &message).await
            }
            prepared => {
                self.limit.unused();
                refusal.or(prepared.err()).unwrap_or(SendResult::Down { text: String::new() })
            }
        }
    }

    async fn prepare(&self) -> Result<(ImMessage, super::connection::ImTarget), SendResult> {
        if let Some(why) = self.dispatcher.refusal(&self.job) {
            return Err(SendResult::NotTried { why });
        }
        let message = ImMessage::of(&self.job, self.dispatcher.encoder().protocol.prefix())?;
        let target = self.connection.target(&message).await?;
        Ok((message, target))
    }
}
