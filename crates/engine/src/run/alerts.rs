//! Alerts owns the alerts in memory, the rosters' blocks beside them, and the sets of alerts that another part
//! has to look at.

use super::blocks::Blocks;
use crate::api::Parts;
use crate::plan::{Classifier, Move};
use crate::record::{Effect, Folding, LiveAlert, ReplyCorrelation, StringTable};
use records::{AlertNo, Delivery, DeliveryState, EndpointNo, Reason, RosterBlock, RosterEntry, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;

/// The state that every part works on.
pub struct Alerts {
    /// All alerts in memory.
    pub live: FxHashMap<AlertNo, LiveAlert>,
    /// Names of routes and texts of carriers, by their numbers in the deliveries.
    pub strings: StringTable,
    /// Rosters.
    pub blocks: Blocks,
    /// Finds the alert of a reply.
    pub replies: ReplyCorrelation,
    /// Alerts that are not final.
    pub running: FxHashSet<AlertNo>,
    /// Alerts of which SQL may lack something.
    pub unfolded: FxHashSet<AlertNo>,
    /// Alerts that changed since it was last checked whether they are done.
    pub touched: FxHashSet<AlertNo>,
    /// In both of these since they were last emptied.
    pub touched_last: Option<AlertNo>,
    /// Those that may have something to dispatch, in turn.
    pub turns: VecDeque<AlertNo>,
    /// Effects of the last fold, until they are carried out.
    pub effects: Vec<Effect>,
    /// Waits before the second, third, … try, seconds.
    retry_after_s: Vec<u32>,
}

impl Alerts {
    pub fn new(parts: &Parts) -> Alerts {
        Alerts {
            live: FxHashMap::default(),
            strings: StringTable::default(),
            blocks: Blocks::new(parts.store.clone()),
            replies: ReplyCorrelation::default(),
            running: FxHashSet::default(),
            unfolded: FxHashSet::default(),
            touched: FxHashSet::default(),
            touched_last: None,
            turns: VecDeque::new(),
            effects: Vec::new(),
            retry_after_s: parts.settings.retry_after_s.clone(),
        }
    }

    /// An alert comes into memory.
    pub fn insert(&mut self, live: LiveAlert) {
        let no = live.alert.no;
        if !live.alert.state.is_final() {
            self.running.insert(no);
        }
        self.live.insert(no, live);
        self.touch(no);
    }

    /// Something of an alert changed: SQL lacks it, it may have somebody to dispatch, it may be done.
    pub fn touch(&mut self, no: AlertNo) {
        // Outcomes come by the hundred for the same alert.
        if self.touched_last != Some(no) {
            self.touched_last = Some(no);
            self.unfolded.insert(no);
            self.touched.insert(no);
        }
        if let Some(live) = self.live.get_mut(&no)
            && !live.in_turn
            && live.ready_classes().next().is_some()
        {
            live.in_turn = true;
            self.turns.push_back(no);
        }
    }

    /// Folds into an alert, if it is in memory; the effects wait in `effects`.
    pub fn fold(&mut self, no: AlertNo, fold: impl FnOnce(&mut LiveAlert, &mut Folding<'_>)) {
        let Some(live) = self.live.get_mut(&no) else { return };
        let mut folding = Folding {
            words: &mut self.strings,
            retry_after_s: &self.retry_after_s,
            effects: &mut self.effects,
        };
        fold(live, &mut folding);
        self.touch(no);
    }

    /// One delivery as stored.
    pub fn delivery(&self, no: AlertNo, endpoint: EndpointNo) -> Option<Delivery> {
        self.live.get(&no)?.delivery(endpoint, &self.strings)
    }

    /// A block of a solved alert's roster.
    pub fn block(&mut self, no: AlertNo, of: EndpointNo) -> Option<Arc<RosterBlock>> {
        self.blocks.read(no, of)
    }

    /// A message of a message stream.
    pub fn entry(&mut self, no: AlertNo, of: EndpointNo) -> Option<RosterEntry> {
        self.blocks.entry(no, of)
    }

    /// A person was reached, or missed, by one device: their other devices are called for, or spared.
    pub fn move_chain(
        &mut self,
        no: AlertNo,
        endpoint: EndpointNo,
        at: Timestamp,
        reached: bool,
        has_receipts: impl Fn(u16) -> bool,
    ) {
        let Some(live) = self.live.get(&no) else { return };
        let Some(chains) = &live.chains else { return };
        let device = |at: EndpointNo| live.device_state(at, &has_receipts);
        let moves = if reached { chains.spared(endpoint, device) } else { chains.next(endpoint, device) };
        self.apply_moves(no, &moves, at);
    }

    pub fn apply_moves(&mut self, no: AlertNo, moves: &[Move], at: Timestamp) {
        let Some(live) = self.live.get_mut(&no) else { return };
        for moved in moves {
            match *moved {
                Move::Activate(next) => live.edit(next, at, |cell| {
                    cell.state = DeliveryState::Planned;
                    cell.reason = Reason::None;
                }),
                Move::NotNeeded(later) => live.edit(later, at, |cell| {
                    cell.state = DeliveryState::Excluded;
                    cell.reason = Reason::NotNeeded;
                }),
            }
        }
        if !moves.is_empty() {
            self.touch(no);
        }
    }

    /// Gives the classes of an alert's waiting endpoints anew, after the routes changed.
    pub fn reclassify(&mut self, no: AlertNo, classifier: &Classifier) {
        let Some(live) = self.live.get(&no) else { return };
        let is_stream = live.metas.is_some();
        for endpoint in live.waiting() {
            let entry = if is_stream {
                self.entry(no, endpoint)
            } else {
                let block = self.block(no, endpoint);
                block.and_then(|block| block.entries.get((endpoint.0 - block.first.0) as usize).cloned())
            };
            if let (Some(entry), Some(live)) = (entry, self.live.get_mut(&no)) {
                live.reclassify(endpoint, &entry, classifier);
            }
        }
    }
}
