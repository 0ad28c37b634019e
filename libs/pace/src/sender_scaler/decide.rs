//! The rule that learns: from demand and learned cost to a setting.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::ceiling::ceiling;
use super::cost::Costs;
use super::trial::Trial;
use super::{
    Ceiling, ChangeReason, Controller, Decision, Observation, Rung, Setting, Sum, burst_for, packets_per_s,
};
use crate::{Change, Cusum};

/// It is asked this often.
const PERIOD: Duration = Duration::from_millis(100);
/// What is given up (threads, a rung) has not been needed for so long.
const HOLD: Duration = Duration::from_secs(2);
/// Rates this close are kept as one, the highest: at most 200 in all, however often they change.
const MERGED: Duration = Duration::from_millis(10);
/// A burst larger or smaller by this is another way to send.
const BURST_RATIO: f64 = 1.25;
/// A way of sending is enough for one thread that is busy up to this part …
const ENOUGH: f64 = 0.75;
/// … and a smoother one is gone back to below this.
const EASY: f64 = 0.6;
/// Threads are started so that each is busy up to this part, and parked while the rest stays under
/// [`ENOUGH`].
const BUSY: f64 = 0.9;
/// A mean lag that has moved up, while the threads are busy for half of the time: a packet is taken to cost
/// so much more than it seems.
const LAG_MORE: f64 = 1.25;
/// Seconds by which the mean lag of a period may move, and what more is summed up before it counts: 14 and
/// 140 loops.
const LAG_DRIFT_S: f64 = 50e-6;
const LAG_THRESHOLD_S: f64 = 500e-6;
/// A rate higher by this is another.
const RISE: f64 = 1.05;
/// Periods of shortfall with nothing left to do, before something is said to be in the way.
const SHORT_PERIODS: u32 = 2;
/// A rate is judged by this period and those before it, up to so many: a second. What is short in some of
/// them and not in all together was sent early or late, or is too little to miss.
const JUDGED_PERIODS: usize = 10;

/// More burst, then a higher rung, then threads: the first that the learned cost of a packet says is enough.
/// Never more threads than CPUs.
///
/// The first decision is made with no thread yet; the costs are assumed until they are learned (within a few
/// periods of work). A rate that rises is answered at once, several threads at a time; one that falls after
/// two seconds, in which the higher one has not come back.
#[derive(Debug, Clone)]
pub struct SenderScaler {
    setting: Option<Setting>,
    limits: ScalerLimits,
    costs: Costs,
    trial: Trial,
    /// The highest rate of each few milliseconds of the last two seconds, bits per second.
    rates: VecDeque<(Instant, f64)>,
    /// The rate and the setting with which the period began.
    began: Option<(f64, Setting)>,
    lag: Cusum,
    /// Packets per second of the last period.
    sent_per_s: f64,
    /// Neither rate nor setting has changed since the last decision.
    settled: bool,
    /// Another way to send since the last decision: the period is of two kinds, and says nothing of either.
    mixed: bool,
    short: u32,
    /// Packets asked for and sent in each of the last [`JUDGED_PERIODS`].
    lately: VecDeque<(f64, f64)>,
    ceiling: Option<Ceiling>,
}

#[derive(Debug, Clone, Copy)]
struct ScalerLimits {
    mss_octets: u32,
    burst_max: u32,
    best: Rung,
    cpus: u32,
}

impl Default for SenderScaler {
    fn default() -> Self {
        SenderScaler::new()
    }
}

impl SenderScaler {
    /// Nothing decided yet.
    pub fn new() -> SenderScaler {
        SenderScaler {
            setting: None,
            limits: ScalerLimits { mss_octets: 1, burst_max: 1, best: Rung::Send, cpus: 1 },
            costs: Costs::new(),
            trial: Trial::default(),
            rates: VecDeque::new(),
            began: None,
            lag: Cusum::new(0.0, LAG_DRIFT_S, LAG_THRESHOLD_S),
            sent_per_s: 0.0,
            settled: false,
            mixed: false,
            short: 0,
            lately: VecDeque::new(),
            ceiling: None,
        }
    }

    /// Packets per second that one thread is believed to be able to send in that way.
    pub fn capacity(&self, rung: Rung, burst: u32) -> f64 {
        self.costs.capacity(rung, burst)
    }

    fn remember(&mut self, now: Instant, rate: f64) {
        while self.rates.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) > HOLD) {
            self.rates.pop_front();
        }
        match self.rates.back_mut() {
            Some((at, highest)) if now.saturating_duration_since(*at) < MERGED => {
                *highest = highest.max(rate)
            }
            _ => self.rates.push_back((now, rate)),
        }
        if self.began.is_none_or(|(began, _)| rate > began * RISE) {
            self.settled = false;
        }
    }

    /// The ways to send at `rate`, the smoothest first.
    fn ways(&self, rate: f64) -> impl Iterator<Item = (Rung, u32)> {
        let ScalerLimits { mss_octets, burst_max, best, .. } = self.limits;
        let burst = burst_for(rate, mss_octets, burst_max);
        let rungs = [Rung::Send, Rung::SendMmsg, Rung::Gso].into_iter();
        let bursts = rungs.filter(move |rung| burst > 1 && *rung <= best).map(move |rung| (rung, burst));
        std::iter::once((Rung::Send, 1)).chain(bursts)
    }

    /// The first way in which one thread is busy up to `part`; if none is enough the one of the highest
    /// capacity.
    fn way(&self, rate: f64, part: f64) -> (Rung, u32) {
        let demand = packets_per_s(rate, self.limits.mss_octets);
        let enough = |way: &(Rung, u32)| demand <= self.costs.capacity(way.0, way.1) * part;
        let capacity = |way: &(Rung, u32)| self.costs.capacity(way.0, way.1);
        let best = || self.ways(rate).max_by(|one, other| capacity(one).total_cmp(&capacity(other)));
        self.ways(rate).find(enough).or_else(best).unwrap_or((Rung::Send, 1))
    }

    /// Threads that are each busy up to `part`.
    fn threads(&self, rate: f64, part: f64) -> u32 {
        let (rung, burst) = self.way(rate, part);
        let each = self.costs.capacity(rung, burst) * part;
        let threads = (packets_per_s(rate, self.limits.mss_octets) / each).ceil();
        (threads as u32).max(1) // the cast saturates
    }

    /// The setting for `rate`, from the one in force: up at once, down when the highest rate of late would
    /// do.
    fn plan(&self, now: Instant, rate: f64) -> Setting {
        let highest = self.rates.iter().map(|(_, rate)| *rate).fold(rate, f64::max);
        let most = self.limits.cpus.max(1).min(self.trial.threads_max(now));
        let (up, down) = (self.threads(rate, BUSY), self.threads(highest, ENOUGH));
        let running = self.setting.map_or(0, |setting| setting.threads);
        let threads = running.max(up).min(down.max(up)).min(most).max(1);
        let (rung, burst) = self.kept_way(rate, highest);
        Setting { threads, rung, burst }
    }

    /// The way in force, sized to the rate, unless a higher rung is needed or a lower one was enough of late.
    fn kept_way(&self, rate: f64, highest: f64) -> (Rung, u32) {
        let level = |way: (Rung, u32)| (way.0, way.1 > 1);
        let up = self.way(rate, ENOUGH);
        let Some(running) = self.setting.map(|setting| level((setting.rung, setting.burst))) else {
            return up;
        };
        let down = level(self.way(highest, EASY));
        let kept = running.min(down).max(level(up));
        self.ways(rate).filter(|way| level(*way) <= kept).last().unwrap_or(up)
    }

    fn settle(&mut self, now: Instant, setting: Setting, taken_back: bool) -> Decision {
        let before = self.setting.replace(setting);
        let reason = before.and_then(|before| reason(before, setting, taken_back));
        self.settled = reason.is_none();
        match before {
            Some(before) if before.threads < setting.threads => {
                self.trial.start(now, before.threads, self.sent_per_s);
            }
            Some(before) if before.threads > setting.threads => self.trial.end(),
            _ => (),
        }
        Decision { setting, reason, ceiling: self.ceiling }
    }

    /// What is in the way: told when nothing has changed for some periods of shortfall, and the rate is
    /// missed over all that it is judged by; kept until it is not.
    fn look_up(&mut self, sum: &Sum, seen: &Observation<'_>, unchanged: bool) {
        self.short = if sum.is_short() { self.short + 1 } else { 0 };
        self.lately.truncate(JUDGED_PERIODS - 1);
        self.lately.push_front((sum.asked, sum.sent));
        let mut sums =
            self.lately.iter().scan(Sum { asked: 0.0, sent: 0.0, ..*sum }, |all, (asked, sent)| {
                (all.asked, all.sent) = (all.asked + asked, all.sent + sent);
                Some(*all)
            });
        let is_missing = sums.all(|lately| lately.is_short());
        if self.short == 0 || !is_missing {
            self.ceiling = None;
        } else if self.short >= SHORT_PERIODS && unchanged {
            self.ceiling = Some(ceiling(sum, &seen.host));
        }
    }

    /// Whether the lag has moved up for good, in threads that have no time to spare.
    fn lag_moved_up(&mut self, sum: &Sum) -> bool {
        let lag_s = sum.lag_s - sum.loop_s;
        let change = self.lag.record(lag_s);
        if change.is_some() {
            self.lag.set_target(lag_s);
        }
        // What they had no CPU for is no work of theirs.
        let working_s = sum.busy_s - sum.ready_s;
        change == Some(Change::Up) && working_s > 0.5 * sum.wall_s * f64::from(sum.threads)
    }
}

impl Controller for SenderScaler {
    fn period(&self) -> Duration {
        PERIOD
    }

    fn decide(&mut self, seen: &Observation<'_>) -> Decision {
        let Observation { now, rate_bits_per_s: rate, mss_octets, burst_max, best, .. } = *seen;
        self.limits = ScalerLimits { mss_octets, burst_max, best, cpus: seen.host.cpus };
        let sum = Sum::of(seen.threads);
        if !std::mem::take(&mut self.mixed) {
            self.costs.learn(now, seen.threads, &sum, self.settled);
        }
        self.sent_per_s = sum.sent_per_s();
        self.remember(now, rate);
        let back = self.trial.judge(now, sum.threads, self.sent_per_s, sum.is_short());
        if self.lag_moved_up(&sum) {
            self.costs.doubt_more(LAG_MORE);
        }
        let setting = self.plan(now, rate);
        let unchanged =
            back.is_some() || self.setting.is_some_and(|before| before.threads == setting.threads);
        self.look_up(&sum, seen, unchanged);
        self.began = Some((rate, setting));
        self.settle(now, setting, back.is_some())
    }

    fn rate_changed(&mut self, now: Instant, rate_bits_per_s: f64) -> Option<Decision> {
        let before = self.setting?;
        self.remember(now, rate_bits_per_s);
        let settled = self.settled;
        let decision = self.settle(now, self.plan(now, rate_bits_per_s), false);
        self.settled &= settled;
        self.mixed |= self.began.is_some_and(|(_, began)| is_other_way(began, decision.setting));
        (decision.setting != before).then_some(decision)
    }
}

fn is_other_way(one: Setting, other: Setting) -> bool {
    let ratio = f64::from(one.burst) / f64::from(other.burst);
    one.rung != other.rung || !(1.0 / BURST_RATIO..=BURST_RATIO).contains(&ratio)
}

fn reason(before: Setting, setting: Setting, taken_back: bool) -> Option<ChangeReason> {
    let reason = match () {
        () if setting.threads > before.threads => ChangeReason::MoreThreads,
        () if setting.threads < before.threads && taken_back => ChangeReason::TakenBack,
        () if setting.threads < before.threads => ChangeReason::Parked,
        () if setting.rung > before.rung => ChangeReason::HigherRung,
        () if setting.rung < before.rung => ChangeReason::LowerRung,
        () if setting.burst != before.burst => ChangeReason::Burst,
        () => return None,
    };
    Some(reason)
}
