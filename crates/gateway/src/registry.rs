//! Registry: the list of gateways, one a channel, and the trait by which the composition root drives any of
//! them.
//!
//! A channel's folder implements [`ChannelGateway`] in its own types; [`Gateway`] is the same with the types
//! erased, so that a list can hold it. The list stands in the root of the crate, where a line declares a
//! folder and enters its gateway.

use std::any::Any;
use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

use futures_util::future::BoxFuture;
use records::{Body, ChannelNumber, MessagePreview, PreviewSource};
use settings::{AnySection, Section, SectionType};
use sim::Behaviour;

#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem, RunningGateway};
use crate::route_keys::RouteKeys;
use crate::route_loop::{self, Changed, RouteSessions, RouteSettings};
use crate::surroundings::Surroundings;

pub use crate::GATEWAYS as ALL;

/// The gateway of a channel; nothing for a channel that is not built.
pub fn of(channel: ChannelNumber) -> Option<&'static dyn Gateway> {
    ALL.iter().copied().find(|gateway| gateway.channel() == channel)
}

/// The settings of a route of any channel: a [`RouteSettings`] whose type is erased.
pub type AnyRoute = AnySection;

/// What a channel's folder says of itself.
pub(crate) trait ChannelGateway: Send + Sync + 'static {
    /// The sessions of its routes.
    type Sessions: RouteSessions;

    /// Its own keys of a `[[route]]`, declared in its folder.
    type Keys: Section + Debug + PartialEq + Send + Sync + 'static;

    /// The channel.
    const CHANNEL: ChannelNumber;

    /// An example of the address that its routes connect to; nothing: they have neither `address` nor `sim`.
    const ADDRESS: Option<&'static str> = None;

    /// There is a simulator for routes of this kind: `sim = true` is understood.
    const HAS_SIMULATOR: bool = Self::ADDRESS.is_some();

    /// A route with these keys must have an `address`, where it is not simulated.
    fn needs_address(_keys: &Self::Keys) -> bool {
        Self::ADDRESS.is_some()
    }

    /// The network tells what becomes of messages of a route with these keys: the default of `receipts`.
    fn receipts(_keys: &Self::Keys) -> bool {
        channels::traits(Self::CHANNEL).receipts
    }

    /// The beginnings of the addresses that a route with these keys takes, where its `prefixes` name none;
    /// empty: all.
    fn prefixes(_keys: &Self::Keys) -> &'static [&'static str] {
        &[]
    }

    /// Messages without an answer on each session of a route with these keys at most; 0: there is no such
    /// limit, or it is of no account.
    fn window(_keys: &Self::Keys) -> u32 {
        0
    }

    /// The settings of a route with these keys.
    ///
    /// # Errors
    /// A fact that is missing in the surroundings.
    fn settings(
        common: &RouteKeys,
        keys: &Self::Keys,
        around: &Surroundings,
    ) -> Result<SettingsOf<Self>, RouteProblem>;

    /// Starts a simulator of the far end, where there is one.
    fn simulate(_options: SimulatorOptions) -> Option<BoxFuture<'static, io::Result<Box<dyn Simulator>>>> {
        None
    }

    /// Starts the far end of the conformance checks.
    #[cfg(test)]
    fn far_end() -> BoxFuture<'static, Box<dyn FarEnd>>;

    /// Starts those of its other protocols, where it has several.
    #[cfg(test)]
    fn more_far_ends() -> Vec<BoxFuture<'static, Box<dyn FarEnd>>> {
        Vec::new()
    }

    /// The cost of one message of the route's rate, at least 1: its parts.
    fn units(_settings: &SettingsOf<Self>, _body: &Body) -> u32 {
        1
    }

    /// So many of them one message may cost: what costs more cannot be sent.
    fn units_max(_settings: &SettingsOf<Self>) -> u32 {
        u32::MAX
    }

    /// How a message reads as a route of these settings writes it.
    fn preview(_settings: &SettingsOf<Self>, source: &PreviewSource<'_>) -> MessagePreview {
        MessagePreview::as_it_is(source)
    }
}

/// The settings of a channel's routes.
pub(crate) type SettingsOf<G> = <<G as ChannelGateway>::Sessions as RouteSessions>::Settings;

/// A gateway, whatever its channel.
pub trait Gateway: Send + Sync {
    /// The channel.
    fn channel(&self) -> ChannelNumber;

    /// Its own keys of a `[[route]]`, with their documentation.
    fn keys(&self) -> SectionType;

    /// An example of the address that its routes connect to; nothing: they have neither `address` nor `sim`.
    fn address(&self) -> Option<&'static str>;

    /// There is a simulator for routes of this kind: `sim = true` is understood.
    fn has_simulator(&self) -> bool;

    /// A route with these keys must have an `address`, where it is not simulated.
    fn needs_address(&self, keys: &AnySection) -> bool;

    /// The network tells what becomes of messages of a route with these keys: the default of `receipts`.
    fn receipts(&self, keys: &AnySection) -> bool;

    /// The beginnings of the addresses that a route with these keys takes, where its `prefixes` name none;
    /// empty: all.
    fn prefixes(&self, keys: &AnySection) -> &'static [&'static str];

    /// Messages without an answer on each session of a route with these keys at most; 0: no such limit is
    /// known.
    fn window(&self, keys: &AnySection) -> u32;

    /// The settings of a route with these keys; `keys` are of the type of [`Gateway::keys`].
    ///
    /// # Errors
    /// A fact that is missing in the surroundings.
    fn settings(
        &self,
        common: &RouteKeys,
        keys: &AnySection,
        around: &Surroundings,
    ) -> Result<AnyRoute, RouteProblem>;

    /// Everything that is wrong with a route's settings; empty if it can be started.
    fn problems(&self, route: &AnyRoute) -> Vec<RouteProblem>;

    /// The protocol that a route with these settings speaks.
    fn protocol(&self, route: &AnyRoute) -> &'static str;

    /// Sessions that it keeps while there is work; nothing: it has none that are counted.
    fn sessions(&self, route: &AnyRoute) -> Option<u32>;

    /// Starts a route. It connects to `simulator` in place of its own address, if there is one.
    ///
    /// # Errors
    /// Everything that is wrong with its settings.
    fn start(
        &self,
        route: &AnyRoute,
        simulator: Option<&str>,
        context: &GatewayContext,
    ) -> Result<RunningGateway, Vec<RouteProblem>>;

    /// Gives a running route other settings; see [`RunningGateway::change`].
    fn change<'a>(
        &self,
        running: &'a RunningGateway,
        route: &AnyRoute,
        simulator: Option<&str>,
    ) -> BoxFuture<'a, Result<Changed, Vec<RouteProblem>>>;

    /// The cost of one message of the route's rate, at least 1: its parts.
    fn units(&self, route: &AnyRoute, body: &Body) -> u32;

    /// So many of them one message may cost: what costs more cannot be sent.
    fn units_max(&self, route: &AnyRoute) -> u32;

    /// How a message reads as the route writes it.
    fn preview(&self, route: &AnyRoute, source: &PreviewSource<'_>) -> MessagePreview;

    /// Starts a simulator of the far end: a real listener on a free port of this machine. Nothing where there
    /// is none.
    fn simulate(
        &self,
        options: SimulatorOptions,
    ) -> Option<BoxFuture<'static, io::Result<Box<dyn Simulator>>>>;

    /// Starts the far ends of the conformance checks, one a protocol.
    #[cfg(test)]
    fn far_ends(&self) -> Vec<BoxFuture<'static, Box<dyn FarEnd>>>;
}

/// The people and the way back of a simulator.
#[derive(Debug, Clone, Default)]
pub struct SimulatorOptions {
    /// What people behind it do; nothing: everything arrives, nobody answers.
    pub habits: Option<sim::town::Habits>,
    /// `host:port` of the SMTP door that people's mails go to.
    pub smtp_door: Option<String>,
}

/// A simulator at work. It ends when it is dropped.
pub trait Simulator: Send + Sync {
    /// Where it listens.
    fn address(&self) -> SocketAddr;
    /// The simulator itself, for code that knows its kind.
    fn as_any(&self) -> &dyn Any;
    /// What it can be told to do while it runs.
    fn behaviours(&self) -> &'static [Behaviour];
    /// Behaves so from now on.
    ///
    /// # Errors
    /// It cannot, in words.
    fn behave(&self, behaviour: Behaviour) -> Result<(), String>;
}

/// A free port of this machine.
pub(crate) const ANY_PORT: &str = "127.0.0.1:0";

impl<G: ChannelGateway> Gateway for G {
    fn channel(&self) -> ChannelNumber {
        G::CHANNEL
    }

    fn keys(&self) -> SectionType {
        SectionType::of::<G::Keys>()
    }

    fn address(&self) -> Option<&'static str> {
        G::ADDRESS
    }

    fn has_simulator(&self) -> bool {
        G::HAS_SIMULATOR
    }

    fn needs_address(&self, keys: &AnySection) -> bool {
        keys.get::<G::Keys>().map_or(G::ADDRESS.is_some(), G::needs_address)
    }

    fn receipts(&self, keys: &AnySection) -> bool {
        keys.get::<G::Keys>().map_or(channels::traits(G::CHANNEL).receipts, G::receipts)
    }

    fn prefixes(&self, keys: &AnySection) -> &'static [&'static str] {
        keys.get::<G::Keys>().map_or(&[], G::prefixes)
    }

    fn window(&self, keys: &AnySection) -> u32 {
        keys.get::<G::Keys>().map_or(0, G::window)
    }

    fn settings(
        &self,
        common: &RouteKeys,
        keys: &AnySection,
        around: &Surroundings,
    ) -> Result<AnyRoute, RouteProblem> {
        let keys = keys.get::<G::Keys>().ok_or_else(other_channel::<G>)?;
        G::settings(common, keys, around).map(AnyRoute::new)
    }

    fn problems(&self, route: &AnyRoute) -> Vec<RouteProblem> {
        match route.get::<SettingsOf<G>>() {
            Some(settings) => settings.problems(),
            None => vec![other_channel::<G>()],
        }
    }

    fn protocol(&self, route: &AnyRoute) -> &'static str {
        let own = route.get::<SettingsOf<G>>().and_then(RouteSettings::protocol);
        own.unwrap_or_else(|| channels::name(G::CHANNEL))
    }

    fn sessions(&self, route: &AnyRoute) -> Option<u32> {
        route.get::<SettingsOf<G>>().and_then(RouteSettings::sessions)
    }

    fn start(
        &self,
        route: &AnyRoute,
        simulator: Option<&str>,
        context: &GatewayContext,
    ) -> Result<RunningGateway, Vec<RouteProblem>> {
        let settings = settings_of::<G>(route, simulator)?;
        route_loop::start::<G::Sessions>(settings, context)
    }

    fn change<'a>(
        &self,
        running: &'a RunningGateway,
        route: &AnyRoute,
        simulator: Option<&str>,
    ) -> BoxFuture<'a, Result<Changed, Vec<RouteProblem>>> {
        match settings_of::<G>(route, simulator) {
            Ok(settings) => Box::pin(running.change(settings)),
            Err(problems) => Box::pin(std::future::ready(Err(problems))),
        }
    }

    fn units(&self, route: &AnyRoute, body: &Body) -> u32 {
        route.get::<SettingsOf<G>>().map_or(1, |settings| G::units(settings, body))
    }

    fn units_max(&self, route: &AnyRoute) -> u32 {
        route.get::<SettingsOf<G>>().map_or(u32::MAX, G::units_max)
    }

    fn preview(&self, route: &AnyRoute, source: &PreviewSource<'_>) -> MessagePreview {
        match route.get::<SettingsOf<G>>() {
            Some(settings) => G::preview(settings, source),
            None => MessagePreview::as_it_is(source),
        }
    }

    fn simulate(
        &self,
        options: SimulatorOptions,
    ) -> Option<BoxFuture<'static, io::Result<Box<dyn Simulator>>>> {
        G::simulate(options)
    }

    #[cfg(test)]
    fn far_ends(&self) -> Vec<BoxFuture<'static, Box<dyn FarEnd>>> {
        std::iter::once(G::far_end()).chain(G::more_far_ends()).collect()
    }
}

fn settings_of<G: ChannelGateway>(
    route: &AnyRoute,
    simulator: Option<&str>,
) -> Result<SettingsOf<G>, Vec<RouteProblem>> {
    let mut settings = route.get::<SettingsOf<G>>().ok_or_else(|| vec![other_channel::<G>()])?.clone();
    if let Some(address) = simulator {
        settings.connect_to(address);
    }
    Ok(settings)
}

fn other_channel<G: ChannelGateway>() -> RouteProblem {
    RouteProblem {
        field: "channel",
        reason: format!("the settings are not those of channel {}", channels::name(G::CHANNEL)),
    }
}
