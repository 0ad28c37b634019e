//! Mail, by SMTP: a client of a relay.
//!
//! ```text
//! keys      keys of a `[[route]]` of this channel
//! config    what a route is told
//! tag       signed addresses by which replies and bounces find their delivery
//! encode    segments to messages, once for a body
//! session   one connection: mails out, verdicts in
//! pool      places for connections, each open while there is work for it
//! relay     what the sessions of a route share: limit, work, losses
//! outcome   what the relay's words mean
//! ```

pub mod config;
#[cfg(test)]
mod conformance;
pub mod encode;
mod keys;
mod outcome;
mod pool;
mod relay;
mod session;
pub mod tag;
#[cfg(test)]
mod tests;

pub use config::MailRoute;
pub use keys::{MailKeys, ReplyDomain};
pub use smtp::client::{Timeouts, TlsMode};
pub use tag::{Purpose, Tags};

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem, RunningGateway};
use crate::dispatcher::{RateHolder, RouteDispatcher};
use crate::registry::{ANY_PORT, ChannelGateway, Simulator, SimulatorOptions};
use crate::route_keys::RouteKeys;
use crate::route_loop::{self, ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use bus::BusError;
pub(crate) use encode::CannotCompose;
use encode::Letterhead;
use futures_util::future::BoxFuture;
use net::TlsClient;
pub(crate) use pool::{RelaySessions, SessionView, chance};
use records::{ChannelNumber, MessagePreview, PreviewSource};
pub(crate) use relay::MailComposer;
use relay::MailEncoder;
pub(crate) use session::Ending;
use sim::Behaviour;
use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Starts a route. The SMTP door must read tags with the context's `signing_key`.
///
/// # Errors
/// Everything that is wrong with its settings.
pub fn start(config: MailRoute, context: &GatewayContext) -> Result<RunningGateway, Vec<RouteProblem>> {
    if config.tls == TlsMode::None && config.username.is_some() {
        tracing::warn!(
            route = config.name,
            "the password is sent unencrypted, because tls is \"none\": set tls to \"starttls\" or \"tls\""
        );
    }
    route_loop::start::<MailSessions>(config, context)
}

/// The gateway of mail.
pub struct MailGateway;

impl ChannelGateway for MailGateway {
    type Sessions = MailSessions;
    type Keys = MailKeys;
    const CHANNEL: ChannelNumber = channels::MAIL;
    const ADDRESS: Option<&'static str> = Some("relay.example:25");

    fn settings(
        common: &RouteKeys,
        keys: &MailKeys,
        around: &Surroundings,
    ) -> Result<MailRoute, RouteProblem> {
        Ok(keys.route(common, around))
    }

    fn simulate(options: SimulatorOptions) -> Option<BoxFuture<'static, io::Result<Box<dyn Simulator>>>> {
        let options = sim::mailbox::MailboxOptions {
            listen: ANY_PORT.to_owned(),
            people: options.habits,
            door: options.smtp_door,
            ..sim::mailbox::MailboxOptions::default()
        };
        Some(Box::pin(async {
            Ok(Box::new(sim::mailbox::Mailbox::start(options).await?) as Box<dyn Simulator>)
        }))
    }

    fn preview(settings: &MailRoute, source: &PreviewSource<'_>) -> MessagePreview {
        encode::preview(settings.domain.is_some(), source)
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        Box::pin(async { Box::new(conformance::Relay::start().await) as Box<dyn FarEnd> })
    }
}

impl Simulator for sim::mailbox::Mailbox {
    fn address(&self) -> SocketAddr {
        sim::mailbox::Mailbox::address(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn behaviours(&self) -> &'static [Behaviour] {
        &Behaviour::PLAIN
    }

    fn behave(&self, behaviour: Behaviour) -> Result<(), String> {
        sim::mailbox::Mailbox::behave(self, behaviour)
    }
}

/// What is made of a route's settings once.
#[derive(Clone)]
pub(crate) struct Material {
    letterhead: Letterhead,
    tls: Option<TlsClient>,
}

/// The sessions of a route at work.
pub(crate) struct MailSessions(RelaySessions<MailEncoder>);

impl RouteSessions for MailSessions {
    type Settings = MailRoute;
    type Material = Material;
    type Encoder = MailEncoder;

    fn prepare(settings: &MailRoute, context: &GatewayContext) -> Result<Material, Vec<RouteProblem>> {
        let letterhead =
            settings.letterhead(Tags::new(&context.signing_key)).map_err(|problem| vec![problem])?;
        let tls = settings.tls_client().map_err(|problem| vec![problem])?;
        Ok(Material { letterhead, tls })
    }

    fn encoder(_: &MailRoute, material: &Material) -> MailEncoder {
        MailEncoder { letterhead: material.letterhead.clone() }
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<MailEncoder>>,
    ) -> Result<MailSessions, BusError> {
        let Checked { settings, material } = route;
        Ok(MailSessions(RelaySessions::new(settings.clone(), material.tls.clone(), context, dispatcher)))
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        self.0.limit()
    }

    fn begin(&mut self) {
        self.0.begin();
    }

    async fn change(&mut self, step: ChangeScope, route: Checked<Self>) {
        self.0.change(step, route.settings, route.material.tls).await;
    }

    async fn end(self) {
        self.0.end().await;
    }
}
