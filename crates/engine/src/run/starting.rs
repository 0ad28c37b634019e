//! Start of the actor: rows, then the outcomes after them, then the segments that no gateway acknowledged.
//! What is left over is planned.

use super::actor::{BackgroundResult, EngineActor, bus_error, store_error};
use super::alerts::Alerts;
use super::dispatcher::FoundSegment;
use super::help_cases::read_settled;
use super::solving::{has_order, is_unsolved};
use crate::api::{EngineError, Parts};
use crate::plan::{Chains, Classifier};
use crate::record::CarrierIds;
use crate::record::delivery_cell::IN_SEGMENT;
use crate::record::{LiveAlert, StringTable};
use crate::shared::latest;
use crate::solve::strategy_of;
use futures_util::stream::StreamExt;
use records::{
    Alert, AlertNo, AlertState, DeliveryState, EndpointNo, ROSTER_BLOCK_ENDPOINTS, Reason, RosterBlock,
    RosterEntry, Segment, Timestamp,
};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Records read in one go.
const RECORDS_AT_ONCE: usize = 256;
const OCTETS_AT_ONCE: usize = 4 * 1024 * 1024;
/// Segments of one lane that can be under way.
const SEGMENTS_MAX: usize = 100_000;

/// Picks up where the last run ended; the actor is ready to run afterwards.
pub async fn start(owner: &mut EngineActor) -> Result<(), EngineError> {
    let ends = ends(owner).await?;
    let store = owner.context.parts.store.clone();
    let folded_to = store.folded_to().await.map_err(store_error)?;
    owner.sql_fold.folded_to = folded_to;
    owner.sql_fold.intake_to = store.intake_to().await.map_err(store_error)?;
    owner.outcomes.next = folded_to.max(owner.outcomes.topic.low());
    load_carrier_ids(owner, ends.ids)?;
    let mut unsolved = Vec::new();
    for alert in store.unfinished_alerts().await.map_err(store_error)? {
        match alert.state {
            AlertState::Accepted | AlertState::Solving => unsolved.push(alert),
            _ => take_up(owner, alert).await?,
        }
    }
    close_all_but_the_last(owner);
    expect_all_replies(owner).await?;
    let crashed = owner.outcomes.next < ends.outcomes || owner.sql_fold.intake_to < ends.intake;
    if crashed || owner.context.is_shared() {
        remember_events(owner).await?;
    }
    replay_intake(owner, ends.intake).await?;
    // Gateways of other processes go on meanwhile: what has become of a segment that is acknowledged now is
    // replayed below.
    let segments = find_segments(owner)?;
    let outcomes_to = match owner.sharing {
        Some(_) => latest(&*owner.outcomes.topic).await?,
        None => ends.outcomes,
    };
    replay(owner, outcomes_to)?;
    let lost = segments.len();
    for found in segments {
        owner.dispatcher.resume(&found, &mut owner.alerts, &owner.context);
    }
    mark_orphans(owner);
    tracing::info!(
        alerts = owner.alerts.live.len(),
        unsolved = unsolved.len(),
        segments = lost,
        "the engine is up"
    );
    for alert in unsolved {
        owner.solving.solve(Box::new(alert), None, &owner.dispatcher.routes.classifier, &owner.context);
    }
    let all: Vec<AlertNo> = owner.alerts.live.keys().copied().collect();
    all.into_iter().for_each(|no| owner.alerts.touch(no));
    Ok(())
}

/// Where topics end.
struct Ends {
    outcomes: u64,
    intake: u64,
    ids: u64,
}

/// Where they end now. Of several processes the one that begins to lead first moves the heads of the
/// segments: whatever was appended by another is below from then on.
async fn ends(owner: &mut EngineActor) -> Result<Ends, EngineError> {
    let ids = owner.sql_fold.ids_topic().clone();
    if !owner.context.is_shared() {
        return Ok(Ends {
            outcomes: owner.outcomes.topic.head(),
            intake: owner.messages.intake.topic.head(),
            ids: ids.head(),
        });
    }
    if let Some(term) = owner.context.term() {
        owner.dispatcher.take_fencing_records(term).await?;
    }
    if let Some(sharing) = &mut owner.sharing {
        sharing.catch_up().await?;
    }
    Ok(Ends {
        outcomes: latest(&*owner.outcomes.topic).await?,
        intake: latest(&*owner.messages.intake.topic).await?,
        ids: latest(&*ids).await?,
    })
}

async fn remember_events(owner: &mut EngineActor) -> Result<(), EngineError> {
    let bus = owner.context.parts.bus.clone();
    if owner.context.is_shared() {
        for name in super::status_events::topics(&*bus).map_err(bus_error)? {
            latest(&*bus.topic(&name).map_err(bus_error)?).await?;
        }
    }
    owner.messages.status_events.remember(&*bus).map_err(bus_error)
}

async fn take_up(owner: &mut EngineActor, alert: Alert) -> Result<(), EngineError> {
    let no = alert.no;
    let observers = owner.context.parts.store.observers(no).await.map_err(store_error)?;
    let now = owner.context.now();
    let intake_to = owner.context.parts.store.intake_to().await.map_err(store_error)?;
    let live = load_to(
        &owner.context.parts,
        &owner.dispatcher.routes.classifier,
        &mut owner.alerts.strings,
        alert,
        now,
        intake_to,
    )?;
    owner.publisher.observe_all(&live.alert, observers, now);
    owner.alerts.insert(live);
    Ok(())
}

/// Only the last message stream of a class takes messages.
fn close_all_but_the_last(owner: &mut EngineActor) {
    for no in owner.alerts.streams.closed() {
        if let Some(metas) = owner.alerts.live.get_mut(&no).and_then(|live| live.metas.as_mut()) {
            metas.closed = true;
        }
    }
}

/// Reads an alert back from SQL, on the calling thread.
pub fn load(
    parts: &Parts,
    classifier: &Classifier,
    words: &mut StringTable,
    alert: Alert,
    now: Timestamp,
) -> Result<LiveAlert, EngineError> {
    load_to(parts, classifier, words, alert, now, u64::MAX)
}

/// The same; messages from `intake_to` on are not taken to be in a message stream: a fold that was cut short
/// left them.
fn load_to(
    parts: &Parts,
    classifier: &Classifier,
    words: &mut StringTable,
    alert: Alert,
    now: Timestamp,
    intake_to: u64,
) -> Result<LiveAlert, EngineError> {
    let wording = parts.texts.of(&alert);
    let no = alert.no;
    let mut live = LiveAlert::new(alert, wording);
    let ordered = has_order(&live);
    let mut kept: Vec<RosterBlock> = Vec::new();
    let mut at = EndpointNo(0);
    while let Some(mut block) = parts.store.roster_block(no, at).map_err(store_error)? {
        let entries = block.entries.len();
        let counts =
            |entry: &RosterEntry| entry.message.as_ref().is_none_or(|message| message.id.0 < intake_to);
        block.entries.truncate(block.entries.iter().take_while(|entry| counts(entry)).count());
        live.admit(&block, classifier, now);
        if block.entries.len() < entries {
            break;
        }
        at = EndpointNo(block.first.0 + ROSTER_BLOCK_ENDPOINTS as u32);
        if ordered {
            kept.push(block);
        }
    }
    if ordered {
        let chains = Chains::new(kept.iter(), |rule| strategy_of(&live.alert.request, rule));
        live.set_chains(chains);
    }
    let mut each = |rows: &[records::Delivery]| {
        rows.iter().for_each(|row| live.load(row, words));
        true
    };
    parts.store.scan_deliveries(no, &mut each).map_err(store_error)?;
    live.seal();
    read_settled(&mut live, &*parts.store);
    match live.alert.state {
        AlertState::Cancelled => live.end_waiting(Reason::Cancelled, now),
        AlertState::Expired => live.end_waiting(Reason::Expired, now),
        _ => {}
    }
    if live.alert.state.is_final() {
        live.finished = crate::report::last_change(&live).or(Some(live.alert.created));
    }
    Ok(live)
}

fn load_carrier_ids(owner: &mut EngineActor, to: u64) -> Result<(), EngineError> {
    let topic = owner.sql_fold.ids_topic().clone();
    let oldest = owner.context.now().plus_s(-i64::from(owner.context.parts.settings.carrier_ids_s));
    let mut from = topic.low();
    let mut needed = None;
    while from < to {
        let records = topic.read(from, RECORDS_AT_ONCE, OCTETS_AT_ONCE).map_err(bus_error)?;
        let Some(last) = records.last() else { break };
        from = last.index + 1;
        for record in &records {
            let moment = CarrierIds::moment(&record.octets)
                .map_err(|error| EngineError::Internal(format!("record {}: {error}", record.index)))?
                .unwrap_or_default();
            if moment >= oldest {
                needed.get_or_insert(record.index);
                owner.outcomes.carrier_ids.load(&record.octets, owner.context.now());
            }
        }
    }
    let _ = topic.trim(needed.unwrap_or(from));
    Ok(())
}

/// Folds what stands below `to`, and perhaps some behind it.
fn replay(owner: &mut EngineActor, to: u64) -> Result<(), EngineError> {
    while owner.outcomes.next < to {
        let records = owner
            .outcomes
            .topic
            .read(owner.outcomes.next, RECORDS_AT_ONCE, OCTETS_AT_ONCE)
            .map_err(bus_error)?;
        if records.is_empty() {
            break;
        }
        owner.take_outcomes(&records, true);
    }
    Ok(())
}

/// Takes the messages that came before the start to where they were.
async fn replay_intake(owner: &mut EngineActor, to: u64) -> Result<(), EngineError> {
    let in_sql = owner.context.parts.store.intake_to().await.map_err(store_error)?;
    owner.messages.intake.begin_replay(in_sql, to);
    while owner.messages.intake.is_replaying() {
        let before = owner.messages.intake.next;
        owner.take_intake();
        while owner.messages.intake.opening > 0 {
            match owner.context.background.next().await {
                Some(BackgroundResult::Opened(opened)) => {
                    if let Some(error) = opened.error() {
                        return Err(store_error(error.clone()));
                    }
                    owner.background_result(BackgroundResult::Opened(opened));
                }
                Some(other) => owner.background_result(other),
                None => break,
            }
        }
        if owner.messages.intake.next == before && owner.messages.intake.is_paused() {
            return Err(EngineError::Internal("the topic of intake cannot be read".into()));
        }
    }
    owner.messages.intake.publish_taken();
    Ok(())
}

/// What stands in segments that no gateway acknowledged is under way, unless an outcome has ended it.
fn find_segments(owner: &EngineActor) -> Result<Vec<FoundSegment>, EngineError> {
    let mut found = Vec::new();
    for (place, entry) in owner.dispatcher.routes.list.iter().enumerate() {
        for (lane_no, lane) in entry.lanes.iter().enumerate() {
            for index in lane.group.unacknowledged(SEGMENTS_MAX) {
                if let Some(record) = lane.topic.read(index, 1, OCTETS_AT_ONCE).map_err(bus_error)?.pop()
                    && record.index == index
                    && let Ok(segment) = Segment::decode(&record.octets)
                    && !segment.is_fencing_record()
                {
                    found.push(FoundSegment { place, lane: lane_no, index, segment });
                }
            }
        }
    }
    Ok(found)
}

/// No outcome will come of attempts that were about to be written by a route that is no longer configured.
fn mark_orphans(owner: &mut EngineActor) {
    let all: Vec<AlertNo> = owner.alerts.live.keys().copied().collect();
    for no in all {
        let Some(live) = owner.alerts.live.get(&no) else { continue };
        let is_orphan = |cell: &crate::record::delivery_cell::DeliveryCell| {
            cell.state == DeliveryState::Submitted && cell.flags & IN_SEGMENT == 0
        };
        let orphans: Vec<EndpointNo> =
            live.each().filter(|(_, cell)| is_orphan(cell)).map(|(at, _)| at).collect();
        for endpoint in orphans {
            owner.take_orphan(no, endpoint);
        }
    }
}

/// Replies of everybody who may still answer, the oldest alert first. Most alerts are over long before their
/// answers come.
async fn expect_all_replies(owner: &mut EngineActor) -> Result<(), EngineError> {
    let now = owner.context.now();
    for alert in owner.context.parts.store.asking_alerts(now).await.map_err(store_error)? {
        let no = alert.no;
        match owner.alerts.live.remove(&no) {
            Some(live) => {
                expect_replies(&mut owner.alerts, &owner.context.parts, &live);
                owner.alerts.live.insert(no, live);
            }
            None if alert.state.is_final() => {
                let live = load(
                    &owner.context.parts,
                    &owner.dispatcher.routes.classifier,
                    &mut owner.alerts.strings,
                    alert,
                    now,
                )?;
                expect_replies(&mut owner.alerts, &owner.context.parts, &live);
            }
            None => {}
        }
    }
    Ok(())
}

/// Replies of everybody who was sent something that asks for an answer are for this alert.
fn expect_replies(alerts: &mut Alerts, parts: &Parts, live: &LiveAlert) {
    if !live.alert.request.require_answer {
        return;
    }
    let mut at = EndpointNo(0);
    while let Ok(Some(block)) = parts.store.roster_block(live.alert.no, at) {
        for (i, entry) in block.entries.iter().enumerate() {
            let endpoint = EndpointNo(block.first.0 + i as u32);
            let (Some(channel), Some(cell)) = (entry.channel, live.cell(endpoint)) else { continue };
            if cell.last > 0 {
                alerts.replies.note(channel, &entry.address, cell.route, (live.alert.no, endpoint));
            }
        }
        at = EndpointNo(block.first.0 + ROSTER_BLOCK_ENDPOINTS as u32);
    }
}

impl EngineActor {
    /// An alert that left memory is needed again: a late receipt, a late answer. On this thread; it is rare.
    pub fn read_back(&mut self, no: AlertNo) -> bool {
        if self.solving.holds(no) {
            return false;
        }
        let alert = match wait_for(self.context.parts.store.alert_by_no(no)) {
            // Of one that is not solved there is nothing to read back: taken in, it would be done without
            // anybody.
            Ok(Some(alert)) if is_unsolved(&alert) => return false,
            Ok(Some(alert)) => alert,
            Ok(None) => return false,
            Err(error) => {
                tracing::error!(alert = no.0, %error, "an alert cannot be read back");
                return false;
            }
        };
        let now = self.context.now();
        match load(
            &self.context.parts,
            &self.dispatcher.routes.classifier,
            &mut self.alerts.strings,
            alert,
            now,
        ) {
            Ok(mut live) => {
                live.finished = live.finished.map(|_| now);
                expect_replies(&mut self.alerts, &self.context.parts, &live);
                self.alerts.insert(live);
                true
            }
            Err(error) => {
                tracing::error!(alert = no.0, %error, "an alert cannot be read back");
                false
            }
        }
    }
}

/// Waits for a future on a thread that may: the store's futures are completed by its own threads.
pub fn wait_for<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}
