//! Route limit: the rate agreed for a route, or this process's share of it where several processes have the
//! route.

use super::{ChannelEncoder, RouteDispatcher};
use crate::cluster::{RateShareView, Share, SharedLimiter, rate_here};
use pace::share::Need;
use pace::{Aimd, Limiter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Holds a route's limit. The route loop shares the rate of whatever holds it over the processes that have
/// the route.
pub(crate) trait RateHolder: Send + Sync {
    /// From now on nothing is granted but what the share says.
    fn share(&self, share: Arc<Share>, now: Instant);

    /// The rate this process may use now or in a moment, and from when on.
    fn view(&self, now: Instant) -> RateShareView;

    /// Another rate was agreed for the whole route, units per second, 0 unlimited; answers with the one in
    /// force here.
    fn set_rate(&self, agreed: f64) -> f64;

    /// Something waits to be written: also what the dispatcher has handed out.
    fn has_work(&self) -> bool;
}

/// Where other processes have the same route, this one's limit grants its share alone from now on. Alone, it
/// grants all.
pub(crate) fn begin_sharing<C: ChannelEncoder>(
    dispatcher: &Arc<RouteDispatcher<C>>,
    limit: &Arc<dyn RateHolder>,
    agreed: f64,
) {
    let Some(shared) = &dispatcher.context.shared else { return };
    let (needs, news) = (Arc::downgrade(limit), Arc::downgrade(limit));
    let (needing, told) = (Arc::downgrade(dispatcher), Arc::downgrade(dispatcher));
    let needs = move || match (needs.upgrade(), needing.upgrade()) {
        (Some(limit), Some(dispatcher)) => dispatcher.need(limit.has_work()),
        _ => Need::Unable,
    };
    let news = move || {
        if let (Some(limit), Some(dispatcher)) = (news.upgrade(), told.upgrade()) {
            dispatcher.set_share(&limit.view(Instant::now()));
        }
    };
    let share = shared.rates.share(&dispatcher.route, agreed, Box::new(needs), Box::new(news));
    limit.share(share, Instant::now());
    dispatcher.set_share(&limit.view(Instant::now()));
}

/// A slowed route's way back is looked at so often.
const RECOVER_EVERY: Duration = Duration::from_millis(250);

/// Units per second from which an unlimited route is slowed down before its first second was measured.
const UNMEASURED_RATE: f64 = 20.0;

/// The limit of a channel that counts units one by one: asked before every write and told after it. A peer
/// that refuses for now slows it down, and it comes back by itself.
pub(crate) struct RouteLimit<C: ChannelEncoder> {
    dispatcher: Arc<RouteDispatcher<C>>,
    state: Mutex<RouteLimitState>,
}

struct RouteLimitState {
    limiter: Limiter,
    /// The rate agreed for the whole route, units per second; 0 is unlimited.
    agreed: f64,
    /// This process's part, where there are others.
    shared: SharedLimiter,
    /// The rate while the peer refuses for now.
    aimd: Aimd,
    /// When the way back was looked at.
    looked: Instant,
    meter: WriteMeter,
}

/// Units written in the second at hand, and in the one before.
struct WriteMeter {
    from: Instant,
    count: usize,
    last: f64,
}

impl WriteMeter {
    /// Units per second of late, as if all of the route were here; 0 where nothing is known: then the agreed
    /// rate is what is slowed down, and of an unlimited route a rate that one refusal at its start does not
    /// ruin.
    fn measured(&self, agreed: f64, share: f64) -> f64 {
        let measured = match (self.last > 0.0, agreed > 0.0) {
            (true, _) => self.last.max(self.count as f64),
            (false, true) => 0.0,
            (false, false) => (self.count as f64).max(UNMEASURED_RATE),
        };
        if share > 0.0 { measured / share } else { measured }
    }

    fn wrote(&mut self, units: usize, now: Instant) {
        self.count += units;
        let elapsed = now.saturating_duration_since(self.from).as_secs_f64();
        if elapsed >= 1.0 {
            *self = WriteMeter { from: now, count: 0, last: self.count as f64 / elapsed };
        }
    }
}

impl<C: ChannelEncoder> RouteLimit<C> {
    /// Begins without credit, since the process before may have written until a moment ago.
    pub(crate) fn new(dispatcher: &Arc<RouteDispatcher<C>>, agreed: f64) -> Arc<RouteLimit<C>> {
        let now = Instant::now();
        let mut limiter = Limiter::new(agreed, now);
        limiter.start(now);
        if let Some(at) = limiter.next(now) {
            dispatcher.begin_at(at);
        }
        let shared = SharedLimiter::default();
        let (aimd, meter) = (Aimd::new(agreed), WriteMeter { from: now, count: 0, last: 0.0 });
        let state = RouteLimitState { limiter, agreed, shared, aimd, looked: now, meter };
        let state = Mutex::new(state);
        Arc::new(RouteLimit { dispatcher: Arc::clone(dispatcher), state })
    }

    /// Whether one unit may be written now; it is then told by [`wrote`](RouteLimit::wrote) or
    /// [`unused`](RouteLimit::unused).
    pub(crate) fn grant(&self, now: Instant) -> bool {
        let mut state = self.state();
        state.recover(now);
        let RouteLimitState { limiter, shared, agreed, .. } = &mut *state;
        shared.keep(limiter, *agreed, now);
        limiter.grant(now, 1) == 1
    }

    /// The peer refused one for now: `all` where it is the peer itself that has to recover, else one
    /// recipient's mailbox, which is a smaller sign. Gives the new rate.
    pub(crate) fn refused_for_now(&self, all: bool, now: Instant) -> f64 {
        self.state().refused_for_now(all, now)
    }

    /// One that was granted is surely not written.
    pub(crate) fn unused(&self) {
        self.state().limiter.unused(1);
    }

    /// When something may be granted again; nothing while only news of a share, or of what is under way, can
    /// tell.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        self.state().limiter.next(now)
    }

    /// So many were written between two instants.
    pub(crate) fn wrote(&self, units: usize, before: Instant, after: Instant) {
        let mut state = self.state();
        state.limiter.wrote(after, units);
        state.meter.wrote(units, after);
        drop(state);
        if let Some(observer) = self.dispatcher.context.write_observer.as_ref().filter(|_| units > 0) {
            observer(&self.dispatcher.route, units, before, after);
        }
    }

    fn state(&self) -> MutexGuard<'_, RouteLimitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RouteLimitState {
    fn refused_for_now(&mut self, all: bool, now: Instant) -> f64 {
        let measured = self.meter.measured(self.agreed, self.limiter.share());
        let rate = match all {
            true => self.aimd.throttled(now, measured),
            false => self.aimd.strained(now, measured),
        };
        self.limiter.learn(rate, now);
        rate_here(&self.limiter)
    }

    /// Takes the next step back to the agreed rate, if one is due.
    fn recover(&mut self, now: Instant) {
        if now.saturating_duration_since(self.looked) < RECOVER_EVERY {
            return;
        }
        self.looked = now;
        let rate = self.aimd.rate(now);
        if rate != self.limiter.whole_rate() {
            self.limiter.learn(rate, now);
        }
    }
}

impl<C: ChannelEncoder> RateHolder for RouteLimit<C> {
    fn share(&self, share: Arc<Share>, now: Instant) {
        let mut state = self.state();
        let RouteLimitState { limiter, shared, .. } = &mut *state;
        shared.begin(share, limiter, now);
    }

    fn view(&self, now: Instant) -> RateShareView {
        let mut state = self.state();
        let RouteLimitState { limiter, shared, agreed, .. } = &mut *state;
        shared.outlook(limiter, *agreed, now)
    }

    fn set_rate(&self, agreed: f64) -> f64 {
        let now = Instant::now();
        let mut state = self.state();
        state.agreed = agreed;
        state.shared.set_rate(agreed);
        state.aimd.set_configured(agreed, now);
        let rate = state.aimd.rate(now);
        state.limiter.set_rate(rate, now);
        rate_here(&state.limiter)
    }

    fn has_work(&self) -> bool {
        self.dispatcher.has_work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(agreed: f64, now: Instant) -> RouteLimitState {
        let (limiter, shared) = (Limiter::new(agreed, now), SharedLimiter::default());
        let (aimd, meter) = (Aimd::new(agreed), WriteMeter { from: now, count: 0, last: 0.0 });
        RouteLimitState { limiter, agreed, shared, aimd, looked: now, meter }
    }

    #[test]
    fn a_peer_that_refuses_for_now_slows_the_route_which_comes_back_by_itself() {
        let start = Instant::now();
        for (agreed, all, slowed) in
            [(100.0, true, 50.0), (100.0, false, 80.0), (0.0, true, 10.0), (0.0, false, 16.0)]
        {
            let mut limit = limit(agreed, start);
            assert_eq!(limit.refused_for_now(all, start), slowed, "{agreed} {all}");
            // What comes within a second belongs to the same overload.
            let soon = start + Duration::from_millis(500);
            assert!(limit.refused_for_now(all, soon) >= slowed, "{agreed} {all}");
            limit.recover(start + Duration::from_secs(1));
            assert!(limit.limiter.whole_rate() > slowed, "{agreed} {all}");
            limit.recover(start + Duration::from_secs(60));
            assert_eq!(limit.limiter.whole_rate(), agreed, "{agreed} {all}");
        }
    }
}
