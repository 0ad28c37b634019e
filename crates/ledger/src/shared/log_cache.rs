//! Entries that are in the shared log already: the last ones in memory, the others asked for.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use ::store::{LedgerBlock, LedgerLog, StoreError};

use crate::block::HEAD_OCTETS;
use crate::shard::{ENTRY_OCTETS_MAX, Past};

/// So much of a shard's log stays in memory.
const RECENT_OCTETS: usize = 32 << 20;
/// So much of what was asked for.
const FETCHED_OCTETS: usize = 16 << 20;

/// Some blocks in their order, the oldest first; the oldest go when there are too many octets.
#[derive(Default)]
struct Blocks {
    all: VecDeque<LedgerBlock>,
    octets: usize,
}

impl Blocks {
    fn push(&mut self, block: LedgerBlock, octets_max: usize) {
        self.octets += block.octets.len();
        self.all.push_back(block);
        while self.octets > octets_max && self.all.len() > 1 {
            self.octets -= self.all.pop_front().map_or(0, |block| block.octets.len());
        }
    }

    /// The octets from this position on, to the end of its block at most.
    fn octets_at(&self, position: u64) -> Option<&[u8]> {
        let after = self.all.partition_point(|block| block.position <= position);
        let block = self.all.get(after.checked_sub(1)?)?;
        let offset = usize::try_from(position - block.position).ok()?;
        block.octets.get(offset..).filter(|rest| !rest.is_empty() && offset >= HEAD_OCTETS)
    }
}

/// A shard's past.
pub(super) struct LogCache {
    log: Arc<dyn LedgerLog>,
    shard: u32,
    recent: Blocks,
    fetched: RefCell<Blocks>,
    /// Where the log ends.
    end: u64,
    /// Why what was asked for is not known: what was decided without it must not be believed.
    failed: RefCell<Option<StoreError>>,
}

impl LogCache {
    pub(super) fn new(log: Arc<dyn LedgerLog>, shard: u32) -> LogCache {
        let (recent, fetched) = (Blocks::default(), RefCell::default());
        LogCache { log, shard, recent, fetched, end: 0, failed: RefCell::default() }
    }

    /// The next block of the log.
    pub(super) fn push(&mut self, block: LedgerBlock) {
        self.end = block.position + block.octets.len() as u64;
        self.recent.push(block, RECENT_OCTETS);
    }

    /// Why something could not be read since this was asked last.
    pub(super) fn failed(&self) -> Option<StoreError> {
        self.failed.borrow_mut().take()
    }

    fn fetch(&self, position: u64) {
        match self.log.read(self.shard, position, 0) {
            Ok(blocks) => {
                let mut fetched = self.fetched.borrow_mut();
                *fetched = Blocks::default();
                blocks.into_iter().for_each(|block| fetched.push(block, usize::MAX));
                if fetched.octets > FETCHED_OCTETS {
                    fetched.all.truncate(1);
                }
            }
            Err(error) => *self.failed.borrow_mut() = Some(error),
        }
    }
}

impl Past for LogCache {
    fn read(&self, position: u64, into: &mut Vec<u8>) -> bool {
        into.clear();
        if position >= self.end {
            return false;
        }
        let mut take = |blocks: &Blocks| {
            let octets = blocks.octets_at(position)?;
            into.extend_from_slice(&octets[..octets.len().min(ENTRY_OCTETS_MAX)]);
            Some(())
        };
        if self.recent.all.front().is_some_and(|oldest| oldest.position <= position) {
            return take(&self.recent).is_some();
        }
        if take(&self.fetched.borrow()).is_some() {
            return true;
        }
        self.fetch(position);
        take(&self.fetched.borrow()).is_some()
    }
}
