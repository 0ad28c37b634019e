//! Open files, at most so many: thousands of idle topics cost no descriptor.

use super::lock::lock;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use wal::DiskFile;

/// Which file: its log's number and its first index.
pub(super) type FileKey = (u64, u64);

/// The open files. One in use stays open for its user when it is closed here.
pub(super) struct Handles {
    open: Mutex<OpenHandle>,
    limit: usize,
}

#[derive(Default)]
struct OpenHandle {
    files: HashMap<FileKey, (Arc<dyn DiskFile>, u64)>,
    uses: u64,
}

impl Handles {
    /// Keeps at most `limit` files open, at least 1.
    pub fn new(limit: usize) -> Handles {
        Handles { open: Mutex::default(), limit: limit.max(1) }
    }

    /// The open file, or what `open` opens.
    pub fn file(
        &self,
        key: FileKey,
        open: impl FnOnce() -> io::Result<Arc<dyn DiskFile>>,
    ) -> io::Result<Arc<dyn DiskFile>> {
        let mut guard = lock(&self.open);
        guard.uses += 1;
        let uses = guard.uses;
        if let Some((file, used)) = guard.files.get_mut(&key) {
            *used = uses;
            return Ok(file.clone());
        }
        drop(guard);
        let file = open()?;
        self.keep(key, file.clone());
        Ok(file)
    }

    /// Keeps a file that was opened elsewhere; the quarter that was used least recently goes when there are
    /// too many.
    pub fn keep(&self, key: FileKey, file: Arc<dyn DiskFile>) {
        let mut guard = lock(&self.open);
        if guard.files.len() >= self.limit {
            let mut uses: Vec<u64> = guard.files.values().map(|(_, used)| *used).collect();
            let (_, &mut bound, _) = uses.select_nth_unstable(self.limit / 4);
            guard.files.retain(|_, (_, used)| *used > bound);
        }
        guard.uses += 1;
        let uses = guard.uses;
        guard.files.insert(key, (file, uses));
    }

    /// Closes a file.
    pub fn forget(&self, key: FileKey) {
        lock(&self.open).files.remove(&key);
    }

    /// How many are open.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        lock(&self.open).files.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wal::{Disk, OsDisk};

    #[test]
    fn at_most_so_many_files_are_open_and_the_newest_stay() {
        let dir = tempfile::tempdir().unwrap();
        let handles = Handles::new(8);
        for n in 0..50 {
            let path = dir.path().join(n.to_string());
            handles.file((0, n), || OsDisk.create(&path)).unwrap();
            assert!(handles.count() <= 8, "{} are open", handles.count());
        }
        handles.file((0, 49), || panic!("the newest is open")).unwrap();
        handles.forget((0, 49));
        let opened = handles.file((0, 49), || Err(io::ErrorKind::NotFound.into()));
        assert!(opened.is_err());
    }
}
