//! The credit-control server: Diameter peers on one side, the ledger on the other.
//!
//! Each connection is a task on the runtime of one core. What one wake-up of it reads goes to the shards as one batch each, and what came
//! back until its next wake-up is written with one write: so one busy connection uses all shards, and nothing is locked for a request.
//!
//! - [`ServerConfig`]: where it listens, who may connect, limits.
//! - [`start`]: opens it. [`Running::stop`] says goodbye to each peer (DPR) once what it asked is answered.

mod amounts;
mod answer;
mod config;
mod desk;
#[doc(hidden)]
pub mod measure;
mod peers;
mod read;
mod shape;
mod tail;
mod talk;

pub use config::{ConfigProblem, PeerRule, ServerConfig, WATCHDOG_MIN};
pub use peers::Connected;

use crate::ledger::owner::Ledger;
use answer::Identity;
use desk::Desk;
use diameter::dictionary::application;
use diameter::peer::{Application, Config, Connection, Start};
use net::{Cores, Link, Listener, Stream, TlsServer, drive};
use peers::Peers;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use talk::{Talk, Usher};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Peers get so long to be answered and to agree when the server stops.
const GRACE: Duration = Duration::from_secs(10);

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
    config: Arc<Config>,
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
    server: Arc<Server>,
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

    /// From now on these may connect. Who is connected stays.
    pub fn change_peers(&self, peers: Vec<PeerRule>) {
        self.server.peers.replace(peers);
    }

    /// Whoever is connected.
    pub fn peers(&self) -> Vec<Connected> {
        self.server.peers.list()
    }

    /// Listens no more, answers what was asked, says goodbye, and returns when all have gone, or a little later.
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

/// Opens the server.
///
/// # Errors
/// A setting that cannot be, an address that cannot be listened on.
pub async fn start(config: ServerConfig, ledger: Ledger, cores: Arc<Cores>) -> Result<Running, ServerError> {
    if let Some(problem) = config.problems().into_iter().next() {
        return Err(ServerError { field: problem.field, why: problem.why });
    }
    let tls = config.tls.as_ref().map(TlsServer::new).transpose();
    let tls = tls.map_err(|error| ServerError { field: error.field, why: error.why })?;
    let server = Arc::new(Server {
        ledger,
        config: Arc::new(machine(&config)),
        identity: Arc::new(Identity::new(&config.origin_host, &config.origin_realm)),
        peers: Peers::new(config.peers.clone()),
        stop: watch::Sender::new(false),
        live: AtomicUsize::new(0),
        seed: AtomicU64::new(fresh_seed()),
    });
    let mut running = Running { address: None, tls_address: None, server, tasks: Vec::new() };
    for (field, listen, tls) in [("listen", config.listen, None), ("listen_tls", config.tls_listen, tls)] {
        let Some(listen) = listen else { continue };
        let cannot =
            |error: std::io::Error| ServerError { field, why: format!("cannot listen on {listen}: {error}") };
        let listener = Listener::bind(&listen.to_string(), config.connections_max).await.map_err(cannot)?;
        let address = Some(listener.address().map_err(cannot)?);
        let by_tls = tls.is_some();
        if by_tls {
            running.tls_address = address
        } else {
            running.address = address
        }
        let (server, cores) = (Arc::clone(&running.server), Arc::clone(&cores));
        running.tasks.push(tokio::spawn(async move {
            let each = move |stream, peer| converse(Arc::clone(&server), stream, peer, by_tls);
            listener.serve(&cores, tls, each).await;
        }));
    }
    Ok(running)
}

fn machine(config: &ServerConfig) -> Config {
    let mut identity = diameter::peer::Identity::new(
        &config.origin_host,
        &config.origin_realm,
        Application::auth(application::CREDIT_CONTROL),
    );
    identity.supported_vendors = vec![diameter::dictionary::vendor::TGPP];
    let mut machine = Config::new(identity);
    machine.message_octets_max = config.message_octets_max;
    machine.owed_max = config.window;
    machine.tw = config.watchdog;
    machine
}

/// Different at each start: identifiers and jitter come of it.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// Counts a connection for as long as it is.
struct Alive(Arc<Server>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, Ordering::AcqRel);
    }
}

async fn converse(server: Arc<Server>, stream: Stream, peer: SocketAddr, by_tls: bool) {
    server.live.fetch_add(1, Ordering::AcqRel);
    let alive = Alive(Arc::clone(&server));
    let local = stream.tcp().local_addr().map_or(IpAddr::from([127, 0, 0, 1]), |local| local.ip());
    let seed = server.seed.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
    let start = Start { local, is_secured: by_tls, watchdog: None, seed };
    let connection = Connection::listening(Arc::clone(&server.config), start, Instant::now());
    let desk = Desk::new(server.ledger.clone(), Arc::clone(&server.identity));
    let mut usher = Usher {
        peers: Arc::clone(&server.peers),
        from: peer.ip(),
        by_tls,
        stopping: server.stop.subscribe(),
        inbox: desk.inbox(),
        asked: None,
        place: None,
        said_goodbye: false,
    };
    let mut talk = Talk { connection, desk };
    let end = drive(&mut Link::new(stream), &mut talk, &mut usher).await;
    tracing::debug!(%peer, ?end, "a Diameter connection ended");
    drop(alive);
}
