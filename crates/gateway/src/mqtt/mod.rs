//! MQTT 5: a client of a broker, at which sirens, signs and other devices have topics.
//!
//! ```text
//! keys         keys of a `[[route]]` of this channel
//! config       settings of a route
//! tag          signed Correlation Data by which answers find their delivery
//! payload      an entry as JSON, with the properties of its PUBLISH
//! session      one connection: messages out, acknowledgements and answers in
//! broker       what the connections of a route share: limit, losses
//! retained     notes of retained messages, and when their topics are to be emptied
//! notes_queue  notes are on disk before their messages are written
//! outcome      what the broker's reasons and devices' messages mean
//! ```
//!
//! Invariant worth naming: a message has the same id whenever it is sent, so what a lost connection or a
//! crash left under way is sent again; and a message is retained only after its end is on disk.

mod broker;
pub mod config;
#[cfg(test)]
mod conformance;
mod keys;
mod notes_queue;
mod outcome;
mod payload;
mod retained;
mod session;
mod tag;
#[cfg(test)]
mod tests;

pub use config::{ADDRESS_PLACE, MqttRoute};
pub use keys::MqttKeys;

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem, Stop};
use crate::dispatcher::{RateHolder, RouteDispatcher};
use crate::mail::TlsMode;
use crate::registry::{ANY_PORT, ChannelGateway, Simulator, SimulatorOptions};
use crate::route_keys::RouteKeys;
use crate::route_loop::{ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use crate::worker::Worker;
use ::mqtt::client::MqttClient;
use ::pace::Backoff;
use broker::{BrokerPeer, BrokerState, MqttEncoder};
use bus::BusError;
use futures_util::future::BoxFuture;
use net::{DriveEnd, Link, TlsClient, connect, drive};
use records::ChannelNumber;
use session::{BrokerConnection, BrokerEnding};
use sim::Behaviour;
use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tag::CorrelationTags;

/// First wait between attempts to connect.
const RECONNECT_FIRST: Duration = Duration::from_millis(500);
/// Longest one.
const RECONNECT_MAX: Duration = Duration::from_secs(30);
/// A connection that was open for so long begins with the first wait again.
const STEADY: Duration = Duration::from_secs(10);
/// Connecting, TLS included, may take so long.
const CONNECT_MAX: Duration = Duration::from_secs(30);

/// The gateway of MQTT.
pub struct MqttGateway;

impl ChannelGateway for MqttGateway {
    type Sessions = MqttSessions;
    type Keys = MqttKeys;
    const CHANNEL: ChannelNumber = channels::MQTT;
    const ADDRESS: Option<&'static str> = Some("broker.example:1883");

    fn receipts(keys: &MqttKeys) -> bool {
        keys.has_answers()
    }

    fn settings(
        common: &RouteKeys,
        keys: &MqttKeys,
        around: &Surroundings,
    ) -> Result<MqttRoute, RouteProblem> {
        Ok(keys.route(common, around))
    }

    fn simulate(options: SimulatorOptions) -> Option<BoxFuture<'static, io::Result<Box<dyn Simulator>>>> {
        let options = sim::broker::BrokerOptions {
            listen: ANY_PORT.to_owned(),
            devices: Some("#".to_owned()),
            people: options.habits,
            ..sim::broker::BrokerOptions::default()
        };
        Some(Box::pin(async {
            Ok(Box::new(sim::broker::Broker::start(options).await?) as Box<dyn Simulator>)
        }))
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        Box::pin(async { Box::new(conformance::Devices::start().await) as Box<dyn FarEnd> })
    }
}

impl Simulator for sim::broker::Broker {
    fn address(&self) -> SocketAddr {
        sim::broker::Broker::address(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn behaviours(&self) -> &'static [Behaviour] {
        &Behaviour::PLAIN
    }

    fn behave(&self, behaviour: Behaviour) -> Result<(), String> {
        sim::broker::Broker::behave(self, behaviour)
    }
}

/// What is made of a route's settings once.
#[derive(Clone)]
pub(crate) struct MqttMaterial {
    tls: Option<TlsClient>,
    tags: CorrelationTags,
}

/// The connection of a route, kept by a task.
pub(crate) struct MqttSessions {
    broker: Arc<BrokerState>,
    worker: Worker,
}

impl RouteSessions for MqttSessions {
    type Settings = MqttRoute;
    type Material = MqttMaterial;
    type Encoder = MqttEncoder;

    fn prepare(settings: &MqttRoute, context: &GatewayContext) -> Result<MqttMaterial, Vec<RouteProblem>> {
        let tls = match settings.tls {
            TlsMode::None | TlsMode::StartTls => None,
            TlsMode::Implicit => Some(
                TlsClient::new(&settings.tls_settings())
                    .map_err(|error| vec![RouteProblem { field: "ca_file", reason: error.to_string() }])?,
            ),
        };
        if tls.is_none() && settings.password.is_some() {
            tracing::warn!(
                route = settings.name,
                "the password is sent unencrypted, because tls is \"none\": set tls to \"tls\""
            );
        }
        Ok(MqttMaterial { tls, tags: CorrelationTags::new(&context.signing_key) })
    }

    fn encoder(_: &MqttRoute, _: &MqttMaterial) -> MqttEncoder {
        MqttEncoder
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<MqttEncoder>>,
    ) -> Result<MqttSessions, BusError> {
        let peer = peer(route.settings.clone(), route.material.clone());
        let broker = BrokerState::new(peer, context.clone(), Arc::clone(dispatcher))?;
        Ok(MqttSessions { broker: Arc::new(broker), worker: Worker::default() })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.broker.limit) as Arc<dyn RateHolder>
    }

    fn begin(&mut self) {
        let broker = Arc::clone(&self.broker);
        self.worker.begin(|stop| keep_connected(broker, stop));
    }

    async fn change(&mut self, step: ChangeScope, route: Checked<Self>) {
        self.broker.change(peer(route.settings, route.material));
        if step == ChangeScope::Rebind {
            // A client identifier has one connection: the old one goes first.
            std::mem::take(&mut self.worker).end().await;
            self.begin();
        }
    }

    async fn end(self) {
        self.worker.end().await;
    }
}

fn peer(config: MqttRoute, material: MqttMaterial) -> BrokerPeer {
    BrokerPeer { config, tls: material.tls, tags: material.tags }
}

/// Keeps a connection, made again whenever it ends, until it is stopped.
async fn keep_connected(broker: Arc<BrokerState>, mut stop: Stop) {
    let mut backoff = Backoff::new(RECONNECT_FIRST, RECONNECT_MAX);
    while !stop.is_set() {
        let begun = Instant::now();
        let ending = connection(&broker, &stop).await;
        if stop.is_set() {
            return;
        }
        if ending.open && (ending.acknowledged > 0 || begun.elapsed() >= STEADY) {
            backoff.reset();
        }
        let wait = backoff.wait(chance());
        let wait_ms = wait.as_millis() as u64;
        let trouble = ending.trouble.unwrap_or_default();
        tracing::warn!(route = broker.name(), trouble, wait_ms, "not connected");
        broker.dispatcher.trouble(&trouble);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.wait() => {}
        }
    }
}

/// From connecting to the end.
async fn connection(broker: &Arc<BrokerState>, stop: &Stop) -> BrokerEnding {
    let peer = broker.peer();
    let mut stopping = stop.clone();
    let stream = tokio::select! {
        stream = connect(&peer.config.address, peer.tls.as_ref(), CONNECT_MAX) => match stream {
            Ok(stream) => stream,
            Err(error) => return BrokerEnding::of_trouble(error.to_string()),
        },
        () = stopping.wait() => return BrokerEnding::of_trouble("the route was stopped".to_owned()),
    };
    let mut client = match MqttClient::new(broker.options(&peer.config), Instant::now()) {
        Ok(client) => client,
        Err(error) => return BrokerEnding::of_trouble(format!("cannot connect: {error}")),
    };
    let mut connection = BrokerConnection::new(broker, &peer, stop.clone());
    let broken = match drive(&mut Link::new(stream), &mut client, &mut connection).await {
        DriveEnd::Broken(error) => Some(format!("the connection broke: {error}")),
        DriveEnd::Finished | DriveEnd::PeerClosed => None,
    };
    connection.leave(broken).await
}

/// From 0 to 1: so that many routes cut off together do not come back together.
fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
