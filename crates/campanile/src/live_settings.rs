//! Live settings: values that doors and engine share with the server and that a reload replaces.

use crate::parts_estimator::PartsEstimator;
use crate::server::listed;
use crate::server_facts::{self, ProcessFacts};
use crate::setup::Setup;
use arc_swap::ArcSwap;
use doors::http::{ReloadedPolicies, SignInPolicy};
use doors::kannel::Platforms;
use doors::smpp::Clients;
use std::sync::Arc;

pub(crate) struct LiveSettings {
    pub(crate) policies: ReloadedPolicies,
    pub(crate) clients: Arc<Clients>,
    pub(crate) parts_estimator: Arc<PartsEstimator>,
    pub(crate) process: ProcessFacts,
}

impl LiveSettings {
    /// As the config has them at a start.
    pub(crate) fn new(
        setup: &Setup,
        parts_estimator: Arc<PartsEstimator>,
        bus: Arc<dyn bus::Bus>,
        process: ProcessFacts,
    ) -> Result<LiveSettings, String> {
        let platforms = Platforms::new(setup.platforms.clone()).map_err(|problems| listed(&problems))?;
        let clients = setup.smpp.as_ref().map(|smpp| smpp.clients.clone()).unwrap_or_default();
        let clients = Arc::new(Clients::new(clients).map_err(|problems| listed(&problems))?);
        let map = server_facts::map(setup);
        let server = server_facts::handles(bus, Arc::clone(&clients), process.facts(setup), map);
        Ok(LiveSettings {
            policies: ReloadedPolicies {
                cap_senders: Arc::new(ArcSwap::from_pointee(setup.sources.cap_senders.clone())),
                platforms: Arc::new(ArcSwap::from_pointee(platforms)),
                defaults: Arc::new(ArcSwap::from_pointee(setup.defaults.clone())),
                outbound: Arc::new(ArcSwap::from_pointee(setup.callbacks.outbound.clone())),
                sign_in: Arc::new(ArcSwap::from_pointee(sign_in(setup))),
                directories: Arc::new(ArcSwap::from_pointee(setup.sources.directories())),
                routes: Arc::new(ArcSwap::from_pointee(setup.routes_shown())),
                server: Arc::new(server),
            },
            clients,
            parts_estimator,
            process,
        })
    }
}

/// How people sign in; without the HTTP door nobody does.
pub(crate) fn sign_in(setup: &Setup) -> SignInPolicy {
    setup.http.as_ref().map(|http| http.sign_in.clone()).unwrap_or_default()
}
