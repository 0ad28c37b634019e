//! The operating system's disk, with everything it is asked for put on record in its order, so that a power
//! cut can be played at each moment of a real run.

use crate::simulated::{BegunSync, SimulatedDisk, SimulatedFile, lock};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wal::{Disk, DiskFile, FolderEntry, OsDisk, Synced, write_all_at};

/// What the disk was asked for, or what was promised by then.
pub enum Op<P> {
    Create(PathBuf, u64),
    CreateFolder(PathBuf),
    SyncFolder(PathBuf),
    Rename(PathBuf, PathBuf),
    RemoveFile(PathBuf),
    RemoveFolder(PathBuf),
    Write(u64, u64, Vec<u8>),
    SetLen(u64, u64),
    /// Of a file; the sync's own number.
    BeginSync(u64, u64),
    EndSync(u64, u64),
    Promise(P),
}

struct DiskRecord<P> {
    ops: Vec<Op<P>>,
    /// Files by path, as it is now.
    numbers: HashMap<PathBuf, u64>,
    next: u64,
    syncs: u64,
}

/// The disk. Paths are on record as they would be below another root.
pub struct RecordedDisk<P> {
    root: PathBuf,
    as_root: PathBuf,
    record: Arc<Mutex<DiskRecord<P>>>,
}

impl<P> Clone for RecordedDisk<P> {
    fn clone(&self) -> RecordedDisk<P> {
        RecordedDisk { root: self.root.clone(), as_root: self.as_root.clone(), record: self.record.clone() }
    }
}

impl<P: Send + 'static> RecordedDisk<P> {
    /// A folder of the real disk.
    pub fn new(root: &Path, as_root: PathBuf) -> RecordedDisk<P> {
        let record = DiskRecord { ops: Vec::new(), numbers: HashMap::new(), next: 0, syncs: 0 };
        RecordedDisk { root: root.to_owned(), as_root, record: Arc::new(Mutex::new(record)) }
    }

    /// Puts on record what the folder holds already, as safe on disk.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn adopt(&self) -> io::Result<()> {
        self.adopt_folder(&self.root)
    }

    fn adopt_folder(&self, folder: &Path) -> io::Result<()> {
        for FolderEntry { name, is_folder } in OsDisk.list(folder)? {
            let path = folder.join(name);
            if is_folder {
                lock(&self.record).ops.push(Op::CreateFolder(self.path(&path)));
                self.adopt_folder(&path)?;
                continue;
            }
            let octets = std::fs::read(&path)?;
            let mut record = lock(&self.record);
            let (number, sync) = (record.next, record.syncs);
            (record.next, record.syncs) = (number + 1, sync + 1);
            record.ops.extend([
                Op::Create(self.path(&path), number),
                Op::Write(number, 0, octets),
                Op::BeginSync(number, sync),
                Op::EndSync(number, sync),
            ]);
            record.numbers.insert(path, number);
        }
        lock(&self.record).ops.push(Op::SyncFolder(self.path(folder)));
        Ok(())
    }

    /// Puts on record what is promised from here on.
    pub fn promise(&self, promise: P) {
        lock(&self.record).ops.push(Op::Promise(promise));
    }

    /// The record.
    pub fn take(&self) -> Vec<Op<P>> {
        std::mem::take(&mut lock(&self.record).ops)
    }

    fn path(&self, path: &Path) -> PathBuf {
        self.as_root.join(path.strip_prefix(&self.root).expect("it is below the root"))
    }

    fn file(&self, file: Arc<dyn DiskFile>, number: u64) -> Arc<dyn DiskFile> {
        Arc::new(RecordedFile { file, number, record: self.record.clone() })
    }
}

struct RecordedFile<P> {
    file: Arc<dyn DiskFile>,
    number: u64,
    record: Arc<Mutex<DiskRecord<P>>>,
}

impl<P: Send + 'static> Disk for RecordedDisk<P> {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let record = lock(&self.record);
        let file = OsDisk.open(path)?;
        let number = record.numbers[path];
        drop(record);
        Ok(self.file(file, number))
    }
    /// What is written past the cache is on record like anything else, and goes through it here: a run is the
    /// same on a file system without such a way.
    fn open_direct(&self, path: &Path) -> Option<Arc<dyn DiskFile>> {
        self.open(path).ok()
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut record = lock(&self.record);
        let file = OsDisk.create(path)?;
        let number = record.next;
        record.next += 1;
        record.numbers.insert(path.to_owned(), number);
        record.ops.push(Op::Create(self.path(path), number));
        drop(record);
        Ok(self.file(file, number))
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        OsDisk.list(folder)
    }
    fn create_folder(&self, folder: &Path) -> io::Result<bool> {
        let mut record = lock(&self.record);
        let made = OsDisk.create_folder(folder)?;
        if made {
            record.ops.push(Op::CreateFolder(self.path(folder)));
        }
        Ok(made)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut record = lock(&self.record);
        OsDisk.sync_folder(folder)?;
        record.ops.push(Op::SyncFolder(self.path(folder)));
        Ok(())
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut record = lock(&self.record);
        OsDisk.rename(from, to)?;
        let moved: Vec<PathBuf> =
            record.numbers.keys().filter(|path| path.starts_with(from)).cloned().collect();
        for path in moved {
            if let (Some(number), Ok(rest)) = (record.numbers.remove(&path), path.strip_prefix(from)) {
                record.numbers.insert(to.join(rest), number);
            }
        }
        record.ops.push(Op::Rename(self.path(from), self.path(to)));
        Ok(())
    }
    fn written_before(&self, path: &Path) -> io::Result<Duration> {
        OsDisk.written_before(path)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut record = lock(&self.record);
        OsDisk.remove_file(path)?;
        record.numbers.remove(path);
        record.ops.push(Op::RemoveFile(self.path(path)));
        Ok(())
    }
    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        let mut record = lock(&self.record);
        OsDisk.remove_folder(folder)?;
        record.ops.push(Op::RemoveFolder(self.path(folder)));
        Ok(())
    }
}

impl<P: Send + 'static> Synced for RecordedFile<P> {
    fn sync(&self) -> io::Result<()> {
        let sync = {
            let mut record = lock(&self.record);
            let sync = record.syncs;
            record.syncs += 1;
            record.ops.push(Op::BeginSync(self.number, sync));
            sync
        };
        self.file.sync()?;
        lock(&self.record).ops.push(Op::EndSync(self.number, sync));
        Ok(())
    }
}

impl<P: Send + 'static> DiskFile for RecordedFile<P> {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }
    fn write_at(&self, octets: &[u8], offset: u64) -> io::Result<usize> {
        let mut record = lock(&self.record);
        let written = self.file.write_at(octets, offset)?;
        record.ops.push(Op::Write(self.number, offset, octets[..written].to_vec()));
        Ok(written)
    }
    fn allocate(&self, octets: u64) -> io::Result<()> {
        self.set_len(octets)
    }
    fn extend(&self, _from: u64, to: u64) -> io::Result<()> {
        if to > self.file.octets()? { self.set_len(to) } else { Ok(()) }
    }
    fn set_len(&self, octets: u64) -> io::Result<()> {
        let mut record = lock(&self.record);
        self.file.set_len(octets)?;
        record.ops.push(Op::SetLen(self.number, octets));
        Ok(())
    }
    fn octets(&self) -> io::Result<u64> {
        self.file.octets()
    }
}

/// A record played on a disk in memory, one step after the other.
pub struct Replay {
    /// As it is after the last step.
    pub disk: SimulatedDisk,
    files: HashMap<u64, SimulatedFile>,
    syncs: HashMap<u64, BegunSync>,
}

impl Default for Replay {
    /// Before the first step.
    fn default() -> Replay {
        Replay { disk: SimulatedDisk::new(), files: HashMap::new(), syncs: HashMap::new() }
    }
}

impl Replay {
    /// Plays one step.
    ///
    /// # Panics
    /// The step was never on record, or one before it was left out.
    pub fn step<P>(&mut self, op: &Op<P>) {
        self.try_step(op).expect("what the real disk did can be done again");
    }

    fn try_step<P>(&mut self, op: &Op<P>) -> io::Result<()> {
        let disk = &self.disk;
        match op {
            Op::Create(path, number) => {
                disk.create(path)?;
                self.files.insert(*number, disk.file(path).ok_or(io::ErrorKind::NotFound)?);
            }
            Op::CreateFolder(path) => drop(disk.create_folder(path)?),
            Op::SyncFolder(path) => disk.sync_folder(path)?,
            Op::Rename(from, to) => disk.rename(from, to)?,
            Op::RemoveFile(path) => disk.remove_file(path)?,
            Op::RemoveFolder(path) => disk.remove_folder(path)?,
            Op::Write(number, offset, octets) => write_all_at(&self.files[number], octets, *offset)?,
            Op::SetLen(number, octets) => self.files[number].set_len(*octets)?,
            Op::BeginSync(number, sync) => drop(self.syncs.insert(*sync, self.files[number].begin_sync())),
            Op::EndSync(number, sync) => {
                let begun = self.syncs.remove(sync).ok_or(io::ErrorKind::NotFound)?;
                self.files[number].end_sync(begun);
            }
            Op::Promise(_) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dice, root};

    #[test]
    fn what_was_there_before_the_run_is_there_after_any_cut_and_what_was_not_synced_may_be_gone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        std::fs::write(folder.path().join("below/old"), b"old").unwrap();
        let disk: RecordedDisk<()> = RecordedDisk::new(folder.path(), root());
        disk.adopt().unwrap();
        let new = disk.create(&folder.path().join("below/new")).unwrap();
        write_all_at(&*new, b"new", 0).unwrap();
        let mut replay = Replay::default();
        disk.take().iter().for_each(|op| replay.step(op));
        let mut found = std::collections::BTreeSet::new();
        for seed in 0..64 {
            let left = tempfile::tempdir().unwrap();
            replay.disk.power_cut(&mut Dice(seed)).write_to(left.path()).unwrap();
            assert_eq!(std::fs::read(left.path().join("below/old")).unwrap(), b"old");
            found.insert(std::fs::read(left.path().join("below/new")).ok());
        }
        let may_be = [None, Some(b"".to_vec()), Some(b"\0\0\0".to_vec()), Some(b"new".to_vec())];
        assert_eq!(found, may_be.into());
    }
}
