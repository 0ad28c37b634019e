//! The bus on this machine's disk: a folder of logs.
//!
//! ```text
//! DIR/lock                      held while it is open: one process at a time
//! DIR/topics/TOPIC/*.log        records, files named by their first index
//! DIR/groups/TOPIC/GROUP/*.log  what a group has acknowledged
//! DIR/retained/TOPIC/*.log      keys and values
//! DIR/ceilings/*.log            how far topics that are in memory only may have counted
//! DIR/reserve                   room for emergencies on a full disk
//! DIR/removed/                  on its way out
//! ```
//!
//! Invariants worth naming:
//! - There is no thread, timer or open file per topic: an idle topic costs a few hundred octets of memory.
//! - A log that failed to sync takes no more and says nothing more: what the page cache holds then is no
//!   longer what the disk holds. A full disk, on the other hand, costs the one append and nothing else.
//! - Dropping the [`Embedded`] closes it: what was written is synced, and whoever still holds a topic gets
//!   [`BusError::Closed`].

mod begin;
mod clock;
#[cfg(test)]
mod conformance;
mod frame;
mod group;
mod handles;
pub mod listing;
mod lock;
mod log;
mod memory;
mod name;
mod notify;
mod recent_batches;
mod reserve;
mod retained;
mod shared;
mod slowed;
mod sync;
mod timer;
mod topic;
mod unsynced;
mod wakeups;
mod window;

#[cfg(test)]
mod moved;
#[cfg(test)]
mod power;
#[cfg(test)]
mod tests;

pub use clock::{Monotonic, MonotonicClock};
pub use wakeups::relay;

use crate::{Bus, BusError, Durability, Group, GroupSettings, Retained, Topic, TopicSettings};
use group::LogGroup;
use lock::{lock, read, write};
use log::{Log, Opening};
use memory::Memory;
use retained::LogRetained;
use shared::SharedLogs;
use slowed::SlowedDisk;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;
use sync::SyncPool;
use topic::GroupSource;
use wal::{Disk, OsDisk};

/// A file of a log has at most so many octets, unless one append is larger.
pub const FILE_OCTETS_MAX: u64 = 64 * 1024 * 1024;
/// The newest records of all topics together are kept in memory up to so many octets.
pub const CACHE_OCTETS_MAX: usize = 32 * 1024 * 1024;
/// So many files are kept open; one more closes those that were used least recently.
pub const OPEN_FILES_MAX: usize = 256;

const TOPICS: &str = "topics";
const GROUPS: &str = "groups";
const RETAINED: &str = "retained";
const REMOVED: &str = "removed";
const CEILINGS: &str = "ceilings";
const LOCK: &str = "lock";

/// So much room is kept back for emergencies on a full disk, from the first topic on that is opened as one.
pub const RESERVE_OCTETS: u64 = 16 * 1024 * 1024;
/// Topics that are in memory only hold so many octets together; one more is refused.
pub const MEMORY_OCTETS_MAX: usize = 1024 * 1024 * 1024;

/// When an append is done, where a topic does not say it for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fsync {
    /// After fdatasync: it survives a power cut. Nobody reads it before.
    Always,
    /// After it was handed to the operating system: it survives the death of the process. It is synced so
    /// much later in the background; a power cut may take the last records back, and their indexes are given
    /// out again.
    Interval(Duration),
    /// After it was handed to the operating system, which writes when it likes. A power cut may take back
    /// more.
    Os,
}

/// How a bus is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// When an append is done.
    pub fsync: Fsync,
    /// See [`FILE_OCTETS_MAX`].
    pub file_octets_max: u64,
    /// See [`CACHE_OCTETS_MAX`].
    pub cache_octets_max: usize,
    /// See [`OPEN_FILES_MAX`].
    pub open_files_max: usize,
    /// See [`RESERVE_OCTETS`]; 0: none.
    pub reserve_octets: u64,
    /// See [`MEMORY_OCTETS_MAX`].
    pub memory_octets_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            fsync: Fsync::Always,
            file_octets_max: FILE_OCTETS_MAX,
            cache_octets_max: CACHE_OCTETS_MAX,
            open_files_max: OPEN_FILES_MAX,
            reserve_octets: RESERVE_OCTETS,
            memory_octets_max: MEMORY_OCTETS_MAX,
        }
    }
}

/// Opens the bus in a folder, which is made if it is not there.
///
/// # Errors
/// [`BusError::Io`] if the folder cannot be used, or another process has it open.
pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Arc<dyn Bus>, BusError> {
    Ok(Arc::new(Embedded::open(dir, options)?))
}

/// The bus on this machine's disk.
pub struct Embedded {
    shared: Arc<SharedLogs>,
    topics: RwLock<HashMap<String, OpenTopic>>,
    ceilings: Arc<LogRetained>,
    groups: Mutex<HashMap<(String, String), Arc<LogGroup>>>,
    retained: Mutex<HashMap<String, Arc<LogRetained>>>,
    threads: Vec<JoinHandle<()>>,
    removals: AtomicU64,
    _lock: Option<std::fs::File>,
}

/// A topic that is open.
#[derive(Clone)]
enum OpenTopic {
    Log(Arc<Log>),
    Memory(Arc<Memory>),
}

impl OpenTopic {
    fn source(&self) -> Arc<dyn GroupSource> {
        match self {
            OpenTopic::Log(log) => log.clone(),
            OpenTopic::Memory(memory) => memory.clone(),
        }
    }

    fn topic(&self) -> Arc<dyn Topic> {
        match self {
            OpenTopic::Log(log) => log.clone(),
            OpenTopic::Memory(memory) => memory.clone(),
        }
    }

    fn set(&self, settings: &TopicSettings) {
        match self {
            OpenTopic::Log(log) => log.set(settings),
            OpenTopic::Memory(memory) => memory.set_retention(settings.retention),
        }
    }

    fn close(&self) {
        match self {
            OpenTopic::Log(log) => log.close(),
            OpenTopic::Memory(memory) => memory.close(),
        }
    }
}

impl Embedded {
    /// Opens the bus in a folder, which is made if it is not there.
    ///
    /// # Errors
    /// [`BusError::Io`] if the folder cannot be used, or another process has it open.
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Embedded, BusError> {
        Embedded::open_on(Arc::new(OsDisk), dir.as_ref(), &options)
    }

    fn open_on(disk: Arc<dyn Disk>, dir: &Path, options: &Options) -> Result<Embedded, BusError> {
        let fails =
            |what: &str, error: &io::Error| log::failed("(all)", &format!("{what} {}", dir.display()), error);
        std::fs::create_dir_all(dir).map_err(|error| fails("making", &error))?;
        let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        OsDisk.sync_folder(parent).map_err(|error| fails("syncing the folder above", &error))?;
        let held = std::fs::File::create(dir.join(LOCK)).map_err(|error| fails("opening", &error))?;
        held.try_lock().map_err(|error| fails("locking (does another process use it?)", &error.into()))?;
        let mut bus = Embedded::on(disk, Arc::new(Monotonic), dir, options)?;
        let timer = bus.shared.clone();
        let run = move || timer.timer.run(&*timer.clock);
        let thread = std::thread::Builder::new().name("bus-timer".to_owned()).spawn(run);
        bus.threads.push(thread.map_err(|error| fails("starting a thread for", &error))?);
        bus._lock = Some(held);
        Ok(bus)
    }

    /// The same where each sync of a file takes at least so long: for measurements that are to be the same on
    /// any disk.
    ///
    /// # Errors
    /// As [`Embedded::open`].
    pub fn open_slowed(
        dir: impl AsRef<Path>,
        options: Options,
        sync_takes: Duration,
    ) -> Result<Embedded, BusError> {
        Embedded::open_on(Arc::new(SlowedDisk { sync_takes }), dir.as_ref(), &options)
    }

    /// How long the last 1,000 syncs took in the mean, in microseconds.
    pub fn sync_us_mean(&self) -> u64 {
        self.shared.pool.us_mean()
    }

    /// On any disk, by any clock, without the timer's thread. The folder exists.
    fn on(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn MonotonicClock>,
        dir: &Path,
        options: &Options,
    ) -> Result<Embedded, BusError> {
        let fails = |error: io::Error| log::failed("(all)", &format!("opening {}", dir.display()), &error);
        for folder in [TOPICS, GROUPS, RETAINED, REMOVED] {
            let folder = dir.join(folder);
            disk.create_folder(&folder).and_then(|_| disk.sync_folder(&folder)).map_err(fails)?;
        }
        disk.sync_folder(dir).map_err(fails)?;
        for leftover in disk.list(&dir.join(REMOVED)).map_err(fails)? {
            disk.remove_folder(&dir.join(REMOVED).join(leftover.name)).map_err(fails)?;
        }
        let shared = Arc::new(SharedLogs::new(dir.to_owned(), options, disk, clock));
        let ceilings =
            Opening { name: "(ceilings)".to_owned(), folder: dir.join(CEILINGS), cached: false, begin: 0 };
        let ceilings = LogRetained::open(&shared, Log::open(&shared, ceilings)?)?;
        ceilings.log().set_emergency(true);
        let threads = SyncPool::start(&shared).map_err(fails)?;
        Ok(Embedded {
            shared,
            topics: RwLock::default(),
            ceilings,
            groups: Mutex::default(),
            retained: Mutex::default(),
            threads,
            removals: AtomicU64::new(0),
            _lock: None,
        })
    }

    /// Wakes who waits for the clock, where it does not run by itself.
    #[cfg(test)]
    fn clock_moved(&self) {
        self.shared.timer.wake_due(self.shared.clock.now());
        self.shared.pool.look();
    }

    /// The topic's handle, opened where it is not open yet; settings, where some are given, hold from now on.
    fn held(&self, name: &str, settings: Option<&TopicSettings>) -> Result<OpenTopic, BusError> {
        let open = read(&self.topics).get(name).cloned();
        let held = match open {
            Some(held) => held,
            None => self.open_topic(name, settings)?,
        };
        if let Some(settings) = settings {
            held.set(settings);
            if settings.emergency {
                let made = self.shared.reserve.make(&self.shared);
                made.map_err(|error| log::failed(name, "keeping room back for emergencies", &error))?;
            }
            let groups = lock(&self.groups);
            for (_, group) in groups.iter().filter(|((topic, _), _)| topic == name) {
                group.set_emergency(settings.emergency);
            }
        }
        Ok(held)
    }

    fn open_topic(&self, name: &str, settings: Option<&TopicSettings>) -> Result<OpenTopic, BusError> {
        let folder = self.path(TOPICS).join(name::folder(name)?);
        let mut topics = write(&self.topics);
        if let Some(held) = topics.get(name) {
            return Ok(held.clone());
        }
        let ceiling = self.ceilings.value(name).map(|value| ceiling_of(name, &value)).transpose()?;
        let durability = settings.and_then(|settings| settings.durability);
        let in_memory = match durability {
            Some(durability) => durability == Durability::Memory,
            None => ceiling.is_some(),
        };
        let found = self.shared.disk.list(&folder);
        let found = found.map_err(|error| log::failed(name, "looking for it", &error))?;
        // Records that are on disk stay there, whatever it is opened as.
        let held = if in_memory && found.is_empty() {
            OpenTopic::Memory(Memory::open(&self.shared, &self.ceilings, name, ceiling.unwrap_or_default()))
        } else {
            let begin = ceiling.unwrap_or_default();
            let opening = Opening { name: name.to_owned(), folder, cached: true, begin };
            OpenTopic::Log(Log::open(&self.shared, opening)?)
        };
        // Their groups see the end of the log as it was found, before anything is appended to it.
        let groups = self.shared.disk.list(&self.group_folder(name)?);
        for group in groups.map_err(|error| log::failed(name, "listing its groups", &error))? {
            self.open_group(name, &name::of_folder(&group.name), &held)?;
        }
        topics.insert(name.to_owned(), held.clone());
        Ok(held)
    }

    fn open_group(&self, topic: &str, group: &str, held: &OpenTopic) -> Result<Arc<LogGroup>, BusError> {
        let folder = self.group_folder(topic)?.join(name::group_folder(group)?);
        let mut groups = lock(&self.groups);
        let key = (topic.to_owned(), group.to_owned());
        if let Some(group) = groups.get(&key) {
            return Ok(group.clone());
        }
        let name = format!("{topic} (group {group})");
        let saved = Log::open(&self.shared, Opening { name, folder, cached: false, begin: 0 })?;
        if let OpenTopic::Log(log) = held {
            saved.set_emergency(log.is_emergency());
        }
        let opened = LogGroup::open(&self.shared, held.source(), saved)?;
        groups.insert(key, opened.clone());
        Ok(opened)
    }

    #[cfg(test)]
    fn log(&self, name: &str) -> Result<Arc<Log>, BusError> {
        match self.held(name, None)? {
            OpenTopic::Log(log) => Ok(log),
            OpenTopic::Memory(_) => panic!("{name} is in memory"),
        }
    }

    fn path(&self, folder: &str) -> PathBuf {
        self.shared.root.join(folder)
    }

    fn group_folder(&self, topic: &str) -> Result<PathBuf, BusError> {
        Ok(self.path(GROUPS).join(name::folder(topic)?))
    }

    /// Moves a folder out of sight, then removes it: after a crash it is there whole or not at all.
    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        let gone = self.path(REMOVED).join(self.removals.fetch_add(1, Ordering::Relaxed).to_string());
        match self.shared.disk.rename(folder, &gone) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            moved => moved?,
        }
        if let Some(parent) = folder.parent() {
            self.shared.disk.sync_folder(parent)?;
        }
        self.shared.disk.remove_folder(&gone)
    }

    fn logs(&self) -> Vec<Arc<Log>> {
        let held = read(&self.topics);
        let logs = held.values().filter_map(|held| match held {
            OpenTopic::Log(log) => Some(log.clone()),
            OpenTopic::Memory(_) => None,
        });
        let mut logs: Vec<Arc<Log>> = logs.chain([self.ceilings.log().clone()]).collect();
        logs.extend(lock(&self.groups).values().map(|group| group.saved().clone()));
        logs.extend(lock(&self.retained).values().map(|retained| retained.log().clone()));
        logs
    }
}

impl Bus for Embedded {
    /// Without settings, it is as it was opened before, or as the bus promises for all.
    fn topic(&self, name: &str) -> Result<Arc<dyn Topic>, BusError> {
        Ok(self.held(name, None)?.topic())
    }

    fn topic_with(&self, name: &str, settings: &TopicSettings) -> Result<Arc<dyn Topic>, BusError> {
        Ok(self.held(name, Some(settings))?.topic())
    }

    /// Without settings, it is as it was opened before.
    fn group(&self, topic: &str, group: &str) -> Result<Arc<dyn Group>, BusError> {
        let held = self.held(topic, None)?;
        Ok(self.open_group(topic, group, &held)?)
    }

    fn group_with(
        &self,
        topic: &str,
        group: &str,
        settings: &GroupSettings,
    ) -> Result<Arc<dyn Group>, BusError> {
        let dead_letters = match &settings.dead_letters {
            Some(name) if name == topic => return Err(BusError::BadName { name: name.clone() }),
            Some(name) => Some(self.held(name, None)?.source()),
            None => None,
        };
        let held = self.held(topic, None)?;
        let group = self.open_group(topic, group, &held)?;
        group.set(settings, dead_letters);
        Ok(group)
    }

    fn retained(&self, name: &str) -> Result<Arc<dyn Retained>, BusError> {
        let folder = self.path(RETAINED).join(name::folder(name)?);
        let mut all = lock(&self.retained);
        if let Some(retained) = all.get(name) {
            return Ok(retained.clone());
        }
        let named = format!("{name} (retained)");
        let log = Log::open(&self.shared, Opening { name: named, folder, cached: false, begin: 0 })?;
        // Few and small, and some of them stop what is under way.
        log.set_emergency(true);
        let opened = LogRetained::open(&self.shared, log)?;
        all.insert(name.to_owned(), opened.clone());
        Ok(opened)
    }

    fn topics(&self, prefix: &str) -> Result<Vec<String>, BusError> {
        let found = self.shared.disk.list(&self.path(TOPICS));
        let found = found.map_err(|error| log::failed("(all)", "listing topics", &error))?;
        let on_disk =
            found.into_iter().filter(|found| found.is_folder).map(|found| name::of_folder(&found.name));
        let mut names: BTreeSet<String> = on_disk.collect();
        names.extend(self.ceilings.all().into_iter().map(|(name, _)| name));
        names.extend(read(&self.topics).keys().cloned());
        Ok(names.into_iter().filter(|name| name.starts_with(prefix)).collect())
    }

    fn remove(&self, name: &str) -> Result<(), BusError> {
        let folder = self.path(TOPICS).join(name::folder(name)?);
        let mut topics = write(&self.topics);
        if let Some(held) = topics.remove(name) {
            held.close();
        }
        if self.ceilings.value(name).is_some() {
            self.ceilings.write(name, b"")?;
        }
        lock(&self.groups).retain(|(topic, _), group| {
            let stays = topic != name;
            if !stays {
                group.saved().close();
            }
            stays
        });
        // The groups first: a topic that comes back must not meet what was acknowledged of the one before.
        let removed =
            self.remove_folder(&self.group_folder(name)?).and_then(|()| self.remove_folder(&folder));
        removed.map_err(|error| log::failed(name, "removing it", &error))
    }

    fn begin(&self, name: &str, at: u64, record: &[u8]) -> Result<(), BusError> {
        self.begin_topic(name, at, record)
    }

    fn sync_us_p50(&self) -> u64 {
        self.shared.pool.us_p50()
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        let groups: Vec<Arc<LogGroup>> = lock(&self.groups).values().cloned().collect();
        for group in groups {
            if let Err(error) = group.save() {
                tracing::warn!(%error, "Acknowledgements could not be written; some records will be delivered again.");
            }
        }
        let memories: Vec<OpenTopic> = read(&self.topics).values().cloned().collect();
        for held in &memories {
            if let OpenTopic::Memory(memory) = held {
                memory.close();
                if let Err(error) = memory.settle() {
                    tracing::warn!(%error, "The last index of a topic in memory could not be written; the topic skips some indexes.");
                }
            }
        }
        let logs = self.logs();
        logs.iter().filter(|log| log.is_dirty()).for_each(|log| log.request_sync());
        self.shared.timer.close();
        self.shared.pool.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("A thread of the bus panicked.");
            }
        }
        logs.iter().for_each(|log| log.close());
    }
}

/// Reads a topic's ceiling.
fn ceiling_of(name: &str, value: &[u8]) -> Result<u64, BusError> {
    let octets = value.try_into().map_err(|_| BusError::Damaged {
        what: format!("the ceiling of topic {name} has {} octets, not 8", value.len()),
    })?;
    Ok(u64::from_le_bytes(octets))
}
