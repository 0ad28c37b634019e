//! Small adapters between rooms that may not know each other.

use crate::setup::{CarrierSetup, Way};
use arc_swap::ArcSwap;
use engine::Weigher;
use gateway::sms::SmsRoute;
use records::{AlertNo, Body, EndpointNo, Route};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Weighs renderings: a short message costs its parts in the route's alphabet, a mail one.
pub struct Scales {
    routes: ArcSwap<BTreeMap<String, SmsRoute>>,
}

impl Scales {
    /// For these routes.
    pub fn new(ways: &[Way]) -> Scales {
        let scales = Scales { routes: ArcSwap::default() };
        scales.replace(ways);
        scales
    }

    /// These from now on.
    pub fn replace(&self, ways: &[Way]) {
        let sms = |way: &Way| match &way.carrier {
            CarrierSetup::Sms(sms) => Some((way.route.name.clone(), (**sms).clone())),
            CarrierSetup::Mail(_) | CarrierSetup::Topic(_) | CarrierSetup::Edge(_) => None,
        };
        self.routes.store(Arc::new(ways.iter().filter_map(sms).collect()));
    }
}

impl Weigher for Scales {
    fn units(&self, route: &Route, body: &Body) -> u32 {
        let routes = self.routes.load();
        let Some(sms) = routes.get(&route.name) else { return 1 };
        match body {
            Body::Sms { text } => gateway::sms::parts(sms, text),
            Body::Short(short) => gateway::sms::parts_of_short(sms, short),
            Body::Mail { .. } | Body::Topic { .. } | Body::Edge { .. } => 1,
        }
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
