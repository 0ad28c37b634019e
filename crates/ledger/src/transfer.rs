//! A ledger's folder, read block by block for another place. Its lock is held, so that no server writes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use ::store::postgres::transfer::LedgerSource;
use ::store::{LedgerIdentity, NewLedgerBlock};

use crate::block;
use crate::log::{FIRST_POSITION, list};
use crate::recovery::Refusal;
use crate::shard_threads::{identity_of, lock, shard_folder};

/// The folder.
pub struct FolderSource {
    folder: PathBuf,
    identity: LedgerIdentity,
    at: Option<ShardPlace>,
    _lock: File,
}

/// Where a shard's log is read.
struct ShardPlace {
    shard: u32,
    /// Segments that are not read yet, the next one last.
    segments: Vec<(u64, PathBuf)>,
    base: u64,
    octets: Vec<u8>,
    offset: usize,
}

impl FolderSource {
    /// Opens the folder. None: there is no ledger.
    ///
    /// # Errors
    ///
    /// A server has it open; its files cannot be read; its oldest records were removed: a shared ledger
    /// begins with its first record.
    pub fn open(folder: &Path) -> Result<Option<FolderSource>, Refusal> {
        let (key, shards) = match identity_of(folder) {
            Err(Refusal::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        let lock = lock(folder)?;
        for shard in 0..shards {
            let first = list(&shard_folder(folder, shard))?.first().map_or(FIRST_POSITION, |(base, _)| *base);
            if first > FIRST_POSITION {
                return Err(Refusal::Damaged(format!(
                    "{}: the oldest records of shard {shard} were removed ([charging] keep_records), and a ledger in PostgreSQL begins \
                     with its first record: migrate with --without-ledger, and open the accounts anew with their balances",
                    folder.display()
                )));
            }
        }
        let shards = u32::try_from(shards).unwrap_or(u32::MAX);
        let identity = LedgerIdentity { key: key.0, shards };
        Ok(Some(FolderSource { folder: folder.to_owned(), identity, at: None, _lock: lock }))
    }

    fn place(&mut self, shard: u32) -> io::Result<&mut ShardPlace> {
        if self.at.as_ref().is_none_or(|at| at.shard != shard) {
            let mut segments = list(&shard_folder(&self.folder, shard as usize))?;
            segments.reverse();
            self.at = Some(ShardPlace { shard, segments, base: 0, octets: Vec::new(), offset: 0 });
        }
        Ok(self.at.as_mut().expect("it was set above"))
    }
}

impl ShardPlace {
    /// The next block. None: the log ends. A block that is not whole was never answered for.
    fn next(&mut self) -> Result<Option<NewLedgerBlock>, String> {
        loop {
            let position = self.base + self.offset as u64;
            let rest = self.octets.get(self.offset..).unwrap_or_default();
            if let Some((head, _)) = block::read(rest, position) {
                let len = block::HEAD_OCTETS + head.octets as usize;
                let octets = rest[..len].to_vec();
                self.offset += len;
                return Ok(Some(NewLedgerBlock {
                    shard: self.shard,
                    position,
                    at_us: head.time_us,
                    mark: 0,
                    octets,
                }));
            }
            let Some((base, path)) = self.segments.pop() else { return Ok(None) };
            if self.base > 0 && base != position {
                return Err(format!(
                    "{}: the log before it ends at position {position}: start the server once and stop it, then try again",
                    path.display()
                ));
            }
            let says = |error: io::Error| format!("{}: {error}", path.display());
            (self.octets, self.base, self.offset) = (std::fs::read(&path).map_err(says)?, base, 0);
        }
    }
}

impl LedgerSource for FolderSource {
    fn identity(&self) -> LedgerIdentity {
        self.identity
    }

    fn first(&self) -> u64 {
        FIRST_POSITION
    }

    fn next(&mut self, shard: u32, octets: usize) -> Result<Vec<NewLedgerBlock>, String> {
        let place = self.place(shard).map_err(|error| error.to_string())?;
        let (mut blocks, mut taken) = (Vec::new(), 0);
        while taken < octets
            && let Some(block) = place.next()?
        {
            taken += block.octets.len();
            blocks.push(block);
        }
        Ok(blocks)
    }
}
