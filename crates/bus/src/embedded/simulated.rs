//! A disk in memory that can be filled, failed, held up, and whose power can be cut: what was not synced is
//! then there or not, sector by sector and entry by entry, as a seed decides.

use super::clock::MonotonicClock;
use super::disk::{Disk, DiskFile, FolderEntry};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

const SECTOR: usize = 64;

/// Small numbers that look random.
#[derive(Clone)]
pub(super) struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
    pub fn one_in(&mut self, n: u64) -> bool {
        self.roll(n) == 0
    }
}

#[derive(Default)]
pub(super) struct SimulatedDisk {
    state: Mutex<SimulatedState>,
    turn: Condvar,
}

#[derive(Default)]
struct SimulatedState {
    /// Everything that is there now.
    now: BTreeMap<PathBuf, SimulatedNode>,
    /// The entries that are there after a power cut in any case.
    safe: BTreeMap<PathBuf, SimulatedNode>,
    faults: Faults,
    syncs: usize,
    ended: usize,
    held: bool,
    /// The sync of this number alone waits.
    held_one: Option<usize>,
    /// How long ago all files were written to.
    age: Duration,
}

#[derive(Clone)]
enum SimulatedNode {
    Folder,
    File(Arc<Mutex<Content>>),
}

#[derive(Default, Clone)]
struct Content {
    now: Vec<u8>,
    safe: Vec<u8>,
    /// Octets (from, below) written since the last sync.
    dirty: Vec<(usize, usize)>,
    /// How many writes syncs made safe.
    cleaned: usize,
    /// How many syncs began, and the last of them that ended: they may overlap.
    begun: usize,
    ended: usize,
}

/// What goes wrong.
#[derive(Default, Clone)]
pub(super) struct Faults {
    /// So many octets can still be written.
    pub room: Option<usize>,
    /// Syncs fail.
    pub sync: bool,
    /// The sync of this number fails.
    pub one_sync: Option<usize>,
    /// Cutting a file fails.
    pub cut: bool,
}

impl SimulatedDisk {
    pub fn new() -> Arc<SimulatedDisk> {
        let disk = SimulatedDisk::default();
        disk.state().now.insert(root(), SimulatedNode::Folder);
        disk.state().safe.insert(root(), SimulatedNode::Folder);
        Arc::new(disk)
    }

    pub fn fault(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.state().faults);
    }

    /// How many file syncs there were.
    pub fn syncs(&self) -> usize {
        self.state().syncs
    }

    /// File syncs wait until they are let go.
    pub fn hold_syncs(&self, held: bool) {
        self.state().held = held;
        self.turn.notify_all();
    }

    /// The file sync of this number waits until it is let go.
    pub fn hold_sync(&self, number: Option<usize>) {
        self.state().held_one = number;
        self.turn.notify_all();
    }

    /// Returns when so many syncs have ended.
    pub fn wait_for_ends(&self, count: usize) {
        let state = self.state();
        let waited =
            self.turn.wait_timeout_while(state, Duration::from_secs(60), |state| state.ended < count);
        assert!(!waited.unwrap().1.timed_out(), "no {count} syncs ended");
    }

    /// Returns when a sync is being held.
    pub fn wait_for_sync(&self, count: usize) {
        let state = self.state();
        let waited =
            self.turn.wait_timeout_while(state, Duration::from_secs(60), |state| state.syncs < count);
        assert!(!waited.unwrap().1.timed_out(), "no sync number {count} came");
    }

    /// What a machine finds after its power was cut now.
    pub fn power_cut(&self, dice: &mut Dice) -> Arc<SimulatedDisk> {
        let state = self.state();
        let mut after: BTreeMap<PathBuf, SimulatedNode> = BTreeMap::new();
        let paths: BTreeSet<&PathBuf> = state.now.keys().chain(state.safe.keys()).collect();
        // Folders that were moved or removed and are back, with all that is in them.
        let mut back: Vec<&PathBuf> = Vec::new();
        for path in paths {
            let (now, safe) = (state.now.get(path), state.safe.get(path));
            let same = match (now, safe) {
                (Some(now), Some(safe)) => now.is(safe),
                (now, safe) => now.is_some() == safe.is_some(),
            };
            let is_back = back.iter().any(|folder| path.starts_with(folder));
            let node = if !is_back && (same || dice.one_in(2)) { now } else { safe };
            if now.is_none() && matches!(node, Some(SimulatedNode::Folder)) {
                back.push(path);
            }
            let parent_is_there =
                path == &root() || path.parent().is_some_and(|parent| after.contains_key(parent));
            if let Some(node) = node
                && parent_is_there
            {
                let node = match node {
                    SimulatedNode::Folder => SimulatedNode::Folder,
                    SimulatedNode::File(content) => {
                        let left = content.lock().unwrap().after_power_cut(dice);
                        SimulatedNode::File(Arc::new(Mutex::new(Content {
                            now: left.clone(),
                            safe: left,
                            ..Content::default()
                        })))
                    }
                };
                after.insert(path.clone(), node);
            }
        }
        let disk = SimulatedDisk::default();
        disk.state().safe = after.clone();
        disk.state().now = after;
        Arc::new(disk)
    }

    /// The files in a folder and below, with what they hold.
    pub fn files(&self, below: &str) -> Vec<(PathBuf, Vec<u8>)> {
        let state = self.state();
        let files = state.now.iter().filter(|(path, _)| path.starts_with(root().join(below)));
        files
            .filter_map(|(path, node)| match node {
                SimulatedNode::File(content) => Some((path.clone(), content.lock().unwrap().now.clone())),
                SimulatedNode::Folder => None,
            })
            .collect()
    }

    /// A disk with other content in one file.
    pub fn with_file(&self, path: &Path, octets: Vec<u8>) -> Arc<SimulatedDisk> {
        let copy = self.power_cut_without_loss();
        let content = Content { now: octets.clone(), safe: octets, ..Content::default() };
        copy.state().now.insert(path.to_owned(), SimulatedNode::File(Arc::new(Mutex::new(content))));
        copy
    }

    /// What the next process finds after this one died: all that was handed to the operating system.
    pub fn power_cut_without_loss(&self) -> Arc<SimulatedDisk> {
        let disk = SimulatedDisk::default();
        let copied: BTreeMap<PathBuf, SimulatedNode> =
            self.state().now.iter().map(|(path, node)| (path.clone(), node.copy())).collect();
        let mut state = disk.state();
        let safe = self.state();
        state.safe =
            safe.safe.keys().filter_map(|path| Some((path.clone(), copied.get(path)?.clone()))).collect();
        drop(safe);
        state.now = copied;
        drop(state);
        Arc::new(disk)
    }

    fn state(&self) -> MutexGuard<'_, SimulatedState> {
        self.state.lock().unwrap()
    }
}

impl SimulatedNode {
    /// They are the same file, or both a folder.
    fn is(&self, other: &SimulatedNode) -> bool {
        match (self, other) {
            (SimulatedNode::File(one), SimulatedNode::File(other)) => Arc::ptr_eq(one, other),
            (SimulatedNode::Folder, SimulatedNode::Folder) => true,
            _ => false,
        }
    }

    fn copy(&self) -> SimulatedNode {
        match self {
            SimulatedNode::Folder => SimulatedNode::Folder,
            SimulatedNode::File(content) => {
                SimulatedNode::File(Arc::new(Mutex::new(content.lock().unwrap().clone())))
            }
        }
    }
}

impl Content {
    fn after_power_cut(&self, dice: &mut Dice) -> Vec<u8> {
        let len = if dice.one_in(2) { self.now.len() } else { self.safe.len() };
        let mut left = self.safe.clone();
        left.resize(len, 0);
        for (from, below) in &self.dirty {
            for sector in from / SECTOR..=below / SECTOR {
                if dice.one_in(2) {
                    continue;
                }
                for at in (sector * SECTOR).max(*from)..((sector + 1) * SECTOR).min(*below) {
                    if let (Some(octet), Some(new)) = (left.get_mut(at), self.now.get(at)) {
                        *octet = *new;
                    }
                }
            }
        }
        left
    }
}

pub(super) fn root() -> PathBuf {
    PathBuf::from("/bus")
}

pub(super) struct SimulatedFile {
    disk: Arc<SimulatedDisk>,
    content: Arc<Mutex<Content>>,
}

/// What a sync that has begun will have made safe at its end.
pub(super) struct BegunSync {
    now: Vec<u8>,
    /// So many writes by then, of all there ever were.
    writes: usize,
    number: usize,
}

impl SimulatedFile {
    /// A sync begins. What is written from now on is not part of it.
    pub fn begin_sync(&self) -> BegunSync {
        let mut content = self.content.lock().unwrap();
        content.begun += 1;
        let writes = content.cleaned + content.dirty.len();
        BegunSync { now: content.now.clone(), writes, number: content.begun }
    }

    /// It has ended. One that began later and ended before has made all of it safe already.
    pub fn end_sync(&self, begun: BegunSync) {
        let mut content = self.content.lock().unwrap();
        if begun.number < content.ended {
            return;
        }
        content.ended = begun.number;
        content.safe = begun.now;
        let cleaned = begun.writes - content.cleaned;
        content.dirty.drain(..cleaned);
        content.cleaned = begun.writes;
    }
}

impl SimulatedDisk {
    /// A file that is there.
    pub fn file(self: &Arc<Self>, path: &Path) -> Option<SimulatedFile> {
        match self.state().now.get(path) {
            Some(SimulatedNode::File(content)) => {
                Some(SimulatedFile { disk: self.clone(), content: content.clone() })
            }
            _ => None,
        }
    }
}

impl Disk for Arc<SimulatedDisk> {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        match self.state().now.get(path) {
            Some(SimulatedNode::File(content)) => {
                Ok(Arc::new(SimulatedFile { disk: self.clone(), content: content.clone() }))
            }
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state();
        if state.now.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if !state.now.contains_key(path.parent().unwrap()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let content = Arc::new(Mutex::new(Content::default()));
        state.now.insert(path.to_owned(), SimulatedNode::File(content.clone()));
        Ok(Arc::new(SimulatedFile { disk: self.clone(), content }))
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        let state = self.state();
        let entries = state.now.iter().filter(|(path, _)| path.parent() == Some(folder));
        Ok(entries
            .map(|(path, node)| FolderEntry {
                name: path.file_name().unwrap().to_str().unwrap().to_owned(),
                is_folder: matches!(node, SimulatedNode::Folder),
            })
            .collect())
    }
    fn create_folder(&self, folder: &Path) -> io::Result<bool> {
        let mut state = self.state();
        if state.now.contains_key(folder) {
            return Ok(false);
        }
        if !state.now.contains_key(folder.parent().unwrap()) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.now.insert(folder.to_owned(), SimulatedNode::Folder);
        Ok(true)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.faults.sync {
            return Err(io::Error::other("injected"));
        }
        if !state.now.contains_key(folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let is_entry = |path: &Path| path.parent() == Some(folder);
        let gone: Vec<PathBuf> = state
            .safe
            .keys()
            .filter(|path| is_entry(path) && !state.now.contains_key(*path))
            .cloned()
            .collect();
        state.safe.retain(|path, _| !gone.iter().any(|gone| path.starts_with(gone)));
        let entries: Vec<_> = state
            .now
            .iter()
            .filter(|(path, _)| is_entry(path))
            .map(|(p, n)| (p.clone(), n.clone()))
            .collect();
        state.safe.extend(entries);
        Ok(())
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        if !state.now.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let moved: Vec<PathBuf> = state.now.keys().filter(|path| path.starts_with(from)).cloned().collect();
        for path in moved {
            let node = state.now.remove(&path).unwrap();
            let rest = path.strip_prefix(from).unwrap();
            let target = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
            state.now.insert(target, node);
        }
        Ok(())
    }
    fn written_before(&self, path: &Path) -> io::Result<Duration> {
        if self.state().now.contains_key(path) {
            Ok(self.state().age)
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.state().now.remove(path).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }
    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        self.state().now.retain(|path, _| !path.starts_with(folder));
        Ok(())
    }
}

impl DiskFile for SimulatedFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = self.content.lock().unwrap();
        let rest = content.now.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }
    fn write_at(&self, octets: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        let mut content = self.content.lock().unwrap();
        // What takes the place of octets that are there needs no room.
        let room = state.faults.room.unwrap_or(usize::MAX);
        let there = content.now.len().saturating_sub(offset as usize);
        let len = octets.len().min(there.saturating_add(room));
        if len == 0 && !octets.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Some(room) = &mut state.faults.room {
            *room -= len.saturating_sub(there);
        }
        drop(state);
        let (from, below) = (offset as usize, offset as usize + len);
        if content.now.len() < below {
            content.now.resize(below, 0);
        }
        content.now[from..below].copy_from_slice(&octets[..len]);
        content.dirty.push((from, below));
        Ok(len)
    }
    fn sync(&self) -> io::Result<()> {
        let begun = self.begin_sync();
        let mut state = self.disk.state();
        state.syncs += 1;
        let number = state.syncs;
        self.disk.turn.notify_all();
        let is_held = |state: &mut SimulatedState| state.held || state.held_one == Some(number);
        let waited = self.disk.turn.wait_timeout_while(state, Duration::from_secs(60), is_held);
        let mut state = waited.unwrap().0;
        state.ended += 1;
        self.disk.turn.notify_all();
        if state.faults.sync || state.faults.one_sync == Some(number) {
            return Err(io::Error::other("injected"));
        }
        drop(state);
        self.end_sync(begun);
        Ok(())
    }
    fn allocate(&self, octets: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        let mut content = self.content.lock().unwrap();
        let more = (octets as usize).saturating_sub(content.now.len());
        if let Some(room) = &mut state.faults.room {
            *room = room.checked_sub(more).ok_or(io::ErrorKind::StorageFull)?;
        }
        let len = content.now.len().max(octets as usize);
        content.now.resize(len, 0);
        Ok(())
    }
    fn set_len(&self, octets: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        if state.faults.cut {
            return Err(io::Error::other("injected"));
        }
        let content = self.content.lock().unwrap();
        let freed = content.now.len().saturating_sub(octets as usize);
        if let Some(room) = &mut state.faults.room {
            *room += freed;
        }
        drop((state, content));
        self.content.lock().unwrap().now.resize(octets as usize, 0);
        Ok(())
    }
    fn octets(&self) -> io::Result<u64> {
        Ok(self.content.lock().unwrap().now.len() as u64)
    }
}

/// A clock that a test moves.
pub(super) struct Moved {
    begin: Instant,
    since: Mutex<Duration>,
}

impl Moved {
    pub fn new() -> Arc<Moved> {
        Arc::new(Moved { begin: Instant::now(), since: Mutex::default() })
    }
    pub fn forward(&self, by: Duration) {
        *self.since.lock().unwrap() += by;
    }
}

impl MonotonicClock for Moved {
    fn now(&self) -> Instant {
        self.begin + *self.since.lock().unwrap()
    }
}
