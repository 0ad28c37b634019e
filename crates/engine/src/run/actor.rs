//! The engine's actor: one task, one loop. It waits for commands, outcomes, ends of appends and folds, and
//! moments; folds what came; then dispatches what has room.

use super::alerts::Alerts;
use super::command::ActorCommand;
use super::command::{Reply, Solved};
use super::context::Context;
use super::dispatcher::Dispatcher;
use super::intake::{IntakeState, StreamOpened};
use super::message_query::Steering;
use super::meter::EngineMeter;
use super::mo_routing::MoRouting;
use super::outcome_reader::OutcomeReader;
use super::sharing::{BusSource, Sharing};
use super::status_events::{EventsPublished, StatusEvents};
use crate::api::{EngineError, Parts};
use crate::shared::{RpcResponse, Term};
use futures_util::future::FutureExt;
use futures_util::stream::StreamExt;
use records::{Alert, AlertNo, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use tokio::sync::mpsc;

/// Commands taken in one go.
const COMMANDS_AT_ONCE: usize = 256;
/// How often the clock is looked at while alerts run, and while none does.
const TICK_BUSY: Duration = Duration::from_millis(100);
const TICK_IDLE: Duration = Duration::from_millis(500);
/// When turns follow each other faster than this, what comes is gathered for a moment: a turn costs the same
/// for one message as for many.
const OFTEN: Duration = Duration::from_micros(500);
const GATHER: Duration = Duration::from_millis(1);
/// How often moments (retries, ends of alerts) are looked at.
const LOOK_EVERY_US: i64 = 50_000;

/// Everything that changes.
pub struct EngineActor {
    pub context: Context,
    pub dispatcher: Dispatcher,
    pub alerts: Alerts,
    pub outcomes: OutcomeReader,
    pub inbound: Arc<dyn bus::Topic>,
    pub control: Arc<dyn bus::Retained>,
    pub looked_at: Timestamp,
    pub let_go_at: Timestamp,
    pub folding: super::folding::FoldState,
    pub publisher: super::event_publisher::EventPublisher,
    pub solving: super::solving::Solving,
    pub intake: IntakeState,
    pub status_events: StatusEvents,
    pub mo_routing: MoRouting,
    pub meter: EngineMeter,
    /// Questions about messages that intake has not come to yet.
    pub parked: Vec<ActorCommand>,
    /// Where several processes share the bus and the store.
    pub sharing: Option<Sharing>,
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
        let dispatcher = Dispatcher::new(&parts, &mut alerts.strings)?;
        Ok(EngineActor {
            outcomes: OutcomeReader::new(&parts, &lags)?,
            inbound: bus.topic(records::INBOUND).map_err(bus_error)?,
            control: bus.retained(records::CONTROL).map_err(bus_error)?,
            publisher: super::event_publisher::EventPublisher::new(&parts)?,
            folding: super::folding::FoldState::new(&parts)?,
            solving: super::solving::Solving::default(),
            intake: IntakeState::new(&parts, lags.taken)?,
            mo_routing: MoRouting::new(&parts)?,
            meter: EngineMeter::new(),
            sharing: term.is_some().then(|| Sharing::open(&parts)).transpose()?,
            status_events: StatusEvents::default(),
            parked: Vec::new(),
            context: Context::new(parts, me, term),
            dispatcher,
            alerts,
            looked_at: Timestamp::default(),
            let_go_at: Timestamp::default(),
        })
    }

    /// Runs until it is told to stop, or may not go on.
    pub async fn run(&mut self, commands: &mut mpsc::Receiver<ActorCommand>) -> StopReason {
        let mut waiting = Vec::with_capacity(COMMANDS_AT_ONCE);
        loop {
            let tick = if self.is_busy() { TICK_BUSY } else { TICK_IDLE };
            let turn = std::time::Instant::now();
            let takes = !self.status_events.is_full();
            let takes_intake =
                takes && self.context.stopping.is_none() && self.intake.is_open(self.context.now());
            let readable = self.outcomes.topic.readable(self.outcomes.next);
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
                () = hinted, if self.context.stopping.is_none() => {}
                Some(appended) = self.dispatcher.appends.next() => self.dispatcher.appended(appended, &mut self.alerts, &mut self.context),
                Some(background_result) = self.context.background.next() => self.background_result(background_result),
                () = tokio::time::sleep(tick) => {}
            }
            let often = turn.elapsed() < OFTEN;
            if !self.context.is_over() {
                self.take_what_is_there();
                self.after();
            }
            if self.context.is_over() {
                return self.context.stopping.take().map_or(StopReason::Over, StopReason::Stopped);
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
        while let Some(Some(appended)) = self.dispatcher.appends.next().now_or_never() {
            self.dispatcher.appended(appended, &mut self.alerts, &mut self.context);
        }
        if self.context.is_shared() {
            return self.read_what_is_there();
        }
        if !self.status_events.is_full() && self.outcomes.waiting() > 0 {
            self.take_outcome_records(&self.outcomes.read());
        }
        if !self.status_events.is_full() && self.intake.waiting() > 0 {
            self.take_intake();
        }
    }

    /// There is more to do at once.
    fn has_more(&self) -> bool {
        if self.context.is_shared() {
            // What is there is being read.
            return self.context.is_stopping();
        }
        self.context.is_stopping()
            || self.outcomes.waiting() > 0
            || (self.intake.waiting() > 0 && self.intake.opening == 0)
    }

    /// What has to be looked at after anything happened.
    fn after(&mut self) {
        let now = self.context.now();
        if !self.context.is_shared() {
            self.dispatcher.read_health();
        }
        if now.us_since(self.looked_at) >= LOOK_EVERY_US || now < self.looked_at {
            self.looked_at = now;
            self.outcomes.measure_lag(now);
            self.look_at_nodes();
            self.look_for_unsolved();
            self.solve_again(now);
            self.look_at_moments(now);
        }
        self.dispatcher.dispatch(&mut self.alerts, &self.outcomes, &self.context, now);
        self.tell_what_happened();
        self.finish_what_is_done(now);
        self.flush_fates(now);
        self.fold(now);
        self.tell(now);
    }

    fn is_busy(&self) -> bool {
        !self.alerts.running.is_empty() || self.folding.is_under_way() || !self.alerts.unfolded.is_empty()
    }

    pub fn take_outcome_records(&mut self, records: &[bus::Record]) {
        for record in records {
            self.outcomes.begin(record.index);
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
        let idle = self.context.is_stopping()
            && self.dispatcher.appends.is_empty()
            && self.context.background.is_empty();
        let folded = !self.folding.is_under_way() && self.alerts.unfolded.is_empty();
        if idle && folded && self.status_events.is_empty() { self.context.stopping.take() } else { None }
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
