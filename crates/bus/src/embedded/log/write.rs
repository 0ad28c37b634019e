//! Writing: one append is one batch, whole or not at all.

use super::keys::{Mention, PLACES_OCTETS_MAX};
use super::stage::StagedResult;
use super::{Fsync, Log, LogFile, LogWriter, failed};
use crate::embedded::frame::{
    BatchPlace, FILE_HEADER, FileHeader, batch_octets, batch_skip, encode_batch, encode_places,
};
use crate::embedded::lock::{lock, read, write};
use crate::{BusError, KEY_OCTETS_MAX, RECORD_OCTETS_MAX};
use bytes::BytesMut;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wal::{DiskFile, create_empty, write_all_at};

/// One append is at most so many octets, frames included.
pub(in super::super) const APPEND_OCTETS_MAX: usize = 64 * 1024 * 1024;
/// The buffer of appends begins with so many octets, and shrinks back to about so many.
const BUFFER_OCTETS: usize = 16 * 1024;
/// An append that finds the disk full asks the reserve for room at most so often.
pub(super) const RESERVE_TRIES: usize = 4;

/// What an append got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Written {
    /// Index of its first record.
    pub first: u64,
    /// Index behind its last.
    pub end: u64,
}

/// An append that may not be as durable yet as was promised.
pub(in super::super) struct Promised {
    /// Where it stands.
    pub written: Written,
    /// It was there before.
    pub repeated: bool,
    /// What becomes of it if it is not written yet.
    pub staged_result: Option<StagedResult>,
}

/// Where a batch was written.
struct Placed {
    last: Arc<LogFile>,
    file: Arc<dyn DiskFile>,
    /// The file was begun for it.
    rolled: bool,
    /// Index of its first record.
    first: u64,
}

/// On which condition an append is done.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum DurabilityRule<'a> {
    /// None.
    Any,
    /// The next index is this.
    Head(u64),
    /// Nothing was appended under this key before.
    Key(&'a [u8]),
}

impl<'a> DurabilityRule<'a> {
    /// The key.
    pub fn key(self) -> Option<&'a [u8]> {
        if let DurabilityRule::Key(key) = self { Some(key) } else { None }
    }
}

impl Log {
    /// Writes records as one unit and asks for the sync that was promised.
    pub fn write_promised(&self, rule: DurabilityRule<'_>, records: &[&[u8]]) -> Result<Promised, BusError> {
        let octets = check_sizes(rule.key(), records)?;
        let mut writer = lock(&self.writer);
        match rule {
            DurabilityRule::Head(head) if writer.next != head => {
                self.check_running()?;
                return Err(BusError::Moved { topic: self.name.clone(), head: writer.next });
            }
            DurabilityRule::Key(key) => {
                self.check_running()?;
                self.load_keys(&mut writer)?;
                if let Some(written) = writer.keys.place(key) {
                    let staged_result = writer.staged.staged_result(written.end);
                    return Ok(Promised { written, repeated: true, staged_result });
                }
            }
            DurabilityRule::Any | DurabilityRule::Head(_) => {}
        }
        let stages = self.cached && self.fsync() == Fsync::Always;
        let (written, rolled) = self.write_locked(&mut writer, stages, rule.key(), records, octets)?;
        let staged_result = writer.staged.staged_result(written.end);
        if writer.staged.is_large() {
            // An error is this append's fate.
            let _ = self.write_staged(&mut writer);
        }
        let is_synced_later = self.fsync() != Fsync::Always;
        if is_synced_later {
            self.list(&mut writer);
        }
        drop(writer);
        self.promise(rolled);
        if is_synced_later {
            self.shared.unsynced.relieve();
        }
        Ok(Promised { written, repeated: false, staged_result })
    }

    /// Writes records as one unit; they become durable with the next sync. Says also whether a file was
    /// begun.
    pub fn write(&self, records: &[&[u8]]) -> Result<(Written, bool), BusError> {
        let octets = check_sizes(None, records)?;
        let mut writer = lock(&self.writer);
        let written = self.write_locked(&mut writer, false, None, records, octets)?;
        self.list(&mut writer);
        drop(writer);
        self.shared.unsynced.relieve();
        Ok(written)
    }

    /// Puts it on the list of those that hold files open until they are synced.
    fn list(&self, writer: &mut LogWriter) {
        if writer.listed.is_none() && !writer.unsynced.is_empty() {
            writer.listed = Some(self.shared.unsynced.list(&self.me));
        }
    }

    /// Asks for the sync that was promised.
    fn promise(&self, rolled: bool) {
        match self.fsync() {
            Fsync::Always => self.request_sync(),
            Fsync::Interval(interval) => {
                if !self.waits.swap(true, Ordering::AcqRel)
                    && let Some(me) = self.me.upgrade()
                {
                    self.shared.pool.sync_later(me, self.shared.clock.now() + interval);
                }
            }
            // Full files are synced in the background, so that recovery need not read them all.
            Fsync::Os if rolled && read(&self.files).len() > 1 => self.request_sync(),
            Fsync::Os => {}
        }
        if rolled {
            self.keep_soon();
        }
    }

    fn write_locked(
        &self,
        writer: &mut LogWriter,
        stages: bool,
        key: Option<&[u8]>,
        records: &[&[u8]],
        octets: u64,
    ) -> Result<(Written, bool), BusError> {
        self.check_running()?;
        if records.is_empty() {
            return Ok((Written { first: writer.next, end: writer.next }, false));
        }
        let placed = self.write_batch(writer, stages, octets, |buffer, place| {
            encode_batch(buffer, place, key, records);
        })?;
        let Placed { last, file, rolled, first } = placed;
        let skip = batch_skip(key);
        last.note_batch(first, writer.offset - octets, skip, records);
        writer.next += records.len() as u64;
        self.mark_unsynced(writer, file);
        let end = writer.next;
        if let Some(key) = key {
            writer.keys.remember(Mention { key: key.into(), first, end, file: last.first });
        }
        if self.cached {
            let octets = writer.buffer.split().freeze();
            self.shared.cache.push(&self.tail, first, octets, skip, records);
        }
        writer.buffer.clear();
        self.count_append();
        if !stages && self.fsync() != Fsync::Always {
            self.change(|progress| progress.head = end);
        }
        Ok((Written { first, end }, rolled))
    }

    /// Writes a batch of places of keys; says the first index of the file it stands in. It takes no index,
    /// and its sync is the caller's.
    pub(super) fn write_places(&self, writer: &mut LogWriter, mentions: &[Mention]) -> Result<u64, BusError> {
        let places: Vec<(u64, u64, &[u8])> =
            mentions.iter().map(|mention| (mention.first, mention.end, &*mention.key)).collect();
        let mut sized = BytesMut::new();
        let place = BatchPlace { salt: 0, first: 0, durable: 0 };
        encode_places(&mut sized, place, &places);
        debug_assert!(sized.len() <= PLACES_OCTETS_MAX);
        let octets = sized.len() as u64;
        let Placed { last, file, .. } =
            self.write_batch(writer, false, octets, |buffer, place| encode_places(buffer, place, &places))?;
        self.mark_unsynced(writer, file);
        writer.buffer.clear();
        Ok(last.first)
    }

    fn mark_unsynced(&self, writer: &mut LogWriter, file: Arc<dyn DiskFile>) {
        if !writer.last_unsynced {
            writer.last_unsynced = true;
            writer.unsynced.push(file);
        }
    }

    /// Writes a batch of so many octets, which stays in the writer's buffer, and moves the writer's offset;
    /// the file, and whether it was begun.
    fn write_batch(
        &self,
        writer: &mut LogWriter,
        stages: bool,
        octets: u64,
        encode: impl Fn(&mut BytesMut, BatchPlace),
    ) -> Result<Placed, BusError> {
        let reserve = &self.shared.reserve;
        if !self.is_emergency() && !reserve.leaves_room(&self.shared) {
            return Err(BusError::DiskFull { topic: self.name.clone() });
        }
        if !stages {
            self.write_staged(writer)?;
        }
        let (next, mut tries) = (writer.next, 0);
        loop {
            let wrote = self.try_batch(writer, stages, octets, &encode);
            let is_full = matches!(wrote, Err(BusError::DiskFull { .. }));
            // Where others were taken back, the condition it was appended on may no longer hold.
            let may_try = is_full && self.is_emergency() && writer.next == next && tries < RESERVE_TRIES;
            tries += 1;
            if !may_try || !reserve.give(octets) {
                return wrote;
            }
        }
    }

    fn try_batch(
        &self,
        writer: &mut LogWriter,
        stages: bool,
        octets: u64,
        encode: impl Fn(&mut BytesMut, BatchPlace),
    ) -> Result<Placed, BusError> {
        self.cut_leftover(writer)?;
        let last = read(&self.files).last().cloned();
        let (last, rolled) = match last {
            // One without a record is never left: the next would have its name.
            Some(last) if last.first == writer.next => (last, false),
            Some(last) if self.has_room(&last, writer, octets) => (last, false),
            _ => (self.begin_file(writer)?, true),
        };
        let file = last.open(&self.shared).map_err(|error| failed(&self.name, "open", &error))?;
        if writer.buffer.capacity() == 0 {
            writer.buffer.reserve(BUFFER_OCTETS);
        }
        let durable = self.progress.borrow().durable;
        let first = writer.next;
        encode(&mut writer.buffer, BatchPlace { salt: writer.salt, first, durable });
        if stages {
            writer.staged.push(&writer.buffer, first, writer.offset);
        } else {
            write_all_at(&*file, &writer.buffer, writer.offset).map_err(|error| {
                writer.buffer.clear();
                writer.room.lose();
                writer.cut = file.set_len(writer.offset).is_err().then_some(writer.offset);
                failed(&self.name, "write", &error)
            })?;
        }
        writer.offset += octets;
        Ok(Placed { last, file, rolled, first })
    }

    /// Removes what a failed write left behind the last whole batch.
    pub(super) fn cut_leftover(&self, writer: &mut LogWriter) -> Result<(), BusError> {
        if let Some(offset) = writer.cut
            && let Some(last) = read(&self.files).last().cloned()
        {
            let cut = last.open(&self.shared).and_then(|file| file.set_len(offset));
            cut.map_err(|error| failed(&self.name, "cutting a failed write", &error))?;
            writer.cut = None;
        }
        Ok(())
    }

    /// Begins a new file, so that everything before can be trimmed; says the new file's first index.
    pub fn roll(&self) -> Result<u64, BusError> {
        let mut writer = lock(&self.writer);
        self.check_running()?;
        self.cut_leftover(&mut writer)?;
        let has_records = read(&self.files).last().is_some_and(|last| last.first < writer.next);
        if has_records {
            self.begin_file(&mut writer)?;
        }
        Ok(writer.next)
    }

    /// Makes the file for the record that comes next.
    fn begin_file(&self, writer: &mut LogWriter) -> Result<Arc<LogFile>, BusError> {
        self.write_staged(writer)?;
        // A file must not outlive the one before it: recovery could not tell what was lost.
        let before = writer.folders.iter().try_for_each(|folder| self.shared.disk.sync_folder(folder));
        before.map_err(|error| failed(&self.name, "syncing its folder", &error))?;
        let salt = random();
        let durable = self.progress.borrow().durable;
        let keys_before = writer.keys.any;
        let header = FileHeader { first: writer.next, salt, durable, keys_before }.encode();
        let begun = LogFile::new(self.number, &self.folder, writer.next)
            .with_salt(salt)
            .with_begin(self.shared.clock.now());
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
        if let Some(last) = read(&self.files).last() {
            self.give_room_back(writer, last);
        }
        let ended = std::mem::replace(&mut writer.offset, FILE_HEADER as u64);
        writer.salt = salt;
        let begun = Arc::new(begun);
        let mut files = write(&self.files);
        if let Some(last) = files.last() {
            last.end(self.shared.clock.now(), ended);
        }
        files.push(begun.clone());
        Ok(begun)
    }

    fn create(&self, path: &Path, writer: &mut LogWriter) -> io::Result<Arc<dyn DiskFile>> {
        let disk = &self.shared.disk;
        match create_empty(&**disk, path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_folder(&self.folder, &mut writer.folders)?;
                create_empty(&**disk, path)
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
}

/// Octets an append takes in a file; an error if it, a record or the key is too large.
pub(in super::super) fn check_sizes(key: Option<&[u8]>, records: &[&[u8]]) -> Result<u64, BusError> {
    if let Some(key) = key
        && key.len() > KEY_OCTETS_MAX
    {
        return Err(BusError::TooLarge { what: "a key", size: key.len(), limit: KEY_OCTETS_MAX });
    }
    if let Some(large) = records.iter().find(|record| record.len() > RECORD_OCTETS_MAX) {
        return Err(BusError::TooLarge { what: "a record", size: large.len(), limit: RECORD_OCTETS_MAX });
    }
    let octets = batch_octets(key, records);
    if octets > APPEND_OCTETS_MAX {
        return Err(BusError::TooLarge { what: "an append", size: octets, limit: APPEND_OCTETS_MAX });
    }
    Ok(octets as u64)
}

/// A number nobody outside can guess.
fn random() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
