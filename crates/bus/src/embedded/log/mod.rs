//! One append-only log in a folder of files. Topics, groups and retained topics all stand on it.
//!
//! An append encodes its records into one reused buffer and writes it with one call under the writer's lock;
//! one that waits for its sync is gathered with others that do, and written with them. What was written
//! becomes durable when a thread of the pool syncs it, together with everything that was written by then;
//! under [`Durability::Disk`] it is readable only after that.

mod commit;
mod file;
mod group_commit_policy;
mod keys;
mod preallocate;
mod read;
mod recover;
mod retention;
mod stage;
#[cfg(test)]
mod tests;
mod waiting;
mod write;

pub(super) use commit::LANES_MAX;
pub(super) use file::LogFile;
pub(super) use stage::StagedResult;
pub(super) use write::{DurabilityRule, Promised, Written, check_sizes};

use super::Fsync;
use super::lock::{lock, read};
use super::recent_batches::{Budget, RecentBatches};
use super::shared::SharedLogs;
use super::sync::SyncStage;
use crate::{BusError, Durability, Record, Retention, TopicSettings};
use bytes::BytesMut;
use keys::Keys;
use stage::Staged;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};
use tokio::sync::watch;
use wal::{DiskFile, is_full};

/// A log.
pub(super) struct Log {
    name: String,
    number: u64,
    folder: PathBuf,
    shared: Arc<SharedLogs>,
    cached: bool,
    /// Where it begins as long as it has no file.
    begin: u64,
    /// What was asked of it alone: [`BY_BUS`], [`BY_SYSTEM`], or [`BY_SYNC`].
    durability: AtomicU8,
    emergency: AtomicBool,
    retention: Mutex<Retention>,
    /// The timer wakes it to look for what is too old.
    has_alarm: AtomicBool,
    writer: Mutex<LogWriter>,
    files: RwLock<Vec<Arc<LogFile>>>,
    progress: watch::Sender<LogProgress>,
    waiting: waiting::Waiters,
    tail: Arc<RecentBatches>,
    syncs: commit::Syncs,
    /// Held by whoever removes files.
    trimming: Mutex<()>,
    /// How many appends were written since it was opened.
    appends: AtomicU64,
    gathering: group_commit_policy::Gathering,
    /// Where it is on its way through the pool.
    pub(super) way: Mutex<SyncStage>,
    /// It waits for its interval to end.
    waits: AtomicBool,
    me: Weak<Log>,
}

/// As the bus promises for all.
const BY_BUS: u8 = 0;
/// Done when the operating system has it.
const BY_SYSTEM: u8 = 1;
/// Done when it is synced.
const BY_SYNC: u8 = 2;

/// What a log is opened as.
pub(super) struct Opening {
    pub name: String,
    pub folder: PathBuf,
    /// Its newest records are kept in memory.
    pub cached: bool,
    /// Its first index if it is not there yet.
    pub begin: u64,
}

/// How far the log is.
#[derive(Debug, Clone)]
pub(super) struct LogProgress {
    /// Records below are readable.
    pub head: u64,
    /// Records below survive a power cut.
    pub durable: u64,
    /// It has stopped for good.
    pub stopped: Option<Stopped>,
}

/// Why a log has stopped.
#[derive(Debug, Clone)]
pub(super) enum Stopped {
    /// A sync failed.
    Failed(String),
    /// The bus was closed.
    Closed,
}

struct LogWriter {
    /// Index of the next record.
    next: u64,
    /// Where in the last file it goes.
    offset: u64,
    salt: u64,
    buffer: BytesMut,
    /// A failed write left octets from here on that could not be cut yet.
    cut: Option<u64>,
    /// Appends that are written with the next sync.
    staged: Staged,
    /// Zeros behind the end.
    room: preallocate::PreallocatedTail,
    /// Files written to since the last sync, held open so that its error is not lost.
    unsynced: Vec<Arc<dyn DiskFile>>,
    /// The last file is among them.
    last_unsynced: bool,
    /// Its number in the bus's list of those that hold files open so.
    listed: Option<u64>,
    /// Folders with entries that are not synced.
    folders: Vec<PathBuf>,
    keys: Keys,
}

impl Log {
    /// Opens what is in the folder, or a log that makes the folder with its first append.
    pub fn open(shared: &Arc<SharedLogs>, opening: Opening) -> Result<Arc<Log>, BusError> {
        let Opening { name, folder, cached, begin } = opening;
        let number = shared.log_number();
        let found = recover::recover(shared, number, &name, &folder)?;
        let salt = match found.files.last() {
            Some(last) => last
                .open(shared)
                .and_then(|file| last.salt(&*file))
                .map_err(|error| failed(&name, "open", &error))?,
            None => None,
        };
        let next = if found.files.is_empty() { begin } else { found.next };
        let (progress, _) = watch::channel(LogProgress { head: next, durable: next, stopped: None });
        let writer = LogWriter {
            next,
            offset: found.offset,
            salt: salt.unwrap_or_default(),
            buffer: BytesMut::new(),
            cut: None,
            staged: Staged::default(),
            room: preallocate::PreallocatedTail::default(),
            unsynced: Vec::new(),
            last_unsynced: false,
            listed: None,
            folders: Vec::new(),
            keys: Keys::found(found.has_keys),
        };
        Ok(Arc::new_cyclic(|me| Log {
            name,
            number,
            folder,
            shared: shared.clone(),
            cached,
            begin,
            durability: AtomicU8::new(BY_BUS),
            emergency: AtomicBool::new(false),
            retention: Mutex::default(),
            has_alarm: AtomicBool::new(false),
            writer: Mutex::new(writer),
            files: RwLock::new(found.files),
            progress,
            waiting: waiting::Waiters::default(),
            tail: Arc::default(),
            syncs: commit::Syncs::default(),
            trimming: Mutex::default(),
            appends: AtomicU64::new(0),
            gathering: group_commit_policy::Gathering::default(),
            way: Mutex::default(),
            waits: AtomicBool::new(false),
            me: me.clone(),
        }))
    }

    /// Is kept like this from now on. What is to be in memory only is handed to the operating system.
    pub fn set(&self, settings: &TopicSettings) {
        let durability = match settings.durability {
            None => BY_BUS,
            Some(Durability::Memory | Durability::Os) => BY_SYSTEM,
            Some(Durability::Disk) => BY_SYNC,
        };
        self.durability.store(durability, Ordering::Release);
        self.set_emergency(settings.emergency);
        *lock(&self.retention) = settings.retention;
        if self.fsync() != Fsync::Always && self.is_dirty() {
            // Those that wait were promised more than is asked for from now on.
            self.request_sync();
        }
        self.keep_soon();
    }

    /// Goes before others, and may use the reserve.
    pub fn set_emergency(&self, emergency: bool) {
        self.emergency.store(emergency, Ordering::Release);
    }

    /// It goes before others.
    pub fn is_emergency(&self) -> bool {
        self.emergency.load(Ordering::Acquire)
    }

    /// When an append to it is done.
    fn fsync(&self) -> Fsync {
        match self.durability.load(Ordering::Acquire) {
            BY_SYSTEM => Fsync::Os,
            BY_SYNC => Fsync::Always,
            _ => self.shared.fsync,
        }
    }

    /// Stops it for good: whoever waits is told.
    pub fn close(&self) {
        self.change(|progress| {
            progress.stopped.get_or_insert(Stopped::Closed);
        });
    }

    /// Records from `from` on, durable ones only.
    pub fn read(&self, from: u64, records_max: usize, octets_max: usize) -> Result<Vec<Record>, BusError> {
        let end = {
            let progress = self.progress.borrow();
            if let Some(stopped) = &progress.stopped {
                return Err(self.stop_error(Some(stopped)));
            }
            progress.head
        };
        let from = from.max(self.low());
        if from >= end || records_max == 0 {
            return Ok(Vec::new());
        }
        let budget = || Budget { records: records_max, octets: octets_max, end };
        match self.tail.read(from, budget()) {
            Some(records) => Ok(records),
            None => self.read_disk(from, budget()),
        }
    }

    /// Shows a durable record that is in memory, or that there is none.
    pub fn glance(&self, index: u64, show: &mut dyn FnMut(Option<&[u8]>)) -> bool {
        let end = {
            let progress = self.progress.borrow();
            if progress.stopped.is_some() {
                return false;
            }
            progress.head
        };
        if index >= end {
            show(None);
            return true;
        }
        // What was trimmed may still be in memory.
        index >= self.low() && self.tail.show(index, show)
    }

    /// Lowest index that is there.
    pub fn low(&self) -> u64 {
        read(&self.files).first().map_or(self.begin, |file| file.first)
    }

    /// Index behind the last readable record.
    pub fn head(&self) -> u64 {
        self.progress.borrow().head
    }

    /// Index behind the last record, readable or not yet, and what becomes of those that are not written yet.
    pub fn end(&self) -> (u64, Option<StagedResult>) {
        let writer = lock(&self.writer);
        (writer.next, writer.staged.staged_result(writer.next))
    }

    /// How far it is, to wait on.
    pub fn progress(&self) -> watch::Receiver<LogProgress> {
        self.progress.subscribe()
    }

    /// It has stopped for good.
    pub fn is_stopped(&self) -> bool {
        self.progress.borrow().stopped.is_some()
    }

    /// Octets in its last file, and how many files there are before it.
    pub fn size(&self) -> (u64, usize) {
        let writer = lock(&self.writer);
        (writer.offset, read(&self.files).len().saturating_sub(1))
    }

    /// The log's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The log's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn check_running(&self) -> Result<(), BusError> {
        match &self.progress.borrow().stopped {
            None => Ok(()),
            Some(stopped) => Err(self.stop_error(Some(stopped))),
        }
    }

    fn stop_error(&self, stopped: Option<&Stopped>) -> BusError {
        match stopped {
            Some(Stopped::Failed(why)) => BusError::Io { topic: self.name.clone(), why: why.clone() },
            Some(Stopped::Closed) | None => BusError::Closed,
        }
    }
}

/// Says what failed; a full disk is its own error.
pub(super) fn failed(name: &str, what: &str, error: &io::Error) -> BusError {
    let topic = name.to_owned();
    if is_full(error) {
        BusError::DiskFull { topic }
    } else {
        BusError::Io { topic, why: format!("{what} failed: {error}") }
    }
}
