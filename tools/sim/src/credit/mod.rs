//! A credit-control server of others: a real listener that speaks Diameter (RFC 6733, RFC 8506), for drills
//! and development of who pays there.
//!
//! Every subscriber has the same balance to begin with; a service-specific unit, a second and a million
//! octets (begun) cost 1 each. It reserves, takes and frees, for each Multiple-Services-Credit-Control its
//! own or for the units at the top of a request, knows its duplicates, and answers late, with a refusal or
//! not at all, as its [`CreditServerOptions`] say. Money, and units without a price, get 5031.

mod book;
pub mod client;
mod connection;
mod service;
#[cfg(test)]
mod tests;

pub use book::Stats;

use crate::chance::Delay;
use book::Book;
use connection::{ServerConnection, Usher};
use diameter::peer::{Application, Connection, ConnectionConfig, Identity, Start};
use net::{Link, Stream, drive};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// After an error of `accept` wait so long before the next.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What the server is and does.
#[derive(Debug, Clone, PartialEq)]
pub struct CreditServerOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: String,
    /// Its DiameterIdentity.
    pub origin_host: String,
    /// Its realm.
    pub origin_realm: String,
    /// What each subscriber has to begin with.
    pub balance: u64,
    /// How long answers take.
    pub latency: Delay,
    /// Share of the requests that are refused with `refused_with`, and move nothing.
    pub refused: f64,
    /// A Result-Code.
    pub refused_with: u32,
    /// Share of the answers that are never sent, though what they say was done.
    pub lost: f64,
    /// Decides whom the shares hit.
    pub seed: u64,
}

impl Default for CreditServerOptions {
    fn default() -> CreditServerOptions {
        CreditServerOptions {
            listen: "127.0.0.1:0".to_owned(),
            origin_host: "ocs.sim.example".to_owned(),
            origin_realm: "sim.example".to_owned(),
            balance: 1_000_000,
            latency: Delay::NONE,
            refused: 0.0,
            refused_with: diameter::result_code::TOO_BUSY,
            lost: 0.0,
            seed: 1,
        }
    }
}

impl CreditServerOptions {
    /// Whether they can be.
    ///
    /// # Errors
    /// The field that cannot be.
    pub fn check(&self) -> Result<(), String> {
        for (name, share) in [("refused", self.refused), ("lost", self.lost)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{name}: {share} is not a share from 0 to 1"));
            }
        }
        if !(3_000..6_000).contains(&self.refused_with) {
            return Err(format!("refused_with: {} is no Result-Code from 3000 to 5999", self.refused_with));
        }
        if self.origin_host.is_empty() || self.origin_realm.is_empty() {
            return Err("origin_host and origin_realm are needed".to_owned());
        }
        Ok(())
    }
}

/// What all connections share.
struct Shared {
    options: CreditServerOptions,
    config: Arc<ConnectionConfig>,
    book: Mutex<Book>,
    seed: AtomicU64,
}

/// A running server. Dropping it ends it and all its connections.
pub struct Ocs {
    shared: Arc<Shared>,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Ocs {
    /// Listens, on the runtime this is called in.
    ///
    /// # Errors
    /// Options that cannot be (`InvalidInput`), an address that is taken.
    pub async fn start(options: CreditServerOptions) -> io::Result<Ocs> {
        options.check().map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let listener = TcpListener::bind(&options.listen).await?;
        let address = listener.local_addr()?;
        let application = Application::auth(diameter::dictionary::application::CREDIT_CONTROL);
        let identity = Identity::new(&options.origin_host, &options.origin_realm, application);
        let shared = Arc::new(Shared {
            config: Arc::new(ConnectionConfig::new(identity)),
            book: Mutex::new(Book::new(options.balance)),
            seed: AtomicU64::new(options.seed),
            options,
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Ocs { shared, address, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What came, and what all subscribers together have used.
    pub fn stats(&self) -> Stats {
        self.shared.book.lock().unwrap_or_else(PoisonError::into_inner).stats()
    }
}

impl Drop for Ocs {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // They end with this task.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let accepted = listener.accept().await;
        while connections.try_join_next().is_some() {}
        match accepted.and_then(|(tcp, _)| Stream::plain(tcp)) {
            Ok(stream) => drop(connections.spawn(converse(Arc::clone(&shared), stream))),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn converse(shared: Arc<Shared>, stream: Stream) {
    let Ok(local) = stream.local() else { return };
    let seed = shared.seed.fetch_add(1, Ordering::Relaxed);
    let start = Start { local: local.ip(), is_secured: false, watchdog: None, seed };
    let connection = Connection::listening(Arc::clone(&shared.config), start, Instant::now());
    let mut connection = ServerConnection::new(connection, shared, seed);
    let end = drive(&mut Link::new(stream), &mut connection, &mut Usher::default()).await;
    tracing::debug!(?end, "a connection ended");
}

/// Runs a server until Ctrl-C.
///
/// # Errors
/// As [`Ocs::start`].
pub fn run(options: CreditServerOptions) -> io::Result<()> {
    crate::run_until_told(async {
        let ocs = Ocs::start(options).await?;
        let address = ocs.address();
        Ok((ocs, (address, None)))
    })
}
