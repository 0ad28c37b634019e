//! Short messages, by SMPP: a client of the carriers. By HTTP, where a carrier has no SMPP: [`http`].
//!
//! ```text
//! gateways       SMPP or HTTP, by the route's key `protocol`
//! keys           keys of a `[[route]]` of this channel
//! config         settings of a route
//! encode         text to parts, once for a body
//! session_pool   the sessions of a route: how many, bound when; driven by the route loop
//! session        one connection: submits, reads answers, receipts and messages from people
//! submit         the submit_sm of a part
//! carrier        state shared by the sessions of a route: limit, retries, ids
//! outcome        outcomes of answers and receipts
//! inbound        messages from people, put together
//! ```

mod carrier;
mod carrier_message;
pub mod config;
#[cfg(test)]
mod conformance;
mod encode;
mod flight;
mod gateways;
pub mod http;
mod inbound;
mod keys;
mod outcome;
mod pace;
mod session;
mod session_pool;
mod submit;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bus::BusError;
use futures_util::future::BoxFuture;
use net::TlsClient;
use records::{Body, ChannelNumber, MessagePreview, NotTried, PreviewSource};
use sim::Behaviour;
use smpp::limits::PASSWORD_SPECIFIED_OCTETS;
use tokio::task::JoinHandle;

pub use config::SmsRoute;
pub use encode::{Prepared, SmsEncoder, encoding, parts, parts_max, parts_of_short};
pub use gateways::SmsGateway;
pub use keys::{CharsetWords, SmsKeys, VersionWords};

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem, RunningGateway};
use crate::dispatcher::{RateHolder, RouteDispatcher};
use crate::registry::{ANY_PORT, ChannelGateway, Simulator, SimulatorOptions};
use crate::route_keys::RouteKeys;
use crate::route_loop::{self, ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use carrier::Carrier;
use session_pool::SessionPool;

/// Starts a route. [`RunningGateway::change`] gives it other settings.
///
/// # Errors
/// Everything that is wrong with its settings.
pub fn start(config: SmsRoute, context: &GatewayContext) -> Result<RunningGateway, Vec<RouteProblem>> {
    route_loop::start::<SmsSessions>(config, context)
}

/// The gateway of short messages by SMPP; [`SmsGateway`] picks it by the protocol.
struct SmppGateway;

impl ChannelGateway for SmppGateway {
    type Sessions = SmsSessions;
    type Keys = SmsKeys;
    const CHANNEL: ChannelNumber = channels::SMS;
    const ADDRESS: Option<&'static str> = Some("smsc.example:2775");

    fn window(keys: &SmsKeys) -> u32 {
        keys.window
    }

    fn settings(common: &RouteKeys, keys: &SmsKeys, around: &Surroundings) -> Result<SmsRoute, RouteProblem> {
        keys.http_alone().map_or_else(|| Ok(keys.route(common, around)), Err)
    }

    fn simulate(options: SimulatorOptions) -> Option<BoxFuture<'static, io::Result<Box<dyn Simulator>>>> {
        let options = sim::smsc::SmscOptions {
            listen: ANY_PORT.to_owned(),
            people: options.habits,
            ..sim::smsc::SmscOptions::default()
        };
        Some(Box::pin(async { Ok(Box::new(sim::smsc::Smsc::start(options).await?) as Box<dyn Simulator>) }))
    }

    /// A short message costs its parts in the route's alphabet.
    fn units(settings: &SmsRoute, body: &Body) -> u32 {
        match body {
            Body::Content(content) | Body::Translated(_, content) => parts(settings, &content.text),
            Body::Short(short) => parts_of_short(settings, short),
        }
    }

    fn units_max(settings: &SmsRoute) -> u32 {
        parts_max(settings)
    }

    fn preview(settings: &SmsRoute, source: &PreviewSource<'_>) -> MessagePreview {
        let encoding = encoding(settings, source.body, source.flash);
        MessagePreview { encoding, ..MessagePreview::as_it_is(source) }
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        Box::pin(async { Box::new(conformance::Carrier::start().await) as Box<dyn FarEnd> })
    }
}

impl Simulator for sim::smsc::Smsc {
    fn address(&self) -> SocketAddr {
        sim::smsc::Smsc::address(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn behaviours(&self) -> &'static [Behaviour] {
        &Behaviour::ALL
    }

    fn behave(&self, behaviour: Behaviour) -> Result<(), String> {
        sim::smsc::Smsc::behave(self, behaviour)
    }
}

/// The sessions of a route at work.
pub(crate) struct SmsSessions {
    carrier: Arc<Carrier>,
    session_pool: SessionPool,
    /// Puts together the parts of messages that other processes heard.
    joining: Option<JoinHandle<()>>,
}

impl RouteSessions for SmsSessions {
    type Settings = SmsRoute;
    type Material = Option<TlsClient>;
    type Encoder = SmsEncoder;

    fn prepare(settings: &SmsRoute, _: &GatewayContext) -> Result<Option<TlsClient>, Vec<RouteProblem>> {
        let tls = settings.tls.as_ref().map(TlsClient::new).transpose();
        tls.map_err(|error| vec![RouteProblem { field: "tls", reason: error.to_string() }])
    }

    fn encoder(settings: &SmsRoute, _: &Option<TlsClient>) -> SmsEncoder {
        SmsEncoder::new(settings)
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<SmsEncoder>>,
    ) -> Result<SmsSessions, BusError> {
        if route.settings.password.reveal().len() > PASSWORD_SPECIFIED_OCTETS {
            tracing::warn!(
                route = route.settings.name,
                "the password has more octets than the {PASSWORD_SPECIFIED_OCTETS} that SMPP allows: it is sent as it is, \
                 for carriers that hand out such"
            );
        }
        let carrier = Carrier::new(route.settings.clone(), context.clone(), Arc::clone(dispatcher))?;
        let carrier = Arc::new(carrier);
        let session_pool = SessionPool::new(Arc::clone(&carrier), route.material.clone());
        Ok(SmsSessions { carrier, session_pool, joining: None })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.carrier) as Arc<dyn RateHolder>
    }

    fn begin(&mut self) {
        self.session_pool.fill();
        self.joining = Some(tokio::spawn(Arc::clone(&self.carrier).meet_parts()));
    }

    fn went_down(&self) {
        self.carrier.give_up_if_down();
    }

    async fn change(&mut self, step: ChangeScope, route: Checked<Self>) {
        self.carrier.change(route.settings);
        self.session_pool.change(step, route.material).await;
    }

    async fn end(mut self) {
        self.session_pool.end().await;
        if let Some(joining) = self.joining.take() {
            joining.abort();
        }
        self.carrier.give_up_all(NotTried::Closing);
    }
}
