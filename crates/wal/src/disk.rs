//! Disk, its files, and what any of them can do by those calls alone.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A file system.
pub trait Disk: Send + Sync + 'static {
    /// Opens a file to read and write.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;
    /// Opens a file for writing past the system's cache, whole pages at a time; none where its file system
    /// has no such way.
    fn open_direct(&self, path: &Path) -> Option<Arc<dyn DiskFile>>;
    /// Makes a file that must not exist yet.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;
    /// What a folder holds, in no order; nothing if it does not exist.
    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>>;
    /// Makes a folder in an existing one; says whether it was made now.
    fn create_folder(&self, folder: &Path) -> io::Result<bool>;
    /// Makes what was created, renamed and removed in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Moves a file or folder.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// How long ago a file was written to, as the wall's clock has it: never less than zero.
    fn written_before(&self, path: &Path) -> io::Result<Duration>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder with all it holds.
    fn remove_folder(&self, folder: &Path) -> io::Result<()>;
}

/// What can be synced.
pub trait Synced: Send + Sync {
    /// fdatasync: waits until all that was written is on disk.
    fn sync(&self) -> io::Result<()>;
}

/// An open file.
pub trait DiskFile: Synced {
    /// Reads some octets; 0 at the end.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes some octets.
    fn write_at(&self, octets: &[u8], offset: u64) -> io::Result<usize>;
    /// fsync: its times too.
    fn sync_all(&self) -> io::Result<()> {
        self.sync()
    }
    /// Extends to so many octets and secures their room on the disk, by zeros if need be.
    fn allocate(&self, octets: u64) -> io::Result<()>;
    /// Allocates what lies between two offsets, so that a sync has no change of length to write; where the
    /// file system cannot, it is only made longer.
    fn extend(&self, from: u64, to: u64) -> io::Result<()>;
    /// Cuts or extends.
    fn set_len(&self, octets: u64) -> io::Result<()>;
    /// How long it is.
    fn octets(&self) -> io::Result<u64>;
}

/// An entry of a folder.
#[derive(Debug, Clone)]
pub struct FolderEntry {
    /// Its name. Names that are not UTF-8 are none of ours and left out.
    pub name: String,
    /// A folder, not a file.
    pub is_folder: bool,
}

/// Makes a file, or empties the one that is there.
///
/// # Errors
///
/// It cannot be made or emptied.
pub fn create_empty(disk: &dyn Disk, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
    match disk.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let file = disk.open(path)?;
            file.set_len(0)?;
            Ok(file)
        }
        created => created,
    }
}

/// Writes everything or says why not; what was written by then stays.
///
/// # Errors
///
/// The disk did not take all of it.
pub fn write_all_at(file: &dyn DiskFile, mut octets: &[u8], mut offset: u64) -> io::Result<()> {
    while !octets.is_empty() {
        match file.write_at(octets, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                octets = &octets[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads until `into` is full or the file ends.
///
/// # Errors
///
/// The disk cannot read it.
pub fn read_full_at(file: &dyn DiskFile, into: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match file.read_at(&mut into[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// There is no room: the device is full, or a quota or the process's own file size limit is reached.
pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull, WriteZero};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge | WriteZero)
}

/// A file that is written from its beginning to its end.
pub struct AppendedFile {
    file: Arc<dyn DiskFile>,
    end: u64,
}

impl AppendedFile {
    /// An empty one.
    pub fn new(file: Arc<dyn DiskFile>) -> AppendedFile {
        AppendedFile { file, end: 0 }
    }

    /// The file.
    pub fn into_inner(self) -> Arc<dyn DiskFile> {
        self.file
    }
}

impl io::Write for AppendedFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let written = self.file.write_at(octets, self.end)?;
        self.end += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
