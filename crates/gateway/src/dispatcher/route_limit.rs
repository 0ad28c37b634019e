//! Route limit: what a route may write of the rate of its account.

use super::account_limit::{AccountLimit, FirstSecond, SlowDown};
use super::{ChannelEncoder, RouteDispatcher};
use crate::cluster::RateShareView;
use pace::share::Need;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Holds the limit of a route's account. The route loop shares the rate of whatever holds it over the
/// processes that have the account.
pub(crate) trait RateHolder: Send + Sync {
    /// The limit itself.
    fn account(&self) -> &Arc<AccountLimit>;

    /// The rate this process may use now or in a moment, and from when on.
    fn view(&self, now: Instant) -> RateShareView {
        self.account().view(now)
    }

    /// Another rate was agreed for the whole account, units per second, 0 unlimited; answers with the one in
    /// force here.
    fn set_rate(&self, agreed: f64) -> f64 {
        self.account().set_rate(agreed, Instant::now())
    }

    /// What the route needs of the rate. It counts also what the dispatcher has handed out.
    fn need(&self) -> Need;

    /// The [view](RateHolder::view) is another: the dispatcher is told.
    fn told(&self);

    /// There may be something to write now.
    fn signal(&self);
}

/// The route takes part in the limit of its account from now on. Where other processes have the same account,
/// this one's limit grants its share alone; alone, it grants all.
pub(crate) fn begin_sharing<C: ChannelEncoder>(
    dispatcher: &Arc<RouteDispatcher<C>>,
    limit: &Arc<dyn RateHolder>,
    agreed: f64,
) {
    let account = limit.account();
    account.join(&dispatcher.route, limit);
    let Some(shared) = &dispatcher.context.shared else { return };
    account.share_over(shared, agreed);
    limit.told();
}

/// A slowed route's way back is looked at so often.
const RECOVER_EVERY: Duration = Duration::from_millis(250);

/// The limit of a channel that counts units one by one: asked before every write and told after it. A peer
/// that refuses for now slows it down, and it comes back by itself.
pub(crate) struct RouteLimit<C: ChannelEncoder> {
    dispatcher: Arc<RouteDispatcher<C>>,
    account: Arc<AccountLimit>,
}

impl<C: ChannelEncoder> RouteLimit<C> {
    /// Begins without credit, since the process before may have written until a moment ago.
    pub(crate) fn new(dispatcher: &Arc<RouteDispatcher<C>>, agreed: f64) -> Arc<RouteLimit<C>> {
        let now = Instant::now();
        let account = dispatcher.context.limits.of(&dispatcher.route, agreed, now);
        account.start(now);
        if let Some(at) = account.next(&dispatcher.route, now) {
            dispatcher.begin_at(at);
        }
        Arc::new(RouteLimit { dispatcher: Arc::clone(dispatcher), account })
    }

    /// Whether one unit may be written now; it is then told by [`wrote`](RouteLimit::wrote) or
    /// [`unused`](RouteLimit::unused).
    pub(crate) fn grant(&self, now: Instant) -> bool {
        self.account.recover(RECOVER_EVERY, now);
        self.account.grant(&self.dispatcher.route, 1, now) == 1
    }

    /// The peer refused one for now: `all` where it is the peer itself that has to recover, else one
    /// recipient's mailbox, which is a smaller sign. Gives the new rate.
    pub(crate) fn refused_for_now(&self, all: bool, now: Instant) -> f64 {
        let step = if all { SlowDown::Throttled } else { SlowDown::Strained };
        self.account.slow_down(step, FirstSecond::Assumed, now);
        self.account.rate()
    }

    /// One that was granted is surely not written.
    pub(crate) fn unused(&self) {
        self.account.unused(1);
    }

    /// When something may be granted again; nothing while only news of a share, or of what is under way, can
    /// tell.
    pub(crate) fn next(&self, now: Instant) -> Option<Instant> {
        self.account.next(&self.dispatcher.route, now)
    }

    /// So many were written between two instants.
    pub(crate) fn wrote(&self, units: usize, before: Instant, after: Instant) {
        self.account.wrote(units, after);
        if let Some(observer) = self.dispatcher.context.write_observer.as_ref().filter(|_| units > 0) {
            observer(&self.dispatcher.route, units, before, after);
        }
    }
}

impl<C: ChannelEncoder> RateHolder for RouteLimit<C> {
    fn account(&self) -> &Arc<AccountLimit> {
        &self.account
    }

    fn need(&self) -> Need {
        self.dispatcher.need(self.dispatcher.has_work())
    }

    fn told(&self) {
        self.dispatcher.set_share(&self.view(Instant::now()));
    }

    fn signal(&self) {
        self.dispatcher.signal();
    }
}
