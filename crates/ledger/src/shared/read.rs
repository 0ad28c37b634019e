//! A shared ledger, read beside the processes that write it.

use std::sync::Arc;

use ::store::{LedgerIdentity, LedgerLog};

use super::replica::{Replica, each_entry};
use crate::audit::{self, Report, Tally};
use crate::config::{Config, DuplicateLimits};
use crate::hash::HashKey;
use crate::log::FIRST_POSITION;
use crate::recovery::Refusal;
use crate::shard::Shard;

fn identity(log: &Arc<dyn LedgerLog>) -> Result<LedgerIdentity, Refusal> {
    log.identity()?.ok_or_else(|| {
        Refusal::Damaged("there is no ledger in this database: no process has opened one".to_owned())
    })
}

/// How many shards it has.
///
/// # Errors
///
/// There is no ledger, or the database does not answer.
pub fn shards(log: &Arc<dyn LedgerLog>) -> Result<u32, Refusal> {
    Ok(identity(log)?.shards)
}

fn replica(log: &Arc<dyn LedgerLog>, key: HashKey, shard: u32) -> Result<Replica, Refusal> {
    // Nobody asks it who came before.
    let config = Config {
        duplicates: DuplicateLimits { octets_max: 0, ..DuplicateLimits::default() },
        ..Config::default()
    };
    Ok(Replica::recover(log, shard, key, &Arc::new(config))?)
}

/// The state of a shard as it is now, for names of accounts. Blocks.
///
/// # Errors
///
/// There is no ledger, the database does not answer, or what it has is damaged.
pub fn state(log: &Arc<dyn LedgerLog>, shard: u32) -> Result<Shard, Refusal> {
    Ok(replica(log, HashKey(identity(log)?.key), shard)?.shard)
}

/// Audits a shared ledger: records against moves against the balances that a start makes. Processes may go
/// on: what they append meanwhile is left out. Blocks.
///
/// # Errors
///
/// There is no ledger, the database does not answer, or what it has is damaged.
pub fn audit(log: &Arc<dyn LedgerLog>) -> Result<Report, Refusal> {
    let identity = identity(log)?;
    let mut whole = Report { shards: identity.shards as usize, ..Report::default() };
    for shard in 0..identity.shards {
        let state = replica(log, HashKey(identity.key), shard)?;
        audit::add(&mut whole, tally(log, shard, state.head)?.close(&state.shard));
    }
    Ok(whole)
}

fn tally(log: &Arc<dyn LedgerLog>, shard: u32, until: u64) -> Result<Tally, Refusal> {
    let mut tally = Tally::until(until);
    let mut from = FIRST_POSITION;
    while from < until {
        let blocks = log.read(shard, from, 0)?;
        if blocks.first().is_none_or(|block| block.position != from) {
            return Err(Refusal::Damaged(format!(
                "shard {shard} of the ledger has no block at {from}: restore it from a copy"
            )));
        }
        for block in blocks.iter().take_while(|block| block.position < until) {
            each_entry(shard, block, |entry, position| {
                tally.add(entry, position);
                Ok(())
            })?;
            from = block.position + block.octets.len() as u64;
        }
    }
    Ok(tally)
}
