//! Instant messages: Matrix, by its client-server API, and Telegram, by its bot API.
//!
//! ```text
//! keys        keys of a `[[route]]` of this channel
//! config      settings of a route
//! http        JSON calls, bounded, with errors that hold no secret
//! text        texts cut to what a network takes, and as HTML
//! signature   data of buttons, which come back by themselves
//! message     a message on its way, and what became of it
//! matrix      the one network
//! telegram    the other
//! connection  whichever it is
//! sender      entries out, several at a time
//! reader      answers and receipts in
//! position    place in the network's events, over restarts
//! ```

mod config;
#[cfg(test)]
mod conformance;
mod connection;
mod http;
mod keys;
mod matrix;
mod message;
mod position;
mod reader;
mod sender;
mod signature;
mod telegram;
#[cfg(test)]
mod tests;
mod text;

pub use config::{ImProtocol, ImRoute};
pub use keys::{ImKeys, ImProtocolWords};

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem, RunningGateway};
use crate::dispatcher::{ChannelEncoder, Job, RateHolder, RouteDispatcher, RouteLimit};
use crate::registry::{ANY_PORT, ChannelGateway, Simulator, SimulatorOptions};
use crate::route_keys::RouteKeys;
use crate::route_loop::{self, ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use crate::worker::Worker;
use bus::BusError;
use connection::ImSetup;
use futures_util::future::BoxFuture;
use records::{ChannelNumber, Entry, Segment};
use rustc_hash::FxHashMap;
use sender::ImSender;
use sim::Behaviour;
use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// Starts a route. Buttons are signed with the context's `signing_key`.
///
/// # Errors
/// Everything that is wrong with its settings.
pub fn start(config: ImRoute, context: &GatewayContext) -> Result<RunningGateway, Vec<RouteProblem>> {
    route_loop::start::<ImSessions>(config, context)
}

/// The gateway of instant messages.
pub struct ImGateway;

impl ChannelGateway for ImGateway {
    type Sessions = ImSessions;
    type Keys = ImKeys;
    const CHANNEL: ChannelNumber = channels::IM;
    const ADDRESS: Option<&'static str> = Some("https://api.telegram.org");

    /// `homeserver` and Telegram's own API stand in its place.
    fn needs_address(_: &ImKeys) -> bool {
        false
    }

    fn receipts(keys: &ImKeys) -> bool {
        keys.protocol.unwrap_or_default().has_receipts()
    }

    fn prefixes(keys: &ImKeys) -> &'static [&'static str] {
        match keys.protocol.unwrap_or_default() {
            ImProtocol::Matrix => &["matrix:"],
            ImProtocol::Telegram => &["telegram:"],
        }
    }

    fn settings(common: &RouteKeys, keys: &ImKeys, around: &Surroundings) -> Result<ImRoute, RouteProblem> {
        keys.route(common, around)
    }

    fn simulate(options: SimulatorOptions) -> Option<BoxFuture<'static, io::Result<Box<dyn Simulator>>>> {
        let options = sim::im::ImOptions {
            listen: ANY_PORT.to_owned(),
            people: options.habits,
            ..sim::im::ImOptions::default()
        };
        Some(Box::pin(async {
            Ok(Box::new(sim::im::Messengers::start(options).await?) as Box<dyn Simulator>)
        }))
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        conformance::start(ImProtocol::Matrix)
    }

    #[cfg(test)]
    fn more_far_ends() -> Vec<BoxFuture<'static, Box<dyn FarEnd>>> {
        vec![conformance::start(ImProtocol::Telegram)]
    }
}

impl Simulator for sim::im::Messengers {
    fn address(&self) -> SocketAddr {
        sim::im::Messengers::address(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn behaviours(&self) -> &'static [Behaviour] {
        &Behaviour::ALL
    }

    fn behave(&self, behaviour: Behaviour) -> Result<(), String> {
        sim::im::Messengers::behave(self, behaviour)
    }
}

/// There is nothing to make of a segment once.
pub(crate) struct ImEncoder {
    protocol: ImProtocol,
}

impl ChannelEncoder for ImEncoder {
    type Prepared = ();

    /// A homeserver knows a message that is sent again by its transaction; a bot API does not.
    fn repeatable(&self) -> bool {
        self.protocol.is_repeatable()
    }

    fn prepare(&self, _segment: &Segment) {}

    fn units(&self, _segment: &Segment, (): &(), _entry: &Entry) -> u8 {
        1
    }
}

type ImJob = Job<()>;

/// The one session of a route: a task that sends, and one beside it that reads.
pub(crate) struct ImSessions {
    limit: Arc<RouteLimit<ImEncoder>>,
    sender: Option<ImSender>,
    settings: watch::Sender<Arc<ImSetup>>,
    worker: Worker,
}

impl RouteSessions for ImSessions {
    type Settings = ImRoute;
    /// The HTTP client, which has the certificates that are trusted.
    type Material = reqwest::Client;
    type Encoder = ImEncoder;

    fn prepare(settings: &ImRoute, _: &GatewayContext) -> Result<reqwest::Client, Vec<RouteProblem>> {
        http::client(settings).map_err(|reason| vec![RouteProblem { field: "ca_file", reason }])
    }

    fn encoder(settings: &ImRoute, _: &reqwest::Client) -> ImEncoder {
        ImEncoder { protocol: settings.network() }
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<ImEncoder>>,
    ) -> Result<ImSessions, BusError> {
        let limit = RouteLimit::new(dispatcher, route.settings.rate);
        let (settings, config) = watch::channel(Arc::new(setup(route)));
        let sender = ImSender {
            config,
            context: context.clone(),
            dispatcher: Arc::clone(dispatcher),
            limit: Arc::clone(&limit),
            lost: FxHashMap::default(),
            paused_until: None,
        };
        Ok(ImSessions { limit, sender: Some(sender), settings, worker: Worker::default() })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.limit) as Arc<dyn RateHolder>
    }

    fn begin(&mut self) {
        if let Some(sender) = self.sender.take() {
            self.worker.begin(|stop| sender.run(stop));
        }
    }

    async fn change(&mut self, _: ChangeScope, route: Checked<Self>) {
        self.settings.send_replace(Arc::new(setup(&route)));
    }

    async fn end(self) {
        self.worker.end().await;
    }
}

fn setup(route: &Checked<ImSessions>) -> ImSetup {
    ImSetup { settings: route.settings.clone(), http: route.material.clone() }
}

/// From 0 to 1: so that a thousand routes cut off together do not come back together.
fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
