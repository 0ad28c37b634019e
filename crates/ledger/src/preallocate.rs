//! The segment after the one that is being filled: allocated, and filled with zeros by a thread of its own. A
//! sync of blocks that take their place has no metadata to write, where allocated blocks that were never
//! written still have (measured on ext4: one in ten syncs takes twice as long).
//!
//! The zeros share the disk with the log's own blocks, and every answer waits for a sync of those. So they
//! are not written at once: a piece at a time, half as fast again as the log grows, so that they are done
//! when two thirds of its segment are full.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use wal::{Disk, DiskFile, create_empty, write_all_at};

use super::direct::Aligned;

/// A spare that waits for its turn.
const SPARE: &str = "spare.new";
/// Octets of zeros that are written at once.
const PIECE_OCTETS: usize = 128 << 10;
/// Between two pieces, where the log is not close behind: 30 MB/s.
const REST: Duration = Duration::from_millis(4);

/// How far the log is, and whether anybody still wants the spare.
#[derive(Debug, Default)]
struct LogProgress {
    /// Octets of the segment before it that are filled.
    filled: AtomicU64,
    is_over: AtomicBool,
}

impl LogProgress {
    /// Whether a spare with so many octets of zeros is further than it must be.
    fn is_ahead(&self, zeros: u64) -> bool {
        let filled = self.filled.load(Ordering::Relaxed);
        zeros > filled.saturating_add(filled / 2)
    }
}

/// A segment that is being made.
#[derive(Debug)]
pub(super) struct PreallocatedSegment {
    path: PathBuf,
    /// None: there is no thread, and so no spare.
    thread: Option<JoinHandle<io::Result<()>>>,
    progress: Arc<LogProgress>,
}

impl PreallocatedSegment {
    /// Removes what a process before this one left: it is of unknown length.
    ///
    /// # Errors
    ///
    /// It is there and cannot be removed.
    pub fn remove_old(disk: &dyn Disk, folder: &Path) -> io::Result<()> {
        match disk.remove_file(&folder.join(SPARE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Begins to make one.
    pub fn prepare(disk: &Arc<dyn Disk>, folder: &Path, octets: u64) -> PreallocatedSegment {
        let path = folder.join(SPARE);
        let progress = Arc::new(LogProgress::default());
        let (disk, to, told) = (disk.clone(), path.clone(), progress.clone());
        let write = move || {
            let file = create_empty(&*disk, &to)?;
            file.extend(0, octets)?;
            let past_the_cache = disk.open_direct(&to);
            let is_written =
                past_the_cache.is_some_and(|direct| write_zeros(&*direct, octets, &told).is_ok());
            if !is_written {
                write_zeros(&*file, octets, &told)?;
            }
            file.sync_all()
        };
        // Without a thread the next segment is made when it is needed.
        let thread = std::thread::Builder::new().name("ledger-segment".to_owned()).spawn(write).ok();
        PreallocatedSegment { path, thread, progress }
    }

    /// So many octets of the segment before it are filled.
    #[inline]
    pub fn follow(&self, filled: u64) {
        self.progress.filled.store(filled, Ordering::Relaxed);
    }

    /// Where it is, once it is whole; waits for that. None: it could not be made.
    pub fn take(&mut self) -> Option<PathBuf> {
        self.follow(u64::MAX);
        let made = self.thread.take()?.join();
        matches!(made, Ok(Ok(()))).then(|| self.path.clone())
    }
}

impl Drop for PreallocatedSegment {
    fn drop(&mut self) {
        // The thread writes into a folder that whoever dropped the log may remove.
        self.progress.is_over.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn write_zeros(file: &dyn DiskFile, octets: u64, progress: &LogProgress) -> io::Result<()> {
    let zeros = Aligned::zeros(PIECE_OCTETS.min(octets as usize));
    let mut at = 0;
    while at < octets {
        if progress.is_over.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = zeros.get().len().min((octets - at) as usize);
        write_all_at(file, &zeros.get()[..len], at)?;
        at += len as u64;
        if at < octets && progress.is_ahead(at) {
            std::thread::sleep(REST);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wal::OsDisk;

    const OCTETS: u64 = 4 << 20;

    fn disk() -> Arc<dyn Disk> {
        Arc::new(OsDisk)
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_spare_that_is_taken_is_whole_and_all_zeros() {
        let folder = folder();
        let path = PreallocatedSegment::prepare(&disk(), folder.path(), OCTETS).take().unwrap();
        let octets = std::fs::read(path).unwrap();
        assert!(octets.len() as u64 == OCTETS && octets.iter().all(|octet| *octet == 0));
    }

    #[test]
    fn zeros_are_written_half_as_fast_again_as_the_log_grows() {
        let progress = LogProgress::default();
        let (quarter, half, whole) = (OCTETS / 4, OCTETS / 2, OCTETS);
        for (filled, zeros, is_ahead) in [
            (0, 1, true),
            (quarter, quarter, false),
            (quarter, half, true),
            (half, half, false),
            (half, whole, true),
            (whole / 3 * 2 + 2, whole, false),
            (u64::MAX, whole, false),
        ] {
            progress.filled.store(filled, Ordering::Relaxed);
            assert_eq!(progress.is_ahead(zeros), is_ahead, "{filled}, {zeros}");
        }
    }

    #[test]
    fn a_spare_that_nobody_wants_any_more_is_not_finished_first() {
        let folder = folder();
        std::fs::write(folder.path().join(SPARE), b"of another process").unwrap();
        PreallocatedSegment::remove_old(&OsDisk, folder.path()).unwrap();
        assert!(!folder.path().join(SPARE).exists());
        let (file, progress) =
            (std::fs::File::create(folder.path().join(SPARE)).unwrap(), LogProgress::default());
        progress.is_over.store(true, Ordering::Relaxed);
        let written = write_zeros(&file, OCTETS, &progress);
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::Interrupted);
        assert_eq!(file.metadata().unwrap().len(), 0);
    }
}
