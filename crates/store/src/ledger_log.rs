//! The log of a ledger that several processes share. What is in it is the ledger's business; here a block is
//! octets at a position.

use crate::StoreError;

/// What was drawn when the ledger was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerIdentity {
    /// The key of its hashes.
    pub key: [u64; 2],
    /// How many logs it has.
    pub shards: u32,
}

/// A block to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLedgerBlock {
    /// To which log.
    pub shard: u32,
    /// Where the log must end for it to be appended.
    pub position: u64,
    /// Microseconds of UTC; never before the block before it.
    pub at_us: u64,
    /// A number that no other block has: by it a block is known whose appending got no answer.
    pub mark: u128,
    /// At least one.
    pub octets: Vec<u8>,
}

/// A block of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerBlock {
    /// Where it begins; the next one begins after its octets.
    pub position: u64,
    /// As they were appended.
    pub octets: Vec<u8>,
}

/// What came of appending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Appended {
    /// The block is committed, by this call or by an earlier one whose answer was lost.
    Done,
    /// Others appended at that position before. What they did, from that position on: at least one block,
    /// perhaps not all.
    Missed(Vec<LedgerBlock>),
}

/// The log's end, held: nobody else appends until this is used or dropped.
pub trait LedgerHold: Send {
    /// Where the log ends, for as long as it is held.
    fn head(&self) -> u64;
    /// What was appended since the position that was asked for, perhaps not all of it.
    fn missed(&mut self) -> Vec<LedgerBlock>;
    /// Reads on from a position.
    ///
    /// # Errors
    /// The store's; nothing is held any more.
    fn read(&mut self, from: u64) -> Result<Vec<LedgerBlock>, StoreError>;
    /// Appends the block and lets go.
    ///
    /// # Errors
    /// The store's. After [`StoreError::Unreachable`] it may have been appended: [`LedgerLog::append`] with
    /// the same block tells.
    fn append(self: Box<Self>, block: &NewLedgerBlock) -> Result<Appended, StoreError>;
}

/// The logs of one ledger. All of it blocks, and may be called on any thread that may wait.
pub trait LedgerLog: Send + Sync {
    /// The ledger's identity: that of `new` if it is the first, with all its logs empty and ending at
    /// `first`.
    ///
    /// # Errors
    /// The store's.
    fn identify(&self, new: LedgerIdentity, first: u64) -> Result<LedgerIdentity, StoreError>;
    /// The identity of a ledger that is there.
    ///
    /// # Errors
    /// The store's.
    fn identity(&self) -> Result<Option<LedgerIdentity>, StoreError>;
    /// Appends a block, if the log ends where the block begins; in one round trip also where it does not.
    /// Safe to ask again.
    ///
    /// # Errors
    /// The store's. After [`StoreError::Unreachable`] it may have been appended: asking again with the same
    /// block tells.
    fn append(&self, block: &NewLedgerBlock) -> Result<Appended, StoreError>;
    /// Holds the end of a log, for whoever was too late too often.
    ///
    /// # Errors
    /// The store's.
    fn hold(&self, shard: u32, from: u64) -> Result<Box<dyn LedgerHold>, StoreError>;
    /// Blocks of a log in their order, from the one on that has this position, and not from before this time;
    /// as many as fit in a page, none at the end.
    ///
    /// # Errors
    /// The store's.
    fn read(&self, shard: u32, from: u64, from_us: u64) -> Result<Vec<LedgerBlock>, StoreError>;
    /// Where a log ends.
    ///
    /// # Errors
    /// The store's.
    fn head(&self, shard: u32) -> Result<u64, StoreError>;
    /// The newest snapshot, if there is one: before which position it is, and its octets.
    ///
    /// # Errors
    /// The store's.
    fn snapshot(&self, shard: u32) -> Result<Option<(u64, Vec<u8>)>, StoreError>;
    /// Before which position the newest snapshot is.
    ///
    /// # Errors
    /// The store's.
    fn snapshot_position(&self, shard: u32) -> Result<Option<u64>, StoreError>;
    /// Keeps a snapshot, and forgets the ones before it.
    ///
    /// # Errors
    /// The store's.
    fn keep_snapshot(&self, shard: u32, position: u64, octets: Vec<u8>) -> Result<(), StoreError>;
}
