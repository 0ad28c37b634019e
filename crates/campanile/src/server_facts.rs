//! Facts of the server that operators see: where its data is, which doors it opens, which sites it pushes to.

use crate::config;
use crate::setup::{NodeSetup, Setup, StoragePlace};
use doors::http::{
    CheckedConfig, ConfigAccess, EdgeSiteFacts, MapFiles, ServerFacts, ServerHandles, ShownConfig,
};
use doors::smpp::Clients;
use futures_util::future::BoxFuture;
use gateway::edge::EdgeRoute;
use records::Timestamp;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The parts that a start knows and a config does not.
pub(crate) struct ProcessFacts {
    /// Its name among others, which differs from start to start.
    name: Option<String>,
    /// Which of several processes it is.
    node: Option<NodeSetup>,
    /// When it began.
    started: Timestamp,
}

impl ProcessFacts {
    /// Of a process that began at a time, as the others see it, where there are others.
    pub(crate) fn new(
        member: Option<&engine::Node>,
        node: Option<&NodeSetup>,
        started: Timestamp,
    ) -> ProcessFacts {
        ProcessFacts { name: member.map(|member| member.name.clone()), node: node.cloned(), started }
    }

    /// What operators see, by a setup.
    pub(crate) fn facts(&self, setup: &Setup) -> ServerFacts {
        let (store, bus) = match &setup.kept {
            StoragePlace::Here { .. } => ("sqlite", "file"),
            StoragePlace::Shared(_) => ("postgresql", "nats"),
        };
        let organisation = &setup.engine.keywords.services.organisation;
        ServerFacts {
            node: self.name.clone(),
            started: Some(self.started),
            data: Some(setup.data.clone()),
            store,
            bus,
            organisation: (!organisation.is_empty()).then(|| organisation.clone()),
            doors: self.doors(setup),
            topics: setup.topics.as_ref().map(doors::topic::TopicsConfig::settings),
            edge_sites: edge_sites(setup),
        }
    }

    fn doors(&self, setup: &Setup) -> Vec<&'static str> {
        let opens = self.node.as_ref().is_none_or(|node| node.doors);
        let doors = [
            ("http", setup.http.is_some()),
            ("sendsms", setup.http.is_some() && !setup.platforms.is_empty()),
            ("smtp", opens && setup.smtp.is_some()),
            ("smpp", opens && setup.smpp.is_some()),
            ("topics", setup.topics.is_some()),
            ("diameter", opens && setup.diameter.is_some()),
        ];
        doors.into_iter().filter_map(|(name, is_on)| is_on.then_some(name)).collect()
    }
}

/// Sites of all routes of channel edge.
fn edge_sites(setup: &Setup) -> Vec<EdgeSiteFacts> {
    let mut sites: BTreeMap<&str, EdgeSiteFacts> = BTreeMap::new();
    for configured in &setup.routes {
        let Some(route) = configured.settings.get::<EdgeRoute>() else { continue };
        for site in &route.sites {
            let facts = sites.entry(&site.name).or_insert_with(|| EdgeSiteFacts {
                name: site.name.clone(),
                address: site.address.clone(),
                has_key: site.key.is_some(),
                routes: Vec::new(),
            });
            facts.routes.push(route.name.clone());
        }
    }
    sites.into_values().collect()
}

/// The files of the map. One that cannot be opened is left out: no alert waits for a map.
pub(crate) fn map(setup: &Setup) -> MapFiles {
    let (files, problems) = MapFiles::open(&setup.sources.map);
    for (key, why) in problems {
        tracing::warn!(key, %why, "the map lacks a file");
    }
    files
}

/// What operators look at, over these parts.
pub(crate) fn handles(
    bus: Arc<dyn bus::Bus>,
    clients: Arc<Clients>,
    facts: ServerFacts,
    map: MapFiles,
) -> ServerHandles {
    ServerHandles {
        bus: Some(bus),
        clients: Some(clients),
        facts: arc_swap::ArcSwap::from_pointee(facts),
        map: arc_swap::ArcSwap::from_pointee(map),
        ..ServerHandles::default()
    }
}

/// The config that a server was started from.
pub(crate) struct ConfigFile {
    /// Where it is; nothing: the usual place.
    pub(crate) file: Option<PathBuf>,
    /// The data folder.
    pub(crate) data: PathBuf,
}

impl ConfigAccess for ConfigFile {
    fn shown(&self) -> BoxFuture<'_, Result<ShownConfig, String>> {
        let file = self.file.clone();
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || config::shown(file.as_deref())).await;
            read.map_err(|error| error.to_string())?
        })
    }

    fn check(&self, text: String) -> BoxFuture<'_, CheckedConfig> {
        let (file, data) = (self.file.clone(), self.data.clone());
        Box::pin(async move {
            // On a thread of its own: host names in it are looked up.
            let check = move || config::checked(&text, file.as_deref(), &data);
            tokio::task::spawn_blocking(check).await.unwrap_or_default()
        })
    }
}
