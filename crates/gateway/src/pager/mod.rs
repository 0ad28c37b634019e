//! Pagers, by SNPP (RFC 1861, one-way and two-way) and by mail to the paging carrier.
//!
//! ```text
//! keys      keys of a `[[route]]` of this channel
//! config    what a route is told
//! text      an alert's words in the characters and the length of a pager
//! encode    segments to pages
//! link      a connection: the client machine over a stream
//! line      what the sessions of a route share: limit, work, losses, outcomes
//! session   one place for a connection: pages out, verdicts in
//! tags      two-way pages that are still asked for, on a topic
//! poll      asks for them, and notes receipts and answers
//! ```
//!
//! A route that mails its pages has the sessions of the mail gateway, with this folder's encoder.
//!
//! Invariants worth naming:
//! - Delivered is said only where the server said so: in its reply to SEND, or to MSTAtus.
//! - A page whose SEND was written and not answered is unknown: without its tag nobody can ask for it.
//! - A two-way page's tag is on disk before the page is on record as accepted.

pub mod config;
#[cfg(test)]
mod conformance;
mod encode;
mod keys;
mod line;
mod link;
mod poll;
mod session;
mod tags;
#[cfg(test)]
mod tests;
pub mod text;

pub use config::{PagerProtocol, PagerRoute, PagingTransport, Polling, SnppSettings};
pub use keys::PagerKeys;

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem, Stop};
use crate::dispatcher::{RateHolder, RouteDispatcher};
use crate::mail::RelaySessions;
use crate::mail::encode::Letterhead;
use crate::registry::{ANY_PORT, ChannelGateway, Simulator, SimulatorOptions};
use crate::route_keys::RouteKeys;
use crate::route_loop::{ChangeScope, Checked, RouteSessions};
use crate::surroundings::Surroundings;
use crate::worker::Worker;
use bus::BusError;
use encode::PagerEncoder;
use futures_util::future::BoxFuture;
use line::{PagingLine, SnppPeer};
use net::TlsClient;
use poll::TagPoller;
use records::ChannelNumber;
use sim::Behaviour;
use sim::pager::{PagingCarrier, PagingOptions};
use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tags::TagTopic;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The gateway of pagers.
pub struct PagerGateway;

impl ChannelGateway for PagerGateway {
    type Sessions = PagerSessions;
    type Keys = PagerKeys;
    const CHANNEL: ChannelNumber = channels::PAGER;
    const ADDRESS: Option<&'static str> = Some("snpp.carrier.example:444");

    /// Two-way pages alone are confirmed.
    fn receipts(keys: &PagerKeys) -> bool {
        keys.two_way
    }

    fn settings(
        common: &RouteKeys,
        keys: &PagerKeys,
        around: &Surroundings,
    ) -> Result<PagerRoute, RouteProblem> {
        keys.route(common, around)
    }

    fn simulate(options: SimulatorOptions) -> Option<BoxFuture<'static, io::Result<Box<dyn Simulator>>>> {
        let options =
            PagingOptions { listen: ANY_PORT.to_owned(), people: options.habits, ..PagingOptions::default() };
        Some(Box::pin(async { Ok(Box::new(PagingCarrier::start(options).await?) as Box<dyn Simulator>) }))
    }

    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>> {
        Box::pin(async { Box::new(conformance::PagingFarEnd::start().await) as Box<dyn FarEnd> })
    }

    #[cfg(test)]
    fn more_far_ends() -> Vec<BoxFuture<'static, Box<dyn FarEnd>>> {
        vec![Box::pin(async { Box::new(conformance::CarrierMailbox::start().await) as Box<dyn FarEnd> })]
    }
}

impl Simulator for PagingCarrier {
    fn address(&self) -> SocketAddr {
        PagingCarrier::address(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn behaviours(&self) -> &'static [Behaviour] {
        &Behaviour::PLAIN
    }

    fn behave(&self, behaviour: Behaviour) -> Result<(), String> {
        PagingCarrier::behave(self, behaviour)
    }
}

/// What is made of a route's settings once.
#[derive(Clone)]
pub(crate) struct PagerMaterial {
    letterhead: Option<Letterhead>,
    tls: Option<TlsClient>,
}

/// The sessions of a route at work, by its protocol.
pub(crate) enum PagerSessions {
    /// By SNPP.
    Snpp(SnppSessions),
    /// By mail.
    Smtp(Box<RelaySessions<PagerEncoder>>),
}

/// Places for connections to an SNPP server, and the poller of two-way pages.
pub(crate) struct SnppSessions {
    line: Arc<PagingLine>,
    /// What stops each place, by its number.
    places: Vec<watch::Sender<bool>>,
    tasks: JoinSet<()>,
    poller: Worker,
}

impl RouteSessions for PagerSessions {
    type Settings = PagerRoute;
    type Material = PagerMaterial;
    type Encoder = PagerEncoder;

    fn prepare(settings: &PagerRoute, context: &GatewayContext) -> Result<PagerMaterial, Vec<RouteProblem>> {
        let one = |problem| vec![problem];
        let letterhead = encode::letterhead(settings, &context.signing_key).map_err(one)?;
        let tls = match &settings.transport {
            PagingTransport::Snpp(snpp) => snpp.tls_client().map_err(one)?,
            PagingTransport::Smtp(relay) => relay.tls_client().map_err(one)?,
        };
        Ok(PagerMaterial { letterhead, tls })
    }

    fn encoder(settings: &PagerRoute, material: &PagerMaterial) -> PagerEncoder {
        PagerEncoder::new(settings, material.letterhead.clone())
    }

    fn open(
        route: &Checked<Self>,
        context: &GatewayContext,
        dispatcher: &Arc<RouteDispatcher<PagerEncoder>>,
    ) -> Result<PagerSessions, BusError> {
        let (settings, tls) = (&route.settings, route.material.tls.clone());
        match &settings.transport {
            PagingTransport::Smtp(relay) => {
                let sessions = RelaySessions::new((**relay).clone(), tls, context, dispatcher);
                Ok(PagerSessions::Smtp(Box::new(sessions)))
            }
            PagingTransport::Snpp(snpp) => {
                let tags = match snpp.two_way {
                    Some(_) => Some(TagTopic::open(&*context.bus, &settings.name)?),
                    None => None,
                };
                let peer = SnppPeer { sessions: settings.sessions, settings: (**snpp).clone(), tls };
                let line = Arc::new(PagingLine::new(settings, peer, context, dispatcher, tags));
                Ok(PagerSessions::Snpp(SnppSessions {
                    line,
                    places: Vec::new(),
                    tasks: JoinSet::new(),
                    poller: Worker::default(),
                }))
            }
        }
    }

    fn limit(&self) -> Arc<dyn RateHolder> {
        match self {
            PagerSessions::Snpp(sessions) => Arc::clone(&sessions.line.limit) as Arc<dyn RateHolder>,
            PagerSessions::Smtp(sessions) => sessions.limit(),
        }
    }

    fn begin(&mut self) {
        match self {
            PagerSessions::Snpp(sessions) => sessions.begin(),
            PagerSessions::Smtp(sessions) => sessions.begin(),
        }
    }

    async fn change(&mut self, step: ChangeScope, route: Checked<Self>) {
        let Checked { settings, material } = route;
        match self {
            PagerSessions::Snpp(sessions) => {
                if let Some(peer) = SnppPeer::of(&settings, material.tls) {
                    sessions.line.change(peer);
                    sessions.fill();
                }
            }
            PagerSessions::Smtp(sessions) => {
                if let PagingTransport::Smtp(relay) = settings.transport {
                    sessions.change(step, *relay, material.tls).await;
                }
            }
        }
    }

    async fn end(self) {
        match self {
            PagerSessions::Snpp(sessions) => sessions.end().await,
            PagerSessions::Smtp(sessions) => sessions.end().await,
        }
    }
}

impl SnppSessions {
    fn begin(&mut self) {
        self.fill();
        if self.line.tags.is_some() {
            let poller = TagPoller::new(Arc::clone(&self.line));
            self.poller.begin(|stop| poller.run(stop));
        }
    }

    /// As many places as the settings say: what is missing is begun, what is too much ends in order.
    fn fill(&mut self) {
        while self.tasks.try_join_next().is_some() {}
        let wanted = self.line.peer().sessions;
        self.end_places(wanted);
        while self.places.len() < wanted {
            let (stop, stopping) = Stop::pair();
            let place = session::keep_session(Arc::clone(&self.line), self.places.len(), stopping);
            self.tasks.spawn(place);
            self.places.push(stop);
        }
    }

    fn end_places(&mut self, keep: usize) {
        for place in self.places.drain(keep.min(self.places.len())..) {
            let _ = place.send(true);
        }
    }

    async fn end(mut self) {
        self.end_places(0);
        while self.tasks.join_next().await.is_some() {}
        self.poller.end().await;
    }
}
