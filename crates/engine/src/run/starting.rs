//! A start: rows, then the outcomes after them, then the segments that nobody acknowledged. What is left over
//! is planned.

use super::actor::{EngineActor, bus_error, store_error};
use super::command::ActorCommand;
use super::dispatcher::FoundSegment;
use super::solving::{has_order, is_unsolved};
use crate::api::{EngineError, Parts};
use crate::plan::{Chains, Classifier};
use crate::record::CarrierIds;
use crate::record::delivery_cell::IN_SEGMENT;
use crate::record::{LiveAlert, StringTable};
use crate::shared::latest;
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
    owner.folding.folded_to = folded_to;
    owner.folding.intake_to = store.intake_to().await.map_err(store_error)?;
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
    note_all_asked(owner).await?;
    let crashed = owner.outcomes.next < ends.outcomes || owner.folding.intake_to < ends.intake;
    if crashed || owner.context.is_shared() {
        remember_told(owner).await?;
    }
    owner.replay_intake(ends.intake).await?;
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
        owner.solve(Box::new(alert), None);
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
    let ids = owner.folding.ids_topic().clone();
    if !owner.context.is_shared() {
        return Ok(Ends {
            outcomes: owner.outcomes.topic.head(),
            intake: owner.intake.topic.head(),
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
        intake: latest(&*owner.intake.topic).await?,
        ids: latest(&*ids).await?,
    })
}

async fn remember_told(owner: &mut EngineActor) -> Result<(), EngineError> {
    let bus = owner.context.parts.bus.clone();
    if owner.context.is_shared() {
        for name in super::status_events::topics_of_words(&*bus).map_err(bus_error)? {
            latest(&*bus.topic(&name).map_err(bus_error)?).await?;
        }
    }
    owner.status_events.remember(&*bus).map_err(bus_error)
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
    owner.observe_all(&live.alert, observers, now);
    owner.take_in(live);
    Ok(())
}

/// Only the last message stream of a class takes messages.
fn close_all_but_the_last(owner: &mut EngineActor) {
    for no in owner.intake.closed() {
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
    let wording = parts.texts.of(&alert).map_err(EngineError::Unprocessable)?;
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
        let chains = Chains::new(kept.iter(), |rule| live.strategy(rule));
        live.set_chains(chains);
    }
    let mut each = |rows: &[records::Delivery]| {
        rows.iter().for_each(|row| live.load(row, words));
        true
    };
    parts.store.scan_deliveries(no, &mut each).map_err(store_error)?;
    live.seal();
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
    let topic = owner.folding.ids_topic().clone();
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
        for record in records {
            owner.outcomes.begin(record.index);
            owner.replay_batch(&record.octets);
        }
    }
    Ok(())
}

/// What stands in segments that no gateway acknowledged is under way, unless an outcome has ended it.
fn find_segments(owner: &EngineActor) -> Result<Vec<FoundSegment>, EngineError> {
    let mut found = Vec::new();
    for (place, way) in owner.dispatcher.routes.list.iter().enumerate() {
        for (lane_no, lane) in way.lanes.iter().enumerate() {
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

/// What was about to be written by a route that is no longer configured has nobody left to say what became of
/// it.
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

/// Everybody who was asked and may still answer, the oldest question first. Most alerts are over long before
/// their answers come.
async fn note_all_asked(owner: &mut EngineActor) -> Result<(), EngineError> {
    let now = owner.context.now();
    for alert in owner.context.parts.store.asking_alerts(now).await.map_err(store_error)? {
        let no = alert.no;
        match owner.alerts.live.remove(&no) {
            Some(live) => {
                note_asked(owner, &live);
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
                note_asked(owner, &live);
            }
            None => {}
        }
    }
    Ok(())
}

/// Everybody who was sent something that asks for an answer.
fn note_asked(owner: &mut EngineActor, live: &LiveAlert) {
    if !live.alert.request.require_answer {
        return;
    }
    let mut at = EndpointNo(0);
    while let Ok(Some(block)) = owner.context.parts.store.roster_block(live.alert.no, at) {
        for (i, entry) in block.entries.iter().enumerate() {
            let endpoint = EndpointNo(block.first.0 + i as u32);
            let (Some(channel), Some(cell)) = (entry.channel, live.cell(endpoint)) else { continue };
            if cell.last > 0 {
                owner.alerts.replies.note(channel, &entry.address, cell.route, (live.alert.no, endpoint));
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
                note_asked(self, &live);
                self.take_in(live);
                true
            }
            Err(error) => {
                tracing::error!(alert = no.0, %error, "an alert cannot be read back");
                false
            }
        }
    }

    /// Observers of an alert: its own callback, and those that registered later.
    pub fn observe_all(
        &mut self,
        alert: &Alert,
        later: Vec<(u64, records::CallbackRequest)>,
        now: Timestamp,
    ) {
        if let Some(request) = &alert.request.callback {
            self.publisher.observe(alert.no, 0, request.clone(), now);
        }
        for (id, request) in later {
            self.publisher.observe(alert.no, id, request, now);
        }
    }

    /// Routes changed: what may take whom is asked anew.
    pub fn change_routes(&mut self, routes: Vec<records::Route>) -> Result<(), EngineError> {
        self.dispatcher.change_routes(routes.clone(), &mut self.alerts, &self.context)?;
        Arc::make_mut(&mut self.context.parts).routes = routes;
        let running: Vec<AlertNo> = self.alerts.running.iter().copied().collect();
        for no in running {
            self.alerts.reclassify(no, &self.dispatcher.routes.classifier);
            self.alerts.touch(no);
        }
        Ok(())
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

impl EngineActor {
    /// Does what it is told.
    pub fn obey(&mut self, command: ActorCommand) {
        match command {
            ActorCommand::Accepted { alert, solved } => {
                if self.context.is_shared() {
                    // The store may have told us of it before.
                    return self.solve_once(alert.no, Some(alert), solved);
                }
                let now = self.context.now();
                self.observe_all(&alert, Vec::new(), now);
                self.solve(alert, solved);
            }
            ActorCommand::Solved { no, epoch, classifier, result } if epoch == self.context.epoch() => {
                self.solved(no, &classifier, result);
            }
            // Of an earlier term of ours: it was begun anew.
            ActorCommand::Solved { .. } => {}
            ActorCommand::Look { no, reply } => {
                let now = self.context.now();
                let look = self.alerts.live.get(&no).map(|live| live.alert.clone()).zip(self.report(no, now));
                let _ = reply.send(look.map(|(alert, report)| super::command::Look { alert, report }));
            }
            ActorCommand::Deliveries { no, wanted, reply } => _ = reply.send(self.deliveries(no, wanted)),
            ActorCommand::Steer { no, verb, reply } => self.steer(no, verb, reply),
            ActorCommand::Watch { no, reply } => {
                let watch = self.alerts.running.contains(&no) || self.solving.holds(no);
                let _ = reply.send(watch.then(|| self.publisher.watch(no)));
            }
            ActorCommand::Observe { no, observer, request } => {
                let now = self.context.now();
                self.publisher.observe(no, observer, request, now);
            }
            ActorCommand::Unobserve { no, observer } => self.publisher.unobserve(no, observer),
            ActorCommand::Routes { routes, reply } => _ = reply.send(self.change_routes(routes)),
            ActorCommand::Parties { parties, keywords, reply } => {
                let parts = Arc::make_mut(&mut self.context.parts);
                parts.parties.clone_from(&parties);
                parts.settings.keywords = keywords.clone();
                self.mo_routing.change(parties, keywords);
                let _ = reply.send(());
            }
            ActorCommand::Message { .. }
            | ActorCommand::CancelMessage { .. }
            | ActorCommand::ReplaceMessage { .. }
            | ActorCommand::CancelMessages { .. } => self.obey_message(command),
            ActorCommand::Health { reply } => _ = reply.send(self.how_it_stands()),
            ActorCommand::Stop { reply } => self.context.stopping = Some(reply),
        }
    }
}
