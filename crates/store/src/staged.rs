//! Imports staged by this process and not published yet.

use crate::spool::Spool;
use crate::{ImportNo, StoreError};
use records::{Recipient, Timestamp};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Imports that are staged at a time; each holds some 10 MB of memory.
const STAGED_MAX: usize = 16;
/// An import begun so many seconds ago may be given up to make room for another.
const FORGOTTEN_S: i64 = 6 * 60 * 60;

/// What is staged.
pub(crate) struct Staging {
    path: PathBuf,
    imports: Mutex<FxHashMap<ImportNo, Arc<Staged>>>,
}

pub(crate) struct Staged {
    /// Gone when publishing began.
    spool: Mutex<Option<Spool>>,
    begun: Timestamp,
    staged: AtomicU64,
    /// Rows and memberships written so far.
    pub(crate) written: AtomicU64,
}

impl Staged {
    /// Adds rows. Sorts and writes: no work for a thread that serves many.
    pub(crate) fn push(&self, import: ImportNo, recipients: &[Recipient]) -> Result<(), StoreError> {
        let mut spool = lock(&self.spool);
        let spool = spool.as_mut().ok_or_else(|| not_staged(import))?;
        for recipient in recipients {
            spool.push(recipient.id.as_bytes(), &recipient.encode())?;
            self.staged.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// What was staged, to be published; nothing more can be added.
    pub(crate) fn take(&self, import: ImportNo) -> Result<Spool, StoreError> {
        lock(&self.spool).take().ok_or_else(|| not_staged(import))
    }
}

impl Staging {
    /// Spools stand beside `path`, with names that begin as it does.
    pub(crate) fn new(path: &Path) -> Staging {
        Staging { path: path.to_owned(), imports: Mutex::default() }
    }

    /// All that are staged or being published.
    pub(crate) fn all(&self) -> Vec<ImportNo> {
        lock(&self.imports).keys().copied().collect()
    }

    /// Rows staged so far, and rows written so far.
    pub(crate) fn progress(&self, import: ImportNo) -> Option<(u64, u64)> {
        let import = lock(&self.imports).get(&import).cloned()?;
        Some((import.staged.load(Ordering::Relaxed), import.written.load(Ordering::Relaxed)))
    }

    /// The imports that have to be given up before another may begin.
    pub(crate) fn forgotten(&self, now: Timestamp) -> Result<Vec<ImportNo>, StoreError> {
        let imports = lock(&self.imports);
        if imports.len() < STAGED_MAX {
            return Ok(Vec::new());
        }
        let old = imports.iter().filter(|(_, import)| import.begun.plus_s(FORGOTTEN_S) < now);
        let forgotten: Vec<ImportNo> = old.map(|(import, _)| *import).collect();
        if forgotten.is_empty() {
            let why = format!("{STAGED_MAX} imports are being staged: wait for one to end");
            return Err(StoreError::Conflict { why });
        }
        Ok(forgotten)
    }

    /// It has begun.
    pub(crate) fn add(&self, import: ImportNo, begun: Timestamp) {
        let spool = Mutex::new(Some(Spool::new(self.file(import, "people"))));
        let staged = Staged { spool, begun, staged: AtomicU64::new(0), written: AtomicU64::new(0) };
        lock(&self.imports).insert(import, Arc::new(staged));
    }

    /// One that is staged or being published.
    pub(crate) fn find(&self, import: ImportNo) -> Result<Arc<Staged>, StoreError> {
        lock(&self.imports).get(&import).cloned().ok_or_else(|| not_staged(import))
    }

    /// It is over.
    pub(crate) fn remove(&self, import: ImportNo) {
        lock(&self.imports).remove(&import);
    }

    /// Where a spool of it may stand.
    pub(crate) fn file(&self, import: ImportNo, of: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!(".import-{}-{of}", import.0));
        PathBuf::from(name)
    }
}

pub(crate) fn not_staged(import: ImportNo) -> StoreError {
    StoreError::Conflict { why: format!("import {} is not being staged", import.0) }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
