//! The seam to the file system: everything the log asks of a disk, so that tests can fill it, fail it and cut
//! its power.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A file system.
pub(crate) trait Disk: Send + Sync + 'static {
    /// Opens a file to read and write.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;
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

/// An open file.
pub(crate) trait DiskFile: Send + Sync {
    /// Reads some octets; 0 at the end.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes some octets.
    fn write_at(&self, octets: &[u8], offset: u64) -> io::Result<usize>;
    /// fdatasync.
    fn sync(&self) -> io::Result<()>;
    /// Extends to so many octets and secures their room on the disk.
    fn allocate(&self, octets: u64) -> io::Result<()>;
    /// Cuts or extends.
    fn set_len(&self, octets: u64) -> io::Result<()>;
    /// How long it is.
    fn octets(&self) -> io::Result<u64>;
}

/// An entry of a folder.
#[derive(Debug, Clone)]
pub(crate) struct FolderEntry {
    /// Its name. Names that are not UTF-8 are none of ours and left out.
    pub name: String,
    /// A folder, not a file.
    pub is_folder: bool,
}

/// Writes everything or says why not; what was written by then stays.
pub(crate) fn write_all_at(file: &dyn DiskFile, mut octets: &[u8], mut offset: u64) -> io::Result<()> {
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
pub(crate) fn read_full_at(file: &dyn DiskFile, into: &mut [u8], offset: u64) -> io::Result<usize> {
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
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull, WriteZero};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge | WriteZero)
}

/// The operating system's.
pub(crate) struct OsDisk;

impl Disk for OsDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(std::fs::OpenOptions::new().read(true).write(true).open(path)?))
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(std::fs::OpenOptions::new().read(true).write(true).create_new(true).open(path)?))
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let is_folder = entry.file_type()?.is_dir();
            if let Ok(name) = entry.file_name().into_string() {
                found.push(FolderEntry { name, is_folder });
            }
        }
        Ok(found)
    }
    fn create_folder(&self, folder: &Path) -> io::Result<bool> {
        match std::fs::create_dir(folder) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        std::fs::File::open(folder)?.sync_all()
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }
    fn written_before(&self, path: &Path) -> io::Result<Duration> {
        let written = std::fs::metadata(path)?.modified()?;
        Ok(std::time::SystemTime::now().duration_since(written).unwrap_or_default())
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }
    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        std::fs::remove_dir_all(folder)
    }
}

impl DiskFile for std::fs::File {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, into, offset)
    }
    fn write_at(&self, octets: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, octets, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
    fn allocate(&self, octets: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        match fallocate(self, FallocateFlags::empty(), 0, octets) {
            Err(rustix::io::Errno::OPNOTSUPP) => {
                let zeros = vec![0; 64 * 1024];
                for offset in (0..octets).step_by(zeros.len()) {
                    let len = zeros.len().min((octets - offset) as usize);
                    write_all_at(self, &zeros[..len], offset)?;
                }
                Ok(())
            }
            allocated => Ok(allocated?),
        }
    }
    fn set_len(&self, octets: u64) -> io::Result<()> {
        std::fs::File::set_len(self, octets)
    }
    fn octets(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}
