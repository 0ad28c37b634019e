//! The ledger of processes that share a database: the same shards, moved by the same entries, and the log of
//! each in the database.
//!
//! Each process has the whole state in memory. A turn of a shard's owner (`shared_shard`) decides on that
//! state, and appends what it decided as one block, at the position up to which it knows the log: that is one
//! statement, and one round trip. Where others appended meanwhile the statement appends nothing and brings
//! what they appended; then what was decided is taken back (`savepoint`), theirs is replayed, and the turn is
//! decided anew. Who was too late [`LOST_MAX`] times holds the log's end first, so nobody is too late for
//! ever. So the log has one order, every entry in it was decided on the state before it, and whoever reads it
//! has the same accounts, sessions and first answers.
//!
//! An answer leaves when its block is committed. A block is all or nothing, and has a mark of its own: where
//! the answer to a commit was lost it is appended again, which does nothing if it is there. What leaves no
//! entry (a duplicate's answer apart) is answered only when the log has nothing that this process did not
//! know.

mod log_cache;
pub mod read;
mod replica;
mod savepoint;
mod shared_shard;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ::store::{LedgerIdentity, LedgerLog, StoreError};

use super::config::Config;
use super::hash::HashKey;
use super::log::FIRST_POSITION;
use super::old_numbers::OldNumbers;
use super::recovery::Refusal;
use super::shard_threads::{BatchQueue, Ledger};
use super::tariff_spec::TariffSpec;
use replica::Replica;
#[cfg(test)]
pub(super) use savepoint::Savepoint;
use shared_shard::SharedShard;

/// A block is decided so often on a state that others have left behind; then the log's end is held before it
/// is decided.
const LOST_MAX: u32 = 2;
/// Shards at most: each has a connection of its own in each process.
pub const SHARDS_MAX: usize = 32;

/// How a shared ledger is kept.
#[derive(Clone)]
pub struct Options {
    pub log: Arc<dyn LedgerLog>,
    /// For a new ledger; one that is there keeps its number.
    pub shards: usize,
    /// Requests that may wait for one shard.
    pub queue_max: usize,
    /// A snapshot is written when a shard's log has grown by so much.
    pub snapshot_octets: u64,
    pub config: Config,
    /// Its tariffs as they are written.
    pub tariffs: Vec<TariffSpec>,
}

impl Options {
    pub fn new(log: Arc<dyn LedgerLog>) -> Options {
        Options {
            log,
            shards: 4,
            queue_max: 65_536,
            snapshot_octets: 256 << 20,
            config: Config::default(),
            tariffs: Vec::new(),
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        match error {
            StoreError::Damaged { what } => Refusal::Damaged(what),
            error => Refusal::Io(std::io::Error::other(error.to_string())),
        }
    }
}

impl Ledger {
    /// Makes the state of all shards from the database and starts their threads. Blocks.
    ///
    /// # Errors
    ///
    /// The database does not answer, or what it has is damaged: the words say what to do.
    pub fn open_shared(options: &Options) -> Result<Ledger, Refusal> {
        let shards = options.shards.clamp(1, SHARDS_MAX);
        let new = LedgerIdentity { key: HashKey::draw().0, shards: u32::try_from(shards).unwrap_or(1) };
        let identity = options.log.identify(new, FIRST_POSITION)?;
        let config = options.config.clone().of_one_shard(identity.shards as usize);
        let (key, config) = (HashKey(identity.key), Arc::new(config));
        let mut partners = Vec::new();
        for number in 0..identity.shards {
            let replica = Replica::recover(&options.log, number, key, &config)?;
            tracing::info!(shard = number, entries = replica.entries, "the shared ledger's shard is read");
            partners.push(SharedShard::new(
                replica,
                Arc::new(BatchQueue::default()),
                options.snapshot_octets,
            ));
        }
        let queues = partners.iter().map(SharedShard::queue).collect();
        let old_numbers = OldNumbers::of(key, partners.iter().map(SharedShard::shard));
        let mut threads = Vec::new();
        for partner in partners {
            let name = format!("ledger-{}", partner.number());
            threads.push(std::thread::Builder::new().name(name).spawn(move || partner.run())?);
        }
        let rules = (options.config.clone(), options.tariffs.clone());
        let mut ledger = Ledger::of(queues, threads, key, options.queue_max, rules);
        ledger.is_shared = true;
        ledger.old_numbers = Arc::new(old_numbers);
        Ok(ledger)
    }
}
