//! Appends that wait for a sync anyway are not written one by one: they are gathered, and written with one
//! call before the sync that carries them. Nobody has read them or was told of them by then, so that all of
//! them can be taken back where the disk has no room.

use super::write::RESERVE_TRIES;
use super::{Log, LogWriter, failed};
use crate::BusError;
use crate::embedded::lock::read;
use std::sync::{Arc, OnceLock};
use wal::write_all_at;

/// They are written before the sync when they are so many octets.
pub(super) const STAGED_OCTETS_MAX: usize = 1024 * 1024;
/// The buffer shrinks back to so many.
const BUFFER_OCTETS: usize = 256 * 1024;

/// Says why appends that were staged together were taken back, if they were.
pub(in super::super) type StagedResult = Arc<OnceLock<BusError>>;

/// What is staged.
#[derive(Default)]
pub(super) struct Staged {
    octets: Vec<u8>,
    /// Where in the last file they go.
    offset: u64,
    /// Index of the first record.
    first: u64,
    staged_result: StagedResult,
}

impl Staged {
    /// Adds a batch whose first record is `first`, and which goes to `offset`.
    pub fn push(&mut self, batch: &[u8], first: u64, offset: u64) {
        if self.octets.is_empty() {
            (self.first, self.offset) = (first, offset);
        }
        self.octets.extend_from_slice(batch);
    }

    /// Where in the last file they go, if there are any.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// There is nothing.
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// It should be written.
    pub fn is_large(&self) -> bool {
        self.octets.len() >= STAGED_OCTETS_MAX
    }

    /// What becomes of records below `end`; nothing if they are written.
    pub fn staged_result(&self, end: u64) -> Option<StagedResult> {
        (!self.is_empty() && end > self.first).then(|| self.staged_result.clone())
    }

    fn clear(&mut self) {
        self.octets.clear();
        self.octets.shrink_to(BUFFER_OCTETS);
        self.staged_result = StagedResult::default();
    }
}

impl Log {
    /// Writes what is staged, or takes it back.
    pub(super) fn write_staged(&self, writer: &mut LogWriter) -> Result<(), BusError> {
        if writer.staged.is_empty() {
            return Ok(());
        }
        let mut tries = 0;
        loop {
            let wrote = self.try_staged(writer);
            let may_try = matches!(wrote, Err(BusError::DiskFull { .. })) && tries < RESERVE_TRIES;
            tries += 1;
            if may_try && self.is_emergency() && self.shared.reserve.give(writer.staged.octets.len() as u64) {
                continue;
            }
            match &wrote {
                Ok(()) => writer.staged.clear(),
                Err(error) => self.take_back(writer, error),
            }
            return wrote;
        }
    }

    fn try_staged(&self, writer: &mut LogWriter) -> Result<(), BusError> {
        self.cut_leftover(writer)?;
        let Some(last) = read(&self.files).last().cloned() else {
            return Ok(());
        };
        let file = last.open(&self.shared).map_err(|error| failed(&self.name, "open", &error))?;
        let staged = &writer.staged;
        write_all_at(&*file, &staged.octets, staged.offset).map_err(|error| {
            writer.room.lose();
            if file.set_len(staged.offset).is_err() {
                writer.cut = Some(staged.offset);
            }
            failed(&self.name, "write", &error)
        })
    }

    /// As if it had never been appended; whoever waits for it is told why.
    fn take_back(&self, writer: &mut LogWriter, why: &BusError) {
        let (first, offset) = (writer.staged.first, writer.staged.offset);
        // Set once: the next that are staged have a fate of their own.
        let _ = writer.staged.staged_result.set(why.clone());
        writer.staged.clear();
        writer.next = first;
        writer.offset = offset;
        writer.keys.forget_from(first);
        self.tail.drop_from(first);
        if let Some(last) = read(&self.files).last() {
            last.forget_marks(offset);
        }
        self.progress.send_modify(|_| {});
        let progress = self.progress.borrow().clone();
        self.waiting.release(&progress, true);
    }
}
