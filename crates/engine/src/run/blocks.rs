//! Blocks of rosters in memory: what SQL lacks is kept until it has it, of the rest what was wanted lately.

use records::{AlertNo, EndpointNo, ROSTER_BLOCK_ENDPOINTS, RosterBlock, RosterEntry, RosterSheet};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;
use store::{FoldedBlock, Store};

/// Octets of blocks kept beyond those that SQL lacks: receipts come seconds after their messages.
const KEPT_OCTETS_MAX: usize = 64 * 1024 * 1024;
/// Octets of an entry in a block that was read, beside its strings.
const ENTRY_OCTETS: usize = 240;

/// Messages kept as they were taken.
const FRESH_MAX: usize = 1_024;

/// An alert and the first endpoint of a block.
pub type Key = (AlertNo, u32);

/// The blocks.
pub struct Blocks {
    store: Arc<dyn Store>,
    plain: FxHashMap<Key, (Arc<RosterBlock>, usize)>,
    sheets: FxHashMap<Key, StreamBlock>,
    /// In the order they came, to go in that order.
    order: VecDeque<Key>,
    octets: usize,
    dirty: FxHashSet<Key>,
    /// Messages that were taken just now, as they were pushed: most are dispatched at once, and need not be
    /// read again.
    fresh: VecDeque<(AlertNo, EndpointNo, RosterEntry)>,
}

/// A block of a message stream.
struct StreamBlock {
    sheet: RosterSheet,
    octets: usize,
    /// SQL lacks some of it.
    dirty: bool,
    /// A fold is taking it to SQL.
    folding: bool,
}

impl Blocks {
    pub fn new(store: Arc<dyn Store>) -> Blocks {
        Blocks {
            store,
            plain: FxHashMap::default(),
            sheets: FxHashMap::default(),
            order: VecDeque::new(),
            octets: 0,
            dirty: FxHashSet::default(),
            fresh: VecDeque::new(),
        }
    }

    /// A block of an alert that was solved, from memory or SQL.
    pub fn read(&mut self, no: AlertNo, of: EndpointNo) -> Option<Arc<RosterBlock>> {
        let key = key(no, of);
        let holds = |block: &RosterBlock| (of.0 - key.1) < block.entries.len() as u32;
        if let Some((block, _)) = self.plain.get(&key).filter(|(block, _)| holds(block)) {
            return Some(block.clone());
        }
        let block = Arc::new(from_sql(&*self.store, no, of)?);
        let octets = block.entries.iter().map(|entry| ENTRY_OCTETS + entry.address.len()).sum();
        self.plain.insert(key, (block.clone(), octets));
        self.added(key, octets);
        Some(block)
    }

    /// One message of a message stream that is about to be sent.
    pub fn entry_to_send(&mut self, no: AlertNo, of: EndpointNo) -> Option<RosterEntry> {
        while let Some((alert, endpoint, _)) = self.fresh.front() {
            if (*alert, *endpoint) == (no, of) {
                return self.fresh.pop_front().map(|(_, _, entry)| entry);
            }
            // What was passed over comes another time, from its block.
            if *alert != no || *endpoint > of {
                break;
            }
            self.fresh.pop_front();
        }
        self.entry(no, of)
    }

    /// One message of a message stream, from memory or SQL.
    pub fn entry(&mut self, no: AlertNo, of: EndpointNo) -> Option<RosterEntry> {
        let kept = self.sheet(no, of)?;
        kept.sheet.entry(of).unwrap_or_else(|error| {
            tracing::error!(alert = no.0, endpoint = of.0, %error, "a message of the roster cannot be read");
            None
        })
    }

    /// The same, if it is in memory.
    pub fn entry_at_hand(&self, no: AlertNo, of: EndpointNo) -> Option<RosterEntry> {
        self.sheets.get(&key(no, of))?.sheet.entry(of).ok().flatten()
    }

    /// Adds a message behind the others of its alert. False if the block it belongs to cannot be read.
    pub fn push(&mut self, no: AlertNo, endpoint: EndpointNo, entry: RosterEntry) -> bool {
        let key = key(no, endpoint);
        let place = (endpoint.0 - key.1) as usize;
        if place == 0 {
            let sheet = RosterSheet::new(endpoint);
            self.forget(key);
            self.sheets.insert(key, StreamBlock { sheet, octets: 0, dirty: false, folding: false });
            self.order.push_back(key);
        }
        let Some(kept) = self.sheet(no, EndpointNo(endpoint.0.saturating_sub(u32::from(place > 0)))) else {
            return false;
        };
        // A fold that was cut short may have left more than counts.
        kept.sheet.truncate(place);
        kept.sheet.push(&entry);
        self.changed(key);
        if self.fresh.len() >= FRESH_MAX {
            self.fresh.pop_front();
        }
        self.fresh.push_back((no, endpoint, entry));
        true
    }

    /// Puts another message in the place of one. False if it cannot be read.
    pub fn replace(&mut self, no: AlertNo, endpoint: EndpointNo, entry: &RosterEntry) -> bool {
        self.fresh.retain(|(alert, of, _)| (*alert, *of) != (no, endpoint));
        let Some(kept) = self.sheet(no, endpoint) else { return false };
        let replaced = kept.sheet.replace(endpoint, entry);
        self.changed(key(no, endpoint));
        replaced
    }

    /// Lets go of an alert's blocks, since SQL has others now. False if SQL lacks some of these.
    pub fn let_go(&mut self, no: AlertNo) -> bool {
        self.fresh.retain(|(alert, ..)| *alert != no);
        let sheets = self.sheets.iter().filter(|((alert, _), _)| *alert == no);
        let (kept, clean): (Vec<_>, Vec<_>) = sheets.partition(|(_, sheet)| sheet.dirty || sheet.folding);
        let (is_clean, mut keys) =
            (kept.is_empty(), clean.into_iter().map(|(key, _)| *key).collect::<Vec<Key>>());
        keys.extend(self.plain.keys().filter(|(alert, _)| *alert == no));
        keys.into_iter().for_each(|key| self.forget(key));
        is_clean
    }

    /// What SQL lacks, for a fold; it is kept until [`Blocks::folded`].
    pub fn take_dirty(&mut self) -> (Vec<FoldedBlock>, Vec<Key>) {
        let keys: Vec<Key> = self.dirty.drain().collect();
        let mut blocks = Vec::with_capacity(keys.len());
        for key in &keys {
            let Some(kept) = self.sheets.get_mut(key) else { continue };
            (kept.dirty, kept.folding) = (false, true);
            blocks.push(FoldedBlock {
                alert: key.0,
                first: EndpointNo(key.1),
                entries: kept.sheet.len() as u32,
                octets: kept.sheet.encode(),
            });
        }
        (blocks, keys)
    }

    /// A fold took these to SQL, or did not.
    pub fn folded(&mut self, keys: &[Key], done: bool) {
        for key in keys {
            let Some(kept) = self.sheets.get_mut(key) else { continue };
            kept.folding = false;
            if !done {
                kept.dirty = true;
                self.dirty.insert(*key);
            }
        }
    }

    /// SQL has all there is.
    pub fn is_clean(&self) -> bool {
        self.dirty.is_empty()
    }

    fn sheet(&mut self, no: AlertNo, of: EndpointNo) -> Option<&mut StreamBlock> {
        let key = key(no, of);
        if !self.sheets.contains_key(&key) {
            self.load(key, from_sql(&*self.store, no, of)?);
        }
        self.sheets.get_mut(&key)
    }

    fn load(&mut self, key: Key, block: RosterBlock) {
        let sheet = RosterSheet::from(&block);
        let octets = sheet.octets();
        self.sheets.insert(key, StreamBlock { sheet, octets, dirty: false, folding: false });
        self.added(key, octets);
    }

    fn changed(&mut self, key: Key) {
        let Some(kept) = self.sheets.get_mut(&key) else { return };
        let octets = kept.sheet.octets();
        self.octets = self.octets + octets - kept.octets;
        kept.octets = octets;
        if !kept.dirty {
            kept.dirty = true;
            self.dirty.insert(key);
        }
    }

    fn added(&mut self, key: Key, octets: usize) {
        self.order.push_back(key);
        self.octets += octets;
        for _ in 0..self.order.len() {
            if self.octets <= KEPT_OCTETS_MAX {
                return;
            }
            let Some(oldest) = self.order.pop_front() else { return };
            let is_needed = self.sheets.get(&oldest).is_some_and(|kept| kept.dirty || kept.folding);
            if is_needed || oldest == key {
                self.order.push_back(oldest);
            } else {
                self.forget(oldest);
            }
        }
    }

    fn forget(&mut self, key: Key) {
        let sheet = self.sheets.remove(&key).map_or(0, |kept| kept.octets);
        let plain = self.plain.remove(&key).map_or(0, |(_, octets)| octets);
        self.octets -= sheet + plain;
    }
}

fn key(no: AlertNo, of: EndpointNo) -> Key {
    (no, of.0 - of.0 % ROSTER_BLOCK_ENDPOINTS as u32)
}

fn from_sql(store: &dyn Store, no: AlertNo, of: EndpointNo) -> Option<RosterBlock> {
    store.roster_block(no, of).unwrap_or_else(|error| {
        tracing::error!(alert = no.0, endpoint = of.0, %error, "a block of the roster cannot be read");
        None
    })
}
