//! The fold into SQL: once a second what changed, in key order, in slices; with the last slice how far the
//! topic of outcomes is folded. Carrier ids go to their own topic first. Afterwards the topics let go of what
//! nobody needs.

use super::actor::{BackgroundResult, EngineActor, bus_error};
use super::blocks::Key;
use super::context::LeaderGuard;
use crate::api::{EngineError, Parts};
use crate::record::LiveAlert;
use records::{AlertNo, AlertState, Delivery, EndpointNo, Timestamp};
use std::sync::Arc;

/// How often a fold begins, in microseconds.
const FOLD_EVERY_US: i64 = 1_000_000;
/// Deliveries in one slice.
const SLICE_ROWS: usize = 16_384;
/// The topic of carrier ids.
const CARRIER_IDS: &str = "carrier-ids";
/// How often topics are trimmed, in microseconds.
const TRIM_EVERY_US: i64 = 5_000_000;
/// Messages from people that were for nobody are kept to be looked up, so many of them.
const INBOUND_KEPT: u64 = 1_000_000;

/// Where a fold stands.
pub struct FoldState {
    ids: Arc<dyn bus::Topic>,
    begun: Timestamp,
    trimmed: Timestamp,
    under_way: Option<UnderWay>,
    /// SQL has everything below.
    pub folded_to: u64,
    /// SQL has all messages below.
    pub intake_to: u64,
    /// Alerts whose final state is written once their deliveries are.
    pub finished: Vec<StateChange>,
    /// Carrier ids of a fold that failed: perhaps not on their topic.
    ids_left: Vec<Vec<u8>>,
}

/// A change of state to be written.
#[derive(Debug, Clone)]
pub struct StateChange {
    pub no: AlertNo,
    pub state: AlertState,
    pub version: u32,
    pub note: String,
    pub at: Timestamp,
}

/// Records of carrier ids.
type Ids = Arc<Vec<Vec<u8>>>;

struct UnderWay {
    position: u64,
    intake_to: u64,
    blocks: Vec<Key>,
    /// What is ready to be written once clients' words up to this one are on the bus.
    ready: Option<(u64, store::Fold, Ids)>,
    /// The carrier ids that are saved before its first slice.
    ids: Ids,
    alerts: Vec<AlertNo>,
    changes: Vec<StateChange>,
    slice: Vec<(AlertNo, EndpointNo)>,
    last: bool,
}

impl FoldState {
    pub fn new(parts: &Parts) -> Result<FoldState, EngineError> {
        Ok(FoldState {
            ids: parts.bus.topic(CARRIER_IDS).map_err(bus_error)?,
            begun: Timestamp::default(),
            trimmed: Timestamp::default(),
            under_way: None,
            folded_to: 0,
            intake_to: 0,
            finished: Vec::new(),
            ids_left: Vec::new(),
        })
    }

    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// The topic of carrier ids, for a start.
    pub fn ids_topic(&self) -> &Arc<dyn bus::Topic> {
        &self.ids
    }
}

impl EngineActor {
    /// Begins a fold if it is time.
    pub fn fold(&mut self, now: Timestamp) {
        if self.folding.is_under_way() {
            return self.write_slice();
        }
        let waits = now.us_since(self.folding.begun) < FOLD_EVERY_US && now >= self.folding.begun;
        let nothing = self.alerts.unfolded.is_empty()
            && self.folding.folded_to == self.outcomes.next
            && self.folding.intake_to == self.intake.next
            && self.alerts.blocks.is_clean()
            && self.folding.finished.is_empty();
        let urgent = self.context.is_stopping() || !self.folding.finished.is_empty();
        if nothing || (waits && !urgent) {
            return;
        }
        self.folding.begun = now;
        self.alerts.touched_last = None;
        let mut alerts: Vec<AlertNo> = self.alerts.unfolded.drain().collect();
        alerts.sort_unstable();
        for no in &alerts {
            if let Some(live) = self.alerts.live.get_mut(no) {
                live.begin_fold();
            }
        }
        let changes = std::mem::take(&mut self.folding.finished);
        let (blocks, keys) = self.alerts.blocks.take_dirty();
        let mut ids = std::mem::take(&mut self.folding.ids_left);
        ids.extend(self.outcomes.carrier_ids.take_unsaved(now));
        let ids = Arc::new(ids);
        self.folding.under_way = Some(UnderWay {
            ids: ids.clone(),
            position: self.outcomes.next,
            intake_to: self.intake.next,
            blocks: keys,
            ready: None,
            alerts,
            changes,
            slice: Vec::new(),
            last: false,
        });
        self.fold_slice(blocks, ids);
    }

    fn fold_slice(&mut self, blocks: Vec<store::FoldedBlock>, ids: Ids) {
        self.tell_what_happened();
        let Some(fold) = &mut self.folding.under_way else { return };
        let mut rows: Vec<Delivery> = Vec::new();
        let mut more = false;
        for no in &fold.alerts {
            if let Some(live) = self.alerts.live.get_mut(no) {
                more = live.take_folding(&self.alerts.strings, &mut rows, SLICE_ROWS);
                if more {
                    break;
                }
            }
        }
        fold.slice = rows.iter().map(|row| (row.alert, row.endpoint)).collect();
        fold.last = !more;
        let (folded_to, intake_to) =
            if more { (self.folding.folded_to, None) } else { (fold.position, Some(fold.intake_to)) };
        let slice = store::Fold { deliveries: rows, blocks, folded_to, intake_to };
        fold.ready = Some((self.status_events.said, slice, ids));
        self.write_slice();
    }

    /// Writes the slice that is ready, once clients' words about what is in it are on the bus: SQL would not
    /// tell again.
    fn write_slice(&mut self) {
        let Some(fold) = &mut self.folding.under_way else { return };
        if fold.ready.as_ref().is_none_or(|(said, ..)| *said > self.status_events.written) {
            return;
        }
        let Some((_, slice, ids)) = fold.ready.take() else { return };
        let (store, topic, guard) =
            (self.context.parts.store.clone(), self.folding.ids.clone(), self.context.guard());
        self.context.background.push(Box::pin(async move {
            // Ids first: a receipt must find its delivery once the outcome that told the id is let go of.
            if !guard.holds() {
                return BackgroundResult::Folded(Err(store::StoreError::Unreachable {
                    why: LeaderGuard::passed().to_string(),
                }));
            }
            for record in ids.iter() {
                if let Err(error) = topic.append(&[record]).await {
                    return BackgroundResult::Folded(Err(store::StoreError::Database {
                        why: error.to_string(),
                    }));
                }
            }
            BackgroundResult::Folded(store.fold_all(slice).await)
        }));
    }

    /// A slice is in SQL, or was refused.
    pub fn folded(&mut self, result: Result<(), store::StoreError>) {
        if let Err(error) = result {
            if matches!(error, store::StoreError::Fenced { .. }) && self.context.is_shared() {
                return self.context.note_lead_lost();
            }
            return self.fold_failed(&error);
        }
        match self.folding.under_way.take() {
            Some(fold) if fold.last => self.fold_done(fold),
            unfinished => {
                self.folding.under_way = unfinished;
                self.fold_slice(Vec::new(), Arc::default());
            }
        }
    }

    fn fold_done(&mut self, fold: UnderWay) {
        self.folding.folded_to = fold.position;
        self.folding.intake_to = fold.intake_to;
        self.status_events.forget();
        self.alerts.blocks.folded(&fold.blocks, true);
        for change in fold.changes {
            self.write_change(change);
        }
        self.trim();
    }

    /// Writes a change of state.
    pub fn write_change(&mut self, change: StateChange) {
        let store = self.context.parts.store.clone();
        self.context.spawn_logged(async move {
            let written =
                store.set_alert_state(change.no, change.state, change.version, &change.note, change.at).await;
            written.map_err(|error| format!("alert {}: its state could not be written: {error}", change.no))
        });
    }

    fn fold_failed(&mut self, error: &store::StoreError) {
        tracing::error!(%error, "a fold failed; nothing is lost, it will be tried again");
        let Some(fold) = self.folding.under_way.take() else { return };
        self.alerts.blocks.folded(&fold.blocks, false);
        self.folding.ids_left = Arc::unwrap_or_clone(fold.ids);
        for (no, endpoint) in fold.slice {
            if let Some(live) = self.alerts.live.get_mut(&no) {
                live.redirty(endpoint);
            }
        }
        for no in fold.alerts {
            if let Some(live) = self.alerts.live.get_mut(&no) {
                live.abort_fold();
            }
            self.alerts.unfolded.insert(no);
        }
        self.folding.finished.extend(fold.changes);
        // Finished alerts make a fold urgent; a full disk must not make it spin.
        self.folding.begun = self.context.now();
        if self.context.is_stopping() {
            self.alerts.touched_last = None;
            self.alerts.unfolded.clear();
            self.folding.finished.clear();
        }
    }

    fn trim(&mut self) {
        let now = self.context.now();
        if now.us_since(self.folding.trimmed) < TRIM_EVERY_US && now >= self.folding.trimmed {
            return;
        }
        self.folding.trimmed = now;
        let needed = self.dispatcher.routes.outcomes_needed_from().unwrap_or(u64::MAX);
        let below = self.folding.folded_to.min(needed);
        self.outcomes.trim(below, &self.context.parts, now);
        if let Err(error) = self.intake.topic.trim(self.folding.intake_to) {
            tracing::warn!(%error, "intake could not be trimmed");
        }
        let _ = self.inbound.trim(self.inbound.head().saturating_sub(INBOUND_KEPT));
        self.dispatcher.trim();
    }
}

/// Everything that is not yet in SQL would be lost with the alert's memory.
pub fn may_leave(live: &LiveAlert) -> bool {
    live.alert.state.is_final() && live.dirty_count() == 0
}
