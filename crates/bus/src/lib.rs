//! Topics: named, append-only sequences of records with a dense index from 0.
//!
//! Invariants worth naming:
//! - An index is given out once and never reused, also after a crash.
//! - A record is seen by readers only after it is as durable as the bus's `fsync` promises
//!   (`always`: fdatasync), so nothing can act on what a power cut would take back.
//! - Records below a topic's low end are gone ([`Topic::trim`]); an index stays valid as a number.
//! - A consumer group sees each record at least once; exactly one member holds it at a time (a lease).
//!
//! The bus knows nothing of what its records mean; of `records` it has the word for trouble with a server
//! alone.

#[cfg(test)]
mod conformance;
pub mod embedded;
pub mod nats;

use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

/// A topic's name is at most so many octets: segments of `[A-Za-z0-9._-]` and percent-escaped others, joined
/// by `/`.
pub const TOPIC_NAME_OCTETS_MAX: usize = 255;
/// A record is at most so many octets.
pub const RECORD_OCTETS_MAX: usize = 4 * 1024 * 1024;
/// A retained topic holds at most so many keys.
pub const RETAINED_KEYS_MAX: usize = 1_000_000;

/// A deduplication key is at most so many octets.
pub const KEY_OCTETS_MAX: usize = 128;
/// A topic remembers at most so many keys of its newest keyed appends.
pub const KEYS_MAX: usize = 100_000;

/// How safe an append is when it is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Durability {
    /// As long as the process lives. Nothing of it is on disk; after a start the topic is there, empty, and
    /// goes on with an index that was never given out.
    Memory,
    /// Handed to the operating system: it survives the death of the process.
    #[default]
    Os,
    /// Synced: it survives a power cut. Who waits is synced together.
    Disk,
}

/// What may be let go of. Each limit that is given holds by itself; space comes back by whole files, so a
/// topic may hold more than its limits by one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Records older than this.
    pub age: Option<Duration>,
    /// The oldest beyond so many octets.
    pub octets: Option<u64>,
    /// The oldest beyond so many records.
    pub records: Option<u64>,
}

/// How a topic is kept. The last opening decides; an open topic changes with it, except that one made as
/// `Memory` stays it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TopicSettings {
    /// Nothing: as the bus promises for all (its `fsync`).
    pub durability: Option<Durability>,
    /// See [`Retention`].
    pub retention: Retention,
    /// Its appends go before others' where they wait for a disk, and may use the room kept back from a full
    /// one.
    pub emergency: bool,
}

/// How a group is kept. The last opening decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSettings {
    /// Records that may be acknowledged above one that is not; at this bound nothing new is given out until
    /// the gap closes.
    pub out_of_order_max: usize,
    /// A record that was given out so often and never acknowledged is dead; 0: never.
    pub deliveries_max: u32,
    /// Where dead records go, as [`DeadLetter`]s; nothing: they are given out on and on.
    pub dead_letters: Option<String>,
}

impl Default for GroupSettings {
    fn default() -> GroupSettings {
        GroupSettings { out_of_order_max: 65_536, deliveries_max: 0, dead_letters: None }
    }
}

/// Anything that can carry topics.
pub trait Bus: Send + Sync {
    /// Opens a topic, or makes it. One that is open in this process stays as it is.
    fn topic(&self, name: &str) -> Result<Arc<dyn Topic>, BusError> {
        self.topic_with(name, &TopicSettings::default())
    }
    /// The same, kept in a way of its own.
    fn topic_with(&self, name: &str, settings: &TopicSettings) -> Result<Arc<dyn Topic>, BusError>;
    /// Opens a consumer group of a topic, or makes it; a new group starts at the topic's low end. One that is
    /// open in this process stays as it is.
    fn group(&self, topic: &str, group: &str) -> Result<Arc<dyn Group>, BusError> {
        self.group_with(topic, group, &GroupSettings::default())
    }
    /// The same, kept in a way of its own.
    fn group_with(
        &self,
        topic: &str,
        group: &str,
        settings: &GroupSettings,
    ) -> Result<Arc<dyn Group>, BusError>;
    /// Opens a retained topic, or makes it: the last value of each key.
    fn retained(&self, name: &str) -> Result<Arc<dyn Retained>, BusError>;
    /// Names of existing topics that begin with `prefix`.
    fn topics(&self, prefix: &str) -> Result<Vec<String>, BusError>;
    /// Begins a topic with this record at this index, durably: for who knows that those below were given out
    /// by a bus that is lost. A topic that has reached the index stays as it is; one that has records below
    /// is [`BusError::Moved`].
    fn begin(&self, name: &str, at: u64, record: &[u8]) -> Result<(), BusError>;
    /// Removes a topic with its groups.
    fn remove(&self, name: &str) -> Result<(), BusError>;
    /// How long the last syncs took, for metrics and benches: median of the last 1,000 in microseconds.
    fn sync_us_p50(&self) -> u64;
    /// What is wrong with the servers behind the bus now. A folder of this machine has none.
    fn trouble(&self) -> Option<records::ServerTrouble> {
        None
    }
    /// Appends can be expected to work: the servers behind the bus answer. A bus on this machine's disk
    /// always does.
    fn is_reachable(&self) -> bool {
        true
    }
}

/// One topic.
pub trait Topic: Send + Sync {
    /// Appends records as one unit (all or none after a crash) and resolves to the first one's index when
    /// they are durable. Appends of many callers that wait together are synced together (group commit).
    fn append<'a>(&'a self, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>>;
    /// The same under a key: if records were appended under it before, nothing is appended and their place
    /// comes back. The newest [`KEYS_MAX`] keys of a topic are remembered, over restarts too; at least for
    /// two minutes.
    fn append_keyed<'a>(
        &'a self,
        key: &'a [u8],
        records: &'a [&'a [u8]],
    ) -> BoxFuture<'a, Result<Keyed, BusError>>;
    /// The same, only if the next index is `head`; else [`BusError::Moved`]. For who must know that nobody
    /// wrote in between.
    fn append_at<'a>(&'a self, head: u64, records: &'a [&'a [u8]]) -> BoxFuture<'a, Result<u64, BusError>>;
    /// At most `records_max` records and about `octets_max` octets (at least one record if there is one) from
    /// `from` on; what is below the low end is skipped. Only durable records. Empty at the end of the topic.
    fn read(&self, from: u64, records_max: usize, octets_max: usize) -> Result<Vec<Record>, BusError>;
    /// The same without holding the calling thread, where servers are asked.
    fn fetch(
        &self,
        from: u64,
        records_max: usize,
        octets_max: usize,
    ) -> BoxFuture<'_, Result<Vec<Record>, BusError>>;
    /// Shows the record at an index, or that none is there, without a copy and without waiting; `show` must
    /// be short. False, and nothing is shown: it is not at hand, and to be [fetched](Topic::fetch).
    fn glance(&self, _index: u64, _show: &mut dyn FnMut(Option<&[u8]>)) -> bool {
        false
    }
    /// Resolves when there is a readable record at `index` or above.
    fn readable(&self, index: u64) -> BoxFuture<'static, ()>;
    /// Lowest index still there.
    fn low(&self) -> u64;
    /// The index the next readable record will have, as far as this process has heard.
    fn head(&self) -> u64;
    /// The same, as the servers say it now: everything that any process appended before this call is below.
    fn latest(&self) -> BoxFuture<'_, Result<u64, BusError>>;
    /// Lets go of everything below `index`; space comes back by whole files.
    fn trim(&self, below: u64) -> Result<(), BusError>;
}

/// What a keyed append came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyed {
    /// The first record's index, of now or of then.
    pub first: u64,
    /// It was appended before.
    pub repeated: bool,
}

/// A record that nobody could deal with, as it stands in a topic of dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Its index in the topic it comes from.
    pub index: u64,
    /// How often it was given out.
    pub deliveries: u32,
    /// The record.
    pub octets: bytes::Bytes,
}

impl DeadLetter {
    /// First octet of the record: its form.
    const FORM: u8 = 1;
    /// Octets before the record that it holds: form, index, deliveries.
    const HEAD_OCTETS: usize = 13;

    /// As a record: form, index and deliveries (little-endian, 1, 8 and 4 octets), then the octets.
    pub fn encode(&self) -> Vec<u8> {
        let mut record = Vec::with_capacity(DeadLetter::HEAD_OCTETS + self.octets.len());
        record.push(DeadLetter::FORM);
        record.extend_from_slice(&self.index.to_le_bytes());
        record.extend_from_slice(&self.deliveries.to_le_bytes());
        record.extend_from_slice(&self.octets);
        record
    }

    /// From a record; nothing if it is too short to be one, or was written by a newer version.
    pub fn decode(record: &bytes::Bytes) -> Option<DeadLetter> {
        let (form, rest) = record.split_first()?;
        if *form != DeadLetter::FORM {
            return None;
        }
        let (index, rest) = rest.split_first_chunk::<8>()?;
        let (deliveries, _) = rest.split_first_chunk::<4>()?;
        Some(DeadLetter {
            index: u64::from_le_bytes(*index),
            deliveries: u32::from_le_bytes(*deliveries),
            octets: record.slice(DeadLetter::HEAD_OCTETS..),
        })
    }
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
    /// Takes up to `max` records, lowest index first, without waiting. Records given back or expired come
    /// first.
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
    /// The topic's next index is another than the one named: somebody appended in between.
    Moved {
        /// Which topic.
        topic: String,
        /// Its next index.
        head: u64,
    },
    /// The servers behind the bus do not answer. Whether an append is there is not known: it may be appended
    /// again under its key.
    Unreachable {
        /// What was tried, and what was heard.
        why: String,
    },
    /// The servers behind the bus are not what is needed: too old, or they keep a topic in another way than
    /// asked.
    Unfit {
        /// What is asked, and what is there.
        why: String,
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
            BusError::Moved { topic, head } => {
                write!(f, "topic {topic} has gone on: its next index is {head}")
            }
            BusError::Unreachable { why } => write!(f, "the servers behind the bus do not answer: {why}"),
            BusError::Unfit { why } => write!(f, "the servers behind the bus cannot be used: {why}"),
            BusError::Closed => write!(f, "the bus is closing"),
        }
    }
}
impl std::error::Error for BusError {}
