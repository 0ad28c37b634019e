//! A shard's state, as the shared log has made it so far.

use std::sync::Arc;

use ::store::{LedgerBlock, LedgerLog, StoreError};

use super::log_cache::LogCache;
use crate::block;
use crate::config::Config;
use crate::entry::Entry;
use crate::hash::HashKey;
use crate::log::FIRST_POSITION;
use crate::shard::Shard;
use crate::snapshot;

pub(super) struct Replica {
    pub(super) log: Arc<dyn LedgerLog>,
    pub(super) number: u32,
    pub(super) shard: Shard,
    /// Up to where the log made this state.
    pub(super) head: u64,
    pub(super) past: LogCache,
    /// Before which position the newest snapshot is that is known of.
    pub(super) snapshot_at: u64,
    pub(super) entries: u64,
}

fn damaged(shard: u32, position: u64, why: &str) -> StoreError {
    StoreError::Damaged { what: format!("shard {shard} of the ledger, the block at {position}: {why}") }
}

/// The entries of a block, each with its position.
pub(super) fn each_entry(
    shard: u32,
    block: &LedgerBlock,
    mut see: impl FnMut(&Entry, u64) -> Result<(), String>,
) -> Result<block::Head, StoreError> {
    let position = block.position;
    let (head, body) = block::read(&block.octets, position)
        .ok_or_else(|| damaged(shard, position, "its checksum is not that of its octets"))?;
    let (mut at, mut entry) = (0, Entry::default());
    while at < body.len() {
        let here = position + (block::HEAD_OCTETS + at) as u64;
        let len = entry.decode(&body[at..]).ok_or_else(|| {
            damaged(shard, position, "no entry of this version: a newer campanile wrote it, use that")
        })?;
        see(&entry, here).map_err(|why| damaged(shard, here, &why))?;
        at += len;
    }
    Ok(head)
}

impl Replica {
    /// Makes the state from the newest snapshot and the log after it.
    pub(super) fn recover(
        log: &Arc<dyn LedgerLog>,
        number: u32,
        key: HashKey,
        config: &Arc<Config>,
    ) -> Result<Replica, StoreError> {
        let snapshot = log.snapshot(number)?;
        let thawed = snapshot.and_then(|(_, octets)| snapshot::decode(&octets, key, config.clone()));
        let (shard, position, floor) = match thawed {
            Some(thawed) => (thawed.shard, thawed.position, thawed.floor),
            None => (Shard::new(key, config.clone()), FIRST_POSITION, FIRST_POSITION),
        };
        let mut replica = Replica {
            log: log.clone(),
            number,
            shard,
            head: floor.max(FIRST_POSITION),
            past: LogCache::new(log.clone(), number),
            snapshot_at: position,
            entries: 0,
        };
        loop {
            let blocks = log.read(number, replica.head, 0)?;
            if blocks.is_empty() {
                break;
            }
            for block in blocks {
                let is_known = block.position < position;
                replica.take_in(block, is_known)?;
            }
        }
        if replica.head < position {
            return Err(damaged(
                number,
                replica.head,
                "the log ends before the snapshot: restore it from a copy",
            ));
        }
        Ok(replica)
    }

    /// Follows the log by a block that others appended. `is_known`: the state has it, and only who asked is
    /// noted.
    pub(super) fn take_in(&mut self, block: LedgerBlock, is_known: bool) -> Result<(), StoreError> {
        if block.position != self.head {
            let why =
                format!("it does not follow on {}: a block is missing; restore it from a copy", self.head);
            return Err(damaged(self.number, block.position, &why));
        }
        let (number, shard, entries) = (self.number, &mut self.shard, &mut self.entries);
        if let Some((head, _)) = block::read(&block.octets, block.position) {
            shard.begin_block(head.position, head.time_us);
        }
        each_entry(number, &block, |entry, position| {
            *entries += 1;
            if is_known {
                shard.replay_identity(entry, position);
                return Ok(());
            }
            shard.replay(entry, position).map_err(|unfit| unfit.0.to_owned())
        })?;
        self.follow(block);
        Ok(())
    }

    /// The state has this block already: it was decided here.
    pub(super) fn follow(&mut self, block: LedgerBlock) {
        self.head += block.octets.len() as u64;
        self.past.push(block);
    }
}
