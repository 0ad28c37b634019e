//! The owner of the hot state: one task, one loop. It waits for commands, outcomes, ends of appends and folds, and
//! moments; folds what came; then dispatches what has room.

use super::blocks::Blocks;
use super::command::Command;
use super::command::{Reply, Solved};
use super::fates::{Fates, OnTheBus};
use super::hearing::Hearing;
use super::intake::{IntakeState, Opened};
use super::letters::Steering;
use super::meter::Meter;
use super::sharing::{Guard, Sharing, Source};
use super::ways::Ways;
use crate::api::{EngineError, Parts};
use crate::record::{Asked, CarrierIds, Effect, Live, Words};
use crate::shared::{Answered, Term};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use records::{Alert, AlertNo, EndpointNo, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
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
/// When turns follow each other faster than this, what comes is gathered for a moment: a turn costs the same for one message as for many.
const OFTEN: Duration = Duration::from_micros(500);
const GATHER: Duration = Duration::from_millis(1);
/// How often moments (retries, ends of alerts) are looked at.
const LOOK_EVERY_US: i64 = 50_000;
/// Record may be so far behind: records of outcomes (each holds up to a window of them), and time without catching up.
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
pub struct Owner {
    pub parts: Arc<Parts>,
    pub me: mpsc::WeakSender<Command>,
    pub ways: Ways,
    pub lives: FxHashMap<AlertNo, Live>,
    /// Those that may have something to dispatch, in turn.
    pub turns: VecDeque<AlertNo>,
    pub words: Words,
    pub ids: CarrierIds,
    pub asked: Asked,
    pub outcomes: Arc<dyn bus::Topic>,
    pub next_outcome: u64,
    pub inbound: Arc<dyn bus::Topic>,
    pub control: Arc<dyn bus::Retained>,
    pub health: Arc<dyn bus::Retained>,
    pub health_seen: u64,
    pub effects: Vec<Effect>,
    /// Alerts that are not final.
    pub running: FxHashSet<AlertNo>,
    /// Alerts with something SQL may lack.
    pub unfolded: FxHashSet<AlertNo>,
    /// Alerts to look at: are they done?
    pub touched: FxHashSet<AlertNo>,
    /// In both of these since they were last emptied.
    pub touched_last: Option<AlertNo>,
    /// Units an endpoint of an alert costs on a way.
    pub estimates: FxHashMap<(AlertNo, usize), u64>,
    pub looked_at: Timestamp,
    pub let_go_at: Timestamp,
    pub appends: FuturesUnordered<BoxFuture<'static, Appended>>,
    /// Things to be done on the side: state changes, notices, control.
    pub errands: FuturesUnordered<BoxFuture<'static, Errand>>,
    pub folding: super::folding::FoldState,
    pub telling: super::telling::Telling,
    pub solving: super::solving::Solving,
    pub blocks: Blocks,
    pub intake: IntakeState,
    pub fates: Fates,
    pub hearing: Hearing,
    pub meter: Meter,
    /// Questions about messages that intake has not come to yet.
    pub parked: Vec<Command>,
    /// The record of outcomes that is being folded, and the place in it.
    pub outcome_at: (u64, u32),
    pub blocked_until: Option<Timestamp>,
    pub stopping: Option<tokio::sync::oneshot::Sender<()>>,
    /// Where several processes share the bus and the store.
    pub sharing: Option<Sharing>,
    behind: Arc<AtomicBool>,
    caught_up: Timestamp,
}

/// How far behind the owner is, for those outside.
#[derive(Clone, Default)]
pub struct Lags {
    /// Gateways should take nothing new.
    pub behind: Arc<AtomicBool>,
    /// Records of intake that were taken.
    pub taken: Arc<AtomicU64>,
}

/// What an errand came to.
pub enum Errand {
    /// Done, or failed in these words: the log has them.
    Done(Result<(), String>),
    /// A slice of a fold is in SQL, or was refused.
    Folded(Result<(), store::StoreError>),
    /// A standing alert was made.
    Opened(Box<Opened>),
    /// Parties' words are on the bus.
    Told(OnTheBus),
    /// Messages are taken back or changed.
    Steered(Steering),
    /// Something was read from the bus.
    Read(Source, Result<Vec<bus::Record>, bus::BusError>),
    /// An alert was looked for, for who waits until it is solved.
    Found(AlertNo, Result<Option<Box<Alert>>, EngineError>, Option<Reply<Solved>>),
    /// The store said what is unfinished.
    Unsolved(Result<Vec<Alert>, EngineError>),
    /// A question of another process has its answer.
    Answered(String, Answered),
}

/// Why the owner came to rest.
pub enum Rest {
    /// It was told to stop, and everything is in SQL.
    Stopped(tokio::sync::oneshot::Sender<()>),
    /// Nobody holds the engine any more.
    Gone,
    /// Another process leads, or may.
    Over,
}

impl Owner {
    /// Opens its topics; may block. With a term it is one of several processes, and the store is fenced by it.
    pub fn new(
        parts: Arc<Parts>,
        me: mpsc::WeakSender<Command>,
        lags: Lags,
        term: Option<Term>,
    ) -> Result<Owner, EngineError> {
        let bus = parts.bus.clone();
        let mut words = Words::default();
        let ways = Ways::new(&parts, &mut words)?;
        Ok(Owner {
            outcomes: bus.topic(records::OUTCOMES).map_err(bus_error)?,
            inbound: bus.topic(records::INBOUND).map_err(bus_error)?,
            control: bus.retained(records::CONTROL).map_err(bus_error)?,
            health: bus.retained(records::ROUTES).map_err(bus_error)?,
            health_seen: u64::MAX,
            telling: super::telling::Telling::new(&parts)?,
            folding: super::folding::FoldState::new(&parts)?,
            solving: super::solving::Solving::default(),
            intake: IntakeState::new(&parts, lags.taken)?,
            hearing: Hearing::new(&parts)?,
            meter: Meter::new(),
            sharing: term.map(|term| Sharing::open(&parts, term)).transpose()?,
            fates: Fates::default(),
            parked: Vec::new(),
            outcome_at: (0, 0),
            parts,
            me,
            ways,
            lives: FxHashMap::default(),
            turns: VecDeque::new(),
            words,
            ids: CarrierIds::default(),
            asked: Asked::default(),
            next_outcome: 0,
            effects: Vec::new(),
            running: FxHashSet::default(),
            unfolded: FxHashSet::default(),
            touched: FxHashSet::default(),
            touched_last: None,
            estimates: FxHashMap::default(),
            looked_at: Timestamp::default(),
            let_go_at: Timestamp::default(),
            appends: FuturesUnordered::new(),
            errands: FuturesUnordered::new(),
            blocks: Blocks::default(),
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
    pub async fn run(&mut self, commands: &mut mpsc::Receiver<Command>) -> Rest {
        let mut waiting = Vec::with_capacity(COMMANDS_AT_ONCE);
        loop {
            let tick = if self.is_busy() { TICK_BUSY } else { TICK_IDLE };
            let turn = std::time::Instant::now();
            let takes = !self.fates.is_full();
            let takes_intake = takes && self.stopping.is_none() && self.intake.is_open(self.now());
            let readable = self.outcomes.readable(self.next_outcome);
            let handed_in = self.intake.topic.readable(self.intake.next);
            let hinted = self.hinted();
            let reads = takes && !self.is_reading(Source::Outcomes);
            let reads_intake = takes_intake && !self.is_reading(Source::Intake);
            tokio::select! {
                count = commands.recv_many(&mut waiting, COMMANDS_AT_ONCE) => {
                    if count == 0 {
                        return Rest::Gone;
                    }
                    waiting.drain(..).for_each(|command| self.obey(command));
                }
                () = readable, if reads => {}
                () = handed_in, if reads_intake => {}
                () = hinted, if self.stopping.is_none() => {}
                Some(appended) = self.appends.next() => self.appended(appended),
                Some(errand) = self.errands.next() => self.errand(errand),
                () = tokio::time::sleep(tick) => {}
            }
            let often = turn.elapsed() < OFTEN;
            if !self.is_over() {
                self.take_what_is_there();
                self.after();
            }
            if self.is_over() {
                return self.stopping.take().map_or(Rest::Over, Rest::Stopped);
            }
            if let Some(reply) = self.ready_to_end() {
                return Rest::Stopped(reply);
            }
            if often && !self.has_more() {
                // Who asks something waits for nobody's gathering.
                tokio::select! {
                    () = tokio::time::sleep(GATHER) => {}
                    count = commands.recv_many(&mut waiting, COMMANDS_AT_ONCE) => {
                        if count == 0 {
                            return Rest::Gone;
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
        if !self.fates.is_full() && self.outcomes.head() > self.next_outcome {
            self.take_outcomes();
        }
        if !self.fates.is_full() && self.intake.waiting() > 0 {
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

    /// Something of an alert changed: SQL lacks it, it may have somebody to dispatch, it may be done.
    pub fn touch(&mut self, no: AlertNo) {
        // Outcomes come by the hundred for the same alert.
        if self.touched_last != Some(no) {
            self.touched_last = Some(no);
            self.unfolded.insert(no);
            self.touched.insert(no);
        }
        if let Some(live) = self.lives.get_mut(&no)
            && !live.in_turn
            && live.ready_classes().next().is_some()
        {
            live.in_turn = true;
            self.turns.push_back(no);
        }
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
        !self.running.is_empty() || self.folding.is_under_way() || !self.unfolded.is_empty()
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

    pub fn errand(&mut self, errand: Errand) {
        match errand {
            Errand::Done(Ok(())) => {}
            Errand::Done(Err(error)) => tracing::error!(error, "an errand failed"),
            Errand::Folded(result) => self.folded(result),
            Errand::Opened(opened) => self.opened(opened),
            Errand::Told(told) => self.told(told),
            Errand::Steered(steering) => self.steered(steering),
            Errand::Read(source, read) => self.was_read(source, read),
            Errand::Found(no, found, reply) => self.found(no, found, reply),
            Errand::Unsolved(found) => self.unsolved(found),
            Errand::Answered(to, answered) => self.answered(to, &answered),
        }
    }

    fn ready_to_end(&mut self) -> Option<tokio::sync::oneshot::Sender<()>> {
        let idle = self.stopping.is_some() && self.appends.is_empty() && self.errands.is_empty();
        let folded = !self.folding.is_under_way() && self.unfolded.is_empty();
        if idle && folded && self.fates.is_empty() { self.stopping.take() } else { None }
    }

    /// Runs something on the side, unless another process leads by then.
    pub fn send_out(&mut self, errand: impl Future<Output = Result<(), String>> + Send + 'static) {
        let guard = self.guard();
        self.errands.push(Box::pin(async move {
            if !guard.holds() {
                return Errand::Done(Err(Guard::passed().to_string()));
            }
            Errand::Done(errand.await)
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
