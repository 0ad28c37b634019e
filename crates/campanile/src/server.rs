//! The wiring: store, bus, engine, gateways, doors, from the ground floor up; and down again in the opposite
//! order.

use crate::alert_documents::StoredDocuments;
use crate::audit_trail::AuditKeeper;
use crate::evidence_keeper::EvidenceKeeper;
use crate::keys::Keys;
use crate::live_settings::LiveSettings;
use crate::pairing::EmptyBus;
use crate::parts_estimator::PartsEstimator;
use crate::running_routes::RunningRoutes;
use crate::server_facts::ProcessFacts;
use crate::setup::{NodeSetup, Setup};
use crate::storage::OpenedStorage;
use charging::session_notifier::SessionNotifier;
use doors::http::AnswerLinks;
use engine::{Clock, Engine, Parts};
use gateway::GatewayContext;
use ledger::books::Books;
use records::Timestamp;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use store::SharedStore;

/// What tells one start of a process from another, behind its name.
const START_CHARS: usize = 12;
/// A server at work.
pub struct RunningServer {
    /// The engine.
    pub engine: Engine,
    /// SQL.
    pub store: SharedStore,
    /// Topics.
    pub bus: Arc<dyn bus::Bus>,
    /// The books.
    pub ledger: Option<ledger::Ledger>,
    paying: crate::message_funds::MessageFunds,
    /// The first admin token, when this is the first start and [`RunningServer::ensure_admin_token`] made it.
    pub admin_token: Option<String>,
    pub(crate) doors: Doors,
    pub(crate) routes: RunningRoutes,
    tags: gateway::mail::tag::Tags,
    pub(crate) live: LiveSettings,
    pub(crate) config: AppliedConfig,
    cores: Arc<net::Cores>,
    pub(crate) keepers: Keepers,
    /// Bounds guesses over all doors, and counts them for the audit trail.
    guessing: Arc<doors::guessing::GuessingGuard>,
    cluster: ClusterMember,
}

/// This process among others: those that share store and bus, of which there is nothing where it is alone,
/// and those that must not have its folder.
struct ClusterMember {
    node: Option<NodeSetup>,
    rate_share: Option<crate::rate_share::RateShare>,
    forwarding: Option<doors::http::Forwarding>,
    /// The data folder is this process's own, until all that was in it is closed.
    _data_lock: crate::data_lock::DataLock,
}

impl ClusterMember {
    /// This process drives the route of this name.
    fn drives(&self, route: &str) -> bool {
        let named = self.node.as_ref().and_then(|node| node.gateways.as_ref());
        named.is_none_or(|names| names.iter().any(|name| name == route))
    }

    /// It opens the doors of its config.
    fn opens_doors(&self) -> bool {
        self.node.as_ref().is_none_or(|node| node.doors)
    }
}

/// Tasks that drop what is past its time, note what failed, and wait for their turn to make the first token.
pub(crate) struct Keepers {
    pub(crate) first_token: Option<tokio::task::JoinHandle<()>>,
    retention: tokio::task::JoinHandle<()>,
    evidence: EvidenceKeeper,
    audit: AuditKeeper,
}

/// The config of a server at work.
pub(crate) struct AppliedConfig {
    /// As it was built.
    pub(crate) built: Setup,
    /// As the last reload left it.
    pub(crate) applied: Setup,
}

#[derive(Default)]
pub(crate) struct Doors {
    pub(crate) http: Option<doors::http::HttpRunning>,
    smtp: Option<doors::smtp::SmtpRunning>,
    smpp: Option<doors::smpp::SmppRunning>,
    topics: Option<doors::topic::TopicsRunning>,
    pub(crate) diameter: Option<charging::server::Running>,
}

/// Everything in this process that speaks TLS does so by ring. A second call changes nothing.
pub fn choose_cryptography() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The wall clock. The only place that reads it for the server.
pub fn wall_clock() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// A runtime per core; each passes on who was woken by a sync of the bus.
fn cores() -> Result<Arc<net::Cores>, String> {
    let cores = net::Cores::one_per_core();
    let cores = cores.map_err(|error| format!("no threads for connections: {error}"))?;
    for core in 0..cores.count() {
        cores.spawn_on(core, bus::embedded::relay());
    }
    Ok(Arc::new(cores))
}

/// The engine, alone or among others.
async fn start(parts: Parts, member: Option<engine::Node>) -> Result<Engine, String> {
    let engine = match member {
        None => Engine::start(parts).await,
        Some(member) => Engine::join(parts, member).await,
    };
    engine.map_err(|error| error.to_string())
}

/// Everything the engine needs.
fn engine_parts(
    setup: &Setup,
    bus: &Arc<dyn bus::Bus>,
    store: &store::SharedStore,
    weigher: Arc<dyn engine::UnitsEstimator>,
    links: Arc<dyn engine::Links>,
    clock: Clock,
) -> Parts {
    Parts {
        bus: bus.clone(),
        store: store.clone(),
        routes: setup.routes.iter().map(|way| way.route.clone()).collect(),
        weigher,
        links,
        clock,
        settings: setup.engine.clone(),
        clients: setup.parties.clone(),
        texts: engine::TextCache::default(),
        directory: engine::DirectoryCache::default(),
    }
}

impl RunningServer {
    /// Builds the server. What fails is told in words; nothing is left running.
    pub async fn open(setup: Setup, reload: Option<doors::http::Reload>) -> Result<RunningServer, String> {
        RunningServer::open_with(setup, reload, EmptyBus::Refused).await
    }

    /// The same, with what becomes of an empty bus beside a database that has had one.
    ///
    /// # Errors
    /// As [`RunningServer::open`].
    pub async fn open_with(
        setup: Setup,
        reload: Option<doors::http::Reload>,
        empty_bus: EmptyBus,
    ) -> Result<RunningServer, String> {
        choose_cryptography();
        crate::data_folder::prepare(&setup)?;
        let OpenedStorage { store, bus, keys, node, outbox, lock } =
            crate::storage::open(&setup, empty_bus).await?;
        let clock: Clock = Arc::new(wall_clock);
        let links = links(&setup, &keys);
        let cores = cores()?;
        let parts_estimator = Arc::new(PartsEstimator::new(&setup.routes));
        let (weigher, answer_links) = (parts_estimator.clone(), links.clone());
        let parts = engine_parts(&setup, &bus, &store, weigher, answer_links, clock.clone());
        let member = member(node.as_ref(), &setup);
        let engine = start(parts, member.clone()).await?;
        let process = ProcessFacts::new(member.as_ref(), node.as_ref(), wall_clock());
        let live = LiveSettings::new(&setup, parts_estimator, bus.clone(), process)?;
        let simulators = crate::simulate::Simulators::start(&setup).await?;
        let mut context = gateway_context(&setup, &keys, &bus, &store, &cores);
        context.outbox = outbox;
        context.outbound = live.policies.outbound.clone();
        let rate_share = furnish(&mut context, &engine, member.as_ref())?;
        let among = node.as_ref().zip(rate_share.as_ref());
        let among = among.map(|(node, rate_share)| crate::message_funds::NodePlace {
            name: node.name.clone(),
            leads: rate_share.leads(),
        });
        let (ledger, paying) = crate::message_funds::open(&setup, &store, &mut context, among).await?;
        let forwarding = forwarding(&setup, &keys, node.is_some())?;
        let guessing = Arc::<doors::guessing::GuessingGuard>::default();
        let days = setup.retention.audit;
        let evidence = EvidenceKeeper::start(&engine, &store, keys.evidence()?, &setup.sources);
        let mut server = RunningServer {
            cluster: ClusterMember { node, rate_share, forwarding, _data_lock: lock },
            keepers: Keepers {
                first_token: None,
                retention: tokio::spawn(crate::retention::keep(setup.clone(), store.clone(), engine.clone())),
                audit: AuditKeeper::start(store.clone(), guessing.clone(), keys.audit(), days),
                evidence,
            },
            guessing,
            engine,
            store,
            bus,
            ledger,
            paying,
            admin_token: None,
            doors: Doors::default(),
            routes: RunningRoutes::new(context, simulators),
            tags: gateway::mail::tag::Tags::new(&keys.tags),
            live,
            config: AppliedConfig { built: setup.clone(), applied: setup.clone() },
            cores,
        };
        server.open_routes(&setup, &keys)?;
        server.open_doors(setup, &keys, clock, links, reload).await?;
        Ok(server)
    }

    /// This process drives the route of this name.
    pub(crate) fn drives(&self, route: &str) -> bool {
        self.cluster.drives(route)
    }

    /// The API shows this config; the first one counts.
    pub(crate) fn show_config(&self, config: Arc<dyn doors::http::ConfigAccess>) {
        let _ = self.live.policies.server.config.set(config);
    }

    /// The API lets people break these carriers.
    pub(crate) fn show_demo(&self, carriers: Arc<dyn doors::http::DemoCarriers>) {
        let _ = self.live.policies.server.demo.set(carriers);
    }

    /// Makes one-time links that sign users in at the HTTP door.
    pub(crate) fn sign_in_links(&self) -> Option<doors::http::SignInLinks> {
        self.doors.http.as_ref().map(doors::http::HttpRunning::sign_in_links)
    }

    fn open_routes(&mut self, setup: &Setup, keys: &Keys) -> Result<(), String> {
        for configured in &setup.routes {
            if self.drives(&configured.route.name) {
                self.routes.open(configured)?;
            }
        }
        self.routes.open_notices(setup, keys)
    }

    async fn open_doors(
        &mut self,
        setup: Setup,
        keys: &Keys,
        clock: Clock,
        links: Arc<AnswerLinks>,
        reload: Option<doors::http::Reload>,
    ) -> Result<(), String> {
        let peers = Arc::<SessionNotifier>::default();
        let live_tokens = Arc::<doors::LiveTokens>::default();
        let ledger = self.ledger_access(&setup, peers.clone());
        let gatekeeper = doors::Gatekeeper {
            guessing: self.guessing.clone(),
            ..doors::Gatekeeper::new(crate::descriptors::budget())
        };
        if let Some(http) = setup.http {
            let deps = doors::http::Deps {
                engine: self.engine.clone(),
                store: self.store.clone(),
                media: setup.media.clone(),
                clock: clock.clone(),
                secrets: doors::http::DoorSecrets {
                    audit: self.keepers.audit.key(),
                    callbacks: keys.account_callbacks(setup.callbacks.secret.clone()),
                    users: keys.users(),
                    evidence: self.keepers.evidence.key(),
                },
                links,
                messages: Arc::new(self.engine.messages()),
                live_tokens: live_tokens.clone(),
                guessing: gatekeeper.guessing.clone(),
                policies: self.live.policies.clone(),
                forget_elsewhere: crate::retention::forget_elsewhere(&setup.retention, &setup.data),
                reload,
                ledger,
                metrics: crate::metering::handle(),
                forwarding: self.cluster.forwarding.clone(),
            };
            let http = doors::http::HttpConfig { console: crate::static_files::embedded(), ..http };
            let door = doors::http::serve(http, deps).await.map_err(|error| error.to_string())?;
            self.doors.http = Some(door);
        }
        let doors = self.cluster.opens_doors();
        if let Some(smtp) = setup.smtp.filter(|_| doors) {
            self.open_smtp(smtp, clock.clone(), gatekeeper.clone()).await?;
        }
        if let Some(smpp) = setup.smpp.filter(|_| doors) {
            let deps = doors::smpp::SmppDeps {
                intake: Arc::new(self.engine.messages()),
                clients: self.live.clients.clone(),
                bus: self.bus.clone(),
                clock: clock.clone(),
                cores: self.cores.clone(),
                gatekeeper: gatekeeper.clone(),
            };
            let door = doors::smpp::start(smpp.config, deps).await.map_err(|error| error.to_string())?;
            self.doors.smpp = Some(door);
        }
        if let Some(topics) = setup.topics {
            self.open_topics(topics, clock, live_tokens, gatekeeper).await?;
        }
        let diameter = setup.diameter.map(|diameter| self.credit_control(diameter, doors));
        self.open_credit_control(diameter.flatten(), peers).await
    }

    async fn open_topics(
        &mut self,
        topics: doors::topic::TopicsConfig,
        clock: Clock,
        live_tokens: Arc<doors::LiveTokens>,
        gatekeeper: doors::Gatekeeper,
    ) -> Result<(), String> {
        let people = self.line_people(clock);
        let deps = doors::topic::TopicsDeps {
            bus: self.bus.clone(),
            token_check: doors::topic::by_tokens(self.store.clone(), live_tokens),
            cores: self.cores.clone(),
            gatekeeper,
            people: Some(people),
        };
        let door = doors::topic::start(topics, deps).await.map_err(|error| error.to_string())?;
        self.doors.topics = Some(door);
        Ok(())
    }

    /// What the topic door needs for people who log in.
    fn line_people(&self, clock: Clock) -> doors::topic::PeopleDeps {
        let key = self.keepers.audit.key();
        crate::line_sessions::people(&self.engine, self.routes.lines(), clock, &key)
    }

    async fn open_smtp(
        &mut self,
        smtp: doors::smtp::SmtpConfig,
        clock: Clock,
        gatekeeper: doors::Gatekeeper,
    ) -> Result<(), String> {
        let deps = doors::smtp::SmtpDeps {
            bus: self.bus.clone(),
            tags: Arc::new(crate::parts_estimator::TagsOf(self.tags.clone())),
            address_of: crate::parts_estimator::address_of(self.store.clone()),
            clock,
            cores: self.cores.clone(),
            gatekeeper,
        };
        let door = doors::smtp::serve(smtp, deps).await.map_err(|error| format!("the SMTP door: {error}"))?;
        self.doors.smtp = Some(door);
        Ok(())
    }

    /// The ledger, as the HTTP door shows it.
    fn ledger_access(&self, setup: &Setup, peers: Arc<SessionNotifier>) -> Option<doors::http::LedgerAccess> {
        let ledger = self.ledger.clone()?;
        let books = Books::kept(ledger, crate::message_funds::kept(setup, &self.store));
        Some(doors::http::LedgerAccess { books: books.with_clients(peers.clone()), peers })
    }

    /// The Diameter node of this process. One without doors is needed to ask charging servers alone.
    fn credit_control(
        &self,
        mut diameter: charging::server::ServerConfig,
        doors: bool,
    ) -> Option<charging::server::ServerConfig> {
        let asks = self.paying.external.is_some();
        if let Some(node) = self.cluster.node.as_ref().filter(|_| asks) {
            let name =
                charging::message_charging::external::connection_name(&node.name, &diameter.origin_host);
            diameter.connects_as = Some(name);
        }
        if !doors {
            (diameter.listen, diameter.tls_listen) = (None, None);
            diameter.sctp_listen.clear();
        }
        (doors || asks).then_some(diameter)
    }

    async fn open_credit_control(
        &mut self,
        diameter: Option<charging::server::ServerConfig>,
        peers: Arc<SessionNotifier>,
    ) -> Result<(), String> {
        if let Some((diameter, ledger)) = diameter.zip(self.ledger.clone()) {
            let started = charging::server::start(
                diameter,
                ledger,
                peers,
                self.cores.clone(),
                crate::descriptors::budget(),
            )
            .await;
            let door = started.map_err(|error| error.to_string())?;
            if let Some(external) = &self.paying.external {
                external.attach(door.charging_servers());
            }
            self.doors.diameter = Some(door);
        }
        Ok(())
    }

    /// Where the HTTP door listens.
    pub fn http(&self) -> Option<SocketAddr> {
        self.doors.http.as_ref().map(|door| door.address())
    }

    /// Where the SMTP door listens.
    pub fn smtp(&self) -> Option<SocketAddr> {
        self.doors.smtp.as_ref().map(|door| door.address())
    }

    /// Where the SMPP door listens, in the clear and by TLS.
    pub fn smpp(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        self.doors.smpp.as_ref().map_or((None, None), |door| (door.address(), door.tls_address()))
    }

    /// Where the topic door listens, in the clear and by TLS.
    pub fn topics(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        self.doors.topics.as_ref().map_or((None, None), |door| (door.address(), door.tls_address()))
    }

    /// Where the credit-control server listens, in the clear and by TLS.
    pub fn diameter(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        self.doors.diameter.as_ref().map_or((None, None), |door| (door.address(), door.tls_address()))
    }

    /// Resolves when somebody ends the server by a door: EXIT, where that is configured to.
    pub fn ended(&self) -> impl Future<Output = ()> + use<> {
        let exit = self.doors.topics.as_ref().map(|door| door.exit());
        async move {
            if let Some(mut exit) = exit
                && exit.wait_for(|exit| *exit).await.is_ok()
            {
                return;
            }
            std::future::pending().await
        }
    }

    /// The simulators, to be asked what came.
    pub fn simulators(&self) -> &crate::simulate::Simulators {
        self.routes.simulators()
    }

    /// Doors first, so that nothing new comes in; then the gateways drain; then the engine folds; then the
    /// store closes.
    pub async fn close(mut self) {
        if let Some(door) = self.doors.http {
            door.stop().await;
        }
        if let Some(door) = self.doors.smtp {
            door.stop().await;
        }
        if let Some(door) = self.doors.smpp {
            door.stop().await;
        }
        if let Some(door) = self.doors.topics {
            door.stop().await;
        }
        self.routes.stop().await;
        self.keepers.retention.abort();
        self.keepers.evidence.stop();
        if let Some(waiting) = &self.keepers.first_token {
            waiting.abort();
        }
        self.keepers.audit.stop().await;
        if let Some(rate_share) = self.cluster.rate_share {
            rate_share.stop().await;
        }
        self.engine.stop().await;
        if let Some(settling) = self.paying.settling {
            settling.stop().await;
        }
        // What was settled may have gone out by it.
        if let Some(door) = self.doors.diameter {
            door.stop().await;
        }
        if let Some(ledger) = self.ledger {
            crate::message_funds::close(ledger).await;
        }
        if let Err(error) = self.store.close().await {
            tracing::error!(%error, "the store did not close cleanly");
        }
        self.cores.stop();
    }
}

/// Links in messages, behind which people answer.
fn links(setup: &Setup, keys: &Keys) -> Arc<AnswerLinks> {
    let public_url = setup.http.as_ref().and_then(|http| http.public_url.as_deref());
    Arc::new(AnswerLinks::new(&keys.links, public_url))
}

/// The handles every gateway is given.
fn gateway_context(
    setup: &Setup,
    keys: &Keys,
    bus: &Arc<dyn bus::Bus>,
    store: &SharedStore,
    cores: &Arc<net::Cores>,
) -> GatewayContext {
    let mut context = GatewayContext::new(Arc::clone(bus), Arc::new(wall_clock), Arc::clone(cores));
    context.signing_key = Arc::from(&keys.tags[..]);
    context.callback_urls = Some(Arc::new(crate::parts_estimator::CallbackUrlsOf(links(setup, keys))));
    let documents = StoredDocuments { store: store.clone(), media: setup.media.clone() };
    context.documents = Some(Arc::new(documents));
    context
}

/// What gateways know beside the bus: how far behind the engine is, and the other processes.
fn furnish(
    context: &mut GatewayContext,
    engine: &Engine,
    member: Option<&engine::Node>,
) -> Result<Option<crate::rate_share::RateShare>, String> {
    let behind = engine.behind();
    context.behind = Arc::new(move || behind.load(Ordering::Relaxed));
    context.write_observer = crate::write_trace::write_observer()?;
    member.map(|member| crate::rate_share::share(context, &member.name, member.lease, engine)).transpose()
}

/// This process, as the others see it: under another name at every start, so that nothing of the one before
/// is taken for its own.
fn member(node: Option<&NodeSetup>, setup: &Setup) -> Option<engine::Node> {
    let node = node?;
    let listens = setup.http.as_ref().map(|http| http.listen.to_string()).unwrap_or_default();
    let start = uuid::Uuid::now_v7().as_simple().to_string();
    Some(engine::Node {
        name: format!("{}-{}", node.name, &start[start.len() - START_CHARS..]),
        address: node.address.clone().unwrap_or(listens),
        lease: node.lease,
        leads: node.engine,
    })
}

fn forwarding(setup: &Setup, keys: &Keys, shared: bool) -> Result<Option<doors::http::Forwarding>, String> {
    let tls = setup.http.as_ref().is_some_and(|http| http.tls.is_some());
    shared.then(|| doors::http::Forwarding::new(&keys.forwarding(), tls)).transpose()
}

/// Problems as lines.
pub(crate) fn listed(problems: &[engine::Problem]) -> String {
    let list: Vec<String> =
        problems.iter().map(|problem| format!("{}: {}", problem.field, problem.reason)).collect();
    list.join("\n")
}
