//! The engine's actor: one task, one loop. It waits for commands, outcomes, ends of appends and folds, and
//! moments; folds what came; then dispatches what has room.

use super::alerts::Alerts;
use super::command::ActorCommand;
use super::command::{Reply, Solved};
use super::intake::{IntakeState, StreamOpened};
use super::message_query::Steering;
use super::meter::EngineMeter;
use super::mo_routing::MoRouting;
use super::route_table::RouteTable;
use super::sharing::{BusSource, LeaderGuard, Sharing};
use super::status_events::{EventsPublished, StatusEvents};
use crate::api::{EngineError, Parts};
use crate::record::CarrierIds;
use crate::shared::{RpcResponse, Term};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use records::{Alert, AlertNo, EndpointNo, Timestamp};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Commands taken in one go.
const COMMANDS_AT_ONCE: usize = 256;
/// Records of outcomes taken in one go, and their octets.
const OUTCOME_RECORDS_AT_ONCE: usize = 32;
const OUTCOME_OCTETS_AT_ONCE: usize = 1024 * 1024;
/// How often the clock is looked at while alerts run, and while none does.
const TICK_BUSY: Duration = Duration::from_millis(100);
const TICK_IDLE: Duration = Duration::from_millis(500);
/// When turns follow each other faster than this, what comes is gathered for a moment: a turn costs the same
/// for one message as for many.
const OFTEN: Duration = Duration::from_micros(500);
const GATHER: Duration = Duration::from_millis(1);
/// How often moments (retries, ends of alerts) are looked at.
const LOOK_EVERY_US: i64 = 50_000;
/// Record may be so far behind: records of outcomes (each holds up to a window of them), and time without
/// catching up.
const BEHIND_RECORDS_MAX: u64 = 20_000;
const BEHIND_US_MAX: i64 = 30_000_000;

/// An append of a segment came to its end.
pub struct Appended {
    pub alert: AlertNo,
    /// The number of its route.
    pub route: u16,
    pub lane: records::Lane,
    pub endpoints: Vec<EndpointNo>,
    pub units: u64,
    pub outcomes_from: u64,
    /// Its index.
    pub result: Result<u64, bus::BusError>,
}

/// Everything that changes.
pub struct EngineActor {
    pub parts: Arc<Parts>,
    pub me: mpsc::WeakSender<ActorCommand>,
    pub route_table: RouteTable,
    pub alerts: Alerts,
    pub ids: CarrierIds,
    pub outcomes: Arc<dyn bus::Topic>,
    pub next_outcome: u64,
    pub inbound: Arc<dyn bus::Topic>,
    pub control: Arc<dyn bus::Retained>,
    pub health: Arc<dyn bus::Retained>,
    pub health_seen: u64,
    /// Units an endpoint of an alert costs on a way.
    pub estimates: FxHashMap<(AlertNo, usize), u64>,
    pub looked_at: Timestamp,
    pub let_go_at: Timestamp,
    pub appends: FuturesUnordered<BoxFuture<'static, Appended>>,
    /// Things to be done on the side: state changes, notices, control.
    pub background: FuturesUnordered<BoxFuture<'static, BackgroundResult>>,
    pub folding: super::folding::FoldState,
    pub publisher: super::event_publisher::EventPublisher,
    pub solving: super::solving::Solving,
    pub intake: IntakeState,
    pub status_events: StatusEvents,
    pub mo_routing: MoRouting,
    pub meter: EngineMeter,
    /// Questions about messages that intake has not come to yet.
    pub parked: Vec<ActorCommand>,
    /// The record of outcomes that is being folded, and the place in it.
    pub outcome_at: (u64, u32),
    pub blocked_until: Option<Timestamp>,
    pub stopping: Option<tokio::sync::oneshot::Sender<()>>,
    /// Where several processes share the bus and the store.
    pub sharing: Option<Sharing>,
    behind: Arc<AtomicBool>,
    caught_up: Timestamp,
}

/// How far behind the actor is, for those outside.
#[derive(Clone, Default)]
pub struct Lags {
    /// Gateways should take nothing new.
    pub behind: Arc<AtomicBool>,
    /// Records of intake that were taken.
    pub taken: Arc<AtomicU64>,
}

/// What a background task came to.
pub enum BackgroundResult {
    /// Done, or failed in these words: the log has them.
    Done(Result<(), String>),
    /// A slice of a fold is in SQL, or was refused.
    Folded(Result<(), store::StoreError>),
    /// A message stream was made.
    Opened(Box<StreamOpened>),
    /// Clients' words are on the bus.
    EventsPublished(EventsPublished),
    /// Messages are taken back or changed.
    Steered(Steering),
    /// Something was read from the bus.
    Read(BusSource, Result<Vec<bus::Record>, bus::BusError>),
    /// An alert was looked for, for who waits until it is solved.
    Found(AlertNo, Result<Option<Box<Alert>>, EngineError>, Option<Reply<Solved>>),
    /// The store said what is unfinished.
    Unsolved(Result<Vec<Alert>, EngineError>),
    /// A question of another process has its answer.
    Answered(String, RpcResponse),
}

/// Why the actor came to rest.
pub enum StopReason {
    /// It was told to stop, and everything is in SQL.
    Stopped(tokio::sync::oneshot::Sender<()>),
    /// Nobody holds the engine any more.
    Gone,
    /// Another process leads, or may.
    Over,
}

impl EngineActor {
    /// Opens its topics; may block. With a term it is one of several processes, and the store is fenced by
    /// it.
    pub fn new(
        parts: Arc<Parts>,
        me: mpsc::WeakSender<ActorCommand>,
        lags: Lags,
        term: Option<Term>,
    ) -> Result<EngineActor, EngineError> {
        let bus = parts.bus.clone();
        let mut alerts = Alerts::new(&parts);
        let route_table = RouteTable::new(&parts, &mut alerts.strings)?;
        Ok(EngineActor {
            outcomes: bus.topic(records::OUTCOMES).map_err(bus_error)?,
            inbound: bus.topic(records::INBOUND).map_err(bus_error)?,
            control: bus.retained(records::CONTROL).map_err(bus_error)?,
            health: bus.retained(records::ROUTES).map_err(bus_error)?,
            health_seen: u64::MAX,
            publisher: super::event_publisher::EventPublisher::new(&parts)?,
            folding: super::folding::FoldState::new(&parts)?,
            solving: super::solving::Solving::default(),
            intake: IntakeState::new(&parts, lags.taken)?,
            mo_routing: MoRouting::new(&parts)?,
            meter: EngineMeter::new(),
            sharing: term.map(|term| Sharing::open(&parts, term)).transpose()?,
            status_events: StatusEvents::default(),
            parked: Vec::new(),
            outcome_at: (0, 0),
            parts,
            me,
            route_table,
            alerts,
            ids: CarrierIds::default(),
            next_outcome: 0,
            estimates: FxHashMap::default(),
            looked_at: Timestamp::default(),
            let_go_at: Timestamp::default(),
            appends: FuturesUnordered::new(),
            background: FuturesUnordered::new(),
            blocked_until: None,
            stopping: None,
            behind: lags.behind,
            caught_up: Timestamp::default(),
        })
    }

    pub fn now(&self) -> Timestamp {
        (self.parts.clock)()
    }

    /// Runs until it is told to stop, or may not go on.
    pub async fn run(&mut self, commands: &mut mpsc::Receiver<ActorCommand>) -> StopReason {
        let mut waiting = Vec::with_capacity(COMMANDS_AT_ONCE);
        loop {
            let tick = if self.is_busy() { TICK_BUSY } else { TICK_IDLE };
            let turn = std::time::Instant::now();
            let takes = !self.status_events.is_full();
            let takes_intake = takes && self.stopping.is_none() && self.intake.is_open(self.now());
            let readable = self.outcomes.readable(self.next_outcome);
            let handed_in = self.intake.topic.readable(self.intake.next);
            let hinted = self.hinted();
            let reads = takes && !self.is_reading(BusSource::Outcomes);
            let reads_intake = takes_intake && !self.is_reading(BusSource::Intake);
            tokio::select! {
                count = commands.recv_many(&mut waiting, COMMANDS_AT_ONCE) => {
                    if count == 0 {
                        return StopReason::Gone;
                    }
                    waiting.drain(..).for_each(|command| self.obey(command));
                }
                () = readable, if reads => {}
                () = handed_in, if reads_intake => {}
                () = hinted, if self.stopping.is_none() => {}
                Some(appended) = self.appends.next() => self.appended(appended),
                Some(background_result) = self.background.next() => self.background_result(background_result),
                () = tokio::time::sleep(tick) => {}
            }
            let often = turn.elapsed() < OFTEN;
            if !self.is_over() {
                self.take_what_is_there();
                self.after();
            }
            if self.is_over() {
                return self.stopping.take().map_or(StopReason::Over, StopReason::Stopped);
            }
            if let Some(reply) = self.ready_to_end() {
                return StopReason::Stopped(reply);
            }
            if often && !self.has_more() {
                // Who asks something waits for nobody's gathering.
                tokio::select! {
                    () = tokio::time::sleep(GATHER) => {}
                    count = commands.recv_many(&mut waiting, COMMANDS_AT_ONCE) => {
                        if count == 0 {
                            return StopReason::Gone;
                        }
                        waiting.drain(..).for_each(|command| self.obey(command));
                    }
                }
            }
        }
    }

    /// Whatever woke us: everything that came is taken in one turn.
    fn take_what_is_there(&mut self) {
        while let Some(Some(appended)) = self.appends.next().now_or_never() {
            self.appended(appended);
        }
        if self.sharing.is_some() {
            return self.read_what_is_there();
        }
        if !self.status_events.is_full() && self.outcomes.head() > self.next_outcome {
            self.take_outcomes();
        }
        if !self.status_events.is_full() && self.intake.waiting() > 0 {
            self.take_intake();
        }
    }

    /// There is more to do at once.
    fn has_more(&self) -> bool {
        if self.sharing.is_some() {
            // What is there is being read.
            return self.stopping.is_some();
        }
        self.stopping.is_some()
            || self.outcomes.head() > self.next_outcome
            || (self.intake.waiting() > 0 && self.intake.opening == 0)
    }

    /// What has to be looked at after anything happened.
    fn after(&mut self) {
        let now = self.now();
        if self.sharing.is_none() {
            self.look_at_health();
        }
        if now.us_since(self.looked_at) >= LOOK_EVERY_US || now < self.looked_at {
            self.looked_at = now;
            self.look_at_lag(now);
            self.look_at_nodes();
            self.look_for_unsolved();
            self.solve_again(now);
            self.look_at_moments(now);
        }
        self.dispatch(now);
        self.tell_what_happened();
        self.finish_what_is_done(now);
        self.flush_fates(now);
        self.fold(now);
        self.tell(now);
    }

    /// Backpressure: gateways take no new segment while record is too far behind.
    fn look_at_lag(&mut self, now: Timestamp) {
        let waiting = self.outcomes.head().saturating_sub(self.next_outcome);
        if waiting == 0 || self.caught_up == Timestamp::default() {
            self.caught_up = now;
        }
        let behind =
            waiting > BEHIND_RECORDS_MAX || (waiting > 0 && now.us_since(self.caught_up) > BEHIND_US_MAX);
        self.behind.store(behind, Ordering::Relaxed);
    }

    fn is_busy(&self) -> bool {
        !self.alerts.running.is_empty() || self.folding.is_under_way() || !self.alerts.unfolded.is_empty()
    }

    fn take_outcomes(&mut self) {
        let read = self.outcomes.read(self.next_outcome, OUTCOME_RECORDS_AT_ONCE, OUTCOME_OCTETS_AT_ONCE);
        match read {
            Ok(records) => self.take_outcome_records(&records),
            Err(error) => {
                tracing::error!(%error, "the outcomes cannot be read; nothing is folded until they can");
            }
        }
    }

    pub fn take_outcome_records(&mut self, records: &[bus::Record]) {
        for record in records {
            self.next_outcome = record.index + 1;
            self.outcome_at = (record.index, 0);
            self.take_batch(&record.octets);
        }
    }

    pub fn background_result(&mut self, background_result: BackgroundResult) {
        match background_result {
            BackgroundResult::Done(Ok(())) => {}
            BackgroundResult::Done(Err(error)) => tracing::error!(error, "an errand failed"),
            BackgroundResult::Folded(result) => self.folded(result),
            BackgroundResult::Opened(opened) => self.opened(opened),
            BackgroundResult::EventsPublished(told) => self.told(told),
            BackgroundResult::Steered(steering) => self.steered(steering),
            BackgroundResult::Read(source, read) => self.was_read(source, read),
            BackgroundResult::Found(no, found, reply) => self.found(no, found, reply),
            BackgroundResult::Unsolved(found) => self.unsolved(found),
            BackgroundResult::Answered(to, answered) => self.answered(to, &answered),
        }
    }

    fn ready_to_end(&mut self) -> Option<tokio::sync::oneshot::Sender<()>> {
        let idle = self.stopping.is_some() && self.appends.is_empty() && self.background.is_empty();
        let folded = !self.folding.is_under_way() && self.alerts.unfolded.is_empty();
        if idle && folded && self.status_events.is_empty() { self.stopping.take() } else { None }
    }

    /// Runs something on the side, unless another process leads by then.
    pub fn send_out(&mut self, background_result: impl Future<Output = Result<(), String>> + Send + 'static) {
        let guard = self.guard();
        self.background.push(Box::pin(async move {
            if !guard.holds() {
                return BackgroundResult::Done(Err(LeaderGuard::passed().to_string()));
            }
            BackgroundResult::Done(background_result.await)
        }));
    }
}

/// The bus failed.
pub fn bus_error(error: bus::BusError) -> EngineError {
    match error {
        bus::BusError::DiskFull { .. } => EngineError::DiskFull,
        bus::BusError::Unreachable { .. } => EngineError::Busy(error.to_string()),
        other => EngineError::Internal(other.to_string()),
    }
}

/// The store failed.
pub fn store_error(error: store::StoreError) -> EngineError {
    match error {
        store::StoreError::DiskFull => EngineError::DiskFull,
        store::StoreError::Unreachable { .. } | store::StoreError::Fenced { .. } => {
            EngineError::Busy(error.to_string())
        }
        other => EngineError::Internal(other.to_string()),
    }
}
