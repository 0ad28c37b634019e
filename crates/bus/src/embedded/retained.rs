//! A retained topic: a map in memory that many read, and its log on disk, rewritten when most of it is out of
//! date.

use super::lock::{lock, read, write};
use super::log::{DurabilityRule, Log, Written};
use super::shared::SharedLogs;
use super::sync::Chore;
use crate::{BusError, RECORD_OCTETS_MAX, RETAINED_KEYS_MAX, Retained};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, RwLock, Weak};
use tokio::sync::watch;

/// A key is at most so many octets.
const KEY_OCTETS_MAX: usize = 1024;
/// A read locks one of so many maps.
const SHARDS: usize = 16;
/// A log shorter than this is not worth rewriting.
const COMPACT_OCTETS_MIN: u64 = 64 * 1024;
/// While it is rewritten, one append has about so many octets.
const REWRITE_OCTETS: usize = 1024 * 1024;
/// What a record costs on disk beyond its key and value.
const RECORD_COST: u64 = 42;

type Shard = RwLock<HashMap<Box<str>, Bytes>>;

/// The map and its log.
pub(super) struct LogRetained {
    log: Arc<Log>,
    shared: Arc<SharedLogs>,
    shards: Vec<Shard>,
    hasher: RandomState,
    version: watch::Sender<u64>,
    writer: Mutex<Sizes>,
    me: Weak<LogRetained>,
}

/// What the log and the map weigh.
#[derive(Default)]
struct Sizes {
    keys: usize,
    /// Octets a log with the map alone would have.
    live: u64,
    /// Octets the log has.
    log: u64,
    compacting: bool,
}

impl LogRetained {
    /// Reads the map back from its log.
    pub fn open(shared: &Arc<SharedLogs>, log: Arc<Log>) -> Result<Arc<LogRetained>, BusError> {
        let retained = Arc::new_cyclic(|me| LogRetained {
            log,
            shared: shared.clone(),
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            hasher: RandomState::new(),
            version: watch::channel(0).0,
            writer: Mutex::default(),
            me: me.clone(),
        });
        let mut from = retained.log.low();
        loop {
            let records = retained.log.read(from, usize::MAX, REWRITE_OCTETS)?;
            let Some(last) = records.last() else {
                return Ok(retained);
            };
            from = last.index + 1;
            let mut sizes = lock(&retained.writer);
            for record in &records {
                let Some((key, value)) = decode(&record.octets) else {
                    let what = format!(
                        "{}: record {} is no key and value",
                        retained.log.folder().display(),
                        record.index
                    );
                    return Err(BusError::Damaged { what });
                };
                sizes.log += record.octets.len() as u64 + RECORD_COST;
                // Copied: a slice would keep all that was read with it.
                retained.apply(&mut sizes, key, Bytes::copy_from_slice(value));
            }
        }
    }

    /// Its log.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    fn shard(&self, key: &str) -> &Shard {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// Sets a key; it becomes durable as the log does.
    pub fn write(&self, key: &str, value: &[u8]) -> Result<Written, BusError> {
        if key.len() > KEY_OCTETS_MAX {
            return Err(BusError::TooLarge { what: "a key", size: key.len(), limit: KEY_OCTETS_MAX });
        }
        if value.len() > RECORD_OCTETS_MAX - KEY_OCTETS_MAX - 2 {
            return Err(BusError::TooLarge {
                what: "a value",
                size: value.len(),
                limit: RECORD_OCTETS_MAX - KEY_OCTETS_MAX - 2,
            });
        }
        let mut sizes = lock(&self.writer);
        if sizes.keys >= RETAINED_KEYS_MAX && !value.is_empty() && self.value(key).is_none() {
            return Err(BusError::TooLarge {
                what: "a retained topic's keys",
                size: sizes.keys + 1,
                limit: RETAINED_KEYS_MAX,
            });
        }
        let record = encode(key, value);
        let written = self.log.write_promised(DurabilityRule::Any, &[&record])?.written;
        sizes.log += record.len() as u64 + RECORD_COST;
        self.apply(&mut sizes, key, Bytes::copy_from_slice(value));
        self.version.send_modify(|version| *version += 1);
        if !sizes.compacting && sizes.log >= COMPACT_OCTETS_MIN && sizes.live < sizes.log / 2 {
            sizes.compacting = true;
            if let Some(me) = self.me.upgrade() {
                self.shared.pool.chore(me);
            }
        }
        Ok(written)
    }

    fn apply(&self, sizes: &mut Sizes, key: &str, value: Bytes) {
        let cost = |value: &Bytes| 2 + key.len() as u64 + value.len() as u64 + RECORD_COST;
        let mut shard = write(self.shard(key));
        let added = if value.is_empty() { 0 } else { cost(&value) };
        let before = if value.is_empty() { shard.remove(key) } else { shard.insert(key.into(), value) };
        sizes.keys += usize::from(added > 0);
        sizes.live += added;
        if let Some(before) = before {
            sizes.keys -= 1;
            sizes.live -= cost(&before);
        }
    }

    /// Writes the map into a new file and lets go of the ones before. A crash in between leaves both, and
    /// what they say together is the same.
    fn compact(&self) -> Result<(), BusError> {
        let mut sizes = lock(&self.writer);
        sizes.compacting = false;
        let begin = self.log.roll()?;
        let mut octets = 0;
        let mut batch: Vec<Vec<u8>> = Vec::new();
        let flush = |batch: &mut Vec<Vec<u8>>| {
            let records: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
            self.log.write(&records)?;
            batch.clear();
            Ok::<(), BusError>(())
        };
        for shard in &self.shards {
            for (key, value) in &*read(shard) {
                batch.push(encode(key, value));
                octets += key.len() + value.len();
                if octets >= REWRITE_OCTETS {
                    flush(&mut batch)?;
                    octets = 0;
                }
            }
        }
        flush(&mut batch)?;
        self.log.sync()?;
        self.log.trim(begin)?;
        sizes.log = sizes.live;
        Ok(())
    }
}

impl Retained for LogRetained {
    fn set<'a>(&'a self, key: &'a str, value: &'a [u8]) -> BoxFuture<'a, Result<(), BusError>> {
        Box::pin(async move {
            let written = self.write(key, value)?;
            self.log.promised(written.end, None).await
        })
    }

    fn value(&self, key: &str) -> Option<Bytes> {
        read(self.shard(key)).get(key).cloned()
    }

    fn all(&self) -> Vec<(String, Bytes)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(read(shard).iter().map(|(key, value)| (String::from(&**key), value.clone())));
        }
        all
    }

    fn version(&self) -> u64 {
        *self.version.borrow()
    }

    fn changed(&self, seen: u64) -> BoxFuture<'static, ()> {
        let mut version = self.version.subscribe();
        Box::pin(async move {
            // An error means that the topic is gone: then there is nothing to wait for.
            let _ = version.wait_for(|version| *version != seen).await;
        })
    }
}

impl Chore for LogRetained {
    fn run(&self) {
        if let Err(error) = self.compact() {
            tracing::warn!(topic = self.log.name(), %error, "A retained topic could not be compacted; it stays in use.");
        }
    }
}

/// key length u16, key, value.
fn encode(key: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + key.len() + value.len());
    out.extend_from_slice(&(key.len() as u16).to_le_bytes());
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(value);
    out
}

fn decode(record: &[u8]) -> Option<(&str, &[u8])> {
    let (len, rest) = record.split_first_chunk::<2>()?;
    let (key, value) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
    Some((std::str::from_utf8(key).ok()?, value))
}

#[cfg(test)]
mod tests;
