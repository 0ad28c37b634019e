//! Mail, by SMTP: a client of a relay.
//!
//! ```text
//! keys      keys of a `[[route]]` of this channel
//! config    what a route is told
//! tag       signed addresses by which replies and bounces find their delivery
//! encode    segments to messages, once for a body
//! session   one connection: mails out, verdicts in
//! relay     what the sessions of a route share: limit, work, losses
//! outcome   what the relay's words mean
//! ```

pub mod config;
#[cfg(test)]
mod conformance;
pub mod encode;
mod keys;
mod outcome;
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
use crate::context::{GatewayContext, RouteProblem, RunningGateway, Stop};
use crate::dispatcher::{RateHolder, RouteDispatcher};
use crate::registry::{ANY_PORT, ChannelGateway, Simulator, SimulatorOptions};
use crate::route_keys::RouteKeys;
use crate::route_loop::{self, ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use ::pace::Backoff;
use bus::BusError;
use encode::Letterhead;
use futures_util::future::BoxFuture;
use net::{TlsClient, connect};
use records::ChannelNumber;
use relay::{MailEncoder, MailJob, Relay};
use session::{Ending, RelayConnection};
use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// First wait between attempts to connect.
const RECONNECT_FIRST: Duration = Duration::from_millis(500);
/// Longest one.
const RECONNECT_MAX: Duration = Duration::from_secs(30);
/// Connecting, TLS from the first octet included, may take so long.
const CONNECT_MAX: Duration = Duration::from_secs(30);

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
}

/// What is made of a route's settings once.
#[derive(Clone)]
pub(crate) struct Material {
    letterhead: Letterhead,
    tls: Option<TlsClient>,
}

/// The sessions of a route at work.
pub(crate) struct MailSessions {
    relay: Arc<Relay>,
    /// What stops each place for a session, by its number.
    places: Vec<watch::Sender<bool>>,
    tasks: JoinSet<()>,
}

impl RouteSessions for MailSessions {
    type Settings = MailRoute;
    type Material = Material;
    type Encoder = MailEncoder;

    fn prepare(settings: &MailRoute, context: &GatewayContext) -> Result<Material, Vec<RouteProblem>> {
        let letterhead =
            settings.letterhead(Tags::new(&context.signing_key)).map_err(|problem| vec![problem])?;
        let tls = match settings.tls {
            TlsMode::None => None,
            TlsMode::StartTls | TlsMode::Implicit => Some(
                TlsClient::new(&settings.tls_settings())
                    .map_err(|error| vec![RouteProblem { field: "ca_file", reason: error.to_string() }])?,
            ),
        };
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
        let relay = Relay::new(
            route.settings.clone(),
            route.material.tls.clone(),
            context.clone(),
            Arc::clone(dispatcher),
        );
        Ok(MailSessions { relay: Arc::new(relay), places: Vec::new(), tasks: JoinSet::new() })
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        Arc::clone(&self.relay.limit) as Arc<dyn RateHolder>
    }

    fn begin(&mut self) {
        self.fill();
    }

    async fn change(&mut self, step: ChangeScope, route: Checked<Self>) {
        self.relay.change(route.settings, route.material.tls);
        if step == ChangeScope::Rebind {
            // A relay counts connections: the old ones go first.
            self.end_places(0);
            while self.tasks.join_next().await.is_some() {}
        }
        self.fill();
    }

    async fn end(mut self) {
        self.end_places(0);
        while self.tasks.join_next().await.is_some() {}
    }
}

impl MailSessions {
    /// As many places as the settings say: what is missing is begun, what is too much ends in order.
    fn fill(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        let wanted = self.relay.peer().config.sessions;
        self.end_places(wanted);
        while self.places.len() < wanted {
            let (stop, stopping) = Stop::pair();
            self.tasks.spawn(keep_session(Arc::clone(&self.relay), self.places.len(), stopping));
            self.places.push(stop);
        }
    }

    fn end_places(&mut self, keep: usize) {
        for place in self.places.drain(keep.min(self.places.len())..) {
            let _ = place.send(true);
        }
    }
}

/// One place for a session. It is open while there is work for it; the first is also opened to see whether
/// the relay is there.
async fn keep_session(relay: Arc<Relay>, number: usize, mut stop: Stop) {
    let mut backoff = Backoff::new(RECONNECT_FIRST, RECONNECT_MAX);
    let mut place = SessionView { up: false, probe: number == 0 };
    while !stop.is_set() {
        let job = match place.probe {
            true => None,
            false => tokio::select! {
                job = wait_for_work(&relay) => Some(job),
                () = stop.wait() => return place.leave(&relay, false),
            },
        };
        let ending = session(&relay, job, place.up, &mut stop).await;
        if stop.is_set() {
            return place.leave(&relay, ending.open);
        }
        if place.end(&relay, &ending, number == 0) {
            backoff.reset();
        }
        let Some(trouble) = ending.trouble else { continue };
        let wait = if ending.completed > 0 { Duration::ZERO } else { backoff.wait(chance()) };
        let wait_ms = wait.as_millis() as u64;
        tracing::warn!(route = relay.name(), session = number, trouble, wait_ms, "not connected");
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.wait() => {}
        }
    }
}

/// What the route was told of a place's session.
struct SessionView {
    /// That it can send. A session closed in order still can: it is opened again when there is work.
    up: bool,
    /// It is opened without work.
    probe: bool,
}

impl SessionView {
    /// It is given up. Others of the route may go on, and one that begins anew says so again.
    fn leave(&self, relay: &Relay, opened: bool) {
        if self.up || opened {
            relay.dispatcher.session_rests();
        }
    }

    /// Takes the end of a session into account; true if it had been of use.
    fn end(&mut self, relay: &Relay, ending: &Ending, first: bool) -> bool {
        self.up |= ending.open;
        match &ending.trouble {
            None => self.probe = false,
            Some(trouble) => {
                if std::mem::take(&mut self.up) {
                    relay.dispatcher.session_down(trouble);
                }
                relay.dispatcher.trouble(trouble);
                self.probe = first;
            }
        }
        ending.completed > 0 || ending.trouble.is_none()
    }
}

/// Until there is a mail that no open session has room for.
async fn wait_for_work(relay: &Relay) -> MailJob {
    let listener = relay.dispatcher.listen();
    loop {
        if let Some(job) = relay.overflow() {
            return job;
        }
        listener.notified().await;
    }
}

/// From connecting to the end.
async fn session(relay: &Arc<Relay>, job: Option<MailJob>, up: bool, stop: &mut Stop) -> Ending {
    let peer = relay.peer();
    let config = &peer.config;
    let tls = peer.tls.as_ref().filter(|_| config.tls == TlsMode::Implicit);
    let connected = tokio::select! {
        connected = connect(&config.address, tls, CONNECT_MAX) => connected.map_err(|error| error.to_string()),
        () = stop.wait() => Err("the route was stopped".to_owned()),
    };
    match connected {
        Ok(stream) => {
            let on_open = if up { |_: &Relay| {} } else { |relay: &Relay| relay.dispatcher.session_up() };
            RelayConnection::new(relay, &peer, job, on_open).run(stream, stop).await
        }
        Err(trouble) => {
            if let Some(job) = job {
                relay.dispatcher.put_back(job);
            }
            Ending { open: false, completed: 0, trouble: Some(trouble) }
        }
    }
}

/// From 0 to 1: so that a thousand sessions cut off together do not come back together.
fn chance() -> f64 {
    RandomState::new().hash_one(0) as f64 / u64::MAX as f64
}
