//! The keys of a log's newest keyed appends, and what keeps them over restarts: each stands in the batch it
//! was given with, and when that batch's file is removed, in a batch of places in the file that is last then.

use super::file::LogFile;
use super::recover::keys_of;
use super::{Log, LogWriter, Written, failed};
use crate::embedded::frame::{BATCH_HEADER, RECORD_HEADER};
use crate::embedded::lock::read;
use crate::{BusError, KEY_OCTETS_MAX, KEYS_MAX};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A batch of places has at most so many.
const PLACES_MAX: usize = 4096;
/// And at most so many octets.
pub(super) const PLACES_OCTETS_MAX: usize = BATCH_HEADER + PLACES_MAX * (RECORD_HEADER + 16 + KEY_OCTETS_MAX);

/// A key as it stands in a file.
#[derive(Debug, Clone)]
pub(super) struct Mention {
    pub key: Arc<[u8]>,
    /// Index of the first record under it.
    pub first: u64,
    /// Index behind the last.
    pub end: u64,
    /// First index of the file that mentions it.
    pub file: u64,
}

/// Keys with the places of what was appended under them, the oldest forgotten first.
#[derive(Default)]
pub(super) struct Keys {
    places: HashMap<Arc<[u8]>, Mention>,
    order: VecDeque<Arc<[u8]>>,
    /// Those in the files were read.
    loaded: bool,
    /// One stands in the files, or did.
    pub any: bool,
}

impl Keys {
    /// Of a log as found: `any` if a key may stand in it.
    pub fn found(any: bool) -> Keys {
        Keys { loaded: !any, any, ..Keys::default() }
    }

    /// Where what was appended under a key stands.
    pub fn place(&self, key: &[u8]) -> Option<Written> {
        self.places.get(key).map(|mention| Written { first: mention.first, end: mention.end })
    }

    /// Forgets those of records from an index on: they were taken back.
    pub fn forget_from(&mut self, first: u64) {
        while let Some(newest) = self.order.back()
            && self.places.get(newest).is_none_or(|mention| mention.first >= first)
            && let Some(newest) = self.order.pop_back()
        {
            self.places.remove(&newest);
        }
    }

    /// Remembers the newest key.
    pub fn remember(&mut self, mention: Mention) {
        self.any = true;
        let key = mention.key.clone();
        if self.places.insert(key.clone(), mention).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > KEYS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.places.remove(&oldest);
        }
    }
}

impl Log {
    /// Reads the keys back, the first time they are asked for: files from the newest on, as far as there are
    /// keys to remember.
    pub(super) fn load_keys(&self, writer: &mut LogWriter) -> Result<(), BusError> {
        if writer.keys.loaded {
            return Ok(());
        }
        let files: Vec<Arc<LogFile>> = read(&self.files).clone();
        let mut mentions: Vec<Mention> = Vec::new();
        for (at, file) in files.iter().enumerate().rev() {
            let end = if at + 1 == files.len() { writer.offset } else { u64::MAX };
            let found = file.open(&self.shared).and_then(|handle| {
                mentions.extend(keys_of(&*handle, file, end)?);
                file.has_keys_before(&*handle)
            });
            let keys_before = found.map_err(|error| failed(&self.name, "reading its keys", &error))?;
            if !keys_before || mentions.len() >= KEYS_MAX {
                break;
            }
        }
        // By place; of two mentions of one the later in the later file.
        mentions.sort_by_key(|mention| (mention.first, mention.file));
        mentions.into_iter().for_each(|mention| writer.keys.remember(mention));
        writer.keys.loaded = true;
        Ok(())
    }

    /// Before files that end below `keep_from` are removed: writes the keys that stand in them alone into the
    /// last file.
    pub(super) fn carry_keys(&self, keep_from: u64) -> Result<(), BusError> {
        let mut writer = super::lock(&self.writer);
        if !writer.keys.any {
            return Ok(());
        }
        self.check_running()?;
        self.load_keys(&mut writer)?;
        let mut going: Vec<Mention> =
            writer.keys.places.values().filter(|mention| mention.file < keep_from).cloned().collect();
        going.sort_by_key(|mention| mention.first);
        for places in going.chunks(PLACES_MAX) {
            let file = self.write_places(&mut writer, places)?;
            for place in places {
                if let Some(mention) = writer.keys.places.get_mut(&place.key) {
                    mention.file = file;
                }
            }
        }
        Ok(())
    }
}
