//! EngineActor is one task with one loop. It waits for commands, outcomes, intake, and results of appends and
//! of tasks in the background; gives what came to the part that owns it; then lets each part do what is due.

use super::alerts::Alerts;
use super::approvals::{AlertApprovals, ApprovalStep};
use super::command::{ActorCommand, Reply, Solved};
use super::context::Context;
use super::dispatcher::Dispatcher;
use super::event_publisher::EventPublisher;
use super::folding::{SqlFold, StateChange};
use super::forecasting::Forecasting;
use super::help_cases::HelpCases;
use super::intake::{IntakeReader, IntakeTargets, StreamOpened};
use super::message_query::{self, MessageQueries, Steering};
use super::mo_routing::MoRouting;
use super::outcome_reader::OutcomeReader;
use super::sharing::{BusSource, Sharing};
use super::solving::Solving;
use super::status_events::{EventsPublished, StatusEvents};
use super::steering::AlertControl;
use super::story;
use super::timers::{self, Timers};
use crate::api::{EngineError, Parts};
use crate::shared::{RpcResponse, Term};
use futures_util::future::{BoxFuture, FutureExt, pending};
use futures_util::stream::StreamExt;
use records::{Alert, AlertNo, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Commands taken in one go.
const COMMANDS_AT_ONCE: usize = 256;
/// How often the clock is read while alerts run, and while none does.
const TICK_BUSY: Duration = Duration::from_millis(100);
const TICK_IDLE: Duration = Duration::from_millis(500);
/// When turns follow each other faster than this, the next is put off a little: a turn costs the same for one
/// message as for many.
const OFTEN: Duration = Duration::from_micros(500);
const GATHER: Duration = Duration::from_millis(1);

/// See the module. Each part owns its fields; an event goes through the parts in the order of the method that
/// takes it.
pub struct EngineActor {
    pub context: Context,
    /// The hot state: every part works on it.
    pub alerts: Alerts,
    pub dispatcher: Dispatcher,
    pub outcomes: OutcomeReader,
    pub sql_fold: SqlFold,
    pub messages: MessageParts,
    pub publisher: EventPublisher,
    pub help_cases: HelpCases,
    pub forecasting: Forecasting,
    pub solving: Solving,
    pub control: AlertControl,
    pub approvals: AlertApprovals,
    pub timers: Timers,
    /// Where several processes share the bus and the store.
    pub sharing: Option<Sharing>,
}

/// The parts that have to do with messages of platforms.
pub struct MessageParts {
    pub intake: IntakeReader,
    pub queries: MessageQueries,
    pub mo_routing: MoRouting,
    pub status_events: StatusEvents,
}

/// How far behind the actor is, for those outside.
#[derive(Clone, Default)]
pub struct Lags {
    /// Gateways should take nothing new.
    pub behind: Arc<AtomicBool>,
    /// Records of intake that were taken.
    pub taken: Arc<AtomicU64>,
}

/// The result of a task in the background.
pub enum BackgroundResult {
    /// Done, or failed for this reason: it is logged.
    Done(Result<(), String>),
    /// A slice of a fold is in SQL, or was refused.
    Folded(Result<(), store::StoreError>),
    /// A message stream was made.
    Opened(Box<StreamOpened>),
    /// Events for clients are on the bus.
    EventsPublished(EventsPublished),
    /// Messages are cancelled or replaced.
    Steered(Steering),
    /// A source was read from the bus.
    Read(BusSource, Result<Vec<bus::Record>, bus::BusError>),
    /// An alert was read from the store, for a reply that waits until it is solved.
    Found(AlertNo, Result<Option<Box<Alert>>, EngineError>, Option<Reply<Solved>>),
    /// Unfinished alerts were read from the store.
    Unsolved(Result<Vec<Alert>, EngineError>),
    /// A decision about an alert that waits for approval was written, or not.
    Approval(Box<ApprovalStep>),
    /// The response to a request of another process.
    Answered(String, RpcResponse),
}

/// Why the actor came to rest.
pub enum StopReason {
    /// It was stopped, and everything is in SQL.
    Stopped(oneshot::Sender<()>),
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
        commands: mpsc::WeakSender<ActorCommand>,
        lags: Lags,
        term: Option<Term>,
    ) -> Result<EngineActor, EngineError> {
        let mut alerts = Alerts::new(&parts);
        Ok(EngineActor {
            dispatcher: Dispatcher::new(&parts, &mut alerts.strings)?,
            outcomes: OutcomeReader::new(&parts, &lags)?,
            sql_fold: SqlFold::new(&parts)?,
            messages: MessageParts {
                intake: IntakeReader::new(&parts, lags.taken)?,
                queries: MessageQueries::default(),
                mo_routing: MoRouting::new(&parts)?,
                status_events: StatusEvents::new(),
            },
            publisher: EventPublisher::new(&parts)?,
            help_cases: HelpCases::default(),
            forecasting: Forecasting::default(),
            solving: Solving::default(),
            control: AlertControl::new(&parts)?,
            approvals: AlertApprovals::default(),
            timers: Timers::default(),
            sharing: term.is_some().then(|| Sharing::open(&parts)).transpose()?,
            context: Context::new(parts, commands, term),
            alerts,
        })
    }

    /// Runs until it is stopped, or may not go on.
    pub async fn run(&mut self, commands: &mut mpsc::Receiver<ActorCommand>) -> StopReason {
        let mut waiting = Vec::with_capacity(COMMANDS_AT_ONCE);
        loop {
            let tick = if self.is_busy() { TICK_BUSY } else { TICK_IDLE };
            let turn = std::time::Instant::now();
            let takes = !self.messages.status_events.is_full();
            let takes_intake = takes && self.takes_intake();
            let readable = self.outcomes.topic.readable(self.outcomes.next);
            let handed_in = self.messages.intake.topic.readable(self.messages.intake.next);
            let sharing = self.sharing.as_ref();
            let is_reading = |source| sharing.is_some_and(|sharing| sharing.is_reading(source));
            let reads = takes && !is_reading(BusSource::Outcomes);
            let reads_intake = takes_intake && !is_reading(BusSource::Intake);
            let announced: BoxFuture<'static, ()> =
                sharing.map_or_else(|| pending().boxed(), Sharing::readable);
            tokio::select! {
                count = commands.recv_many(&mut waiting, COMMANDS_AT_ONCE) => {
                    if count == 0 {
                        return StopReason::Gone;
                    }
                    waiting.drain(..).for_each(|command| self.obey(command));
                }
                () = readable, if reads => {}
                () = handed_in, if reads_intake => {}
                () = announced, if !self.context.is_stopping() => {}
                Some(appended) = self.dispatcher.appends.next() => {
                    self.dispatcher.appended(appended, &mut self.alerts, &mut self.context);
                }
                Some(result) = self.context.background.next() => self.background_result(result),
                () = tokio::time::sleep(tick) => {}
            }
            let often = turn.elapsed() < OFTEN;
            if !self.context.is_over() {
                self.take_all();
                self.run_parts();
            }
            if self.context.is_over() {
                return self.context.stopping.take().map_or(StopReason::Over, StopReason::Stopped);
            }
            if self.has_stopped()
                && let Some(reply) = self.context.stopping.take()
            {
                return StopReason::Stopped(reply);
            }
            if often && !self.has_more() {
                // A command is not put off.
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

    fn is_busy(&self) -> bool {
        !self.alerts.running.is_empty() || self.sql_fold.is_under_way() || !self.alerts.unfolded.is_empty()
    }

    fn takes_intake(&self) -> bool {
        !self.context.is_stopping() && self.messages.intake.is_open(self.context.now())
    }

    /// Whatever woke the loop: everything that came is taken in one turn.
    fn take_all(&mut self) {
        while let Some(Some(appended)) = self.dispatcher.appends.next().now_or_never() {
            self.dispatcher.appended(appended, &mut self.alerts, &mut self.context);
        }
        if self.context.is_shared() {
            return self.read_all();
        }
        if !self.messages.status_events.is_full() && self.outcomes.waiting() > 0 {
            self.take_outcomes(&self.outcomes.read(), false);
        }
        if !self.messages.status_events.is_full() && self.messages.intake.waiting() > 0 {
            self.take_intake();
        }
    }

    /// Where the bus is shared, topics are read in the background.
    fn read_all(&mut self) {
        if self.context.is_stopping() {
            return;
        }
        let takes = !self.messages.status_events.is_full();
        let takes_intake = takes && self.messages.intake.waiting() > 0 && self.takes_intake();
        let Some(sharing) = &mut self.sharing else { return };
        if takes && self.outcomes.waiting() > 0 {
            let (topic, next) = (self.outcomes.topic.clone(), self.outcomes.next);
            sharing.read(BusSource::Outcomes, topic, next, &self.context);
        }
        if takes_intake {
            let (topic, next) = (self.messages.intake.topic.clone(), self.messages.intake.next);
            sharing.read(BusSource::Intake, topic, next, &self.context);
        }
        sharing.read_own(&self.context);
    }

    /// There is more to do at once.
    fn has_more(&self) -> bool {
        if self.context.is_shared() {
            // What is there is being read.
            return self.context.is_stopping();
        }
        self.context.is_stopping()
            || self.outcomes.waiting() > 0
            || (self.messages.intake.waiting() > 0 && self.messages.intake.opening == 0)
    }

    /// Lets each part do what is due after anything came.
    fn run_parts(&mut self) {
        let now = self.context.now();
        if !self.context.is_shared() {
            self.dispatcher.read_health(now);
        }
        self.dispatcher.read_holds();
        let is_due = self.timers.are_due(now);
        if is_due {
            self.run_timers(now);
        }
        if is_due || self.context.is_stopping() {
            self.forecasting.run(&self.dispatcher.routes, &self.alerts, &self.context, now);
        }
        self.dispatcher.dispatch(&mut self.alerts, &self.outcomes, &self.context, now);
        self.messages.status_events.publish_touched(&mut self.alerts);
        self.end_done(now);
        self.messages.status_events.flush(&self.context, now);
        self.sql_fold.run(
            &mut self.outcomes,
            self.messages.intake.next,
            &mut self.alerts,
            &mut self.messages.status_events,
            &self.context,
            now,
        );
        self.publisher.publish_due(&self.alerts, &self.dispatcher, &self.context, now);
    }

    fn run_timers(&mut self, now: Timestamp) {
        self.outcomes.measure_lag(now);
        self.dispatcher.measure_routes(&self.alerts, now);
        if let Some(sharing) = &mut self.sharing {
            sharing.read_health(&mut self.dispatcher, &self.context);
            sharing.find_unsolved(&self.context);
        }
        self.retry_solves(now);
        self.solving.solve_settled(&self.alerts, &self.dispatcher.routes.classifier, &self.context);
        self.messages.intake.expire(&mut self.alerts, now);
        self.messages.mo_routing.forget_confirmations(&self.context, now);
        let running: Vec<AlertNo> = self.alerts.running.iter().copied().collect();
        let receipt_timeout_s = self.context.parts.settings.receipt_timeout_s;
        for no in running {
            if self.run_approval_timers(no, now) {
                continue;
            }
            let expired = timers::run(no, &mut self.alerts, &self.dispatcher.routes, receipt_timeout_s, now);
            if let Some(change) = expired {
                self.ended(change);
                self.control.stop(no, &self.alerts, &self.context);
            }
        }
        story::look(&mut self.alerts, &self.dispatcher, &self.context, now);
        if self.timers.eviction_is_due(now) && !self.sql_fold.is_under_way() {
            self.evict(now);
        }
    }

    /// Ends the touched alerts whose every delivery is where it will stay.
    fn end_done(&mut self, now: Timestamp) {
        if self.alerts.touched.is_empty() {
            return;
        }
        for no in self.alerts.take_touched() {
            self.publisher.note_change(no);
            if let Some(change) = self.alerts.end_if_enough(no, now) {
                self.ended(change);
                self.control.stop(no, &self.alerts, &self.context);
                continue;
            }
            let routes = &self.dispatcher.routes;
            if let Some(change) = self.alerts.end_if_done(no, now, |route| routes.has_receipts(route)) {
                self.ended(change);
            }
        }
    }

    /// An alert became final. That is written when its deliveries are.
    fn ended(&mut self, change: StateChange) {
        self.publisher.note_end(change.no);
        self.forecasting.ended(change.no, change.state, &self.alerts, &self.context);
        self.sql_fold.add_change(change);
    }

    /// Alerts that have been final for a while leave memory.
    fn evict(&mut self, now: Timestamp) {
        for no in timers::evictable(&self.alerts, self.context.parts.settings.linger_s, now) {
            self.alerts.remove(no, now);
            self.dispatcher.forget(no);
            self.forecasting.forget(no);
            self.publisher.forget(no);
            self.control.clear(no, &self.context);
        }
    }

    pub fn background_result(&mut self, result: BackgroundResult) {
        match result {
            BackgroundResult::Done(Ok(())) => {}
            BackgroundResult::Done(Err(error)) => tracing::error!(error, "a task in the background failed"),
            BackgroundResult::Folded(result) => self.folded(result),
            BackgroundResult::Opened(opened) => {
                self.messages.intake.opened(opened, &mut self.alerts, self.context.now());
            }
            BackgroundResult::EventsPublished(flushed) => {
                self.messages.status_events.flushed(flushed, &self.context)
            }
            BackgroundResult::Steered(steering) => {
                message_query::appended(steering, &mut self.messages.intake, &mut self.alerts, &self.context);
            }
            BackgroundResult::Read(source, read) => self.was_read(source, read),
            BackgroundResult::Found(no, found, reply) => self.found(no, found, reply),
            BackgroundResult::Unsolved(found) => self.found_unsolved(found),
            BackgroundResult::Approval(step) => self.approval_step(*step),
            BackgroundResult::Answered(to, response) => {
                if let Some(sharing) = &mut self.sharing {
                    sharing.respond(to, &response, &self.context);
                }
            }
        }
    }

    /// A slice of a fold is in SQL, or was refused. After the last the topics let go of what nobody needs.
    fn folded(&mut self, result: Result<(), store::StoreError>) {
        let (alerts, events) = (&mut self.alerts, &mut self.messages.status_events);
        if !self.sql_fold.written(result, alerts, events, &mut self.context) {
            return;
        }
        let now = self.context.now();
        if self.sql_fold.is_time_to_trim(now) {
            let needed = self.dispatcher.routes.outcomes_needed_from().unwrap_or(u64::MAX);
            self.outcomes.trim(self.sql_fold.folded_to.min(needed), &self.context.parts, now);
            self.messages.intake.trim(self.sql_fold.intake_to);
            self.messages.mo_routing.trim();
            self.dispatcher.trim();
        }
    }

    /// A source was read in the background.
    fn was_read(&mut self, source: BusSource, read: Result<Vec<bus::Record>, bus::BusError>) {
        let Some(sharing) = &mut self.sharing else { return };
        let records = sharing.end_read(source, read);
        match source {
            BusSource::Outcomes => self.take_outcomes(&records, false),
            BusSource::Intake if self.takes_intake() => self.take_messages(&records, self.context.now()),
            BusSource::Intake => {}
            BusSource::Accepted => self.take_accepted(&records),
            BusSource::Requests => records.iter().for_each(|record| self.take_request(record)),
        }
    }

    /// Takes the messages that platforms handed in.
    pub fn take_intake(&mut self) {
        let now = self.context.now();
        if !self.context.is_stopping()
            && let Some(records) = self.messages.intake.read(now)
        {
            self.take_messages(&records, now);
        }
    }

    fn take_messages(&mut self, records: &[bus::Record], now: Timestamp) {
        let mut targets = IntakeTargets {
            alerts: &mut self.alerts,
            mo_routing: &mut self.messages.mo_routing,
            classifier: &self.dispatcher.routes.classifier,
            context: &self.context,
        };
        self.messages.intake.take(records, &mut targets, now);
        self.messages.queries.answer_parked(&self.messages.intake, &mut self.alerts, &self.context);
    }

    /// Everything is folded, published and appended.
    fn has_stopped(&self) -> bool {
        let idle = self.context.is_stopping()
            && self.dispatcher.appends.is_empty()
            && self.context.background.is_empty();
        let folded = !self.sql_fold.is_under_way() && self.alerts.unfolded.is_empty();
        idle && folded && self.messages.status_events.is_empty()
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
        store::StoreError::Unreachable { .. }
        | store::StoreError::Fenced { .. }
        | store::StoreError::NotNoted { .. } => EngineError::Busy(error.to_string()),
        other => EngineError::Internal(other.to_string()),
    }
}
