//! Topics: named, append-only sequences of records with a dense index from 0.
//!
//! Invariants worth naming:
//! - An index is given out once and never reused, also after a crash.
//! - A record is seen by readers only after it is as durable as the bus's `fsync` promises
//!   (`always`: fdatasync), so nothing can act on what a power cut would take back.
//! - Records below a topic's low end are gone ([`Topic::trim`]); an index stays valid as a number.
//! - A consumer group sees each record at least once; exactly one member holds it at a time (a lease).
//!
//! The bus knows nothing of what its records mean.

pub mod embedded;

use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

/// A topic's name is at most so many octets: segments of `[A-Za-z0-9._-]` and percent-escaped others, joined by `/`.
pub const TOPIC_NAME_OCTETS_MAX: usize = 255;
/// A record is at most so many octets.
pub const RECORD_OCTETS_MAX: usize = 4 * 1024 * 1024;
/// A retained topic holds at most so many keys.
pub const RETAINED_KEYS_MAX: usize = 1_000_000;

/// Anything that can carry topics.
pub trait Bus: Send + Sync {
    /// Opens a topic, or makes it.
    fn topic(&self, name: &str) -> Result<Arc<dyn Topic>, BusError>;
    /// Opens a consumer group of a topic, or makes it; a new group starts at the topic's low end.
    fn group(&self, topic: &str, group: &str) -> Result<Arc<dyn Group>, BusError>;
    /// Opens a retained topic, or makes it: the last value of each key.
    fn retained(&self, name: &str) -> Result<Arc<dyn Retained>, BusError>;
    /// Names of existing topics that begin with `prefix`.
    fn topics(&self, prefix: &str) -> Result<Vec<String>, BusError>;
    /// Removes a topic with its groups.
    fn remove(&self, name: &str) -> Result<(), BusError>;
    /// How long the last syncs took, for metrics and benches: median of the last 1,000 in microseconds.
    fn sync_us_p50(&self) -> u64;
}

/// One topic.
pub trait Topic: Send + Sync {
    /// Appends records as one unit (all or none after a crash) and resolves to the first one's index when they are durable.
    /// Appends of many callers that wait together are synced together (group commit).
    fn append<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>>;
    /// At most `records_max` records and about `octets_max` octets (at least one record if there is one) from `from` on; what is
    /// below the low end is skipped. Only durable records. Empty at the end of the topic.
    fn read(&self, from: u64, records_max: usize, octets_max: usize) -> Result<Vec<Record>, BusError>;
    /// Resolves when there is a readable record at `index` or above.
    fn readable(&self, index: u64) -> BoxFuture<'static, ()>;
    /// Lowest index still there.
    fn low(&self) -> u64;
    /// The index the next readable record will have.
    fn head(&self) -> u64;
    /// Lets go of everything below `index`; space comes back by whole files.
    fn trim(&self, below: u64) -> Result<(), BusError>;
}

/// A record with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its index in the topic.
    pub index: u64,
    /// Its octets, shared with the read it came by.
    pub octets: bytes::Bytes,
}

/// A consumer group on a topic. A member takes records under a lease and acknowledges them; what is not
/// acknowledged or renewed in time is given to another.
pub trait Group: Send + Sync {
    /// Takes up to `max` records, lowest index first, without waiting. Records given back or expired come first.
    fn take(&self, max: usize, lease: Duration) -> Result<Vec<Leased>, BusError>;
    /// Resolves when `take` may have something (also when a lease may have expired).
    fn ready(&self) -> BoxFuture<'static, ()>;
    /// Done with it. Durable lazily: after a crash some acknowledged records may be given out again.
    fn ack(&self, index: u64) -> Result<(), BusError>;
    /// Keeps it for another `lease` from now. [`BusError::NotLeased`]: it has expired or was given back.
    fn renew(&self, index: u64, lease: Duration) -> Result<(), BusError>;
    /// Gives it back at once. [`BusError::NotLeased`]: it has expired or was given back.
    fn release(&self, index: u64) -> Result<(), BusError>;
    /// Everything below was acknowledged.
    fn low_water(&self) -> u64;
    /// Indexes that are not acknowledged, from the low-water mark to the head, at most `max`.
    fn unacknowledged(&self, max: usize) -> Vec<u64>;
    /// Makes acknowledgements so far durable.
    fn flush(&self) -> BoxFuture<'_, Result<(), BusError>>;
}

/// A record under a lease.
#[derive(Debug, Clone)]
pub struct Leased {
    /// The record.
    pub record: Record,
    /// How often it was given out before.
    pub redelivered: u32,
}

/// A retained topic: a small map that many read and few write.
pub trait Retained: Send + Sync {
    /// Sets a key (an empty value removes it); resolves when durable. Readers see it at once.
    fn set<'a>(&'a self, key: &'a str, value: &'a [u8]) -> BoxFuture<'a, Result<(), BusError>>;
    /// The last value. Cheap: no IO, no waiting for writers.
    fn value(&self, key: &str) -> Option<bytes::Bytes>;
    /// All keys with their values.
    fn all(&self) -> Vec<(String, bytes::Bytes)>;
    /// Raised by every change; compare before looking closer.
    fn version(&self) -> u64;
    /// Resolves when the version is no longer `seen`.
    fn changed(&self, seen: u64) -> BoxFuture<'static, ()>;
}

/// Why the bus could not.
#[derive(Debug, Clone)]
pub enum BusError {
    /// The disk is full. Nothing was appended; what was there is whole.
    DiskFull {
        /// Which topic.
        topic: String,
    },
    /// The operating system refused. After a failed sync the topic stops: nothing it says could be trusted.
    Io {
        /// Which topic.
        topic: String,
        /// What was tried, and the system's words.
        why: String,
    },
    /// A record, name or map over its limit.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// A name that cannot be one.
    BadName {
        /// The name.
        name: String,
    },
    /// A file of the log is damaged beyond a torn tail.
    Damaged {
        /// Which file, what is wrong.
        what: String,
    },
    /// A group's member speaks of a record it does not hold.
    NotLeased {
        /// Which topic.
        topic: String,
        /// Which record.
        index: u64,
    },
    /// The bus is closing.
    Closed,
}

impl std::fmt::Display for BusError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BusError::DiskFull { topic } => write!(
                f,
                "the disk is full: topic {topic} takes nothing until there is room; free some and try again"
            ),
            BusError::Io { topic, why } => write!(f, "topic {topic}: {why}"),
            BusError::TooLarge { what, size, limit } => {
                write!(f, "{what} of {size} is over the limit of {limit}")
            }
            BusError::BadName { name } => write!(f, "{name:?} cannot name a topic"),
            BusError::Damaged { what } => write!(f, "the log is damaged: {what}"),
            BusError::NotLeased { topic, index } => {
                write!(f, "record {index} of topic {topic} is not under a lease")
            }
            BusError::Closed => write!(f, "the bus is closing"),
        }
    }
}
impl std::error::Error for BusError {}
