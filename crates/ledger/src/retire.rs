//! Old segments of a log are removed, where somebody said for how long charging records are kept.
//!
//! A segment goes when nothing needs it any more: both snapshots that are kept cover it and all requests that
//! are still known again come after it, and its last record is older than records are kept. So a start, also
//! one from the older snapshot, reads what it read before; the audit begins with that snapshot. Records that
//! were not exported by then are gone.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use wal::Disk;

use super::block;
use super::log::{self, Segments};
use super::snapshot;

/// Removes what is not needed and was written before this time, the oldest first. How many segments that
/// were.
///
/// # Errors
///
/// A file cannot be read or removed: it is tried again after the next snapshot.
pub fn retire(disk: &dyn Disk, folder: &Path, segments: &Segments, before_us: u64) -> io::Result<usize> {
    let snapshots = snapshot::list(folder)?;
    if snapshots.len() < snapshot::KEPT {
        return Ok(0);
    }
    let mut needed = u64::MAX;
    for (position, path) in &snapshots {
        needed = needed.min(snapshot::floor(path)?.unwrap_or(0)).min(*position);
    }
    let listed = log::list(folder)?;
    let mut removed = 0;
    for pair in listed.windows(2) {
        let [(base, path), (next, next_path)] = pair else { break };
        // All of a segment was written before the first block of the next one.
        let is_old = first_time(next_path, *next)?.is_some_and(|time_us| time_us < before_us);
        if *next > needed || !is_old {
            break;
        }
        segments.forget(*base);
        disk.remove_file(path)?;
        // One after the other, or a power cut could leave a gap between those that are still there.
        disk.sync_folder(folder)?;
        removed += 1;
    }
    Ok(removed)
}

/// The time of a segment's first block.
fn first_time(path: &Path, base: u64) -> io::Result<Option<u64>> {
    let mut head = [0; block::HEAD_OCTETS];
    match File::open(path)?.read_exact_at(&mut head, 0) {
        Ok(()) => Ok(block::peek_time(&head, base)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
