//! The bus over NATS JetStream: many processes, one set of topics.
//!
//! ```text
//! topic NAME           stream PREFIX-t-TOKEN, subject PREFIX.t.TOKEN; an index is the stream's sequence less one
//! group G of NAME      durable pull consumer G of that stream
//! retained topic NAME  stream PREFIX-r-TOKEN, subjects PREFIX.r.TOKEN.KEY, the last message of each
//! ```
//!
//! Invariants worth naming:
//! - Every append carries a key of its own (`Nats-Msg-Id`): one whose answer got lost is sent again and never
//!   stands there twice.
//! - An append of several records is one atomic batch: readers see all of it or nothing.
//! - What the servers say they keep is compared with what was asked, field by field: an old server drops what
//!   it does not know.
//! - Every topic is kept in files, also one opened as `Memory`: a stream in memory would begin at its first
//!   index again after all servers were down, and an index is never given out twice. How often a server syncs
//!   is its operator's to say (`sync_interval: always`); by default it acknowledges before.
//! - Nothing is tried for ever: what the servers do not answer within [`ANSWERED_WITHIN`] is
//!   [`BusError::Unreachable`].

mod api;
mod append;
mod filling;
mod follow;
mod group;
mod link;
mod name;
mod read;
mod retained;
mod stream;
mod topic;
mod watch;
mod words;

#[cfg(test)]
mod tests;

use crate::{Bus, BusError, Durability, Group, GroupSettings, Retained, Topic, TopicSettings};
pub use filling::Filling;
use group::NatsGroup;
use link::NatsLink;
use retained::NatsRetained;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use topic::NatsTopic;

/// The oldest nats-server that has what is used: atomic batches (2.12), time to live of a message and batched
/// reads (2.11).
pub const SERVER_VERSION_MIN: (u32, u32) = (2, 12);
/// What the servers do not answer for so long is given up: a failover takes 4 to 7 s, a stalled machine more.
pub const ANSWERED_WITHIN: Duration = Duration::from_secs(30);
/// An append is at most so many records: what one atomic batch may hold.
pub const APPEND_RECORDS_MAX: usize = 1_000;
/// At the end of a bus what is held goes to others; nobody waits longer for that.
const HAND_IN_WITHIN: Duration = Duration::from_secs(1);
/// A consumer's lease, where nothing else is said.
pub const LEASE: Duration = Duration::from_secs(30);

/// Who we are to the servers. `Debug` shows which kind, never a secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Credentials {
    /// As the address says (`nats://user:password@host`), else nobody.
    #[default]
    Address,
    /// A user with a password.
    User {
        /// The name.
        name: String,
        /// The password.
        password: String,
    },
    /// A token.
    Token(String),
    /// The seed of an nkey.
    Nkey(String),
    /// A file of credentials (a JWT with its seed).
    File(PathBuf),
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Credentials::Address => "Address",
            Credentials::User { .. } => "User",
            Credentials::Token(_) => "Token",
            Credentials::Nkey(_) => "Nkey",
            Credentials::File(_) => "File",
        })
    }
}

/// How the way to the servers is protected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NatsTls {
    /// Nothing goes over the wire in the clear. A server that asks for TLS gets it anyway.
    pub required: bool,
    /// Authorities to trust besides the system's: a PEM file.
    pub roots: Option<PathBuf>,
    /// Our own certificate and key: PEM files.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// How a bus over NATS is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsOptions {
    /// On how many servers each record is: 1, 3 or 5.
    pub replicas: usize,
    /// What the names of all streams begin with: `[A-Za-z0-9_-]`, at most [`name::PREFIX_OCTETS_MAX`] octets.
    /// One installation has one prefix.
    pub prefix: String,
    /// After so long without a sign of life from its taker a record is given to another. Whoever makes a
    /// group first decides.
    pub lease: Duration,
    /// How often the servers sync, which their operator says to them and here: [`Durability::Disk`] where
    /// they run with `sync_interval: always`. What waits together then goes together, since each message
    /// costs a sync.
    pub durability: Durability,
    /// Who we are to the servers.
    pub credentials: Credentials,
    /// How the way to them is protected.
    pub tls: NatsTls,
    /// How long the first connection is tried.
    pub connected_within: Duration,
}

impl Default for NatsOptions {
    fn default() -> NatsOptions {
        NatsOptions {
            replicas: 1,
            prefix: "campanile".to_owned(),
            lease: LEASE,
            durability: Durability::Os,
            credentials: Credentials::default(),
            tls: NatsTls::default(),
            connected_within: ANSWERED_WITHIN,
        }
    }
}

/// Opens the bus. `url` names one or several servers of a cluster: `nats://a:4222,b:4222,c:4222` (`tls://`
/// asks for TLS). The other members of the cluster are learned from the first that answers, unless its
/// servers do not tell (`no_advertise`): then only those that are named are ever tried.
///
/// # Errors
/// [`BusError::Unreachable`] if no server answers in time, or refuses who we are; [`BusError::Unfit`] if a
/// server is too old, has no JetStream, or cannot keep what is asked.
pub fn open(url: &str, options: NatsOptions) -> Result<Arc<dyn Bus>, BusError> {
    Ok(Arc::new(Nats::open(url, options)?))
}

/// The bus over NATS JetStream.
pub struct Nats {
    link: Arc<NatsLink>,
    runtime: Option<tokio::runtime::Runtime>,
    topics: Mutex<HashMap<String, Arc<NatsTopic>>>,
    groups: Mutex<HashMap<(String, String), Arc<NatsGroup>>>,
    retained: Mutex<HashMap<String, Arc<NatsRetained>>>,
    /// Held while the servers are asked for a topic or group: two openings of one must come to one handle,
    /// and who wants what is open already does not wait for them.
    opening: Mutex<()>,
}

impl Nats {
    /// Opens the bus: see [`open`].
    pub fn open(url: &str, options: NatsOptions) -> Result<Nats, BusError> {
        name::check_prefix(&options.prefix)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("bus-nats")
            .enable_all()
            .build()
            .map_err(|error| BusError::Unreachable { why: format!("starting threads: {error}") })?;
        let link = match NatsLink::open(runtime.handle(), url, options) {
            Ok(link) => link,
            Err(error) => {
                // Dropping a runtime waits for it, which an async caller's thread may not.
                runtime.shutdown_background();
                return Err(error);
            }
        };
        Ok(Nats {
            link,
            runtime: Some(runtime),
            topics: Mutex::default(),
            groups: Mutex::default(),
            retained: Mutex::default(),
            opening: Mutex::default(),
        })
    }

    /// The caller holds `opening`.
    fn open_topic(&self, name: &str, settings: &TopicSettings) -> Result<Arc<NatsTopic>, BusError> {
        let before = lock(&self.topics).get(name).cloned();
        let opened = NatsTopic::open(&self.link, name, Some(settings), before)?;
        lock(&self.topics).insert(name.to_owned(), opened.clone());
        Ok(opened)
    }

    /// A topic as it is kept already, by whomever; made if it is not there. The caller holds `opening`.
    fn any_topic(&self, name: &str) -> Result<Arc<NatsTopic>, BusError> {
        if let Some(topic) = lock(&self.topics).get(name) {
            return Ok(topic.clone());
        }
        let opened = NatsTopic::open(&self.link, name, None, None)?;
        lock(&self.topics).insert(name.to_owned(), opened.clone());
        Ok(opened)
    }
}

impl Bus for Nats {
    fn topic(&self, name: &str) -> Result<Arc<dyn Topic>, BusError> {
        if let Some(topic) = lock(&self.topics).get(name) {
            return Ok(topic.clone());
        }
        let _one = lock(&self.opening);
        Ok(self.any_topic(name)?)
    }

    fn topic_with(&self, name: &str, settings: &TopicSettings) -> Result<Arc<dyn Topic>, BusError> {
        let _one = lock(&self.opening);
        Ok(self.open_topic(name, settings)?)
    }

    fn group_with(
        &self,
        topic: &str,
        group: &str,
        settings: &GroupSettings,
    ) -> Result<Arc<dyn Group>, BusError> {
        let _one = lock(&self.opening);
        let dead_letters = match &settings.dead_letters {
            Some(name) if settings.deliveries_max > 0 => Some(self.any_topic(name)?),
            _ => None,
        };
        let key = (topic.to_owned(), group.to_owned());
        let found = lock(&self.groups).get(&key).cloned();
        if let Some(found) = found {
            found.keep_as(settings, dead_letters);
            return Ok(found);
        }
        let opened = self.any_topic(topic)?;
        let made = NatsGroup::open(&self.link, &opened, group, settings, dead_letters)?;
        lock(&self.groups).insert(key, made.clone());
        Ok(made)
    }

    fn retained(&self, name: &str) -> Result<Arc<dyn Retained>, BusError> {
        let _one = lock(&self.opening);
        let found = lock(&self.retained).get(name).cloned();
        if let Some(found) = found {
            return Ok(found);
        }
        let opened = NatsRetained::open(&self.link, name)?;
        lock(&self.retained).insert(name.to_owned(), opened.clone());
        Ok(opened)
    }

    fn topics(&self, prefix: &str) -> Result<Vec<String>, BusError> {
        let link = self.link.clone();
        let mut names = self.link.block(async move { stream::topic_names(&link).await })?;
        names.retain(|name| name.starts_with(prefix));
        names.sort_unstable();
        Ok(names)
    }

    fn remove(&self, name: &str) -> Result<(), BusError> {
        let stream = name::topic(&self.link.options.prefix, name)?;
        let _one = lock(&self.opening);
        self.link.has_removed(&stream.stream);
        let link = self.link.clone();
        self.link.block(async move { stream::remove(&link, &stream.stream).await })?;
        if let Some(topic) = lock(&self.topics).remove(name) {
            topic.close();
        }
        lock(&self.groups).retain(|(topic, _), group| {
            let stays = topic != name;
            if !stays {
                group.close();
            }
            stays
        });
        Ok(())
    }

    fn begin(&self, name: &str, at: u64, record: &[u8]) -> Result<(), BusError> {
        let topic = {
            let _one = lock(&self.opening);
            self.any_topic(name)?
        };
        let record = record.to_vec();
        self.link.block(async move { topic.begin(at, &record).await })
    }

    fn sync_us_p50(&self) -> u64 {
        self.link.append_us_p50()
    }

    fn is_reachable(&self) -> bool {
        self.link.is_reachable()
    }

    fn trouble(&self) -> Option<records::ServerTrouble> {
        self.link.trouble.current()
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let told: Vec<_> = lock(&self.groups).values().filter_map(|group| group.hand_in()).collect();
        let until = Instant::now() + HAND_IN_WITHIN;
        for told in told {
            let _ = told.recv_timeout(until.saturating_duration_since(Instant::now()));
        }
        self.link.close();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What a panic of another thread left is still whole: nothing panics half-way through a change here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
