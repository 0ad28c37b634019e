//! One append-only log in a folder of files. Topics, groups and retained topics all stand on it.
//!
//! An append encodes its records into one reused buffer and writes it with one call under the writer's lock.
//! What was written becomes durable when a thread of the pool syncs it, together with everything that was
//! written by then; under [`Fsync::Always`] it is readable only after that.

mod file;
mod keys;
mod read;
mod recover;
#[cfg(test)]
mod tests;

pub(super) use file::LogFile;

use super::Fsync;
use super::disk::{File, is_full, write_all_at};
use super::frame::{FILE_HEADER, FileHeader, batch_octets, encode_batch};
use super::lock::{lock, read, write};
use super::shared::Shared;
use super::sync::Phase;
use super::tail::{Budget, Tail};
use crate::{BusError, KEY_OCTETS_MAX, RECORD_OCTETS_MAX, Record};
use bytes::BytesMut;
use keys::Keys;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::time::Duration;
use tokio::sync::watch;

/// One append is at most so many octets, frames included.
pub(super) const APPEND_OCTETS_MAX: usize = 64 * 1024 * 1024;
/// A file all of whose records are let go of is given up before it is full when it has so many octets.
const TRIMMED_FILE_OCTETS: u64 = 1024 * 1024;
/// A sync waits for those the last ones carried at most this part of a sync's time,
const GATHER_PART: u32 = 6;
/// and at most so long.
const GATHER_MAX: Duration = Duration::from_millis(1);
/// The buffer of appends begins with so many octets, and shrinks back to about so many.
const BUFFER_OCTETS: usize = 16 * 1024;

/// A log.
pub(super) struct Log {
    name: String,
    number: u64,
    folder: PathBuf,
    shared: Arc<Shared>,
    cached: bool,
    writer: Mutex<Writer>,
    files: RwLock<Vec<Arc<LogFile>>>,
    progress: watch::Sender<Progress>,
    tail: Arc<Tail>,
    /// Held by whoever syncs.
    syncing: Mutex<Cohort>,
    /// How many appends were written since it was opened.
    appends: AtomicU64,
    /// Where it is on its way through the pool.
    pub(super) phase: Mutex<Phase>,
    /// It waits for its interval to end.
    waits: AtomicBool,
    me: Weak<Log>,
}

/// How far the log is.
#[derive(Debug, Clone)]
pub(super) struct Progress {
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

struct Writer {
    /// Index of the next record.
    next: u64,
    /// Where in the last file it goes.
    offset: u64,
    salt: u64,
    buffer: BytesMut,
    /// A failed write left octets behind `offset` that could not be cut yet.
    cut: bool,
    /// Files written to since the last sync, held open so that its error is not lost.
    unsynced: Vec<Arc<dyn File>>,
    /// The last file is among them.
    last_unsynced: bool,
    /// Folders with entries that are not synced.
    folders: Vec<PathBuf>,
    keys: Keys,
}

/// How many appends the last syncs carried.
#[derive(Default)]
struct Cohort {
    /// All of them together.
    carried: u64,
    /// The last two.
    sizes: [u64; 2],
    /// The last one's time.
    took: Duration,
}

impl Cohort {
    fn carry(&mut self, appends: u64) {
        self.sizes = [self.sizes[1], appends - self.carried];
        self.carried = appends;
    }
}

/// What an append got.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    /// Index of its first record.
    pub first: u64,
    /// Index behind its last.
    pub end: u64,
}

impl Log {
    /// Opens what is in the folder, or a log that makes the folder with its first append.
    pub fn open(
        shared: &Arc<Shared>,
        name: String,
        folder: PathBuf,
        cached: bool,
    ) -> Result<Arc<Log>, BusError> {
        let number = shared.log_number();
        let found = recover::recover(shared, number, &name, &folder)?;
        let salt = match found.files.last() {
            Some(last) => last
                .open(shared)
                .and_then(|file| last.salt(&*file))
                .map_err(|error| failed(&name, "open", &error))?,
            None => None,
        };
        let (progress, _) = watch::channel(Progress { head: found.next, durable: found.next, stopped: None });
        let writer = Writer {
            next: found.next,
            offset: found.offset,
            salt: salt.unwrap_or_default(),
            buffer: BytesMut::new(),
            cut: false,
            unsynced: Vec::new(),
            last_unsynced: false,
            folders: Vec::new(),
            keys: Keys::default(),
        };
        Ok(Arc::new_cyclic(|me| Log {
            name,
            number,
            folder,
            shared: shared.clone(),
            cached,
            writer: Mutex::new(writer),
            files: RwLock::new(found.files),
            progress,
            tail: Arc::default(),
            syncing: Mutex::default(),
            appends: AtomicU64::new(0),
            phase: Mutex::default(),
            waits: AtomicBool::new(false),
            me: me.clone(),
        }))
    }

    /// Writes records as one unit and asks for the sync that the bus's mode promises.
    pub fn write_promised(&self, records: &[&[u8]]) -> Result<Written, BusError> {
        let (written, rolled) = self.write(records)?;
        self.promise(rolled);
        Ok(written)
    }

    /// The same if the next index is `head`.
    pub fn write_at(&self, head: u64, records: &[&[u8]]) -> Result<Written, BusError> {
        let octets = check_sizes(records)?;
        let mut writer = lock(&self.writer);
        if writer.next != head {
            self.check_running()?;
            return Err(BusError::Moved { topic: self.name.clone(), head: writer.next });
        }
        let (written, rolled) = self.write_locked(&mut writer, records, octets)?;
        drop(writer);
        self.promise(rolled);
        Ok(written)
    }

    /// The same unless records were appended under this key before; says whether they were.
    pub fn write_keyed(&self, key: &[u8], records: &[&[u8]]) -> Result<(Written, bool), BusError> {
        if key.len() > KEY_OCTETS_MAX {
            return Err(BusError::TooLarge { what: "a key", size: key.len(), limit: KEY_OCTETS_MAX });
        }
        let octets = check_sizes(records)?;
        let mut writer = lock(&self.writer);
        if let Some(written) = writer.keys.place(key) {
            return Ok((written, true));
        }
        let (written, rolled) = self.write_locked(&mut writer, records, octets)?;
        if written.first < written.end {
            writer.keys.remember(key, written);
        }
        drop(writer);
        self.promise(rolled);
        Ok((written, false))
    }

    /// Index behind the last record, readable or not yet.
    pub fn end(&self) -> u64 {
        lock(&self.writer).next
    }

    /// Asks for the sync that the bus's mode promises.
    fn promise(&self, rolled: bool) {
        match self.shared.fsync {
            Fsync::Always => self.request_sync(),
            Fsync::Interval(interval) => {
                if !self.waits.swap(true, Ordering::AcqRel)
                    && let Some(me) = self.me.upgrade()
                {
                    self.shared.pool.sync_later(me, self.shared.clock.now() + interval);
                }
            }
            // Full files are synced in the background, so that recovery need not read them all.
            Fsync::Os if rolled => self.request_sync(),
            Fsync::Os => {}
        }
    }

    /// Writes records as one unit; they become durable with the next sync. Says also whether a file was begun.
    pub fn write(&self, records: &[&[u8]]) -> Result<(Written, bool), BusError> {
        let octets = check_sizes(records)?;
        self.write_locked(&mut lock(&self.writer), records, octets)
    }

    fn write_locked(
        &self,
        writer: &mut Writer,
        records: &[&[u8]],
        octets: u64,
    ) -> Result<(Written, bool), BusError> {
        self.check_running()?;
        let first = writer.next;
        if records.is_empty() {
            return Ok((Written { first, end: first }, false));
        }
        self.cut_leftover(writer)?;
        let last = read(&self.files).last().cloned();
        let (last, rolled) = match last {
            Some(last) if writer.offset + octets <= self.shared.file_octets_max => (last, false),
            Some(last) if writer.offset == FILE_HEADER as u64 => (last, false),
            _ => (self.begin_file(writer)?, true),
        };
        let file = last.open(&self.shared).map_err(|error| failed(&self.name, "open", &error))?;
        self.write_batch(writer, &*file, records)?;
        last.note_batch(first, writer.offset, records);
        self.appends.fetch_add(1, Ordering::AcqRel);
        writer.next += records.len() as u64;
        writer.offset += octets;
        if !writer.last_unsynced {
            writer.last_unsynced = true;
            writer.unsynced.push(file);
        }
        if self.cached {
            let octets = writer.buffer.split().freeze();
            self.shared.cache.push(&self.tail, first, octets, records);
        }
        writer.buffer.clear();
        let end = writer.next;
        if self.shared.fsync != Fsync::Always {
            self.progress.send_modify(|progress| progress.head = end);
        }
        Ok((Written { first, end }, rolled))
    }

    /// Asks the pool to sync it.
    pub fn request_sync(&self) {
        if let Some(me) = self.me.upgrade() {
            self.shared.pool.sync(&me);
        }
    }

    /// Its interval is over.
    pub fn leave_interval(&self) {
        self.waits.store(false, Ordering::Release);
    }

    /// Waits until records below `end` are as durable as the mode promises.
    pub async fn promised(&self, end: u64) -> Result<(), BusError> {
        self.reached(|progress| progress.head >= end).await
    }

    /// Waits until records below `end` are synced, whatever the mode.
    pub async fn synced(&self, end: u64) -> Result<(), BusError> {
        self.reached(|progress| progress.durable >= end).await
    }

    async fn reached(&self, enough: impl Fn(&Progress) -> bool) -> Result<(), BusError> {
        let mut progress = self.progress.subscribe();
        let progress = progress.wait_for(|progress| enough(progress) || progress.stopped.is_some()).await;
        match progress {
            Ok(progress) if enough(&progress) => Ok(()),
            Ok(progress) => Err(self.stop_error(progress.stopped.as_ref())),
            Err(_) => Err(BusError::Closed),
        }
    }

    /// Before a sync: waits a part of a sync's time for those who were carried by the last ones to come again. A few
    /// that are woken first would otherwise start the next sync alone, and all others wait for the one after.
    pub fn gather(&self) {
        let (wanted, until) = {
            let cohort = lock(&self.syncing);
            let largest = cohort.sizes[0].max(cohort.sizes[1]);
            (cohort.carried + largest, (cohort.took / GATHER_PART).min(GATHER_MAX))
        };
        let until = self.shared.clock.now() + until;
        while self.appends.load(Ordering::Acquire) < wanted && self.shared.clock.now() < until {
            std::thread::yield_now();
        }
    }

    /// Syncs everything written so far, on this thread.
    pub fn sync(&self) -> Result<(), BusError> {
        let mut cohort = lock(&self.syncing);
        let (end, files, folders) = {
            let mut writer = lock(&self.writer);
            self.check_running()?;
            cohort.carry(self.appends.load(Ordering::Acquire));
            writer.last_unsynced = false;
            (writer.next, std::mem::take(&mut writer.unsynced), writer.folders.clone())
        };
        let begun = self.shared.clock.now();
        let result = self.sync_files(&files, &folders);
        cohort.took = self.shared.clock.now() - begun;
        if result.is_ok() {
            lock(&self.writer).folders.drain(..folders.len());
        }
        self.progress.send_modify(|progress| match &result {
            Ok(()) => {
                progress.durable = end;
                progress.head = progress.head.max(end);
            }
            Err(error) => {
                progress.stopped =
                    Some(Stopped::Failed(format!("the sync failed ({error}); restart to recover")))
            }
        });
        result.map_err(|_| self.stop_error(self.progress.borrow().stopped.as_ref()))
    }

    fn sync_files(&self, files: &[Arc<dyn File>], folders: &[PathBuf]) -> io::Result<()> {
        if !files.is_empty() {
            let begun = self.shared.clock.now();
            files.iter().try_for_each(|file| file.sync())?;
            self.shared.pool.took(self.shared.clock.now() - begun);
        }
        folders.iter().try_for_each(|folder| self.shared.disk.sync_folder(folder))
    }

    /// Stops it for good: whoever waits is told.
    pub fn close(&self) {
        self.progress.send_modify(|progress| {
            progress.stopped.get_or_insert(Stopped::Closed);
        });
    }

    /// There is something that is not synced.
    pub fn is_dirty(&self) -> bool {
        let writer = lock(&self.writer);
        !writer.unsynced.is_empty() || !writer.folders.is_empty()
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

    /// Lowest index that is there.
    pub fn low(&self) -> u64 {
        read(&self.files).first().map_or(0, |file| file.first)
    }

    /// Index behind the last readable record.
    pub fn head(&self) -> u64 {
        self.progress.borrow().head
    }

    /// How far it is, to wait on.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
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

    /// Begins a new file, so that everything before can be trimmed; says the new file's first index.
    pub fn roll(&self) -> Result<u64, BusError> {
        let mut writer = lock(&self.writer);
        self.check_running()?;
        self.cut_leftover(&mut writer)?;
        if writer.offset > FILE_HEADER as u64 {
            self.begin_file(&mut writer)?;
        }
        Ok(writer.next)
    }

    /// Removes files all of whose records are below `below`; the last file stays, or an empty one takes its place.
    pub fn trim(&self, below: u64) -> Result<(), BusError> {
        let below = below.min(self.head());
        let gives_up = {
            let writer = lock(&self.writer);
            below == writer.next && writer.offset >= TRIMMED_FILE_OCTETS.min(self.shared.file_octets_max)
        };
        match if gives_up { self.roll().map(drop) } else { Ok(()) } {
            // Without room for another file the last one stays.
            Ok(()) | Err(BusError::DiskFull { .. }) => {}
            Err(error) => return Err(error),
        }
        let keep_from =
            |files: &[Arc<LogFile>]| files.partition_point(|file| file.first <= below).saturating_sub(1);
        if keep_from(&read(&self.files)) == 0 {
            return Ok(());
        }
        // The file that carries the count on must be on disk before those that carried it go.
        self.sync()?;
        let gone: Vec<Arc<LogFile>> = {
            let mut files = write(&self.files);
            let keep_from = keep_from(&files);
            files.drain(..keep_from).collect()
        };
        // One after the other, or a power cut could leave a gap between those that are still there.
        let remove = |file: &Arc<LogFile>| {
            file.remove(&self.shared)?;
            self.shared.disk.sync_folder(&self.folder)
        };
        gone.iter()
            .try_for_each(remove)
            .map_err(|error| failed(&self.name, "removing a trimmed file", &error))?;
        Ok(())
    }

    fn write_batch(&self, writer: &mut Writer, file: &dyn File, records: &[&[u8]]) -> Result<(), BusError> {
        if writer.buffer.capacity() == 0 {
            writer.buffer.reserve(BUFFER_OCTETS);
        }
        let durable = self.progress.borrow().durable;
        encode_batch(&mut writer.buffer, writer.salt, writer.next, durable, records);
        write_all_at(file, &writer.buffer, writer.offset).map_err(|error| {
            writer.buffer.clear();
            writer.cut = file.set_len(writer.offset).is_err();
            failed(&self.name, "write", &error)
        })
    }

    /// Removes what a failed write left behind the last whole batch.
    fn cut_leftover(&self, writer: &mut Writer) -> Result<(), BusError> {
        if writer.cut
            && let Some(last) = read(&self.files).last().cloned()
        {
            let cut = last.open(&self.shared).and_then(|file| file.set_len(writer.offset));
            cut.map_err(|error| failed(&self.name, "cutting a failed write", &error))?;
            writer.cut = false;
        }
        Ok(())
    }

    /// Makes the file for the record that comes next.
    fn begin_file(&self, writer: &mut Writer) -> Result<Arc<LogFile>, BusError> {
        // A file must not outlive the one before it: recovery could not tell what was lost.
        let before = writer.folders.iter().try_for_each(|folder| self.shared.disk.sync_folder(folder));
        before.map_err(|error| failed(&self.name, "syncing its folder", &error))?;
        let salt = random();
        let durable = self.progress.borrow().durable;
        let header = FileHeader { first: writer.next, salt, durable }.encode();
        let begun = LogFile::new(self.number, &self.folder, writer.next).with_salt(salt);
        let file = self.create(&begun.path, writer).and_then(|file| {
            write_all_at(&*file, &header, 0).inspect_err(|_| {
                // Recovery knows an empty file, and the next try takes it over, should it be stuck.
                let _ = file.set_len(0);
                let _ = self.shared.disk.remove_file(&begun.path);
            })?;
            Ok(file)
        });
        let file = file.map_err(|error| failed(&self.name, "beginning a file", &error))?;
        begun.keep(&self.shared, file.clone());
        writer.unsynced.push(file);
        writer.last_unsynced = true;
        writer.folders.push(self.folder.clone());
        writer.offset = FILE_HEADER as u64;
        writer.salt = salt;
        let begun = Arc::new(begun);
        write(&self.files).push(begun.clone());
        Ok(begun)
    }

    fn create(&self, path: &Path, writer: &mut Writer) -> io::Result<Arc<dyn File>> {
        let disk = &self.shared.disk;
        let created = match disk.create(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_folder(&self.folder, &mut writer.folders)?;
                disk.create(path)
            }
            created => created,
        };
        match created {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = disk.open(path)?;
                file.set_len(0)?;
                Ok(file)
            }
            created => created,
        }
    }

    fn make_folder(&self, folder: &Path, unsynced: &mut Vec<PathBuf>) -> io::Result<()> {
        let parent = folder.parent().filter(|parent| parent.starts_with(&self.shared.root));
        let made = match (self.shared.disk.create_folder(folder), parent) {
            (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
                self.make_folder(parent, unsynced)?;
                self.shared.disk.create_folder(folder)?
            }
            (made, _) => made?,
        };
        if made && let Some(parent) = parent {
            unsynced.push(parent.to_owned());
        }
        Ok(())
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

fn check_sizes(records: &[&[u8]]) -> Result<u64, BusError> {
    if let Some(large) = records.iter().find(|record| record.len() > RECORD_OCTETS_MAX) {
        return Err(BusError::TooLarge { what: "a record", size: large.len(), limit: RECORD_OCTETS_MAX });
    }
    let octets = batch_octets(records);
    if octets > APPEND_OCTETS_MAX {
        return Err(BusError::TooLarge { what: "an append", size: octets, limit: APPEND_OCTETS_MAX });
    }
    Ok(octets as u64)
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

/// A number nobody outside can guess.
fn random() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
