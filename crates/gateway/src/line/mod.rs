//! Sessions of the line protocol: an alert appears where a person has logged in at the topic door.
//!
//! ```text
//! keys      keys of a `[[route]]` of this channel
//! config    settings of a route
//! block     from a text to the lines that a session shows
//! sessions  the open sessions of this process, which the door enters
//! writer    entries into the sessions of their ids
//! ```
//!
//! Invariant worth naming: a session is handed a delivery once, however often it is tried, and sessions end
//! with the process that has them. So what a crash of the route left under way is planned again at once, and
//! no session shows it twice.

mod block;
mod config;
#[cfg(test)]
mod conformance;
mod keys;
mod sessions;
#[cfg(test)]
mod tests;
mod writer;

pub use config::LineRoute;
pub use keys::LineKeys;
pub use sessions::{LineScreen, LineSessions, SESSIONS_OF_ID_MAX, SessionEntry, ShowResult};

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem};
use crate::dispatcher::{ChannelEncoder, Job, RateHolder, RouteDispatcher, RouteLimit};
use crate::registry::ChannelGateway;
use crate::route_keys::RouteKeys;
use crate::route_loop::{ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use crate::worker::Worker;
use bus::BusError;
#[cfg(test)]
use futures_util::future::BoxFuture;
use records::{ChannelNumber, Entry, Segment};
use std::sync::Arc;
use tokio::sync::watch;
use writer::LineWriter;

/// Entries that are written at a time.
const WINDOW: usize = 256;

/// The gateway of sessions.
pub struct LineGateway;

impl ChannelGateway for LineGateway {
    type Sessions = LineRouteSessions;
    type Keys = LineKeys;
    const CHANNEL: ChannelNumber = channels::LINE;

    fn settings(
        common: &RouteKeys,
        keys: &LineKeys,
        around: &Surroundings,
    ) -> Result<LineRoute, RouteProblem> {
        keys.route(common, around)
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        Box::pin(async { Box::new(conformance::People::new()) as Box<dyn FarEnd> })
    }
}

/// There is nothing to make of a segment once.
pub(crate) struct LineEncoder;

impl ChannelEncoder for LineEncoder {
    type Prepared = ();

    fn repeatable(&self) -> bool {
        true
    }

    fn prepare(&self, _segment: &Segment) {}

    fn units(&self, _segment: &Segment, (): &(), _entry: &Entry) -> u8 {
        1
    }
}

type LineJob = Job<()>;

/// The one session of a route with its dispatcher: a task that writes.
pub(crate) struct LineRouteSessions {
    limit: Arc<RouteLimit<LineEncoder>>,
    writer: Option<LineWriter>,
    settings: watch::Sender<LineRoute>,
    worker: Worker,
}

impl RouteSessions for LineRouteSessions {
    type Settings = LineRoute;
    type Material = ();
    type Encoder = LineEncoder;

    fn prepare(_: &LineRoute, _: &GatewayContext) -> Result<(), Vec<RouteProblem>> {
        Ok(())
    }

    fn encoder(_: &LineRoute, (): &()) -> LineEncoder {
        LineEncoder
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<LineEncoder>>,
    ) -> Result<LineRouteSessions, BusError> {
        let limit = RouteLimit::new(dispatcher, route.settings.rate);
        let (settings, config) = watch::channel(route.settings.clone());
        let writer = LineWriter {
            config,
            context: context.clone(),
            dispatcher: Arc::clone(dispatcher),
            limit: Arc::clone(&limit),
        };
        Ok(LineRouteSessions { limit, writer: Some(writer), settings, worker: Worker::default() })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.limit) as Arc<dyn RateHolder>
    }

    fn begin(&mut self) {
        if let Some(writer) = self.writer.take() {
            self.worker.begin(|stop| writer.write(stop));
        }
    }

    async fn change(&mut self, _: ChangeScope, route: Checked<Self>) {
        self.settings.send_replace(route.settings);
    }

    async fn end(self) {
        self.worker.end().await;
    }
}
