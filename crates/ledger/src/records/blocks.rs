//! Sources of the blocks of a shard's log.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use store::LedgerLog;

use crate::{block, log};

/// One shard's log.
#[derive(Clone)]
pub enum Blocks {
    /// In the shard's folder.
    Folder(PathBuf),
    /// In the database that processes share: which shard.
    Shared(Arc<dyn LedgerLog>, u32),
}

impl Blocks {
    /// Shows whole blocks, one or more of them in a row with the position of the first, from the one on that
    /// has this position. What is from before this time may be left out. Ends when it is told false. Blocks
    /// the thread.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn each(&self, from: u64, from_us: u64, mut see: impl FnMut(&[u8], u64) -> bool) -> io::Result<()> {
        match self {
            Blocks::Folder(folder) => each_segment(folder, from, from_us, see),
            Blocks::Shared(log, shard) => {
                let mut from = from;
                loop {
                    let blocks = log.read(*shard, from, from_us).map_err(io::Error::other)?;
                    let Some(last) = blocks.last() else { return Ok(()) };
                    from = last.position + last.octets.len() as u64;
                    if !blocks.iter().all(|block| see(&block.octets, block.position)) {
                        return Ok(());
                    }
                }
            }
        }
    }
}

impl Blocks {
    /// Where what is left of the log begins, and the time of its first block; none where nothing is removed
    /// ever, or nothing is there.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn begin(&self) -> io::Result<Option<(u64, u64)>> {
        let Blocks::Folder(folder) = self else { return Ok(None) };
        let segments = log::list(folder)?;
        let Some((base, path)) = segments.first() else { return Ok(None) };
        Ok(first_time(path, *base)?.map(|time_us| (*base, time_us)))
    }
}

fn each_segment(
    folder: &Path,
    from: u64,
    from_us: u64,
    mut see: impl FnMut(&[u8], u64) -> bool,
) -> io::Result<()> {
    let segments = log::list(folder)?;
    for (at, (base, path)) in segments.iter().enumerate() {
        let next = segments.get(at + 1);
        if next.is_some_and(|(next, _)| *next <= from) {
            continue;
        }
        if let Some((next_base, next_path)) = next
            && first_time(next_path, *next_base)?.is_some_and(|time_us| time_us < from_us)
        {
            continue;
        }
        if !see(&std::fs::read(path)?, *base) {
            return Ok(());
        }
    }
    Ok(())
}

/// The time of a segment's first block.
fn first_time(path: &Path, base: u64) -> io::Result<Option<u64>> {
    let mut head = [0; block::HEAD_OCTETS];
    if File::open(path)?.read_exact_at(&mut head, 0).is_err() {
        return Ok(None);
    }
    Ok(block::peek_time(&head, base))
}
