//! The operating system's disk with syncs that take at least so long: what group commit reaches depends on
//! that time alone, and on a disk with a cache of its own that time is whatever its other users leave.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wal::{Disk, DiskFile, FolderEntry, OsDisk, Synced};

/// The disk.
pub(super) struct SlowedDisk {
    /// A sync of a file takes at least so long.
    pub sync_takes: Duration,
}

struct SlowedFile {
    file: Arc<dyn DiskFile>,
    sync_takes: Duration,
}

impl SlowedDisk {
    fn slowed(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(SlowedFile { file, sync_takes: self.sync_takes })
    }
}

impl Disk for SlowedDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.slowed(OsDisk.open(path)?))
    }
    fn open_direct(&self, path: &Path) -> Option<Arc<dyn DiskFile>> {
        OsDisk.open_direct(path).map(|file| self.slowed(file))
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.slowed(OsDisk.create(path)?))
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        OsDisk.list(folder)
    }
    fn create_folder(&self, folder: &Path) -> io::Result<bool> {
        OsDisk.create_folder(folder)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        OsDisk.sync_folder(folder)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        OsDisk.rename(from, to)
    }
    fn written_before(&self, path: &Path) -> io::Result<Duration> {
        OsDisk.written_before(path)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        OsDisk.remove_file(path)
    }
    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        OsDisk.remove_folder(folder)
    }
}

impl Synced for SlowedFile {
    fn sync(&self) -> io::Result<()> {
        let begun = Instant::now();
        self.file.sync()?;
        // The disk at work, not a wait for something to happen.
        std::thread::sleep(self.sync_takes.saturating_sub(begun.elapsed()));
        Ok(())
    }
}

impl DiskFile for SlowedFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }
    fn write_at(&self, octets: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(octets, offset)
    }
    fn allocate(&self, octets: u64) -> io::Result<()> {
        self.file.allocate(octets)
    }
    fn extend(&self, from: u64, to: u64) -> io::Result<()> {
        self.file.extend(from, to)
    }
    fn set_len(&self, octets: u64) -> io::Result<()> {
        self.file.set_len(octets)
    }
    fn octets(&self) -> io::Result<u64> {
        self.file.octets()
    }
}
