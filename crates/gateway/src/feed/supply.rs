//! Takes segments and keeps their leases, acknowledges, tells how the route is.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bus::Leased;
use futures_util::future::{BoxFuture, select_all};
use records::{Lane, NotTried, Segment};

use super::{Craft, Feed, Held, Phase};

/// A segment is ours for so long without a word.
const LEASE: Duration = Duration::from_secs(30);
/// It is renewed this often.
const RENEW_EVERY: Duration = Duration::from_secs(10);
/// Acknowledgements are made durable this often, and whether record is behind is looked at.
const TICK: Duration = Duration::from_secs(1);
/// A lane takes another segment when it has fewer entries left than this, or than twice what may be ready.
const ENTRIES_LOW: usize = 64;
/// At most so many segments are taken at a time.
const TAKE_MAX: usize = 64;
/// Acknowledgements are made durable at the latest after so many octets of segments: recovery looks at what was not.
const ACKED_OCTETS_MAX: u64 = 16 * 1024 * 1024;
/// And after so many segments.
const ACKED_MAX: u64 = 2_048;

impl<C: Craft> Feed<C> {
    pub(super) async fn supply(&self) {
        let mut renewed = Instant::now();
        let mut flushed = Instant::now();
        loop {
            let phase = self.phase();
            if phase == Phase::Finishing || self.state().lost {
                return;
            }
            if phase == Phase::Open {
                self.give_back_if_down();
                self.take();
            }
            self.tell().await;
            if renewed.elapsed() >= RENEW_EVERY {
                renewed = Instant::now();
                self.renew();
            }
            let acked = self.acked.load(Ordering::Relaxed);
            let octets = self.acked_octets.load(Ordering::Relaxed);
            if acked > 0 && (flushed.elapsed() >= TICK || acked >= ACKED_MAX || octets >= ACKED_OCTETS_MAX) {
                flushed = Instant::now();
                self.flush().await;
            }
            self.wait(phase, renewed, flushed).await;
        }
    }

    /// Until something can be taken, somebody says so, or something is due. An idle route has no timer: there may be many.
    async fn wait(&self, phase: Phase, renewed: Instant, flushed: Instant) {
        let mut ready: Vec<BoxFuture<'static, ()>> = vec![Box::pin(std::future::pending())];
        if phase == Phase::Open {
            let lanes = Lane::ALL.into_iter().filter(|lane| self.wants(*lane));
            ready.extend(lanes.map(|lane| self.lanes[lane as usize].ready()));
        }
        let seen = self.state().control_seen;
        let due = self.due(phase, renewed, flushed);
        tokio::select! {
            () = self.supply.notified() => {}
            // Only to look at what is in hand: it is given back then.
            () = self.control.changed(seen) => self.work_after_control(),
            _ = select_all(ready.iter_mut()) => {}
            () = sleep_until(due) => {}
        }
    }

    /// When something has to be looked after, whatever is said.
    fn due(&self, phase: Phase, renewed: Instant, flushed: Instant) -> Option<Instant> {
        let now = Instant::now();
        let behind = phase == Phase::Open && (self.world.behind)();
        let acked = self.acked.load(Ordering::Relaxed) > 0;
        let state = self.state();
        let down = state.health.down_since().map(|since| since + self.down_after);
        let untold = phase == Phase::Open && (!state.down_told || state.desk.has_work());
        [
            behind.then(|| now + TICK),
            acked.then(|| flushed + TICK),
            state.desk.leased().next().map(|_| renewed + RENEW_EVERY),
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
        let now = self.world.now();
        let mut state = self.state();
        self.review(&mut state);
        state.desk.give_back_all_refused(now);
        drop(state);
        self.work.notify_one();
    }

    fn phase(&self) -> Phase {
        self.state().phase
    }

    /// Whether a lane should take another segment.
    fn wants(&self, lane: Lane) -> bool {
        if lane != Lane::Emergency && (self.world.behind)() {
            return false;
        }
        let state = self.state();
        let low = ENTRIES_LOW.max(2 * state.desk.ahead() as usize);
        state.desk.left(lane) < low
    }

    fn take(&self) {
        let mut came = false;
        for lane in Lane::ALL {
            for _ in 0..TAKE_MAX {
                if !self.wants(lane) {
                    break;
                }
                match self.lanes[lane as usize].take(1, LEASE) {
                    Ok(leased) if leased.is_empty() => break,
                    Ok(leased) => {
                        came = true;
                        leased.into_iter().for_each(|leased| self.admit(lane, leased));
                    }
                    Err(error) => {
                        tracing::error!(route = self.route, lane = lane.name(), %error, "no segments can be taken");
                        break;
                    }
                }
            }
        }
        self.work.notify_one();
        if came {
            self.signal();
        }
    }

    fn admit(&self, lane: Lane, leased: Leased) {
        let index = leased.record.index;
        if self.state().desk.holds(lane, index) {
            // Its lease ran out while we had it, as when the machine slept. It is leased to us again.
            return;
        }
        let segment = match Segment::decode(&leased.record.octets) {
            Ok(segment) => segment,
            Err(error) => {
                // It comes again when its lease runs out; a newer program may read it.
                tracing::error!(route = self.route, lane = lane.name(), index, %error, "a segment is left alone");
                return;
            }
        };
        let prepared = self.craft.prepare(&segment);
        let held = Arc::new(Held::new(index, leased.record.octets.len() as u32, lane, segment, prepared));
        held.set_verdict(self.verdict(&held));
        let now = self.world.now();
        let mut state = self.state();
        let state = &mut *state;
        state.desk.admit(&self.craft, held, &mut state.earlier, now);
    }

    fn give_back_if_down(&self) {
        if !self.is_down() {
            self.state().down_told = false;
            return;
        }
        let now = self.world.now();
        let mut state = self.state();
        state.desk.give_back_ready(NotTried::RouteDown, now);
        state.desk.give_back_hands(NotTried::RouteDown, now);
        let told = std::mem::replace(&mut state.down_told, true);
        drop(state);
        self.work.notify_one();
        if !told {
            self.went_down.notify_one();
        }
    }

    fn renew(&self) {
        let leased: Vec<(Lane, u64)> = self.state().desk.leased().collect();
        for (lane, index) in leased {
            if let Err(error) = self.lanes[lane as usize].renew(index, LEASE) {
                tracing::warn!(route = self.route, lane = lane.name(), index, %error, "a lease was not renewed");
            }
        }
    }

    /// Tells how the route is, if that is news.
    async fn tell(&self) {
        let news = self.state().health.news(Instant::now());
        let Some(health) = news else { return };
        self.meter.tell(&health);
        if let Err(error) = self.routes.set(&self.route, &health.encode()).await {
            tracing::warn!(route = self.route, %error, "the route's health could not be told");
        }
    }

    pub(super) fn acknowledge(&self, done: Vec<Arc<Held<C::Prepared>>>) {
        for held in done {
            if let Err(error) = self.lanes[held.lane() as usize].ack(held.index) {
                tracing::warn!(route = self.route, index = held.index, %error, "a segment was not acknowledged");
            }
            self.acked.fetch_add(1, Ordering::Relaxed);
            self.acked_octets.fetch_add(u64::from(held.octets), Ordering::Relaxed);
        }
    }

    async fn flush(&self) {
        self.acked.store(0, Ordering::Relaxed);
        self.acked_octets.store(0, Ordering::Relaxed);
        for lane in &self.lanes {
            if let Err(error) = lane.flush().await {
                tracing::warn!(route = self.route, %error, "acknowledgements were not made durable");
            }
        }
    }

    /// Everything is told: what is left of the segments goes back to their topics.
    pub(super) async fn wind_up(&self) {
        let leased = self.state().desk.let_go();
        for (lane, index) in leased {
            if let Err(error) = self.lanes[lane as usize].release(index) {
                tracing::warn!(route = self.route, lane = lane.name(), index, %error, "a segment was not given back");
            }
        }
        self.flush().await;
        self.tell().await;
    }
}

/// Resolves at that instant; never without one.
async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
