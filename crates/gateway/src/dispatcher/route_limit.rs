//! Route limit: the rate agreed for a route, or this process's share of it where several processes have the
//! route.

use super::{ChannelEncoder, RouteDispatcher};
use crate::cluster::{RateShareView, Share, SharedLimiter, rate_here};
use pace::Limiter;
use pace::share::Need;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

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

/// The limit of a channel whose peers never ask for less: asked before every write and told after it.
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
        let state = Mutex::new(RouteLimitState { limiter, agreed, shared: SharedLimiter::default() });
        Arc::new(RouteLimit { dispatcher: Arc::clone(dispatcher), state })
    }

    /// Whether one unit may be written now; it is then told by [`wrote`](RouteLimit::wrote) or
    /// [`unused`](RouteLimit::unused).
    pub(crate) fn grant(&self, now: Instant) -> bool {
        let mut state = self.state();
        let RouteLimitState { limiter, shared, agreed } = &mut *state;
        shared.keep(limiter, *agreed, now);
        limiter.grant(now, 1) == 1
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
        self.state().limiter.wrote(after, units);
        if let Some(observer) = self.dispatcher.context.write_observer.as_ref().filter(|_| units > 0) {
            observer(&self.dispatcher.route, units, before, after);
        }
    }

    fn state(&self) -> MutexGuard<'_, RouteLimitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let RouteLimitState { limiter, shared, agreed } = &mut *state;
        shared.outlook(limiter, *agreed, now)
    }

    fn set_rate(&self, agreed: f64) -> f64 {
        let now = Instant::now();
        let mut state = self.state();
        state.agreed = agreed;
        state.shared.set_rate(agreed);
        state.limiter.set_rate(agreed, now);
        rate_here(&state.limiter)
    }

    fn has_work(&self) -> bool {
        self.dispatcher.has_work()
    }
}
