//! Route dispatcher: takes segments off the bus, hands their entries to sessions, and appends outcomes to the
//! journal.
//!
//! A route has one [`RouteDispatcher`]. Its [`run`](RouteDispatcher::run) takes segments, emergency first,
//! and makes batches of their entries: one append carries the outcomes noted so far and the intents of what
//! is written next, and when it is on disk those entries are handed out by [`next`](RouteDispatcher::next).
//! Sessions write them, each at its own speed, and say what became of them. So one sync is between an answer
//! and the next submission in its slot, whatever the number of sessions.
//!
//! Invariants worth naming:
//! - Nothing is handed out before its intent is durable; a slot is free only when an outcome is durable with
//!   it. So a crash leaves at most `slots` units unknown, and slots are sessions x window. Of a channel whose
//!   writes can be [repeated](ChannelEncoder::repeatable) it leaves none: they are given back.
//! - Entries of a segment are intended in their order, so that after a crash the highest intended place tells
//!   all.
//! - Nothing is intended that cannot be written: no session can send, or the limit gives no credit yet. So a
//!   server that is killed over and over while it starts leaves no more unknown with each time.
//! - What may not be sent any more (paused, stopped, expired, route down or held) comes back as not tried,
//!   and its segment is acknowledged when all of that is durable.

mod account_limit;
mod alert_control;
mod credit_gate;
mod health;
mod health_topic;
mod hold_topic;
mod leased_segment;
mod meter;
mod outbox;
mod outcome_appender;
mod questions;
mod route_limit;
mod segment_consumer;
mod segment_topics;
mod send_queue;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bus::BusError;
use pace::share::Need;
use records::{AttemptResult, AttemptResultRef, Lane, NotTried, Outcome, Timestamp};
use tokio::sync::Notify;

pub use account_limit::AccountLimits;
pub(crate) use account_limit::{AccountLimit, FirstSecond, SlowDown};
pub use health::RouteRemark;
pub use leased_segment::{ChannelEncoder, Job, LeasedSegment};
pub use questions::Questions;
pub(crate) use route_limit::{RateHolder, RouteLimit, begin_sharing};

use crate::GatewayContext;
use crate::cluster::{Claimed, RateShareView};
use crate::journal::recovery::RouteProgress;
use crate::journal::{OutcomeAppend, Ticket};
use alert_control::AlertControl;
use credit_gate::CreditGate;
use health::Health;
use health_topic::HealthTopic;
use hold_topic::HoldTopic;
use meter::RouteMeter;
use outcome_appender::OutcomeAppender;
use segment_topics::SegmentTopics;
use send_queue::{Intended, PassedOver, SendQueue, Settled};

/// What is ready to be written is at most so much of the route's rate: what is intended is written soon, and
/// an emergency does not wait for more.
const AHEAD: Duration = Duration::from_millis(100);
/// But always so many units, so that the route need not wait for the disk.
const AHEAD_UNITS_MIN: u32 = 2;

/// Settings of a dispatcher, from its route's.
#[derive(Debug, Clone)]
pub struct DispatcherSettings {
    /// The route's name.
    pub route: String,
    /// Units that may be without a durable outcome: sessions x window.
    pub slots: u32,
    /// Units per second; 0 is unlimited.
    pub rate: f64,
    /// It connects when there is work, and counts as up until that fails.
    pub rests: bool,
    /// Down for longer, it gives back what it has, so that another can be tried.
    pub down_after: Duration,
}

/// A route's way in and out. See the module.
pub struct RouteDispatcher<C: ChannelEncoder> {
    route: String,
    context: GatewayContext,
    encoder: C,
    appender: OutcomeAppender,
    meter: RouteMeter,
    control: AlertControl,
    health_topic: HealthTopic,
    segments: SegmentTopics,
    state: Mutex<DispatcherState<C::Prepared>>,
    /// There may be something to append.
    work: Notify,
    /// There may be something to take, or to tell.
    consumer: Notify,
    /// Segments that have to be paid for.
    credit_gate: CreditGate<C::Prepared>,
    /// What it has goes back.
    went_down: Notify,
    listeners: Mutex<Vec<Arc<Notify>>>,
    /// See [`DispatcherSettings::down_after`].
    down_after: Duration,
}

struct DispatcherState<P> {
    queue: SendQueue<P>,
    health: Health,
    hold: HoldTopic,
    earlier: RouteProgress,
    control_seen: u64,
    phase: DispatchPhase,
    /// Nothing is intended before: it could not be written yet, and a crash would leave it unknown.
    begins: Instant,
    /// The limit gives no credit, and nobody knows when it will: another process has it.
    without_share: bool,
    /// Another process can send, and this one cannot: that one shall have what there is.
    leaves_it_to_others: bool,
    /// Since when that is so.
    unable_since: Option<Instant>,
    /// It is known that the route is down.
    down_told: bool,
    /// The journal is gone: nothing can be done any more.
    lost: bool,
}

impl<P> DispatcherState<P> {
    /// What is intended must be about to be written: a session can send, and the limit gives credit.
    fn may_intend(&self, now: Instant) -> bool {
        self.phase == DispatchPhase::Open
            && self.health.can_send()
            && self.hold.since().is_none()
            && now >= self.begins
            && !self.without_share
    }

    /// When what is here goes back: an operator stopped the use of the route, or it is down for so long.
    fn gives_back_at(&self, down_after: Duration) -> Option<Instant> {
        let down = self.health.down_since().map(|since| since + down_after);
        self.hold.since().into_iter().chain(down).min()
    }

    /// Nothing can be sent from here for now.
    fn is_unable(&self, now: Instant) -> bool {
        self.without_share || self.health.down_since().is_some_and(|since| since <= now)
    }
}

/// What a session has noted and not yet handed in: one look at the send queue for many outcomes.
pub struct Notes<P>(OutcomeAppend<Settled<P>>);

impl<P> Default for Notes<P> {
    fn default() -> Notes<P> {
        Notes(OutcomeAppend::default())
    }
}

impl<P> Notes<P> {
    /// There is nothing to hand in.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A segment that was claimed, and what that came to.
type Settlement<P> = (Arc<LeasedSegment<P>>, Claimed);

/// What was known once our own append was read: what claims came to, and what others had given back.
type ReadBack<P> = (Vec<Settlement<P>>, PassedOver);

/// What is appended together, and what may be written after it.
type Gathered<P> = (OutcomeAppend<Settled<P>>, Intended<P>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DispatchPhase {
    Open,
    /// Nothing new is handed out.
    Closing,
    /// Nobody writes any more.
    Finishing,
}

impl<C: ChannelEncoder> RouteDispatcher<C> {
    /// Opens a route's topics, and finds what an earlier process left half done.
    ///
    /// # Errors
    /// The bus's.
    pub async fn open(
        context: &GatewayContext,
        settings: DispatcherSettings,
        encoder: C,
    ) -> Result<Arc<RouteDispatcher<C>>, BusError> {
        let DispatcherSettings { route, slots, rate, rests, down_after } = settings;
        let earlier = match &context.shared {
            None => context.recovery.of(&route, context.now()).await?,
            // Another process may be at work: what was half done is known by the time a segment is claimed.
            Some(_) => RouteProgress::default(),
        };
        let node = context.shared.as_ref().map(|shared| shared.node.as_str());
        let state = DispatcherState {
            queue: SendQueue::new(&route, node, slots),
            health: Health::new(rate, rests, context.now(), Instant::now()),
            hold: HoldTopic::open(context, &route)?,
            earlier,
            control_seen: 0,
            phase: DispatchPhase::Open,
            begins: Instant::now(),
            without_share: false,
            leaves_it_to_others: false,
            unable_since: None,
            down_told: false,
            lost: false,
        };
        let dispatcher = RouteDispatcher {
            appender: OutcomeAppender::open(context, &route)?,
            meter: RouteMeter::new(&route),
            control: AlertControl::open(context)?,
            health_topic: HealthTopic::open(context, &route)?,
            segments: SegmentTopics::open(context, &route)?,
            route,
            context: context.clone(),
            encoder,
            state: Mutex::new(state),
            work: Notify::new(),
            consumer: Notify::new(),
            credit_gate: CreditGate::default(),
            went_down: Notify::new(),
            listeners: Mutex::new(Vec::new()),
            down_after,
        };
        dispatcher.set_rate(rate);
        dispatcher.appender.append_left_over().await?;
        Ok(Arc::new(dispatcher))
    }

    /// Does the work: to be awaited beside the sessions. Ends after [`finish`](RouteDispatcher::finish), when
    /// everything noted is on disk, or when the bus closes.
    pub async fn run(&self) {
        let consumer = async {
            self.consumer().await;
            self.credit_gate.close();
        };
        tokio::join!(self.append(), consumer, self.pay());
        self.wind_up().await;
    }

    /// What knows of segments.
    pub fn encoder(&self) -> &C {
        &self.encoder
    }

    /// The route's name.
    pub fn route(&self) -> &str {
        &self.route
    }

    /// A signal that is given whenever there may be something to write, or something noted has become
    /// durable.
    pub fn listen(&self) -> Arc<Notify> {
        let listener = Arc::new(Notify::new());
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| Arc::strong_count(listener) > 1);
        listeners.push(Arc::clone(&listener));
        listener
    }

    /// The next entry to write. Its fate must be told by [`ended`](RouteDispatcher::ended),
    /// [`part`](RouteDispatcher::part), [`whole`](RouteDispatcher::whole) or
    /// [`put_back`](RouteDispatcher::put_back).
    pub fn next(&self) -> Option<Job<C::Prepared>> {
        let mut next = None;
        self.take_ready(Lane::Routine, 1, self.context.now(), |job| next = Some(job));
        next
    }

    /// Entries to write, of a lane and those before it, of so many units together; the last one may have
    /// more. As [`next`](RouteDispatcher::next) of many.
    pub fn take_ready(
        &self,
        up_to: Lane,
        units: usize,
        now: Timestamp,
        mut each: impl FnMut(Job<C::Prepared>),
    ) -> usize {
        let mut state = self.state();
        if !state.queue.has_ready(up_to) {
            return 0;
        }
        self.review(&mut state);
        let mut taken = 0;
        while taken < units
            && let Some(job) = state.queue.pop(up_to, now)
        {
            taken += usize::from(job.units);
            each(job);
        }
        if state.queue.wants_more() || !state.queue.pending.is_empty() {
            self.work.notify_one();
        }
        taken
    }

    /// An entry of which surely nothing was written: it stays the next of its lane.
    pub fn put_back(&self, job: Job<C::Prepared>) {
        let mut state = self.state();
        match state.phase {
            DispatchPhase::Open => state.queue.put_back(job),
            _ => {
                state.queue.give_back(&job, NotTried::Closing, self.context.now());
                self.work.notify_one();
            }
        }
        drop(state);
        self.signal();
    }

    /// Notes what became of one part of an entry, from 1, to be [handed in](RouteDispatcher::hand_in). Each
    /// part is told once.
    pub fn ended(
        &self,
        notes: &mut Notes<C::Prepared>,
        job: Job<C::Prepared>,
        part: u8,
        at: Timestamp,
        result: AttemptResultRef<'_>,
    ) {
        send_queue::note_in(&mut notes.0, &self.route, job, part, at, result);
    }

    /// Takes in what a session has noted.
    pub fn hand_in(&self, notes: &mut Notes<C::Prepared>) {
        if !notes.is_empty() {
            self.state().queue.pending.absorb(&mut notes.0);
            self.work.notify_one();
        }
    }

    /// What became of one part of an entry, from 1. Each part is told once.
    pub fn part(&self, job: &Job<C::Prepared>, part: u8, result: &AttemptResult) {
        self.state().queue.note_part(job, part, self.context.now(), result.into());
        self.work.notify_one();
    }

    /// What became of an entry as a whole, in place of all its parts.
    pub fn whole(&self, job: &Job<C::Prepared>, result: &AttemptResult) {
        self.state().queue.note_whole(job, self.context.now(), result.into());
        self.work.notify_one();
    }

    /// Anything else that happened: receipts, messages from people, answers that came late.
    pub fn note(&self, outcome: &Outcome) -> Ticket {
        let ticket = self.state().queue.pending.note(outcome, None);
        self.work.notify_one();
        ticket
    }

    /// Whether what was noted is on disk.
    pub fn is_durable(&self, ticket: Ticket) -> bool {
        self.state().queue.pending.is_durable(ticket)
    }

    /// Why an entry may not be written any more, though it was handed out; `None`: it may.
    pub fn refusal(&self, job: &Job<C::Prepared>) -> Option<NotTried> {
        if job.leased.is_lost() {
            return Some(NotTried::Closing);
        }
        let mut state = self.state();
        self.review(&mut state);
        send_queue::refusal_of(job, self.context.now())
    }

    /// The rate in force now, units per second; 0 is unlimited.
    pub fn set_rate(&self, rate: f64) {
        let ahead = match rate > 0.0 {
            true => ((rate * AHEAD.as_secs_f64()) as u32).max(AHEAD_UNITS_MIN),
            false => u32::MAX,
        };
        let mut state = self.state();
        state.queue.set_ahead(ahead);
        state.health.set_rate(rate);
        drop(state);
        self.consumer.notify_one();
    }

    /// Nothing of this route can have been written within the last second, by whatever process.
    pub fn was_quiet(&self) -> bool {
        self.state().earlier.quiet
    }

    /// Nothing can be written before: the route's limit gives no credit until then.
    pub fn begin_at(&self, at: Instant) {
        self.state().begins = at;
        self.consumer.notify_one();
    }

    /// This process has a share of the route's rate, or none: then it intends nothing, and others have what
    /// there is.
    pub(crate) fn set_share(&self, outlook: &RateShareView) {
        self.set_rate(outlook.rate);
        self.state().without_share = outlook.begins.is_none();
        self.begin_at(outlook.begins.unwrap_or_else(Instant::now));
        self.work.notify_one();
        self.signal();
    }

    /// A session can send.
    pub fn session_up(&self) {
        self.state().health.session_up(self.context.now());
        self.consumer.notify_one();
    }

    /// A session that could send no longer can.
    pub fn session_down(&self, why: &str) {
        self.state().health.session_down(self.context.now(), Instant::now(), why);
        self.consumer.notify_one();
    }

    /// A session that could send ended since there was nothing to send; it will be there again when there is.
    pub fn session_rests(&self) {
        self.state().health.session_rests();
        self.consumer.notify_one();
    }

    /// Why no session can send, in words.
    pub fn trouble(&self, why: &str) {
        self.state().health.trouble(self.context.now(), Instant::now(), why);
        self.consumer.notify_one();
    }

    /// A word for people, in the state that it is for.
    pub fn remark(&self, remark: RouteRemark<'_>) {
        self.state().health.remark(remark);
        self.consumer.notify_one();
    }

    /// Units that may be without a durable outcome from now on.
    pub fn set_slots(&self, slots: u32) {
        self.state().queue.set_slots(slots);
        self.work.notify_one();
        self.consumer.notify_one();
    }

    /// Something waits to be written. Who [listens](RouteDispatcher::listen) is told when something comes.
    pub fn has_work(&self) -> bool {
        self.state().queue.has_work()
    }

    /// What of the route's rate it needs.
    pub(crate) fn need(&self, has_work: bool) -> Need {
        match self.state().health.down_since() {
            Some(_) => Need::Unable,
            None if has_work => Need::Busy,
            None => Need::Idle,
        }
    }

    /// A session can send, or will be there when it is needed.
    pub fn is_well(&self) -> bool {
        self.state().health.down_since().is_none()
    }

    /// The route has been down for so long that others should be tried, or its use was stopped: what it has
    /// goes back.
    pub fn is_down(&self) -> bool {
        self.down_at().is_some_and(|at| at <= Instant::now())
    }

    /// Resolves when the route [is down](RouteDispatcher::is_down) and what it has went back; once for each
    /// time.
    pub async fn went_down(&self) {
        self.went_down.notified().await;
    }

    fn down_at(&self) -> Option<Instant> {
        self.state().gives_back_at(self.down_after)
    }

    /// Hands nothing out any more; what was ready goes back as not tried.
    pub fn close(&self) {
        let mut state = self.state();
        state.phase = state.phase.max(DispatchPhase::Closing);
        state.queue.give_back_ready(NotTried::Closing, self.context.now());
        drop(state);
        self.work.notify_one();
        self.consumer.notify_one();
        self.signal();
    }

    /// All sessions are gone and have told what became of everything they had.
    pub fn finish(&self) {
        self.close();
        self.state().phase = DispatchPhase::Finishing;
        self.work.notify_one();
        self.consumer.notify_one();
    }

    /// Nothing new is handed out.
    pub fn is_closing(&self) -> bool {
        self.state().phase > DispatchPhase::Open
    }

    /// Appends, one batch after another, until all is told.
    async fn append(&self) {
        loop {
            let Some((mut batch, intended)) = self.gather() else {
                if self.is_over() {
                    break;
                }
                self.work.notified().await;
                continue;
            };
            match self.appender.append(batch.record(), &self.state).await {
                Ok(record) => {
                    let read = self.read_back(record, &intended).await;
                    self.appended(batch, intended, read);
                }
                Err(error) => {
                    tracing::error!(route = self.route, %error, "the journal has failed: the route stops");
                    self.state().lost = true;
                    self.close();
                    break;
                }
            }
        }
        self.consumer.notify_one();
        self.signal();
    }

    /// Where there are other processes: waits until this one has read what it wrote, so that it knows who
    /// claimed what before, and what its own claims came to.
    async fn read_back(&self, record: u64, intended: &Intended<C::Prepared>) -> ReadBack<C::Prepared> {
        let (mut claims, mut given_back) = (Vec::new(), PassedOver::new());
        let Some(shared) = self.context.shared.as_ref().filter(|_| !intended.intents.is_empty()) else {
            return (claims, given_back);
        };
        let reads = shared.follower.pass(record).await;
        for (lane, index) in intended.segments() {
            let places = shared.follower.given_back(&self.route, lane, index);
            given_back.extend(places.into_iter().map(|place| (lane, index, place)));
        }
        for leased in &intended.claimed {
            let claimed = match reads {
                true => shared.follower.settle(&leased.segment, leased.lane(), leased.index, record).await,
                false => Claimed::Lost,
            };
            claims.push((Arc::clone(leased), claimed));
        }
        (claims, given_back)
    }

    /// What is appended next, if there is something.
    fn gather(&self) -> Option<Gathered<C::Prepared>> {
        self.drop_lost();
        let now = self.context.now();
        let mut state = self.state();
        self.review(&mut state);
        state.hold.look(Instant::now());
        let intends = state.may_intend(Instant::now());
        let claims = state.phase == DispatchPhase::Open && state.queue.has_claims();
        if state.queue.pending.is_empty() && !claims && !(intends && state.queue.wants_more()) {
            self.acknowledge(state.queue.take_done());
            return None;
        }
        let mut batch = state.queue.pending.take();
        state.queue.free(&batch.tags);
        let mut intended = match intends {
            true => state.queue.intend(&self.encoder, now),
            false => Intended::default(),
        };
        if claims {
            state.queue.claim(&mut intended, now);
        }
        if let Some(shared) = self.context.shared.as_ref().filter(|_| !intended.intents.is_empty()) {
            batch.add(&Outcome::By { node: shared.node.clone() });
        }
        intended.intents.iter().for_each(|intent| batch.add(intent));
        if batch.is_empty() {
            state.queue.pending.done(batch);
            return None;
        }
        Some((batch, intended))
    }

    fn appended(
        &self,
        mut batch: OutcomeAppend<Settled<C::Prepared>>,
        intended: Intended<C::Prepared>,
        (claims, given_back): ReadBack<C::Prepared>,
    ) {
        self.meter.count(&batch.tally);
        let now = self.context.now();
        let mut state = self.state();
        self.settle_claims(&mut state, claims, now);
        state.queue.settle(batch.tags.drain(..));
        state.queue.pending.done(batch);
        state.queue.clear(intended, &given_back, now);
        if state.phase > DispatchPhase::Open {
            state.queue.give_back_ready(NotTried::Closing, now);
        }
        let done = state.queue.take_done();
        drop(state);
        self.acknowledge(done);
        self.consumer.notify_one();
        self.signal();
    }

    fn settle_claims(
        &self,
        state: &mut DispatcherState<C::Prepared>,
        claims: Vec<Settlement<C::Prepared>>,
        now: Timestamp,
    ) {
        if self.context.shared.is_none() {
            return;
        }
        state.queue.claims_end();
        for (leased, claimed) in claims {
            match claimed {
                Claimed::Ours(progress) if self.context.funds.is_some() => {
                    self.ask_for_claimed(state, leased, progress);
                }
                Claimed::Ours(progress) => {
                    leased.set_verdict(self.control.state_of(&leased.segment));
                    state.queue.admit(&self.encoder, leased, &progress, |_| false, now);
                    self.work.notify_one();
                }
                Claimed::Over => state.queue.pass_over(leased, true),
                Claimed::Lost => state.queue.pass_over(leased, false),
            }
        }
    }

    fn is_over(&self) -> bool {
        let state = self.state();
        state.phase == DispatchPhase::Finishing && state.queue.pending.is_clear() || state.lost
    }

    /// Looks what the senders say, if anything was said since the last look.
    fn review(&self, state: &mut DispatcherState<C::Prepared>) {
        let version = self.control.version();
        if version == state.control_seen {
            return;
        }
        state.control_seen = version;
        for leased in state.queue.segments() {
            leased.set_verdict(self.control.state_of(&leased.segment));
        }
    }

    /// Wakes everybody who [listens](RouteDispatcher::listen).
    pub fn signal(&self) {
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.iter().for_each(|listener| listener.notify_one());
    }

    fn state(&self) -> MutexGuard<'_, DispatcherState<C::Prepared>> {
        // Every change is made whole before anything that could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
