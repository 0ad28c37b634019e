//! SqlFold writes changed deliveries to SQL: once a second, in key order, in slices; with the last slice how
//! far the topics of outcomes and intake are folded. Carrier ids go to their own topic first. It owns the
//! fold that is under way and the changes of state that wait for one.

use super::actor::{BackgroundResult, bus_error};
use super::alerts::Alerts;
use super::blocks::Key;
use super::context::{Context, LeaderGuard};
use super::outcome_reader::OutcomeReader;
use super::status_events::StatusEvents;
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

/// See the module.
pub struct SqlFold {
    ids: Arc<dyn bus::Topic>,
    begun: Timestamp,
    trimmed: Timestamp,
    under_way: Option<UnderWay>,
    /// SQL has everything below.
    pub folded_to: u64,
    /// SQL has all messages below.
    pub intake_to: u64,
    /// Alerts whose final state is written once their deliveries are.
    finished: Vec<StateChange>,
    /// Carrier ids of a fold that failed: perhaps not on their topic.
    ids_left: Vec<Vec<u8>>,
}

/// An alert became final: a change of state to be written.
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
    /// The slice that is written once events up to this number are on the bus.
    ready: Option<(u64, store::Fold, Ids)>,
    /// The carrier ids that are saved before its first slice.
    ids: Ids,
    alerts: Vec<AlertNo>,
    changes: Vec<StateChange>,
    slice: Vec<(AlertNo, EndpointNo)>,
    last: bool,
}

impl SqlFold {
    pub fn new(parts: &Parts) -> Result<SqlFold, EngineError> {
        Ok(SqlFold {
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

    /// An alert's final state is written with the next fold.
    pub fn add_change(&mut self, change: StateChange) {
        self.finished.push(change);
    }

    /// Goes on with the fold that is under way, or begins one if it is time. `intake_to`: all messages below
    /// are in message streams.
    pub fn run(
        &mut self,
        outcomes: &mut OutcomeReader,
        intake_to: u64,
        alerts: &mut Alerts,
        events: &mut StatusEvents,
        context: &Context,
        now: Timestamp,
    ) {
        if self.is_under_way() {
            return self.write_slice(events, context);
        }
        let waits = now.us_since(self.begun) < FOLD_EVERY_US && now >= self.begun;
        let nothing = alerts.unfolded.is_empty()
            && self.folded_to == outcomes.next
            && self.intake_to == intake_to
            && alerts.blocks.is_clean()
            && self.finished.is_empty();
        let urgent = context.is_stopping() || !self.finished.is_empty();
        if nothing || (waits && !urgent) {
            return;
        }
        self.begun = now;
        alerts.touched_last = None;
        let mut folded: Vec<AlertNo> = alerts.unfolded.drain().collect();
        folded.sort_unstable();
        for no in &folded {
            if let Some(live) = alerts.live.get_mut(no) {
                live.begin_fold();
            }
        }
        let changes = std::mem::take(&mut self.finished);
        let (blocks, keys) = alerts.blocks.take_dirty();
        let mut ids = std::mem::take(&mut self.ids_left);
        ids.extend(outcomes.carrier_ids.take_unsaved(now));
        let ids = Arc::new(ids);
        self.under_way = Some(UnderWay {
            ids: ids.clone(),
            position: outcomes.next,
            intake_to,
            blocks: keys,
            ready: None,
            alerts: folded,
            changes,
            slice: Vec::new(),
            last: false,
        });
        self.make_slice(blocks, ids, alerts, events, context);
    }

    fn make_slice(
        &mut self,
        blocks: Vec<store::FoldedBlock>,
        ids: Ids,
        alerts: &mut Alerts,
        events: &mut StatusEvents,
        context: &Context,
    ) {
        events.publish_touched(alerts);
        let Some(fold) = &mut self.under_way else { return };
        let mut rows: Vec<Delivery> = Vec::new();
        let mut more = false;
        for no in &fold.alerts {
            if let Some(live) = alerts.live.get_mut(no) {
                more = live.take_folding(&alerts.strings, &mut rows, SLICE_ROWS);
                if more {
                    break;
                }
            }
        }
        fold.slice = rows.iter().map(|row| (row.alert, row.endpoint)).collect();
        fold.last = !more;
        let (folded_to, intake_to) =
            if more { (self.folded_to, None) } else { (fold.position, Some(fold.intake_to)) };
        let slice = store::Fold { deliveries: rows, blocks, folded_to, intake_to };
        fold.ready = Some((events.last(), slice, ids));
        self.write_slice(events, context);
    }

    /// Writes the slice that is ready, once the events of the changes in it are on the bus: after a start SQL
    /// would not give them again.
    fn write_slice(&mut self, events: &StatusEvents, context: &Context) {
        let Some(fold) = &mut self.under_way else { return };
        if fold.ready.as_ref().is_none_or(|(last, ..)| !events.is_published(*last)) {
            return;
        }
        let Some((_, slice, ids)) = fold.ready.take() else { return };
        let (store, topic, guard) = (context.parts.store.clone(), self.ids.clone(), context.guard());
        context.spawn(async move {
            // Ids first: a receipt must find its delivery once the outcome that brought the id is let go of.
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
        });
    }

    /// A slice is in SQL, or was refused. True if it was the last.
    pub fn written(
        &mut self,
        result: Result<(), store::StoreError>,
        alerts: &mut Alerts,
        events: &mut StatusEvents,
        context: &mut Context,
    ) -> bool {
        if let Err(error) = result {
            if matches!(error, store::StoreError::Fenced { .. }) && context.is_shared() {
                context.note_lead_lost();
            } else {
                self.fail(&error, alerts, context);
            }
            return false;
        }
        match self.under_way.take() {
            Some(fold) if fold.last => {
                self.finish(fold, alerts, events, context);
                true
            }
            unfinished => {
                self.under_way = unfinished;
                self.make_slice(Vec::new(), Arc::default(), alerts, events, context);
                false
            }
        }
    }

    fn finish(&mut self, fold: UnderWay, alerts: &mut Alerts, events: &mut StatusEvents, context: &Context) {
        self.folded_to = fold.position;
        self.intake_to = fold.intake_to;
        events.forget();
        alerts.blocks.folded(&fold.blocks, true);
        for change in fold.changes {
            write_change(change, context);
        }
    }

    fn fail(&mut self, error: &store::StoreError, alerts: &mut Alerts, context: &Context) {
        tracing::error!(%error, "a fold failed; nothing is lost, it will be tried again");
        let Some(fold) = self.under_way.take() else { return };
        alerts.blocks.folded(&fold.blocks, false);
        self.ids_left = Arc::unwrap_or_clone(fold.ids);
        for (no, endpoint) in fold.slice {
            if let Some(live) = alerts.live.get_mut(&no) {
                live.redirty(endpoint);
            }
        }
        for no in fold.alerts {
            if let Some(live) = alerts.live.get_mut(&no) {
                live.abort_fold();
            }
            alerts.unfolded.insert(no);
        }
        self.finished.extend(fold.changes);
        // Finished alerts make a fold urgent; a full disk must not make it spin.
        self.begun = context.now();
        if context.is_stopping() {
            alerts.touched_last = None;
            alerts.unfolded.clear();
            self.finished.clear();
        }
    }

    /// Is it time to trim the topics?
    pub fn is_time_to_trim(&mut self, now: Timestamp) -> bool {
        let is_time = now.us_since(self.trimmed) >= TRIM_EVERY_US || now < self.trimmed;
        if is_time {
            self.trimmed = now;
        }
        is_time
    }
}

/// Writes a change of state.
fn write_change(change: StateChange, context: &Context) {
    let store = context.parts.store.clone();
    context.spawn_logged(async move {
        let written =
            store.set_alert_state(change.no, change.state, change.version, &change.note, change.at).await;
        written.map_err(|error| format!("alert {}: its state could not be written: {error}", change.no))
    });
}

/// Everything that is not yet in SQL would be lost with the alert's memory.
pub fn may_leave(live: &LiveAlert) -> bool {
    live.alert.state.is_final() && live.dirty_count() == 0
}
