//! Setup of a server, from any source: the config of `serve`, the demo, a bench.

use crate::directory::LdapDirectory;
use crate::evidence_keeper::TimestampAuthority;
use doors::http::{CapSender, Directories, DirectorySource, HttpConfig, MapPaths, RouteInConfig};
use doors::kannel::PlatformSettings;
use doors::smpp::{SmppClient, SmppConfig};
use doors::smtp::SmtpConfig;
use doors::topic::TopicsConfig;
use engine::MessageClientSettings;
use gateway::AnyRoute;
use records::Route;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything a server needs to know.
#[derive(Clone)]
pub struct Setup {
    /// Where everything is kept.
    pub data: PathBuf,
    /// SQL and topics.
    pub kept: StoragePlace,
    /// Files that alerts carry.
    pub media: store::media::Media,
    /// The HTTP door.
    pub http: Option<HttpConfig>,
    /// The SMTP door.
    pub smtp: Option<SmtpConfig>,
    /// Ways out.
    pub routes: Vec<ConfiguredRoute>,
    /// The SMPP door.
    pub smpp: Option<SmppDoor>,
    /// The topic door.
    pub topics: Option<TopicsConfig>,
    /// The books.
    pub ledger: Option<LedgerSetup>,
    /// Our own messages are paid at others' servers, which the Diameter node connects to.
    pub external: Option<charging::message_charging::external::Settings>,
    /// The credit-control server; needs the books.
    pub diameter: Option<charging::server::ServerConfig>,
    /// Who may call the platform's old way.
    pub platforms: Vec<PlatformSettings>,
    /// Whom messages from people are for.
    pub parties: Vec<MessageClientSettings>,
    /// What others send or keep that this server takes in.
    pub sources: SourceSetup,
    /// What is known of addresses.
    pub defaults: channels::Defaults,
    /// Rules with numbers.
    pub engine: engine::Settings,
    /// Calls of URLs that clients give.
    pub callbacks: CallbackSetup,
    /// How long finished alerts are kept.
    pub retention: Retention,
}

impl Setup {
    /// The routes, as operators see them.
    pub(crate) fn routes_shown(&self) -> Vec<RouteInConfig> {
        self.routes.iter().map(ConfiguredRoute::shown).collect()
    }

    /// The keys in which a new setup differs that only a restart applies.
    pub fn needs_restart(&self, new: &Setup) -> Vec<&'static str> {
        let http = |setup: &Setup| {
            setup.http.as_ref().map(|http| {
                let networks = (http.balancers.clone(), http.trusted_proxies.clone());
                (http.listen, http.public_url.clone(), http.limits.clone(), networks)
            })
        };
        let smpp = |setup: &Setup| setup.smpp.as_ref().map(|smpp| smpp.config.clone());
        // Peers and prices are applied at once.
        let diameter = |setup: &Setup| {
            let peers = Vec::new();
            setup.diameter.clone().map(|server| charging::server::ServerConfig { peers, ..server })
        };
        let ledger = |setup: &Setup| {
            setup
                .ledger
                .as_ref()
                .map(|ledger| (ledger.fsync, ledger.shards, ledger.keep_records, ledger.charges_own))
        };
        // Keywords and rules of approval are applied at once; who takes outcomes in is said by `[charging]`.
        let engine = |setup: &Setup| engine::Settings {
            keywords: Default::default(),
            approval: Default::default(),
            outcome_groups: Vec::new(),
            ..setup.engine.clone()
        };
        let secret = |setup: &Setup| setup.callbacks.secret.as_ref().map(|secret| secret.reveal().to_owned());
        [
            ("[http]", http(self) != http(new)),
            ("[smtp]", self.smtp != new.smtp),
            ("[smpp]", smpp(self) != smpp(new)),
            ("[topics]", self.topics != new.topics),
            ("[diameter]", diameter(self) != diameter(new)),
            ("[charging]", ledger(self) != ledger(new) || self.external != new.external),
            ("store.url", self.kept.store() != new.kept.store()),
            ("bus.url", self.kept.bus() != new.kept.bus()),
            ("bus.fsync", self.kept.fsync() != new.kept.fsync()),
            ("[store], [bus] or [node]", self.kept.shared() != new.kept.shared()),
            ("[engine]", engine(self) != engine(new)),
            ("[retention]", self.retention != new.retention),
            ("store.media", self.media != new.media),
            ("[timestamp]", self.sources.timestamp != new.sources.timestamp),
            ("callback.secret", secret(self) != secret(new)),
        ]
        .into_iter()
        .filter_map(|(key, differs)| differs.then_some(key))
        .collect()
    }
}

/// What others send or keep that this server takes in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SourceSetup {
    /// Whom CAP messages reach.
    pub cap_senders: Vec<CapSender>,
    /// Directories that people are imported from.
    pub directories: Vec<LdapDirectory>,
    /// The authority that time-stamps evidence.
    pub timestamp: Option<TimestampAuthority>,
    /// Files of the map.
    pub map: MapPaths,
}

impl SourceSetup {
    /// The directories, as the HTTP door runs them.
    pub fn directories(&self) -> Directories {
        let source = |directory: &LdapDirectory| Arc::new(directory.clone()) as Arc<dyn DirectorySource>;
        self.directories.iter().map(source).collect()
    }
}

/// How URLs are called that clients give.
#[derive(Debug, Clone, Default)]
pub struct CallbackSetup {
    /// Signs callbacks; nothing: a secret of its own, kept in the data folder.
    pub secret: Option<gateway::Secret>,
    /// Whom to call.
    pub outbound: net::OutboundPolicy,
}

/// How money is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerSetup {
    /// When a move of money is answered.
    pub fsync: bus::embedded::Fsync,
    /// Threads that keep the books; nothing: one for two cores.
    pub shards: Option<usize>,
    /// Prices, windows, what opens unknown accounts.
    pub rules: ledger::Config,
    /// The tariffs among them, as they are written.
    pub tariffs: Vec<ledger::tariff_spec::TariffSpec>,
    /// How long charging records are kept; nothing: for ever.
    pub keep_records: Option<std::time::Duration>,
    /// Our own messages are paid from it.
    pub charges_own: bool,
}

/// Where what outlives the process is kept.
#[derive(Debug, Clone, PartialEq)]
pub enum StoragePlace {
    /// On this machine's disk, for this process alone.
    Here {
        /// The SQLite file, below `data` if relative.
        database: PathBuf,
        /// The folder of the bus, below `data` if relative.
        bus: PathBuf,
        /// When an append is done.
        fsync: bus::embedded::Fsync,
    },
    /// On PostgreSQL and NATS, with other processes.
    Shared(Box<SharedServers>),
}

impl StoragePlace {
    fn store(&self) -> Option<&PathBuf> {
        if let StoragePlace::Here { database, .. } = self { Some(database) } else { None }
    }

    fn bus(&self) -> Option<&PathBuf> {
        if let StoragePlace::Here { bus, .. } = self { Some(bus) } else { None }
    }

    fn fsync(&self) -> Option<bus::embedded::Fsync> {
        if let StoragePlace::Here { fsync, .. } = self { Some(*fsync) } else { None }
    }

    fn shared(&self) -> Option<&SharedServers> {
        if let StoragePlace::Shared(servers) = self { Some(servers) } else { None }
    }
}

/// What several processes share, and which of them this is.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedServers {
    /// `postgres://…`
    pub store: gateway::Secret,
    /// How it is spoken to.
    pub postgres: store::postgres::PostgresOptions,
    /// `nats://…`
    pub bus: String,
    /// How it is spoken to.
    pub nats: bus::nats::NatsOptions,
    /// This process.
    pub node: NodeSetup,
}

/// One process among several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSetup {
    /// Its name.
    pub name: String,
    /// Where others reach its HTTP door; nothing: where it listens.
    pub address: Option<String>,
    /// How long others wait before they take over what a silent process had.
    pub lease: std::time::Duration,
    /// It may lead.
    pub engine: bool,
    /// It opens the doors of its config.
    pub doors: bool,
    /// The routes it drives; nothing: all.
    pub gateways: Option<Vec<String>>,
}

/// The SMPP door.
#[derive(Debug, Clone, PartialEq)]
pub struct SmppDoor {
    /// The door itself.
    pub config: SmppConfig,
    /// Who may bind.
    pub clients: Vec<SmppClient>,
}

/// How long records are kept, and where finished alerts go before they are removed. Days; 0: for ever.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// After an alert became final.
    pub days: u32,
    /// A folder for their reports, below `data` if relative; without one nothing is exported.
    pub export_dir: Option<PathBuf>,
    /// Texts of answers, after the end of their alert and of its time to answer.
    pub answers: u32,
    /// Entries of the audit trail.
    pub audit: u32,
    /// Files in `export_dir`, after they were written.
    pub exports: u32,
    /// Attachments, after an alert last named them.
    pub attachments: u32,
}

/// One `[[route]]`.
#[derive(Clone)]
pub struct ConfiguredRoute {
    /// What the engine knows of it.
    pub route: Route,
    /// The settings of its gateway: those of its channel.
    pub settings: AnyRoute,
    /// A listener of the simulator in this process takes the place of its address.
    pub simulator: Option<Simulator>,
    /// `host:port` of the far end, as operators are shown it.
    pub address: Option<String>,
    /// Lines of the configuration in which its keys stand.
    pub lines: BTreeMap<String, usize>,
}

/// A route whose lines moved is the same.
impl PartialEq for ConfiguredRoute {
    fn eq(&self, other: &ConfiguredRoute) -> bool {
        (&self.route, &self.settings, &self.simulator) == (&other.route, &other.settings, &other.simulator)
    }
}

impl ConfiguredRoute {
    /// As operators see it: without secrets.
    pub fn shown(&self) -> RouteInConfig {
        let gateway = gateway::registry::of(self.route.channel);
        RouteInConfig {
            name: self.route.name.clone(),
            protocol: gateway.map(|gateway| gateway.protocol(&self.settings)),
            address: self.address.clone(),
            sessions: gateway.and_then(|gateway| gateway.sessions(&self.settings)),
            lines: self.lines.clone(),
        }
    }
}

/// The simulator behind a route.
#[derive(Clone, Default, PartialEq)]
pub struct Simulator {
    /// What people in it do; nothing: everything arrives, nobody answers.
    pub habits: Option<sim::town::Habits>,
}
