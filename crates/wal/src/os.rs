//! Disk of the operating system.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FallocateFlags, OFlags, fallocate};

use crate::disk::{Disk, DiskFile, FolderEntry, Synced, write_all_at};

/// The operating system's.
pub struct OsDisk;

impl Disk for OsDisk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(OpenOptions::new().read(true).write(true).open(path)?))
    }
    fn open_direct(&self, path: &Path) -> Option<Arc<dyn DiskFile>> {
        let direct = OFlags::DIRECT.bits().cast_signed();
        let file = OpenOptions::new().write(true).custom_flags(direct).open(path).ok()?;
        Some(Arc::new(file))
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(OpenOptions::new().read(true).write(true).create_new(true).open(path)?))
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
        File::open(folder)?.sync_all()
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

impl Synced for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

impl DiskFile for File {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, into, offset)
    }
    fn write_at(&self, octets: &[u8], offset: u64) -> io::Result<usize> {
        FileExt::write_at(self, octets, offset)
    }
    fn sync_all(&self) -> io::Result<()> {
        File::sync_all(self)
    }
    fn allocate(&self, octets: u64) -> io::Result<()> {
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
    fn extend(&self, from: u64, to: u64) -> io::Result<()> {
        if to <= from {
            return Ok(());
        }
        match fallocate(self, FallocateFlags::empty(), from, to - from) {
            Err(rustix::io::Errno::OPNOTSUPP) => File::set_len(self, to),
            extended => Ok(extended?),
        }
    }
    fn set_len(&self, octets: u64) -> io::Result<()> {
        File::set_len(self, octets)
    }
    fn octets(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}
