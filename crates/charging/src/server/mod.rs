//! The credit-control server: Diameter peers on one side, the ledger on the other.
//!
//! Each connection is a task on the runtime of one core. What one wake-up of it reads goes to the shards as
//! one batch each, and what came back until its next wake-up is written with one write: so one busy
//! connection uses all shards, and nothing is locked for a request.
//!
//! It also keeps connections to the peers that have an address (`connect`): such a peer is served on them as
//! on any other, and is asked (`ask`) where it is a charging server.
//!
//! - [`ServerConfig`]: where it listens, who may connect, limits.
//! - [`start`]: opens it. [`Running::stop`] says goodbye to each peer (DPR) once what it asked is answered.

mod admission;
mod amounts;
mod answer;
mod answer_cache;
mod ask;
mod config;
mod connect;
mod connection;
#[cfg(test)]
mod field_sessions;
mod final_unit;
#[doc(hidden)]
pub mod measure;
mod outgoing_requests;
mod peers;
mod pool;
mod read;
mod request_dispatcher;
mod request_template;
pub mod sctp;

pub use ask::{Asker, Back, Reply, SessionHolder, WAITING_MAX};
pub use config::{ConfigProblem, ConnectTo, PeerRule, PeerTimers, RECONNECT_MIN, ServerConfig, WATCHDOG_MIN};
pub use final_unit::FinalUnits;
pub use peers::{Connected, Transport};

use crate::session_notifier::SessionNotifier;
use answer::Identity;
use connect::Remote;
use connection::serve_accepted;
use diameter::dictionary::application;
use diameter::peer::{Application, ConnectionConfig};
use ledger::shard_threads::Ledger;
use net::{Cores, DescriptorBudget, Listener, ListenerLimits, TlsServer};
use peers::Peers;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Peers get so long to be answered and to agree when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// Our requests without an answer on one connection.
const REQUESTS_MAX: usize = 4_096;

/// Why the server could not be opened.
#[derive(Debug)]
pub struct ServerError {
    /// Which key of `[diameter]`.
    pub field: &'static str,
    /// In words.
    pub why: String,
}

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[diameter] {}: {}", self.field, self.why)
    }
}
impl std::error::Error for ServerError {}

/// What all connections have in common.
struct Server {
    ledger: Ledger,
    notifier: Arc<SessionNotifier>,
    config: Arc<ConnectionConfig>,
    /// Of connections that we begin.
    connecting: Arc<ConnectionConfig>,
    identity: Arc<Identity>,
    peers: Arc<Peers>,
    stop: watch::Sender<bool>,
    live: AtomicUsize,
    seed: AtomicU64,
}

/// A server that is open.
pub struct Running {
    address: Option<SocketAddr>,
    tls_address: Option<SocketAddr>,
    sctp_address: Option<SocketAddr>,
    server: Arc<Server>,
    cores: Arc<Cores>,
    tasks: Vec<JoinHandle<()>>,
}

impl Running {
    /// Where it listens in the clear.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Where it listens by TLS.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls_address
    }

    /// Where it listens by SCTP; the first of several addresses.
    pub fn sctp_address(&self) -> Option<SocketAddr> {
        self.sctp_address
    }

    /// From now on these may connect, and are connected to. Who connected stays; what we began to a peer that
    /// is not there any more ends.
    pub fn change_peers(&self, peers: Vec<PeerRule>) {
        self.server.peers.replace(peers.clone());
        if let Err(error) = self.connect_to(&peers) {
            tracing::error!(%error, "a Diameter peer is not connected to");
        }
    }

    /// Keeps connections to these, and ends those to others. Who stays as it was keeps its connection.
    fn connect_to(&self, rules: &[PeerRule]) -> Result<(), ServerError> {
        let server = &self.server;
        let before = server.peers.remotes();
        let mut after = HashMap::new();
        let mut wrong = None;
        for (rule, to) in rules.iter().filter_map(|rule| rule.connect.as_ref().map(|to| (rule, to))) {
            let key = diameter::peer::Peer::key(&rule.origin_host);
            let remote = match before.get(&key).filter(|remote| remote.rule == *rule) {
                Some(remote) => Ok(Arc::clone(remote)),
                None => Remote::new(rule, to, &server.connecting, server.next_seed()),
            };
            match remote {
                Ok(remote) => drop(after.insert(key, remote)),
                Err(why) => wrong = Some(ServerError { field: "peer", why }),
            }
        }
        let is_in = |remotes: &HashMap<String, Arc<Remote>>, key: &str, remote: &Arc<Remote>| {
            remotes.get(key).is_some_and(|other| Arc::ptr_eq(other, remote))
        };
        server.peers.set_remotes(after.clone());
        before.iter().filter(|(key, remote)| !is_in(&after, key, remote)).for_each(|(_, gone)| gone.remove());
        for (_, remote) in after.iter().filter(|(key, remote)| !is_in(&before, key, remote)) {
            tokio::spawn(Arc::clone(remote).keep(Arc::clone(server), Arc::clone(&self.cores)));
        }
        wrong.map_or(Ok(()), Err)
    }

    /// The peers that are charging servers, also those of a later reload.
    pub fn charging_servers(&self) -> ChargingServers {
        ChargingServers(Arc::clone(&self.server.peers))
    }

    /// Whoever is connected.
    pub fn peers(&self) -> Vec<Connected> {
        self.server.peers.list()
    }

    /// Listens no more, answers what was asked, says goodbye, and returns when all have gone, or a little
    /// later.
    pub async fn stop(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        self.server.stop.send_replace(true);
        let begin = Instant::now();
        while self.server.live.load(Ordering::Acquire) > 0 {
            if begin.elapsed() > GRACE {
                tracing::warn!("Diameter peers did not leave in time");
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Opens the server; its connections are entered in `notifier`.
///
/// # Errors
/// A setting that cannot be, an address that cannot be listened on.
pub async fn start(
    config: ServerConfig,
    ledger: Ledger,
    notifier: Arc<SessionNotifier>,
    cores: Arc<Cores>,
    descriptors: Arc<DescriptorBudget>,
) -> Result<Running, ServerError> {
    if let Some(problem) = config.problems().into_iter().next() {
        return Err(ServerError { field: problem.field, why: problem.why });
    }
    let client_ca = config.tls_client_ca.as_deref();
    let tls = config.tls.as_ref().map(|tls| TlsServer::asking(tls, client_ca)).transpose();
    let tls = tls.map_err(|error| ServerError { field: error.field, why: error.why })?;
    let peers = Peers::new(config.peers.clone(), Arc::clone(ledger.kept()));
    let identity = Identity::new(&config.origin_host, &config.origin_realm, &config.final_units);
    let server = Arc::new(Server {
        config: Arc::new(machine(&config)),
        connecting: Arc::new(connecting(&config)),
        identity: Arc::new(identity.among_others(ledger.is_shared())),
        ledger,
        notifier,
        peers,
        stop: watch::Sender::new(false),
        live: AtomicUsize::new(0),
        seed: AtomicU64::new(fresh_seed()),
    });
    let mut running =
        Running { address: None, tls_address: None, sctp_address: None, server, cores, tasks: Vec::new() };
    let admission = ListenerLimits::of_door("diameter", config.limits.clone(), descriptors);
    for (field, listen, tls) in [("listen", config.listen, None), ("listen_tls", config.tls_listen, tls)] {
        let Some(listen) = listen else { continue };
        let cannot =
            |error: std::io::Error| ServerError { field, why: format!("cannot listen on {listen}: {error}") };
        let listener = Listener::bind(&listen.to_string(), admission.clone()).await.map_err(cannot)?;
        let address = Some(listener.address().map_err(cannot)?);
        if tls.is_some() {
            running.tls_address = address
        } else {
            running.address = address
        }
        running.serve(listener, tls, None);
    }
    running.open_sctp(&config, admission)?;
    running.connect_to(&config.peers)?;
    Ok(running)
}

impl Running {
    fn open_sctp(&mut self, config: &ServerConfig, admission: ListenerLimits) -> Result<(), ServerError> {
        if config.sctp_listen.is_empty() {
            return Ok(());
        }
        let otherwise = config.listen.is_some() || config.tls_listen.is_some();
        if let Some(listener) = sctp::bind(&config.sctp_listen, admission, otherwise)? {
            self.sctp_address = listener.address().ok();
            // Each address we may send from is told (RFC 6733, section 5.3.5).
            let mut machine = machine(config);
            let told = config.sctp_listen.iter().map(SocketAddr::ip).filter(|ip| !ip.is_unspecified());
            machine.identity.host_addresses = told.collect();
            self.serve(listener, None, Some(Arc::new(machine)));
        }
        Ok(())
    }

    /// Serves whoever connects here; `sctp` is the machine's settings where it is SCTP.
    fn serve(&mut self, listener: Listener, tls: Option<TlsServer>, sctp: Option<Arc<ConnectionConfig>>) {
        let transport = match (&tls, &sctp) {
            (Some(_), _) => Transport::Tls,
            (None, Some(_)) => Transport::Sctp,
            (None, None) => Transport::Tcp,
        };
        let (server, cores) = (Arc::clone(&self.server), Arc::clone(&self.cores));
        let config = sctp.unwrap_or_else(|| Arc::clone(&server.config));
        self.tasks.push(tokio::spawn(async move {
            let each = move |stream, peer, place| {
                serve_accepted(Arc::clone(&server), Arc::clone(&config), stream, (peer, transport), place)
            };
            listener.serve(&cores, tls, each).await;
        }));
    }
}

fn machine(config: &ServerConfig) -> ConnectionConfig {
    let mut identity = diameter::peer::Identity::new(
        &config.origin_host,
        &config.origin_realm,
        Application::auth(application::CREDIT_CONTROL),
    );
    let vendor = diameter::dictionary::vendor::TGPP;
    identity.supported_vendors = vec![vendor];
    // Ro and Gy are credit control itself (TS 32.299, section 6.1.2), without a vendor; but a client that
    // looks for vendor and application together (Kamailio's cdp) finds no other way to us.
    let id = application::CREDIT_CONTROL;
    identity.applications.push(Application { id, is_accounting: false, vendor });
    let mut machine = ConnectionConfig::new(identity);
    machine.strictness = config.strictness;
    machine.message_octets_max = config.message_octets_max;
    machine.owed_max = config.window;
    machine.tw = config.timers.watchdog;
    machine.tc = config.timers.reconnect;
    // Of our own requests.
    machine.window = REQUESTS_MAX;
    machine
}

/// As who begins a connection.
fn connecting(config: &ServerConfig) -> ConnectionConfig {
    let mut machine = machine(config);
    if let Some(name) = &config.connects_as {
        machine.identity.origin_host.clone_from(name);
    }
    machine
}

/// Different at each start: identifiers and jitter come of it.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// The peers that are charging servers, whoever that is at the moment.
#[derive(Clone)]
pub struct ChargingServers(Arc<Peers>);

impl ChargingServers {
    /// From now on what they ask by themselves is asked of this. Said once.
    pub fn tell(&self, holder: Box<dyn SessionHolder>) {
        self.0.set_holder(holder);
    }

    /// All of them, in the order in which they are asked.
    pub fn list(&self) -> Vec<Arc<Asker>> {
        let remotes = self.0.remotes();
        let mut all: Vec<Arc<Asker>> = remotes.values().filter_map(|remote| remote.asker.clone()).collect();
        all.sort_by(|one, other| (one.place, &one.host).cmp(&(other.place, &other.host)));
        all
    }
}

impl Server {
    fn next_seed(&self) -> u64 {
        self.seed.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed)
    }
}
