//! Conversion of a config into the setup of a server.

use super::check_servers::{Where, bus_kept, store_kept};
use super::door_keys::balancers;
use super::{Charging, ChargingMode, Config, Route};
use crate::setup::{
    CallbackSetup, ConfiguredRoute, LedgerSetup, NodeSetup, Retention, Setup, SharedServers, Simulator,
    SmppDoor, SourceSetup, StoragePlace,
};
use bus::nats::Credentials;
use doors::http::HttpConfig;
use doors::topic::TopicUsers;
use gateway::Surroundings;
use gateway::edge::EdgeSites;
use gateway::mail::ReplyDomain;
use gateway::topic::TextTopics;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Config {
    /// As the server is built from it. `data` is the folder that relative paths are below.
    ///
    /// # Errors
    /// A file that cannot be read any more, in words.
    pub fn setup(&self, data: &Path) -> Result<Setup, String> {
        let retention = Retention {
            days: self.retention.days.unwrap_or(0),
            export_dir: self.retention.export_dir.clone(),
            answers: self.retention.answers,
            audit: self.retention.audit,
            exports: self.retention.exports,
            attachments: self.retention.attachments,
        };
        Ok(Setup {
            data: data.to_owned(),
            kept: self.kept(data),
            media: store::media::Media::at(&data.join(&self.store.media)),
            http: Some(self.http_config(data)?),
            smtp: self.smtp.as_ref().and_then(|smtp| smtp.door(data)),
            smpp: self
                .smpp
                .as_ref()
                .map(|smpp| SmppDoor { config: smpp.door(data), clients: smpp.clients() }),
            topics: self.topics.as_ref().map(|topics| topics.door(data, self.topic_users())),
            ledger: self.ledger(),
            external: self.external_charging(),
            diameter: self.diameter.as_ref().map(|diameter| diameter.server(data, self.charging.as_ref())),
            platforms: self.platforms(),
            parties: self.parties(),
            routes: self.ways(data)?,
            sources: self.sources(data),
            defaults: self.address_defaults(),
            engine: self.engine_settings(),
            callbacks: CallbackSetup {
                secret: self.callback.secret.clone(),
                outbound: self.outbound_policy(),
            },
            retention,
        })
    }

    fn sources(&self, data: &Path) -> SourceSetup {
        SourceSetup {
            cap_senders: self.cap_senders(),
            directories: self.directories(data),
            timestamp: self.timestamp_authority(data),
            map: self.map_paths(data),
        }
    }

    /// The books are kept where somebody needs them: the credit-control server, or our own messages.
    fn ledger(&self) -> Option<LedgerSetup> {
        let usual = Charging::default();
        let charging = self.charging.as_ref().unwrap_or(&usual);
        let is_needed = self.diameter.is_some() || charging.mode == ChargingMode::Ledger;
        let rules = charging.ledger().ok().filter(|_| is_needed)?;
        Some(LedgerSetup {
            fsync: charging.fsync,
            shards: charging.shards.map(|shards| shards as usize),
            rules,
            tariffs: charging.tariffs(),
            keep_records: charging.keep_records,
            charges_own: charging.mode == ChargingMode::Ledger,
        })
    }

    /// Not only the topic door makes text topics: other processes do, or routes of channel topic.
    fn shares_topics(&self) -> bool {
        let publishes = |route: &Route| route.common.channel == Some(channels::TOPIC);
        bus_kept(&self.bus.url) == Some(Where::Shared) || self.route.iter().any(publishes)
    }

    /// Who uses the topic door beside its clients: the first route that writes into sessions of people is
    /// named.
    fn topic_users(&self) -> TopicUsers {
        let writes = |route: &&Route| route.common.channel == Some(channels::LINE);
        let line_route = self.route.iter().find(writes).map(|route| route.common.name.clone());
        TopicUsers { is_shared: self.shares_topics(), line_route }
    }

    fn kept(&self, data: &Path) -> StoragePlace {
        let url = self.store.url.reveal();
        if store_kept(url) != Some(Where::Shared) {
            let (database, bus) = (after_scheme(url), after_scheme(&self.bus.url));
            return StoragePlace::Here { database, bus, fsync: self.bus.fsync };
        }
        let bus = &self.bus;
        let below = |file: &Option<PathBuf>| file.as_ref().map(|file| data.join(file));
        StoragePlace::Shared(Box::new(SharedServers {
            store: self.store.url.clone(),
            postgres: store::postgres::PostgresOptions {
                connections: self.store.connections as usize,
                spool: data.to_owned(),
                ..store::postgres::PostgresOptions::default()
            },
            bus: bus.url.clone(),
            nats: bus::nats::NatsOptions {
                prefix: bus.prefix.clone(),
                replicas: bus.replicas as usize,
                lease: self.node.lease,
                credentials: self.nats_credentials(data),
                tls: bus::nats::NatsTls {
                    required: bus.tls,
                    roots: below(&bus.ca_file),
                    ..Default::default()
                },
                ..bus::nats::NatsOptions::default()
            },
            node: self.node_setup(),
        }))
    }

    fn nats_credentials(&self, data: &Path) -> Credentials {
        let bus = &self.bus;
        match (&bus.username, &bus.password, &bus.token, &bus.credentials) {
            (Some(name), Some(password), _, _) => {
                Credentials::User { name: name.clone(), password: password.reveal().to_owned() }
            }
            (_, _, Some(token), _) => Credentials::Token(token.reveal().to_owned()),
            (_, _, _, Some(file)) => Credentials::File(data.join(file)),
            _ => Credentials::Address,
        }
    }

    fn node_setup(&self) -> NodeSetup {
        let node = &self.node;
        let all = node.gateways.iter().any(|name| name == "*");
        NodeSetup {
            name: node.name.clone().unwrap_or_else(machine_name),
            address: node.address.clone(),
            lease: node.lease,
            engine: node.engine,
            doors: node.doors,
            gateways: (!all).then(|| node.gateways.clone()),
        }
    }

    fn http_config(&self, data: &Path) -> Result<HttpConfig, String> {
        let tls = match (&self.http.tls_cert, &self.http.tls_key) {
            (Some(cert), Some(key)) => Some(server_tls(&data.join(cert), &data.join(key))?),
            _ => None,
        };
        let (listen, public_url) = (self.http.listen, self.http.public_url.clone());
        Ok(HttpConfig {
            listen,
            tls,
            public_url,
            limits: self.http_limits(),
            balancers: balancers(&self.http.proxy_from),
            trusted_proxies: balancers(&self.http.trusted_proxies),
            descriptors: crate::descriptors::budget(),
            sign_in: self.sign_in(),
            console: None,
        })
    }

    fn ways(&self, data: &Path) -> Result<Vec<ConfiguredRoute>, String> {
        let around = self.surroundings(data).map_err(|(at, why)| format!("{at}: {why}"))?;
        self.route.iter().filter_map(|route| way(route, &around)).collect()
    }

    /// Facts of other sections that routes are made of.
    ///
    /// # Errors
    /// A key of an edge site that cannot be read: its place in the config, and why.
    pub(super) fn surroundings(&self, data: &Path) -> Result<Surroundings, (String, String)> {
        let mut around = Surroundings::new(data);
        if let Some(domain) = self.smtp.as_ref().and_then(|smtp| smtp.domain.clone()) {
            around = around.with(ReplyDomain(domain));
        }
        if let Some(topics) = &self.topics {
            let kept = topics.door(data, TopicUsers::default());
            let (topic_octets_max, message_octets_max) = (kept.topic_octets_max, kept.message_octets_max);
            around =
                around.with(TextTopics { settings: kept.settings(), topic_octets_max, message_octets_max });
        }
        if let Some(edge) = &self.edge {
            let signing_key = edge.signing_key.clone();
            around = around.with(EdgeSites { sites: edge.sites(data)?, signing_key });
        }
        Ok(around)
    }
}

/// A route as the server needs it; nothing without a channel and a mode: such a config has problems.
fn way(route: &Route, around: &Surroundings) -> Option<Result<ConfiguredRoute, String>> {
    let (record, settings) = (route.record()?, route.settings(around)?);
    let simulator = route.common.sim.then(Simulator::default);
    let refused = |problem| format!("route {}: {problem}", record.name);
    let address = route.common.address.clone().filter(|_| !route.common.sim);
    Some(settings.map_err(refused).map(|settings| ConfiguredRoute {
        route: record.clone(),
        settings,
        simulator,
        address,
        lines: route.lines.clone(),
    }))
}

/// The machine's name, in the letters a node's name may have.
fn machine_name() -> String {
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = hostname.trim().chars().filter(fits).take(40).collect();
    if name.is_empty() { "node".to_owned() } else { name }
}

/// `FILE` of `sqlite:FILE`.
fn after_scheme(url: &str) -> PathBuf {
    url.split_once(':').map_or(url, |(_, rest)| rest).into()
}

fn server_tls(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let fails = |file: &Path, why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect)
        .map_err(|error| fails(cert, &error))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| fails(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
    config.map(Arc::new).map_err(|error| fails(key, &error))
}
