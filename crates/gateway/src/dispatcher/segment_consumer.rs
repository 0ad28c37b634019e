//! Segment consumer takes segments, renews their leases, acknowledges them, and publishes route health.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bus::Leased;
use futures_util::future::{BoxFuture, select_all};
use records::{Lane, NotTried, Segment};

use super::segment_topics::FLUSH_EVERY;
use super::{ChannelEncoder, DispatchPhase, DispatcherState, LeasedSegment, RouteDispatcher};
use crate::cluster::SegmentLease;
use crate::journal::recovery::RouteProgress;

/// Who may not send for so long, while others may, has segments go to them.
const HAND_OVER_AFTER: Duration = Duration::from_secs(3);
/// Whether record is behind is looked at this often.
const TICK: Duration = Duration::from_secs(1);
/// A lane takes another segment when it has fewer entries left than this, or than twice what may be ready.
const ENTRIES_LOW: usize = 64;
/// At most so many segments are taken at a time.
const TAKE_MAX: usize = 64;

impl<C: ChannelEncoder> RouteDispatcher<C> {
    pub(super) async fn consumer(&self) {
        let mut renewed = Instant::now();
        let mut flushed = Instant::now();
        loop {
            let phase = self.phase();
            if phase == DispatchPhase::Finishing || self.state().lost {
                return;
            }
            self.drop_lost();
            self.state().hold.look(Instant::now());
            if phase == DispatchPhase::Open {
                self.give_back_if_down();
                self.hand_over();
                self.take();
            }
            if renewed.elapsed() >= self.segments.renew_every() {
                renewed = Instant::now();
                self.renew();
                self.refresh_health();
            }
            self.publish_health().await;
            if self.segments.is_flush_due(flushed) {
                flushed = Instant::now();
                self.segments.flush().await;
            }
            self.wait(phase, renewed, flushed).await;
        }
    }

    /// Until something can be taken, somebody says so, or something is due. An idle route has no timer: there
    /// may be many.
    async fn wait(&self, phase: DispatchPhase, renewed: Instant, flushed: Instant) {
        let mut ready: Vec<BoxFuture<'static, ()>> = vec![Box::pin(std::future::pending())];
        if phase == DispatchPhase::Open {
            let lanes = Lane::ALL.into_iter().filter(|lane| self.wants(*lane));
            ready.extend(lanes.map(|lane| self.segments.ready(lane)));
        }
        let (seen, held) = {
            let state = self.state();
            (state.control_seen, state.hold.changed())
        };
        let due = self.due(phase, renewed, flushed);
        tokio::select! {
            () = self.consumer.notified() => {}
            () = held => {}
            // Only to look at what is in hand: it is given back then.
            () = self.control.changed(seen) => self.work_after_control(),
            _ = select_all(ready.iter_mut()) => {}
            () = sleep_until(due) => {}
        }
    }

    /// When something has to be looked after, whatever is said.
    fn due(&self, phase: DispatchPhase, renewed: Instant, flushed: Instant) -> Option<Instant> {
        let now = Instant::now();
        let behind = phase == DispatchPhase::Open && (self.context.behind)();
        let needs_flush = self.segments.needs_flush();
        let state = self.state();
        let down = state.gives_back_at(self.down_after);
        let untold = phase == DispatchPhase::Open && (!state.down_told || state.queue.has_work());
        [
            behind.then(|| now + TICK),
            needs_flush.then(|| flushed + FLUSH_EVERY),
            (state.queue.leased().next().is_some() || self.context.shared.is_some())
                .then(|| renewed + self.segments.renew_every()),
            state.unable_since.map(|since| since + HAND_OVER_AFTER).filter(|due| *due > now),
            state.health.news_at(now),
            down.filter(|_| untold),
            (state.begins > now).then_some(state.begins),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// What was paused goes back at once, though nothing else may be there to append.
    fn work_after_control(&self) {
        let now = self.context.now();
        let mut state = self.state();
        self.review(&mut state);
        state.queue.give_back_all_refused(now);
        drop(state);
        self.work.notify_one();
    }

    fn phase(&self) -> DispatchPhase {
        self.state().phase
    }

    /// Whether a lane should take another segment.
    fn wants(&self, lane: Lane) -> bool {
        if lane != Lane::Emergency && (self.context.behind)() {
            return false;
        }
        let state = self.state();
        if state.leaves_it_to_others {
            return false;
        }
        let low = ENTRIES_LOW.max(2 * state.queue.ahead() as usize);
        state.queue.left(lane) < low
    }

    /// Whether this process may not send while another can: then that one shall have what there is.
    fn look_elsewhere(&self) {
        let Some(shared) = &self.context.shared else { return };
        let now = Instant::now();
        let unable = self.state().is_unable(now);
        let leaves = unable && shared.remote_health.is_up(&self.route, now);
        let mut state = self.state();
        state.leaves_it_to_others = leaves;
        state.unable_since = match leaves {
            true => Some(state.unable_since.unwrap_or(now)),
            false => None,
        };
    }

    /// Segments that others can send while this process may not.
    fn hand_over(&self) {
        self.look_elsewhere();
        let now = Instant::now();
        let mut state = self.state();
        if state.unable_since.is_none_or(|since| now < since + HAND_OVER_AFTER) {
            return;
        }
        state.queue.give_back_ready(NotTried::RouteDown, self.context.now());
        let handed = state.queue.hand_over();
        drop(state);
        for (lane, index) in handed {
            if let Err(error) = self.segments.release(lane, index) {
                tracing::warn!(route = self.route, lane = lane.name(), index, %error, "a segment was not handed over");
            }
        }
        self.work.notify_one();
    }

    /// Segments that are another's now: by its claim, or since our lease ran out.
    pub(super) fn drop_lost(&self) {
        if self.context.shared.is_none() {
            return;
        }
        let lost = self.state().queue.drop_lost(Instant::now());
        for (lane, index) in lost {
            tracing::warn!(
                route = self.route,
                lane = lane.name(),
                index,
                "another process has the segment now, by its claim or since the lease here expired"
            );
            self.segments.forget_claim(lane, index);
        }
    }

    fn take(&self) {
        let mut came = false;
        for lane in Lane::ALL {
            for _ in 0..TAKE_MAX {
                if !self.wants(lane) {
                    break;
                }
                let before = Instant::now();
                let Some(leased) = self.segments.take(lane) else { break };
                came = true;
                self.admit(lane, leased, before);
            }
        }
        self.work.notify_one();
        if came {
            self.signal();
        }
    }

    fn admit(&self, lane: Lane, leased: Leased, before: Instant) {
        let index = leased.record.index;
        if self.state().queue.holds(lane, index) {
            // Its lease ran out while we had it, as when the machine slept. It is leased to us again.
            return;
        }
        let segment = match Segment::decode(&leased.record.octets) {
            Ok(segment) => segment,
            Err(error) => {
                // It comes again when its lease runs out; a newer program may read it.
                tracing::error!(route = self.route, lane = lane.name(), index, %error, "a segment cannot be decoded and is not sent");
                return;
            }
        };
        if segment.is_fencing_record() {
            self.segments.acknowledge_fencing_record(lane, index);
            return;
        }
        let prepared = self.encoder.prepare(&segment);
        let leased = LeasedSegment::new(index, leased.record.octets.len() as u32, lane, segment, prepared);
        if let Some(shared) = &self.context.shared {
            let segment_lease = Arc::new(SegmentLease::new(before, shared.lease));
            shared.follower.expect(&self.route, lane, index, Arc::clone(&segment_lease));
            self.state().queue.expect(Arc::new(leased.under(Some(segment_lease))));
            return;
        }
        if self.context.funds.is_some() {
            return self.ask_for_money(leased);
        }
        let leased = Arc::new(leased);
        leased.set_verdict(self.control.state_of(&leased.segment));
        let now = self.context.now();
        let mut state = self.state();
        let DispatcherState { queue, earlier, .. } = &mut *state;
        let progress = earlier.take(lane, index).unwrap_or_default();
        let earlier: &RouteProgress = earlier;
        let gave_back = |entry: &records::Entry| earlier.gave_back(&leased.segment, entry);
        queue.admit(&self.encoder, Arc::clone(&leased), &progress, gave_back, now);
    }

    fn give_back_if_down(&self) {
        if !self.is_down() {
            self.state().down_told = false;
            return;
        }
        let now = self.context.now();
        self.look_elsewhere();
        let mut state = self.state();
        state.queue.give_back_ready(NotTried::RouteDown, now);
        if !state.leaves_it_to_others || state.hold.since().is_some() {
            state.queue.give_back_hands(NotTried::RouteDown, now);
        }
        let told = std::mem::replace(&mut state.down_told, true);
        drop(state);
        self.work.notify_one();
        if !told {
            self.went_down.notify_one();
        }
    }

    fn renew(&self) {
        let leased: Vec<_> = self
            .state()
            .queue
            .leased()
            .map(|(lane, index, segment_lease)| (lane, index, segment_lease.cloned()))
            .collect();
        for (lane, index, segment_lease) in leased {
            self.segments.renew(lane, index, segment_lease.as_deref());
        }
    }

    /// Where there are other processes, published health lasts for a lease.
    fn refresh_health(&self) {
        if self.context.shared.is_some() {
            self.state().health.tell_again();
        }
    }

    /// Publishes the route's health, if it changed.
    async fn publish_health(&self) {
        let news = self.state().health.news(Instant::now());
        let Some(health) = news else { return };
        self.meter.tell(&health);
        self.health_topic.publish(&health).await;
    }

    pub(super) fn acknowledge(&self, done: Vec<Arc<LeasedSegment<C::Prepared>>>) {
        for leased in done {
            self.segments.acknowledge(leased.lane(), leased.index, leased.octets);
        }
    }

    /// Everything is told: what is left of the segments goes back to their topics.
    pub(super) async fn wind_up(&self) {
        let leased = self.state().queue.let_go();
        for (lane, index) in leased {
            if let Err(error) = self.segments.release(lane, index) {
                tracing::warn!(route = self.route, lane = lane.name(), index, %error, "a segment was not given back");
            }
        }
        self.segments.flush().await;
        self.publish_health().await;
        self.health_topic.withdraw().await;
    }
}

/// Resolves at that instant; never without one.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
