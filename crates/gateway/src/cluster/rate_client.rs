//! This process's shares of the rates of its routes: asked for in one record for all of them, a few times in
//! a share's life.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use bus::{Bus, BusError, Topic};
use net::Cores;
use pace::share::{Grant, Holder, Need};
use pace::{Limiter, RATE_MIN};
use records::{RATES_ASKED, RATES_GRANTED, RateAsk, RateAsks, RateGrant, RateGrants};
use tokio::sync::{Notify, watch};

use super::rate_allocator::settings;
use crate::context::Stop;

/// A share is asked for again so often in its life.
const ASKS_PER_LIFE: u32 = 6;
/// Who has nothing asks again after so long.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// Asks of a moment go together.
const ASK_PAUSE: Duration = Duration::from_millis(20);
/// A route counts as busy for so long after its last work: shares do not go to and fro with every message.
const BUSY_FOR: Duration = Duration::from_secs(2);
/// Grants are read in pieces of so many octets; the last record says all.
const READ_OCTETS: usize = 4 * 1024 * 1024;
/// And so many records.
const READ_RECORDS: usize = 100;

/// What a route here needs just now.
type Needs = Box<dyn Fn() -> Need + Send + Sync>;
/// Who wants to hear that a share is another.
type ShareListener = Box<dyn Fn() + Send + Sync>;

/// A share of one route's rate.
pub(crate) struct Share {
    /// The process's, another for each share.
    name: String,
    route: String,
    state: Mutex<RateClientState>,
    needs: Needs,
    news: ShareListener,
    send_queue: Weak<RateClient>,
}

struct RateClientState {
    holder: Holder,
    /// The whole route's rate.
    rate: f64,
    /// The rate and need that were asked for last, and when.
    asked: Option<(f64, Need, Instant)>,
    busy: Option<Instant>,
    /// Somebody waits to hear that a lower share was taken up.
    overdue: bool,
    /// What was told last.
    told: f64,
}

impl Share {
    /// What may be written now, messages per second.
    pub(crate) fn rate(&self, now: Instant) -> f64 {
        self.state().holder.rate(now)
    }

    /// The route has another rate.
    pub(crate) fn set_rate(&self, rate: f64) {
        self.state().rate = rate;
        self.wake();
    }

    /// There may be something to send now.
    pub(crate) fn wake(&self) {
        if let Some(send_queue) = self.send_queue.upgrade() {
            send_queue.work.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, RateClientState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to ask now, if it is time; and when it is, at the latest.
    fn ask(&self, lasts: Duration, now: Instant) -> (Option<RateAsk>, Instant) {
        let need = (self.needs)();
        let mut state = self.state();
        if need == Need::Busy {
            state.busy = Some(now);
        }
        let busy = state.busy.map(|at| at + BUSY_FOR).filter(|until| *until > now);
        let need = if busy.is_some() && need == Need::Idle { Need::Busy } else { need };
        let again = if state.holder.rate(now) > 0.0 { lasts / ASKS_PER_LIFE } else { ASK_AGAIN };
        let due = match state.asked {
            Some((rate, before, at)) if rate == state.rate && before == need && !state.overdue => at + again,
            _ => now,
        };
        if due > now {
            return (None, busy.map_or(due, |until| due.min(until)));
        }
        state.asked = Some((state.rate, need, now));
        state.overdue = false;
        let rate = state.rate;
        let ask = encode(&self.name, &self.route, state.holder.ask(rate, need, now));
        (Some(ask), busy.map_or(now + again, |until| until.min(now + again)))
    }

    /// Takes a grant up; true if that has to be said at once.
    fn take(&self, grant: Grant, now: Instant) -> bool {
        let mut state = self.state();
        let before = state.holder.rate(now);
        if !state.holder.handle_grant(grant) {
            return false;
        }
        state.overdue |= state.holder.rate(now) < before;
        state.overdue
    }

    /// Tells who uses it, if it is another; and when it may be over.
    fn tell(&self, now: Instant) -> Option<Instant> {
        let mut state = self.state();
        let rate = state.holder.rate(now);
        let is_news = std::mem::replace(&mut state.told, rate) != rate;
        let until = state.holder.poll_timeout().filter(|until| *until > now);
        drop(state);
        if is_news {
            (self.news)();
        }
        until
    }
}

fn encode(node: &str, route: &str, ask: pace::share::ShareRequest) -> RateAsk {
    let need = match ask.need {
        Need::Unable => 0,
        Need::Idle => 1,
        Need::Busy => 2,
    };
    let pace::share::ShareRequest { number, rate, holds, leaves, .. } = ask;
    RateAsk { node: node.to_owned(), route: route.to_owned(), number, rate, need, holds, leaves }
}

/// All shares of this process.
pub(crate) struct RateClient {
    node: String,
    lasts: Duration,
    shares: Mutex<Vec<Weak<Share>>>,
    /// How many there ever were.
    count: AtomicU64,
    /// Shares of routes that ended: to be given up by a word.
    left: Mutex<Vec<RateAsk>>,
    work: Notify,
    stop: watch::Sender<bool>,
}

impl RateClient {
    pub(super) fn start(
        bus: &dyn Bus,
        cores: &Cores,
        node: &str,
        lasts: Duration,
    ) -> Result<Arc<RateClient>, BusError> {
        let asked = bus.topic_with(RATES_ASKED, &settings())?;
        let granted = bus.topic_with(RATES_GRANTED, &settings())?;
        let (stop, stopping) = Stop::pair();
        let send_queue = Arc::new(RateClient {
            node: node.to_owned(),
            lasts,
            shares: Mutex::default(),
            count: AtomicU64::new(0),
            left: Mutex::default(),
            work: Notify::new(),
            stop,
        });
        let working = Arc::downgrade(&send_queue);
        cores.spawn_on(cores.next(), async move { work(working, asked, granted, stopping).await });
        Ok(send_queue)
    }

    pub(super) fn stop(&self) {
        let _ = self.stop.send(true);
    }

    /// A share of a route's rate, messages per second. Nothing may be written before it says so. It is given
    /// up when it is dropped.
    pub(crate) fn share(
        self: &Arc<Self>,
        route: &str,
        rate: f64,
        needs: Needs,
        news: ShareListener,
    ) -> Arc<Share> {
        let state = RateClientState {
            holder: Holder::new(self.lasts),
            rate,
            asked: None,
            busy: None,
            overdue: false,
            told: 0.0,
        };
        let name = format!("{}.{}", self.node, self.count.fetch_add(1, Ordering::Relaxed));
        let (route, state, send_queue) = (route.to_owned(), Mutex::new(state), Arc::downgrade(self));
        let share = Arc::new(Share { name, route, state, needs, news, send_queue });
        self.shares().push(Arc::downgrade(&share));
        self.work.notify_one();
        share
    }

    fn shares(&self) -> MutexGuard<'_, Vec<Weak<Share>>> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> Vec<Arc<Share>> {
        let mut shares = self.shares();
        shares.retain(|share| share.strong_count() > 0);
        shares.iter().filter_map(Weak::upgrade).collect()
    }

    /// What to ask now, and when next.
    fn asks(&self, now: Instant) -> (RateAsks, Instant) {
        let mut next = now + self.lasts / ASKS_PER_LIFE;
        let mut asks = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        for share in self.all() {
            let (ask, due) = share.ask(self.lasts, now);
            asks.extend(ask);
            next = next.min(due);
        }
        (RateAsks { asks }, next)
    }

    fn take(&self, granted: &RateGrants, now: Instant) {
        let mut overdue = false;
        for share in self.all() {
            let ours = |grant: &&RateGrant| grant.node == share.name && grant.route == share.route;
            if let Some(grant) = granted.grants.iter().find(ours) {
                let grant = Grant { answers: grant.answers, number: grant.number, rate: grant.rate };
                overdue |= share.take(grant, now);
            }
        }
        if overdue {
            self.work.notify_one();
        }
    }

    /// Another process allots: it has not heard what was asked before.
    fn ask_all_again(&self) {
        self.all().iter().for_each(|share| share.state().overdue = true);
        self.work.notify_one();
    }

    fn tell(&self, now: Instant) -> Option<Instant> {
        self.all().iter().filter_map(|share| share.tell(now)).min()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let Some(send_queue) = self.send_queue.upgrade() else { return };
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.holder.leave();
        if state.asked.is_some() {
            let ask = state.holder.ask(state.rate, Need::Unable, Instant::now());
            let ask = encode(&self.name, &self.route, ask);
            send_queue.left.lock().unwrap_or_else(PoisonError::into_inner).push(ask);
            send_queue.work.notify_one();
        }
    }
}

/// Asks when it is time, and takes up what is granted.
async fn work(send_queue: Weak<RateClient>, asked: Arc<dyn Topic>, granted: Arc<dyn Topic>, mut stop: Stop) {
    let mut read = granted.latest().await.unwrap_or_else(|_| granted.head());
    let mut allots = String::new();
    let mut due = Instant::now();
    loop {
        let now = Instant::now();
        let Some(working) = send_queue.upgrade() else { return };
        if now >= due {
            let (asks, next) = working.asks(now);
            due = next.max(now + ASK_PAUSE);
            if !asks.asks.is_empty()
                && let Err(error) = asked.append(&[&asks.encode()]).await
            {
                tracing::warn!(%error, "shares of rates could not be requested; retrying");
            }
        }
        let over = working.tell(Instant::now());
        let wake = working.work.notified();
        tokio::select! {
            () = wake => due = due.min(Instant::now() + ASK_PAUSE),
            () = granted.readable(read) => {
                let last = newest(&*granted, &mut read).await;
                if let Some(last) = last {
                    working.take(&last, Instant::now());
                    if last.allots != allots {
                        allots = last.allots;
                        working.ask_all_again();
                    }
                }
            }
            () = tokio::time::sleep_until(over.map_or(due, |over| over.min(due)).into()) => {}
            () = stop.wait() => return,
        }
    }
}

/// The last record that is there: it says all that those before it said. After a failure it waits a moment.
pub(super) async fn newest(granted: &dyn Topic, read: &mut u64) -> Option<RateGrants> {
    let mut last = None;
    loop {
        match granted.fetch(*read, READ_RECORDS, READ_OCTETS).await {
            Ok(records) if records.is_empty() => break,
            Ok(records) => {
                *read = records.last().map_or(*read, |record| record.index + 1);
                last = records.into_iter().next_back().or(last);
            }
            Err(error) => {
                tracing::warn!(%error, "shares of rates could not be read; retrying");
                tokio::time::sleep(ASK_AGAIN).await;
                break;
            }
        }
    }
    match RateGrants::decode(&last?.octets) {
        Ok(granted) => Some(granted),
        Err(error) => {
            tracing::error!(%error, "shares of rates cannot be decoded and are ignored");
            None
        }
    }
}

/// A route's limiter, kept to what this process may use of the route's rate.
#[derive(Default)]
pub(crate) struct SharedLimiter {
    share: Option<Arc<Share>>,
    /// What of the whole the limiter was told last.
    part: f64,
}

impl SharedLimiter {
    /// Nothing is granted until the share says so.
    pub(crate) fn begin(&mut self, share: Arc<Share>, limiter: &mut Limiter, now: Instant) {
        limiter.set_share(0.0, now);
        *self = SharedLimiter { share: Some(share), part: 0.0 };
    }

    /// It has a share: nothing is granted but what that says.
    pub(crate) fn is_begun(&self) -> bool {
        self.share.is_some()
    }

    /// Before each look at the limiter: `agreed` is the whole route's rate, messages per second.
    pub(crate) fn keep(&mut self, limiter: &mut Limiter, agreed: f64, now: Instant) {
        let Some(share) = &self.share else { return };
        let part = match agreed > 0.0 {
            true => (share.rate(now) / agreed).min(1.0),
            false => 1.0,
        };
        if part != self.part {
            self.part = part;
            limiter.set_share(part, now);
        }
    }

    /// The whole route has another rate.
    pub(crate) fn set_rate(&self, agreed: f64) {
        if let Some(share) = &self.share {
            share.set_rate(agreed);
        }
    }

    /// What can be expected of the limiter.
    pub(crate) fn outlook(&mut self, limiter: &mut Limiter, agreed: f64, now: Instant) -> RateShareView {
        self.keep(limiter, agreed, now);
        let has = limiter.coming_share() > 0.0;
        let begins = has.then(|| limiter.next(now).unwrap_or(now));
        RateShareView { rate: rate_here(limiter), begins }
    }
}

/// What a process may send of a route.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateShareView {
    /// Messages per second, after a moment; 0 is unlimited.
    pub(crate) rate: f64,
    /// From when on; nothing: other processes have all of it.
    pub(crate) begins: Option<Instant>,
}

/// What a limiter lets through here, of a rate that may be shared, messages per second; 0 is unlimited.
pub(crate) fn rate_here(limiter: &Limiter) -> f64 {
    match (limiter.whole_rate(), limiter.coming_share()) {
        (0.0, _) => 0.0,
        // Next to nothing, since nothing at all would read as no limit.
        (_, 0.0) => RATE_MIN,
        (rate, share) => rate * share,
    }
}
