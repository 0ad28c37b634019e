//! One shard's log on disk: segments of blocks, named by the position of their first octet.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use wal::{Disk, DiskFile, OsDisk, Synced, read_full_at, write_all_at};

use super::direct::FileTail;
use super::preallocate::PreallocatedSegment;
use super::shard::{ENTRY_OCTETS_MAX, Past};

/// The first position: no entry stands at 0.
pub const FIRST_POSITION: u64 = 4_096;

/// When what was written is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// Before each answer.
    Always,
    /// At least so often; a power cut takes back what was answered since.
    Every { us: u64 },
    /// When the system likes.
    Os,
}

/// A segment's first position and its file.
type Segment = (u64, Arc<dyn DiskFile>);

/// The segments of a log, the oldest first. Read by whoever asks, grown by the owner.
#[derive(Clone, Default)]
pub struct Segments {
    all: Arc<RwLock<Vec<Segment>>>,
}

impl Segments {
    fn push(&self, base: u64, file: Arc<dyn DiskFile>) {
        self.all.write().unwrap_or_else(|poisoned| poisoned.into_inner()).push((base, file));
    }

    /// The segment that begins here is about to go.
    pub(super) fn forget(&self, base: u64) {
        let mut all = self.all.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        all.retain(|(other, _)| *other != base);
    }

    fn find(&self, position: u64) -> Option<Segment> {
        let all = self.all.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        all.iter().rev().find(|(base, _)| *base <= position).cloned()
    }
}

impl Past for Segments {
    fn read(&self, position: u64, into: &mut Vec<u8>) -> bool {
        let Some((base, file)) = self.find(position) else {
            return false;
        };
        let mut first = [0; 512];
        let Ok(len) = file.read_at(&mut first, position - base) else {
            return false;
        };
        let wanted = first.first_chunk().map_or(0, |len| 2 + usize::from(u16::from_le_bytes(*len)));
        if len < 2 || wanted > ENTRY_OCTETS_MAX {
            return false;
        }
        into.clear();
        into.extend_from_slice(&first[..len.min(wanted)]);
        if wanted > len {
            into.resize(wanted, 0);
            let rest = read_full_at(&*file, &mut into[len..], position - base + len as u64);
            return rest.is_ok_and(|read| read == wanted - len);
        }
        true
    }
}

/// The end of the log, where it grows.
pub struct Log {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    segment_octets: u64,
    file: Arc<dyn DiskFile>,
    /// Its end, written past the system's cache; none where its file system cannot.
    tail: Option<FileTail>,
    base: u64,
    at: u64,
    synced: u64,
    segments: Segments,
    /// The next segment, made while this one is filled.
    spare: PreallocatedSegment,
}

fn segment_path(folder: &Path, base: u64) -> PathBuf {
    folder.join(format!("{base:016x}.log"))
}

/// The segments in a folder: first position and path, the oldest first.
///
/// # Errors
///
/// The folder cannot be read.
pub fn list(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let path = file?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(base) = name.strip_suffix(".log").and_then(|base| u64::from_str_radix(base, 16).ok()) {
            found.push((base, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Makes what a folder lists survive a power cut.
///
/// # Errors
///
/// The folder cannot be opened or synced.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

impl Log {
    /// Goes on with a log that ends at `at`: what stands after that in the last segment is cut off. Segments
    /// are those that are there.
    ///
    /// # Errors
    ///
    /// A file cannot be made, opened or cut.
    pub fn open(folder: &Path, segment_octets: u64, at: u64) -> io::Result<Log> {
        Log::open_on(Arc::new(OsDisk), folder, segment_octets, at)
    }

    /// The same on any disk.
    ///
    /// # Errors
    ///
    /// As [`Log::open`].
    pub(super) fn open_on(
        disk: Arc<dyn Disk>,
        folder: &Path,
        segment_octets: u64,
        at: u64,
    ) -> io::Result<Log> {
        let segments = Segments::default();
        let listed = list(folder)?;
        for (base, path) in listed.iter().filter(|(base, _)| *base <= at) {
            segments.push(*base, disk.open(path)?);
        }
        let behind: Vec<_> = listed.iter().filter(|(base, _)| *base > at).collect();
        for (_, path) in &behind {
            disk.remove_file(path)?;
        }
        if !behind.is_empty() {
            disk.sync_folder(folder)?;
        }
        let last = segments.find(at);
        let (base, file) = match last {
            Some(last) => last,
            None => {
                let file = create(&*disk, folder, at, segment_octets)?;
                segments.push(at, file.clone());
                (at, file)
            }
        };
        // Whatever a crash left after the end must never be taken for a block.
        file.set_len(at - base)?;
        file.extend(at - base, segment_octets)?;
        // A process that died may not have synced what it wrote: from now on requests that are known again
        // are answered by it, and the next block says that it is synced. And what was cut must not come back.
        file.sync_all()?;
        PreallocatedSegment::remove_old(&*disk, folder)?;
        let spare = PreallocatedSegment::prepare(&disk, folder, segment_octets);
        spare.follow(at - base);
        let tail = tail(&*disk, folder, &*file, base, at)?;
        Ok(Log {
            disk,
            folder: folder.to_owned(),
            segment_octets,
            file,
            tail,
            base,
            at,
            synced: at,
            segments,
            spare,
        })
    }

    /// The next block goes to another segment; before that all that was written must be on disk.
    pub fn is_full(&self) -> bool {
        self.at - self.base >= self.segment_octets
    }

    /// What was written goes past the system's cache: then each sync hears of its errors itself. What stands
    /// in the cache may fail between two syncs of one open file, and only one of them is told.
    pub(super) fn syncs_may_overlap(&self) -> bool {
        self.tail.is_some()
    }

    /// To be synced beside others; `synced_to` says so when it was.
    pub(super) fn synced_file(&self) -> Arc<dyn Synced> {
        self.file.clone()
    }

    /// The log is on disk up to there.
    pub(super) fn synced_to(&mut self, position: u64) {
        self.synced = self.synced.max(position);
    }

    /// Where the next block begins. A full segment is followed by another first.
    ///
    /// # Errors
    ///
    /// The next segment cannot be made.
    pub fn next_position(&mut self) -> io::Result<u64> {
        if self.is_full() {
            self.sync()?;
            let file = self.next_segment()?;
            self.segments.push(self.at, file.clone());
            self.tail = tail(&*self.disk, &self.folder, &*file, self.at, self.at)?;
            (self.file, self.base) = (file, self.at);
        }
        Ok(self.at)
    }

    /// The spare under its own name; where there is none, a new one.
    fn next_segment(&mut self) -> io::Result<Arc<dyn DiskFile>> {
        let file = match self.spare.take() {
            Some(spare) => {
                let path = segment_path(&self.folder, self.at);
                self.disk.rename(&spare, &path)?;
                self.disk.sync_folder(&self.folder)?;
                self.disk.open(&path)?
            }
            None => create(&*self.disk, &self.folder, self.at, self.segment_octets)?,
        };
        self.spare = PreallocatedSegment::prepare(&self.disk, &self.folder, self.segment_octets);
        Ok(file)
    }

    /// Writes a sealed block at the end.
    ///
    /// # Errors
    ///
    /// Not all of it was written; the log must not be used any more.
    pub fn append(&mut self, block: &[u8]) -> io::Result<()> {
        let offset = self.at - self.base;
        let written = self.tail.as_mut().map(|tail| tail.append(block, offset));
        match written {
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => {
                // A file system that takes pages of another size only, or none: it says so of the first of
                // them.
                self.tail = None;
                write_all_at(&*self.file, block, offset)?;
            }
            Some(written) => written?,
            None => write_all_at(&*self.file, block, offset)?,
        }
        self.at += block.len() as u64;
        self.spare.follow(self.at - self.base);
        Ok(())
    }

    /// Waits until all that was written is on disk.
    ///
    /// # Errors
    ///
    /// The disk did not take it. What of it is on disk is unknown; the log must not be used any more.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.synced < self.at {
            self.file.sync()?;
            self.synced = self.at;
        }
        Ok(())
    }

    /// Up to where the log is on disk.
    pub fn synced(&self) -> u64 {
        self.synced
    }

    /// The end of the log.
    pub fn end(&self) -> u64 {
        self.at
    }

    pub fn segments(&self) -> Segments {
        self.segments.clone()
    }

    /// What it stands on.
    pub(super) fn disk(&self) -> Arc<dyn Disk> {
        self.disk.clone()
    }
}

/// The end of the segment that begins at `base`, where the log ends at `at`.
fn tail(
    disk: &dyn Disk,
    folder: &Path,
    file: &dyn DiskFile,
    base: u64,
    at: u64,
) -> io::Result<Option<FileTail>> {
    let direct = disk.open_direct(&segment_path(folder, base));
    direct.map(|direct| FileTail::new(direct, file, at - base)).transpose()
}

fn create(disk: &dyn Disk, folder: &Path, base: u64, octets: u64) -> io::Result<Arc<dyn DiskFile>> {
    let file = disk.create(&segment_path(folder, base))?;
    file.extend(0, octets)?;
    file.sync_all()?;
    disk.sync_folder(folder)?;
    Ok(file)
}
