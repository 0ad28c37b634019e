//! A route's limit, where what is agreed does not change while it runs: the whole of it, or this process's share where there are others.

use super::{ChannelEncoder, RouteDispatcher};
use crate::cluster::{RateShareView, SharedLimiter};
use pace::Limiter;
use pace::share::Need;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The limit, asked before every write and told after it.
pub(crate) struct RouteLimit<C: ChannelEncoder> {
    dispatcher: Arc<RouteDispatcher<C>>,
    /// What is agreed for the whole route, units per second; 0 is unlimited.
    agreed: f64,
    state: Mutex<State>,
}

struct State {
    limiter: Limiter,
    /// This process's part, where there are others.
    metered: SharedLimiter,
}

impl<C: ChannelEncoder> RouteLimit<C> {
    /// Begins without credit, since the process before may have written until a moment ago. Where other processes have the same
    /// route, nothing is granted but what this one was given of it.
    pub(crate) fn begin(dispatcher: &Arc<RouteDispatcher<C>>, agreed: f64) -> Arc<RouteLimit<C>> {
        let now = Instant::now();
        let mut limiter = Limiter::new(agreed, now);
        limiter.start(now);
        if let Some(at) = limiter.next(now) {
            dispatcher.begin_at(at);
        }
        let state = Mutex::new(State { limiter, metered: SharedLimiter::default() });
        let limit = Arc::new(RouteLimit { dispatcher: Arc::clone(dispatcher), agreed, state });
        limit.begin_sharing();
        limit
    }

    fn begin_sharing(self: &Arc<Self>) {
        let Some(shared) = &self.dispatcher.context.shared else { return };
        let (needs, news) = (Arc::downgrade(self), Arc::downgrade(self));
        let needs = move || {
            needs.upgrade().map_or(Need::Unable, |limit| limit.dispatcher.need(limit.dispatcher.has_work()))
        };
        let news = move || {
            if let Some(limit) = news.upgrade() {
                limit.tell_share();
            }
        };
        let share = shared.rates.share(&self.dispatcher.route, self.agreed, Box::new(needs), Box::new(news));
        let mut state = self.state();
        let State { limiter, metered } = &mut *state;
        metered.begin(share, limiter, Instant::now());
        drop(state);
        self.tell_share();
    }

    /// The feed intends what may be written by our share.
    fn tell_share(&self) {
        let outlook = self.outlook(Instant::now());
        self.dispatcher.set_share(&outlook);
    }

    fn outlook(&self, now: Instant) -> RateShareView {
        let mut state = self.state();
        let State { limiter, metered } = &mut *state;
        metered.outlook(limiter, self.agreed, now)
    }

    /// Whether one unit may be written now; it is then told by [`wrote`](Limit::wrote) or [`unused`](Limit::unused).
    pub(crate) fn grant(&self, now: Instant) -> bool {
        let mut state = self.state();
        let State { limiter, metered } = &mut *state;
        metered.keep(limiter, self.agreed, now);
        limiter.grant(now, 1) == 1
    }

    /// One that was granted is surely not written.
    pub(crate) fn unused(&self) {
        self.state().limiter.unused(1);
    }

    /// When something may be granted again; nothing while only news of a share, or of what is under way, can tell.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        self.state().limiter.next(now)
    }

    /// So many were written between two instants.
    pub(crate) fn wrote(&self, units: usize, before: Instant, after: Instant) {
        self.state().limiter.wrote(after, units);
        if let Some(write_observer) = self.dispatcher.context.write_observer.as_ref().filter(|_| units > 0) {
            write_observer(&self.dispatcher.route, units, before, after);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
