//! Adapters between crates that may not know each other: parts of messages, tags of mail, callback URLs.

use crate::setup::ConfiguredRoute;
use arc_swap::ArcSwap;
use engine::UnitsEstimator;
use gateway::{AnyRoute, registry};
use records::{AlertNo, Body, CallbackPurpose, EndpointNo, MessagePreview, PreviewSource, Route};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Estimates the parts of a rendering: asks the gateway of the route's channel.
pub struct PartsEstimator {
    routes: ArcSwap<BTreeMap<String, AnyRoute>>,
}

impl PartsEstimator {
    /// For these routes.
    pub fn new(ways: &[ConfiguredRoute]) -> PartsEstimator {
        let estimator = PartsEstimator { routes: ArcSwap::default() };
        estimator.replace(ways);
        estimator
    }

    /// These from now on.
    pub fn replace(&self, ways: &[ConfiguredRoute]) {
        let routes = ways.iter().map(|way| (way.route.name.clone(), way.settings.clone()));
        self.routes.store(Arc::new(routes.collect()));
    }
}

impl UnitsEstimator for PartsEstimator {
    fn units(&self, route: &Route, body: &Body) -> u32 {
        let routes = self.routes.load();
        let Some(settings) = routes.get(&route.name) else { return 1 };
        registry::of(route.channel).map_or(1, |gateway| gateway.units(settings, body))
    }

    fn units_max(&self, route: &Route) -> u32 {
        let routes = self.routes.load();
        let Some(settings) = routes.get(&route.name) else { return u32::MAX };
        registry::of(route.channel).map_or(u32::MAX, |gateway| gateway.units_max(settings))
    }

    fn preview(&self, route: &Route, source: &PreviewSource<'_>) -> MessagePreview {
        let routes = self.routes.load();
        let found = registry::of(route.channel).zip(routes.get(&route.name));
        found.map_or_else(
            || MessagePreview::as_it_is(source),
            |(gateway, settings)| gateway.preview(settings, source),
        )
    }
}

/// Reads where the mail of a delivery went, for the door that reads reports on several recipients.
pub fn address_of(store: store::SharedStore) -> doors::smtp::AddressOf {
    Arc::new(move |alert, endpoint| {
        let block = store.roster_block(alert, endpoint).ok().flatten()?;
        let entry = block.entries.into_iter().nth(endpoint.0.checked_sub(block.first.0)? as usize)?;
        Some(entry.address)
    })
}

/// The HTTP door's callback URLs, for the gateways that hand them out.
pub struct CallbackUrlsOf(pub Arc<doors::http::AnswerLinks>);

impl gateway::CallbackUrls for CallbackUrlsOf {
    fn delivery(&self, alert: AlertNo, endpoint: EndpointNo) -> Option<String> {
        self.0.delivery_callback(alert, endpoint)
    }

    fn route(&self, route: &str, purpose: CallbackPurpose) -> Option<String> {
        self.0.route_callback(route, purpose)
    }
}

/// The gateway's tags, for the door that reads them.
pub struct TagsOf(pub gateway::mail::tag::Tags);

impl doors::smtp::TagReader for TagsOf {
    fn read(&self, kind: doors::smtp::TagKind, tag: &str) -> Option<(AlertNo, EndpointNo)> {
        let purpose = match kind {
            doors::smtp::TagKind::Answers => gateway::mail::tag::Purpose::Answers,
            doors::smtp::TagKind::Bounces => gateway::mail::tag::Purpose::Bounces,
        };
        self.0.read(purpose, tag)
    }
}
