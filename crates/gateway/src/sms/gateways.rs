//! The gateway of short messages in the registry: SMPP's or HTTP's, by the route's key `protocol`.

use super::http::{HttpSmsGateway, HttpSmsRoute, SmsProtocol};
use super::{SmppGateway, SmsKeys};
#[cfg(test)]
use crate::conformance::FarEnd;
use crate::context::{GatewayContext, RouteProblem, RunningGateway};
use crate::registry::{AnyRoute, Gateway, Simulator, SimulatorOptions};
use crate::route_keys::RouteKeys;
use crate::route_loop::Changed;
use crate::surroundings::Surroundings;
use futures_util::future::BoxFuture;
use records::{Body, ChannelNumber, MessagePreview, PreviewSource};
use settings::{AnySection, SectionType};
use std::io;

/// The gateway of short messages.
pub struct SmsGateway;

/// The gateway of a route with these keys.
fn by_keys(keys: &AnySection) -> &'static dyn Gateway {
    match keys.get::<SmsKeys>().map(|keys| keys.protocol) {
        Some(SmsProtocol::Http) => &HttpSmsGateway,
        _ => &SmppGateway,
    }
}

/// The gateway of a route with these settings.
fn by_settings(route: &AnyRoute) -> &'static dyn Gateway {
    if route.get::<HttpSmsRoute>().is_some() { &HttpSmsGateway } else { &SmppGateway }
}

impl Gateway for SmsGateway {
    fn channel(&self) -> ChannelNumber {
        channels::SMS
    }

    fn keys(&self) -> SectionType {
        SmppGateway.keys()
    }

    fn address(&self) -> Option<&'static str> {
        SmppGateway.address()
    }

    fn has_simulator(&self) -> bool {
        SmppGateway.has_simulator()
    }

    fn needs_address(&self, keys: &AnySection) -> bool {
        by_keys(keys).needs_address(keys)
    }

    fn receipts(&self, keys: &AnySection) -> bool {
        by_keys(keys).receipts(keys)
    }

    fn prefixes(&self, keys: &AnySection) -> &'static [&'static str] {
        by_keys(keys).prefixes(keys)
    }

    fn window(&self, keys: &AnySection) -> u32 {
        by_keys(keys).window(keys)
    }

    fn settings(
        &self,
        common: &RouteKeys,
        keys: &AnySection,
        around: &Surroundings,
    ) -> Result<AnyRoute, RouteProblem> {
        by_keys(keys).settings(common, keys, around)
    }

    fn problems(&self, route: &AnyRoute) -> Vec<RouteProblem> {
        by_settings(route).problems(route)
    }

    fn protocol(&self, route: &AnyRoute) -> &'static str {
        by_settings(route).protocol(route)
    }

    fn sessions(&self, route: &AnyRoute) -> Option<u32> {
        by_settings(route).sessions(route)
    }

    fn start(
        &self,
        route: &AnyRoute,
        simulator: Option<&str>,
        context: &GatewayContext,
    ) -> Result<RunningGateway, Vec<RouteProblem>> {
        by_settings(route).start(route, simulator, context)
    }

    fn change<'a>(
        &self,
        running: &'a RunningGateway,
        route: &AnyRoute,
        simulator: Option<&str>,
    ) -> BoxFuture<'a, Result<Changed, Vec<RouteProblem>>> {
        by_settings(route).change(running, route, simulator)
    }

    fn units(&self, route: &AnyRoute, body: &Body) -> u32 {
        by_settings(route).units(route, body)
    }

    fn units_max(&self, route: &AnyRoute) -> u32 {
        by_settings(route).units_max(route)
    }

    fn preview(&self, route: &AnyRoute, source: &PreviewSource<'_>) -> MessagePreview {
        by_settings(route).preview(route, source)
    }

    fn simulate(
        &self,
        options: SimulatorOptions,
    ) -> Option<BoxFuture<'static, io::Result<Box<dyn Simulator>>>> {
        SmppGateway.simulate(options)
    }

    #[cfg(test)]
    fn far_ends(&self) -> Vec<BoxFuture<'static, Box<dyn FarEnd>>> {
        SmppGateway.far_ends().into_iter().chain(HttpSmsGateway.far_ends()).collect()
    }
}
