//! Text topics: an alert's text is published where displays and scripts read it by the topic protocol.
//!
//! ```text
//! keys      keys of a `[[route]]` of this channel
//! config    what a route is told
//! encode    from a text to messages
//! publish   onto a topic, once
//! ```

mod config;
#[cfg(test)]
mod conformance;
mod encode;
mod keys;
mod publish;
#[cfg(test)]
mod tests;

pub use config::TopicRoute;
pub use keys::{TextTopics, TopicKeys};

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem, RunningGateway, Stop};
use crate::dispatcher::{ChannelEncoder, Job, RateHolder, RouteDispatcher, RouteLimit};
use crate::registry::ChannelGateway;
use crate::route_keys::RouteKeys;
use crate::route_loop::{self, ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use crate::worker::{Turns, Worker};
use bus::BusError;
#[cfg(test)]
use futures_util::future::BoxFuture;
use futures_util::future::join_all;
use publish::Topics;
use records::{AttemptResult, ChannelNumber, Entry, Segment};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;

/// There is nothing to make of a segment once.
pub(crate) struct TopicEncoder;

impl ChannelEncoder for TopicEncoder {
    type Prepared = ();

    fn prepare(&self, _segment: &Segment) {}

    fn units(&self, _segment: &Segment, (): &(), _entry: &Entry) -> u8 {
        1
    }
}

type TopicJob = Job<()>;

/// Starts a route.
///
/// # Errors
/// Everything that is wrong with its settings.
pub fn start(config: TopicRoute, context: &GatewayContext) -> Result<RunningGateway, Vec<RouteProblem>> {
    route_loop::start::<TopicSessions>(config, context)
}

/// The gateway of text topics. They are in this server: there is nobody to simulate.
pub struct TopicGateway;

impl ChannelGateway for TopicGateway {
    type Sessions = TopicSessions;
    type Keys = TopicKeys;
    const CHANNEL: ChannelNumber = channels::TOPIC;

    fn settings(
        common: &RouteKeys,
        keys: &TopicKeys,
        around: &Surroundings,
    ) -> Result<TopicRoute, RouteProblem> {
        keys.route(common, around)
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        Box::pin(async { Box::new(conformance::Readers::default()) as Box<dyn FarEnd> })
    }
}

/// The one session of a route: a task that publishes.
pub(crate) struct TopicSessions {
    limit: Arc<RouteLimit<TopicEncoder>>,
    publisher: Option<TopicPublisher>,
    settings: watch::Sender<Arc<TopicRoute>>,
    worker: Worker,
}

impl RouteSessions for TopicSessions {
    type Settings = TopicRoute;
    type Material = ();
    type Encoder = TopicEncoder;

    fn prepare(_: &TopicRoute, _: &GatewayContext) -> Result<(), Vec<RouteProblem>> {
        Ok(())
    }

    fn encoder(_: &TopicRoute, (): &()) -> TopicEncoder {
        TopicEncoder
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<TopicEncoder>>,
    ) -> Result<TopicSessions, BusError> {
        let limit = RouteLimit::new(dispatcher, route.settings.rate);
        let (settings, config) = watch::channel(Arc::new(route.settings.clone()));
        let publisher = TopicPublisher {
            config,
            context: context.clone(),
            dispatcher: Arc::clone(dispatcher),
            limit: Arc::clone(&limit),
            topics: Topics::default(),
        };
        Ok(TopicSessions { limit, publisher: Some(publisher), settings, worker: Worker::default() })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.limit) as Arc<dyn RateHolder>
    }

    fn begin(&mut self) {
        if let Some(publisher) = self.publisher.take() {
            self.worker.begin(|stop| publisher.publish(stop));
        }
    }

    async fn change(&mut self, _: ChangeScope, route: Checked<Self>) {
        self.settings.send_replace(Arc::new(route.settings));
    }

    async fn end(self) {
        self.worker.end().await;
    }
}

/// A route at work.
struct TopicPublisher {
    config: watch::Receiver<Arc<TopicRoute>>,
    context: GatewayContext,
    dispatcher: Arc<RouteDispatcher<TopicEncoder>>,
    limit: Arc<RouteLimit<TopicEncoder>>,
    topics: Topics,
}

impl TopicPublisher {
    /// Until it is time to stop.
    async fn publish(mut self, mut stop: Stop) {
        let turns = Turns::begin(&self.dispatcher, &self.limit);
        while !stop.is_set() {
            let jobs = turns.take();
            if !jobs.is_empty() {
                self.carry_out(jobs).await;
                continue;
            }
            tokio::select! {
                () = turns.wait() => {}
                Ok(()) = self.config.changed() => self.topics = Topics::default(),
                () = stop.wait() => {}
            }
        }
    }

    async fn carry_out(&mut self, jobs: Vec<TopicJob>) {
        if self.is_any_topic_new(&jobs) {
            return self.open_topics(jobs).await;
        }
        let mut ready = Vec::with_capacity(jobs.len());
        for job in jobs {
            match (self.dispatcher.refusal(&job), self.topics.find(&job.entry().address)) {
                (None, Some(topic)) => ready.push((job, topic)),
                (Some(why), _) => self.end(&job, &AttemptResult::NotTried { why }),
                (None, None) => self.put_back(job),
            }
        }
        let before = Instant::now();
        let config = Arc::clone(&self.config.borrow());
        let results =
            join_all(ready.iter().map(|(job, topic)| publish::publish(&**topic, &config, job))).await;
        self.limit.wrote(ready.len(), before, Instant::now());
        for ((job, _), result) in ready.iter().zip(&results) {
            self.dispatcher.whole(job, result);
        }
    }

    fn is_any_topic_new(&self, jobs: &[TopicJob]) -> bool {
        jobs.iter().any(|job| self.topics.find(&job.entry().address).is_none())
    }

    /// Opens what is not open, and hands the entries back for another turn: servers may have taken their
    /// time, so that the rate that was granted before, and the segment, may be another process's by now.
    async fn open_topics(&mut self, jobs: Vec<TopicJob>) {
        let config = Arc::clone(&self.config.borrow());
        let mut kept = Vec::with_capacity(jobs.len());
        for job in jobs {
            match self.topics.open(&self.context, &config, &job.entry().address).await {
                Ok(()) => kept.push(job),
                Err(error) => self.end(&job, &publish::refused(&error)),
            }
        }
        // Each becomes the next of its lane: the first of them last.
        kept.into_iter().rev().for_each(|job| self.put_back(job));
    }

    /// Nothing of it was published, and nothing will be.
    fn end(&self, job: &TopicJob, result: &AttemptResult) {
        self.limit.unused();
        self.dispatcher.whole(job, result);
    }

    fn put_back(&self, job: TopicJob) {
        self.limit.unused();
        self.dispatcher.put_back(job);
    }
}
