//! Account limit: the rate agreed with a carrier for an account, or this process's share of it where several
//! processes have the account. A route has its own, unless it shares that of another route (`shares`): then
//! both hold the same limiter, and together they write no more than it grants.

use super::RateHolder;
use crate::cluster::{Cluster, RateShareView, Share, SharedLimiter, rate_here};
use pace::share::Need;
use pace::{Aimd, Limiter};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Units per second from which an unlimited route is slowed down before its first second was measured.
const UNMEASURED_RATE: f64 = 20.0;
/// The real rate is measured over this time.
const METER: Duration = Duration::from_secs(1);
/// A route that lets the one go first whose limit it shares looks again after so long.
const YIELD_LOOK: Duration = Duration::from_millis(50);

/// The limits of all accounts of this process, by the name of the route that has the account.
#[derive(Default)]
pub struct AccountLimits {
    known: Mutex<KnownLimits>,
}

#[derive(Default)]
struct KnownLimits {
    /// Routes that share the limit of another.
    shares: BTreeMap<String, String>,
    limits: BTreeMap<String, Weak<AccountLimit>>,
}

impl AccountLimits {
    /// Says whose limit a route shares, before it is started; nothing: it has its own.
    pub fn set_shares(&self, route: &str, of: Option<&str>) {
        let mut known = self.known();
        match of {
            Some(of) => known.shares.insert(route.to_owned(), of.to_owned()),
            None => known.shares.remove(route),
        };
    }

    /// The limit of a route: the one that there is for its account, or a new one.
    pub(crate) fn of(&self, route: &str, agreed: f64, now: Instant) -> Arc<AccountLimit> {
        let mut known = self.known();
        let name = known.shares.get(route).map_or(route, String::as_str).to_owned();
        known.limits.retain(|_, limit| limit.strong_count() > 0);
        if let Some(limit) = known.limits.get(&name).and_then(Weak::upgrade) {
            limit.set_rate(agreed, now);
            return limit;
        }
        let limit = Arc::new(AccountLimit::new(&name, agreed, now));
        known.limits.insert(name, Arc::downgrade(&limit));
        limit
    }

    fn known(&self) -> MutexGuard<'_, KnownLimits> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The limit of one account. It is asked before every write and told after it, by each route that has the
/// account.
pub(crate) struct AccountLimit {
    /// The name of the route that has the account: it goes first where others share it.
    name: String,
    state: Mutex<AccountState>,
    members: Mutex<Vec<AccountMember>>,
    has_several: AtomicBool,
    /// A route was refused, and only a report of what is under way can change that.
    awaits_report: AtomicBool,
}

struct AccountMember {
    route: String,
    holder: Weak<dyn RateHolder>,
}

struct AccountState {
    limiter: Limiter,
    /// The rate agreed with the carrier, units per second; 0 is unlimited.
    agreed: f64,
    /// This process's part, where there are others.
    shared: SharedLimiter,
    /// The rate while the carrier refuses for now.
    aimd: Aimd,
    /// When the way back was looked at.
    looked: Instant,
    meter: WriteMeter,
}

/// How much slower a carrier wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlowDown {
    /// It refuses.
    Throttled,
    /// A smaller sign that it falls behind.
    Strained,
}

/// What counts as the rate of before while the first second is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstSecond {
    /// What was written so far.
    Counted,
    /// The agreed rate; of an unlimited route a rate that one refusal at its start does not ruin.
    Assumed,
}

/// Units written in the second at hand, and in the one before.
struct WriteMeter {
    from: Instant,
    count: usize,
    last: f64,
}

impl WriteMeter {
    /// Units per second of late, as if all of the account were here; 0 where nothing is known: then the
    /// agreed rate is what is slowed down.
    fn measured(&self, agreed: f64, share: f64, first: FirstSecond) -> f64 {
        let count = self.count as f64;
        let measured = match (first, self.last > 0.0, agreed > 0.0) {
            (FirstSecond::Counted, ..) | (_, true, _) => self.last.max(count),
            (FirstSecond::Assumed, false, true) => 0.0,
            (FirstSecond::Assumed, false, false) => count.max(UNMEASURED_RATE),
        };
        if share > 0.0 { measured / share } else { measured }
    }

    fn wrote(&mut self, units: usize, now: Instant) {
        self.count += units;
        let elapsed = now.saturating_duration_since(self.from);
        if elapsed >= METER {
            *self = WriteMeter { from: now, count: 0, last: self.count as f64 / elapsed.as_secs_f64() };
        }
    }
}

impl AccountLimit {
    pub(crate) fn new(name: &str, agreed: f64, now: Instant) -> AccountLimit {
        let state = AccountState {
            limiter: Limiter::new(agreed, now),
            agreed,
            shared: SharedLimiter::default(),
            aimd: Aimd::new(agreed),
            looked: now,
            meter: WriteMeter { from: now, count: 0, last: 0.0 },
        };
        AccountLimit {
            name: name.to_owned(),
            state: Mutex::new(state),
            members: Mutex::default(),
            has_several: AtomicBool::new(false),
            awaits_report: AtomicBool::new(false),
        }
    }

    /// No credit for one window: the process before may have written until a moment ago.
    pub(crate) fn start(&self, now: Instant) {
        self.state().limiter.start(now);
    }

    /// A route takes part from now on, for as long as it is open.
    pub(crate) fn join(&self, route: &str, holder: &Arc<dyn RateHolder>) {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.retain(|member| member.holder.strong_count() > 0 && member.route != route);
        members.push(AccountMember { route: route.to_owned(), holder: Arc::downgrade(holder) });
        self.has_several.store(members.len() > 1, Ordering::Relaxed);
    }

    /// Where other processes have the same account, this one's limit grants its share alone from now on: one
    /// share for all its routes.
    pub(crate) fn share_over(self: &Arc<Self>, cluster: &Cluster, agreed: f64) {
        let (needing, told) = (Arc::downgrade(self), Arc::downgrade(self));
        let needs = move || needing.upgrade().map_or(Need::Unable, |account| account.need());
        let news = move || {
            if let Some(account) = told.upgrade() {
                account.tell();
            }
        };
        let mut state = self.state();
        if !state.shared.is_begun() {
            let share = cluster.rates.share(&self.name, agreed, Box::new(needs), Box::new(news));
            state.begin_share(share, Instant::now());
        }
    }

    /// How many of `want` units a route may write now; they are then told by [`wrote`](AccountLimit::wrote)
    /// or [`unused`](AccountLimit::unused).
    pub(crate) fn grant(&self, route: &str, want: usize, now: Instant) -> usize {
        if self.yields(route) {
            return 0;
        }
        self.state().grant(now, want)
    }

    /// When a route may be granted something again; nothing while only news of a share, or of what is under
    /// way, can tell.
    pub(crate) fn next(&self, route: &str, now: Instant) -> Option<Instant> {
        if self.yields(route) {
            return Some(now + YIELD_LOOK);
        }
        let next = self.state().limiter.next(now);
        if next.is_none() {
            self.awaits_report.store(true, Ordering::Relaxed);
        }
        next
    }

    /// So many were written, not after this instant.
    pub(crate) fn wrote(&self, units: usize, now: Instant) {
        let mut state = self.state();
        state.limiter.wrote(now, units);
        state.meter.wrote(units, now);
        drop(state);
        self.reported();
    }

    /// So many that were granted are surely not written.
    pub(crate) fn unused(&self, units: usize) {
        self.state().limiter.unused(units);
        self.reported();
    }

    /// The carrier wants less speed; the new rate here, if that changed it.
    pub(crate) fn slow_down(&self, step: SlowDown, first: FirstSecond, now: Instant) -> Option<f64> {
        let rate = self.state().slow_down(step, first, now);
        self.tell_others(rate)
    }

    /// Takes the next step back to the agreed rate, if one is due and the last look was `every` ago; the new
    /// rate here, if that changed it.
    pub(crate) fn recover(&self, every: Duration, now: Instant) -> Option<f64> {
        let rate = self.state().recover(every, now);
        self.tell_others(rate)
    }

    /// Another rate was agreed with the carrier; the one in force here.
    pub(crate) fn set_rate(&self, agreed: f64, now: Instant) -> f64 {
        self.state().set_rate(agreed, now)
    }

    /// The rate in force here, units per second; 0 is unlimited.
    pub(crate) fn rate(&self) -> f64 {
        rate_here(&self.state().limiter)
    }

    /// The rate this process may use now or in a moment, and from when on.
    pub(crate) fn view(&self, now: Instant) -> RateShareView {
        let mut state = self.state();
        let AccountState { limiter, shared, agreed, .. } = &mut *state;
        shared.outlook(limiter, *agreed, now)
    }

    /// Tells all routes of the account what they may expect.
    pub(crate) fn tell(&self) {
        self.holders().iter().for_each(|holder| holder.told());
    }

    /// A route that shares the limit of another lets that one go first, while it has something to write and
    /// can.
    fn yields(&self, route: &str) -> bool {
        if !self.has_several.load(Ordering::Relaxed) || route == self.name {
            return false;
        }
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let first = members.iter().find(|member| member.route == self.name);
        let first = first.and_then(|member| member.holder.upgrade());
        drop(members);
        first.is_some_and(|first| first.need() == Need::Busy)
    }

    /// The most that any of its routes needs.
    fn need(&self) -> Need {
        self.holders().iter().map(|holder| holder.need()).max().unwrap_or(Need::Unable)
    }

    fn tell_others(&self, rate: Option<f64>) -> Option<f64> {
        if rate.is_some() && self.has_several.load(Ordering::Relaxed) {
            self.tell();
        }
        rate
    }

    /// Something is under way no longer: another route may go on.
    fn reported(&self) {
        let has_several = self.has_several.load(Ordering::Relaxed);
        if has_several && self.awaits_report.swap(false, Ordering::Relaxed) {
            self.holders().iter().for_each(|holder| holder.signal());
        }
    }

    fn holders(&self) -> Vec<Arc<dyn RateHolder>> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.iter().filter_map(|member| member.holder.upgrade()).collect()
    }

    fn state(&self) -> MutexGuard<'_, AccountState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccountState {
    fn begin_share(&mut self, share: Arc<Share>, now: Instant) {
        self.shared.begin(share, &mut self.limiter, now);
    }

    fn grant(&mut self, now: Instant, want: usize) -> usize {
        self.shared.keep(&mut self.limiter, self.agreed, now);
        self.limiter.grant(now, want)
    }

    fn slow_down(&mut self, step: SlowDown, first: FirstSecond, now: Instant) -> Option<f64> {
        let measured = self.meter.measured(self.agreed, self.limiter.share(), first);
        let rate = match step {
            SlowDown::Throttled => self.aimd.throttled(now, measured),
            SlowDown::Strained => self.aimd.strained(now, measured),
        };
        self.learn(rate, now)
    }

    fn recover(&mut self, every: Duration, now: Instant) -> Option<f64> {
        if now.saturating_duration_since(self.looked) < every {
            return None;
        }
        self.looked = now;
        let rate = self.aimd.rate(now);
        self.learn(rate, now)
    }

    fn learn(&mut self, rate: f64, now: Instant) -> Option<f64> {
        if rate == self.limiter.whole_rate() {
            return None;
        }
        self.limiter.learn(rate, now);
        Some(rate_here(&self.limiter))
    }

    fn set_rate(&mut self, agreed: f64, now: Instant) -> f64 {
        if agreed != self.agreed {
            self.agreed = agreed;
            self.shared.set_rate(agreed);
            self.aimd.set_configured(agreed, now);
            let rate = self.aimd.rate(now);
            self.limiter.set_rate(rate, now);
        }
        rate_here(&self.limiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A route of an account that has something to write, or has not.
    struct FakeRoute {
        account: Arc<AccountLimit>,
        is_busy: AtomicBool,
        signals: AtomicBool,
    }

    impl RateHolder for FakeRoute {
        fn account(&self) -> &Arc<AccountLimit> {
            &self.account
        }

        fn need(&self) -> Need {
            if self.is_busy.load(Ordering::Relaxed) { Need::Busy } else { Need::Idle }
        }

        fn told(&self) {}

        fn signal(&self) {
            self.signals.store(true, Ordering::Relaxed);
        }
    }

    fn joined(limits: &AccountLimits, route: &str, rate: f64, now: Instant) -> Arc<FakeRoute> {
        let account = limits.of(route, rate, now);
        let busy = AtomicBool::new(false);
        let fake = Arc::new(FakeRoute { account, is_busy: busy, signals: AtomicBool::new(false) });
        let holder: Arc<dyn RateHolder> = fake.clone();
        fake.account.join(route, &holder);
        fake
    }

    /// The most that stand in any second, its ends included, and all of them.
    fn most(writes: &[Duration]) -> (usize, usize) {
        let within = |from: usize| {
            writes[from..].iter().take_while(|at| **at - writes[from] <= Duration::from_secs(1)).count()
        };
        ((0..writes.len()).map(within).max().unwrap_or(0), writes.len())
    }

    #[test]
    fn a_live_and_a_drill_route_of_one_account_hold_its_limit_together() {
        const SECONDS: u32 = 20;
        for rate in [5.0, 40.0, 250.0] {
            let start = Instant::now();
            let limits = AccountLimits::default();
            limits.set_shares("drill", Some("live"));
            let live = joined(&limits, "live", rate, start);
            let drill = joined(&limits, "drill", rate, start);
            assert!(Arc::ptr_eq(&live.account, &drill.account), "it is one limit");
            let mut writes = Vec::new();
            for ms in 0..SECONDS * 1_000 {
                let at = Duration::from_millis(ms.into());
                // Both want more than there is, and each is asked first in turn.
                let order = if ms % 2 == 0 { ["live", "drill"] } else { ["drill", "live"] };
                for route in order {
                    let granted = live.account.grant(route, 100, start + at);
                    live.account.wrote(granted, start + at);
                    writes.extend(std::iter::repeat_n(at, granted));
                }
            }
            let (most, all) = most(&writes);
            assert!(most <= rate as usize, "{most} in a second of {rate}");
            assert!(all as f64 >= 0.98 * rate * f64::from(SECONDS), "{all} of {rate} a second");
        }
    }

    #[test]
    fn two_routes_without_shares_have_a_limit_each() {
        let (limits, now) = (AccountLimits::default(), Instant::now());
        let (one, other) = (joined(&limits, "one", 5.0, now), joined(&limits, "other", 5.0, now));
        assert!(!Arc::ptr_eq(&one.account, &other.account));
        limits.set_shares("other", Some("one"));
        drop(other);
        let other = joined(&limits, "other", 5.0, now);
        assert!(Arc::ptr_eq(&one.account, &other.account), "once it shares, it takes part in that one");
    }

    #[test]
    fn the_route_that_is_shared_goes_first_while_it_has_something_to_write() {
        let (limits, start) = (AccountLimits::default(), Instant::now());
        limits.set_shares("drill", Some("live"));
        let (live, drill) = (joined(&limits, "live", 10.0, start), joined(&limits, "drill", 10.0, start));
        live.is_busy.store(true, Ordering::Relaxed);
        assert_eq!(drill.account.grant("drill", 1, start), 0);
        assert_eq!(drill.account.next("drill", start), Some(start + YIELD_LOOK));
        assert_eq!(live.account.grant("live", 1, start), 1);
        live.account.wrote(1, start);
        live.is_busy.store(false, Ordering::Relaxed);
        let later = start + Duration::from_secs(1);
        assert_eq!(drill.account.grant("drill", 1, later), 1);
        drill.account.unused(1);
        drop(live);
        assert_eq!(drill.account.grant("drill", 1, later), 1, "nobody is waited for who is gone");
    }

    #[test]
    fn who_waits_for_what_another_has_under_way_is_woken_by_its_report() {
        let (limits, start) = (AccountLimits::default(), Instant::now());
        limits.set_shares("drill", Some("live"));
        let (live, drill) = (joined(&limits, "live", 1.0, start), joined(&limits, "drill", 1.0, start));
        let first = start + Duration::from_secs(2);
        assert_eq!(live.account.grant("live", 1, first), 1);
        assert_eq!(drill.account.next("drill", first), None, "only the report can tell");
        live.account.wrote(1, first);
        assert!(drill.signals.load(Ordering::Relaxed));
        assert!(drill.account.next("drill", first).is_some());
    }

    #[test]
    fn what_a_carrier_refuses_one_route_slows_the_other_too() {
        let (limits, start) = (AccountLimits::default(), Instant::now());
        limits.set_shares("drill", Some("live"));
        let (live, drill) = (joined(&limits, "live", 100.0, start), joined(&limits, "drill", 100.0, start));
        live.account.slow_down(SlowDown::Throttled, FirstSecond::Assumed, start);
        assert_eq!(drill.account.rate(), 50.0);
    }

    #[test]
    fn a_peer_that_refuses_for_now_slows_the_route_which_comes_back_by_itself() {
        let start = Instant::now();
        let every = Duration::from_millis(250);
        for (agreed, step, slowed) in [
            (100.0, SlowDown::Throttled, 50.0),
            (100.0, SlowDown::Strained, 80.0),
            (0.0, SlowDown::Throttled, 10.0),
            (0.0, SlowDown::Strained, 16.0),
        ] {
            let limit = AccountLimit::new("relay", agreed, start);
            assert_eq!(limit.slow_down(step, FirstSecond::Assumed, start), Some(slowed), "{agreed} {step:?}");
            // What comes within a second belongs to the same overload.
            limit.slow_down(step, FirstSecond::Assumed, start + Duration::from_millis(500));
            assert!(limit.rate() >= slowed, "{agreed} {step:?}");
            limit.recover(every, start + Duration::from_secs(1));
            assert!(limit.rate() > slowed, "{agreed} {step:?}");
            limit.recover(every, start + Duration::from_secs(60));
            assert_eq!(limit.rate(), agreed, "{agreed} {step:?}");
        }
    }
}
